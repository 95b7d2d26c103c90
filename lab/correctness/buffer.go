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

const (
	bufferRate = 10_000 // frames/s
	bufferFor  = 100 * time.Millisecond
	noticeTime = 5 * time.Second // for a Session Report Request: a busy machine takes its time
)

// buffers pages for an idle UE, and releases its packets under traffic.
func (b *bed) buffers(ctx context.Context) error {
	b.step(fmt.Sprintf("buffering and release under traffic, %d times", b.Repeats), time.Duration(b.Repeats)*changeTime)
	f := report.BufferFigure{RatePPS: bufferRate, Repeats: b.Repeats}
	var notices []int64
	for range b.Repeats {
		c, reportedAt, err := b.page(ctx)
		if err != nil {
			return b.attempted(Buffers, "buffering", err)
		}
		c.count(&f)
		notices = append(notices, reportedAt-c.first())
	}
	f.NoticeNS, f.NoticeMaxNS = median(notices)
	b.result.Buffers = append(b.result.Buffers, f)
	return nil
}

// page sends to a UE whose FAR says BUFF, and lets it forward when the Downlink
// Data Report has come.
func (b *bed) page(ctx context.Context) (c changed, reportedAt int64, err error) {
	s, err := b.establish(ctx, b.nextUE(), shape{buffer: true})
	if err != nil {
		return c, 0, err
	}
	defer s.abandon(ctx)
	g, err := b.sender(s, generator.Downlink, effectPayload)
	if err != nil {
		return c, 0, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r, err := record(b.topology.N3.Peer, b.run)
	if err != nil {
		return c, 0, err
	}
	w := &watcher{generator: g}
	ended := w.start(ctx, generator.Load{Rate: bufferRate, Duration: bufferFor, CPU: generator.LastCPU()})
	said, err := s.report(ctx, noticeTime)
	if err == nil {
		err = s.act(ctx, pfcp.ApplyFORW)
		c.accepted = s.accepted
	}
	done := <-ended
	if errors.Is(err, errSilent) && done.Sent == 0 { // it had nothing to report
		err = fmt.Errorf("correctness: no frame left this machine within %v: it is too busy", bufferFor)
	}
	time.Sleep(settle)
	frames, endErr := r.end()
	if err := errors.Join(err, done.err, endErr); err != nil {
		return c, 0, err
	}
	c.started, c.sent, c.frames = int64(done.StartNS), done.Sent, frames
	_, err = s.delete(ctx)
	return c, said.at, err
}

// first is when the first frame was sent; when it was due, if the UPF lost it.
func (c *changed) first() int64 {
	for _, f := range c.frames {
		if !f.endMarker && f.sequence == 0 {
			return f.sent
		}
	}
	return c.started
}

// count adds what arrived to f.
func (c *changed) count(f *report.BufferFigure) {
	seen := map[uint64]bool{}
	var highest uint64
	for _, a := range c.frames {
		switch {
		case a.endMarker:
			continue
		case seen[a.sequence]:
			f.Duplicated++
			continue
		case a.sequence < highest:
			f.Reordered++
		}
		seen[a.sequence] = true
		highest = max(highest, a.sequence)
		if a.sent < c.accepted && a.at-a.sent > 100_000 { // it waited: 100 µs is more than a way takes
			f.Buffered++
		}
	}
	f.Frames += int(c.sent)
	f.Lost += int(c.sent) - len(seen)
}
