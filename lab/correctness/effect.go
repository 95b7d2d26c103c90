package correctness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// Kinds of changes of the downlink FAR.
const (
	toDrop     = "drop"
	toForward  = "forward"
	pathSwitch = "path switch"
)

var effectKinds = []string{toDrop, toForward, pathSwitch}

const (
	effectRate    = 50_000           // frames/s: one each 20 µs
	interval      = 1e9 / effectRate // ns
	effectPayload = 100
	effectFor     = 100 * time.Millisecond // traffic around a change
	otherTEID     = downlinkTEID + 1       // of the gNB after a path switch
)

// effects changes rules under traffic.
func (b *bed) effects(ctx context.Context) error {
	for _, kind := range effectKinds {
		b.step(fmt.Sprintf("rule to %s under traffic, %d times", kind, b.Repeats), time.Duration(b.Repeats)*changeTime)
		f := report.EffectFigure{Kind: kind, RatePPS: effectRate, Repeats: b.Repeats}
		err := b.effect(ctx, &f)
		if err == nil {
			b.result.Effects = append(b.result.Effects, f)
		}
		if err := b.attempted(Effects, "rule to "+kind, err); err != nil {
			return err
		}
	}
	return nil
}

// effect makes one kind of change several times.
func (b *bed) effect(ctx context.Context, f *report.EffectFigure) error {
	var last, gaps []int64
	for range f.Repeats {
		c, err := b.change(ctx, f.Kind)
		if err != nil {
			return err
		}
		o := c.judge(f.Kind)
		f.OldAfter += o.oldAfter
		f.Lost, f.Reordered, f.EndMarkers = f.Lost+o.lost, f.Reordered+o.reordered, f.EndMarkers+o.endMarkers
		last, gaps = append(last, o.lastOld), append(gaps, o.gap)
	}
	f.LastOldNS, f.LastOldMaxNS = median(last)
	f.GapNS, f.GapMaxNS = median(gaps)
	return nil
}

// changed is a change under traffic, and all that arrived.
type changed struct {
	accepted int64 // ns: when the CP function had the response
	started  int64 // ns: the first frame was due then
	sent     uint64
	frames   []frame
}

// change sends frames downlink and changes the FAR in the middle of them.
func (b *bed) change(ctx context.Context, kind string) (c changed, err error) {
	s, err := b.establish(ctx, b.nextUE(), shape{})
	if err != nil {
		return c, err
	}
	defer s.abandon(ctx)
	if kind == toForward {
		if err := s.act(ctx, pfcp.ApplyDROP); err != nil {
			return c, err
		}
	}
	g, err := b.sender(s, generator.Downlink, effectPayload)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r, err := record(b.topology.N3.Peer, b.run)
	if err != nil {
		return c, err
	}
	w := &watcher{generator: g}
	c.started = now()
	ended := w.start(ctx, generator.Load{Rate: effectRate, Duration: effectFor, CPU: generator.LastCPU()})
	time.Sleep(effectFor / 2)
	err = s.change(ctx, kind)
	c.accepted = s.accepted
	done := <-ended
	time.Sleep(settle)
	frames, endErr := r.end()
	if err := errors.Join(err, done.err, endErr); err != nil {
		return c, err
	}
	c.sent, c.frames = done.Sent, frames
	_, err = s.delete(ctx)
	return c, err
}

func (s *session) change(ctx context.Context, kind string) error {
	switch kind {
	case toDrop:
		return s.act(ctx, pfcp.ApplyDROP)
	case toForward:
		return s.act(ctx, pfcp.ApplyFORW)
	}
	_, err := s.modify(ctx, pfcp.SessionModificationRequest{UpdateFARs: []pfcp.UpdateFAR{{
		FARID: downlink, UpdateForwardingParameters: pfcp.Some(pfcp.UpdateForwardingParameters{
			OuterHeaderCreation: s.tunnel(otherTEID), SMReqFlags: pfcp.SMReqSNDEM,
		}),
	}}})
	return err
}

// outcome is what a change did.
type outcome struct {
	oldAfter, lost, reordered, endMarkers int
	lastOld, gap                          int64
}

// judge tells frames that the old rule treated from those of the new one.
func (c *changed) judge(kind string) (o outcome) {
	switch kind {
	case toDrop: // what arrived was forwarded by the old rule
		for _, f := range c.frames {
			o.old(f.sent - c.accepted)
		}
	case toForward: // what was due before the first that arrived was dropped by it
		firstNew := c.started + int64(c.sent)*interval // none did
		if len(c.frames) > 0 {
			firstNew = c.frames[0].intended
		}
		o.lastOld = firstNew - interval - c.accepted
		o.oldAfter = max(0, int((o.lastOld+interval-1)/interval))
		o.lost = int(c.sent) - len(c.frames) - int(c.frames0())
	case pathSwitch:
		c.judgeSwitch(&o)
	}
	return o
}

// frames0 is how many frames were sent before the first one that arrived.
func (c *changed) frames0() uint64 {
	if len(c.frames) == 0 {
		return c.sent
	}
	return c.frames[0].sequence
}

func (o *outcome) old(after int64) {
	if after > 0 {
		o.oldAfter++
	}
	if o.lastOld == 0 || after > o.lastOld {
		o.lastOld = after
	}
}

// judgeSwitch looks at both tunnels.
func (c *changed) judgeSwitch(o *outcome) {
	var lastOld, firstNew, highest int64
	ended, seen := false, 0
	for _, f := range c.frames {
		switch {
		case f.endMarker:
			ended = f.teid == downlinkTEID
			continue
		case f.teid == downlinkTEID:
			lastOld = f.at
			ended = false // nothing may come behind it
			o.old(f.sent - c.accepted)
		case firstNew == 0:
			firstNew = f.at
		}
		seen++
		if int64(f.sequence) < highest {
			o.reordered++
		}
		highest = max(highest, int64(f.sequence))
	}
	if ended {
		o.endMarkers++
	}
	o.lost = int(c.sent) - seen
	if firstNew != 0 && lastOld != 0 {
		o.gap = firstNew - lastOld
	}
}
