package correctness

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/report"
)

const (
	restartTimes = 3
	restartTime  = 3 * time.Second // expected of each
	restartRate  = 10_000          // frames/s: an outage is known to 100 µs
	restartMost  = time.Minute     // of traffic
	around       = 200 * time.Millisecond
)

// restarts kills the UPF under traffic and starts it again.
func (b *bed) restarts(ctx context.Context) error {
	f := report.RestartFigure{RatePPS: restartRate, Repeats: restartTimes}
	var ready, outages []int64
	for i := range restartTimes {
		b.step(fmt.Sprintf("kill and start again under traffic, %d/%d", i+1, restartTimes), restartTime)
		o, err := b.restart(ctx)
		if err != nil {
			return b.attempted(Restarts, "restart", err)
		}
		ready, outages = append(ready, o.ready-o.killed), append(outages, o.outage())
		f.Lost += int(o.sent) - len(o.frames)
		if o.kept() {
			f.Kept++
		}
	}
	f.ReadyNS, f.ReadyMaxNS = median(ready)
	f.OutageNS, f.OutageMaxNS = median(outages)
	b.result.Restarts = append(b.result.Restarts, f)
	return nil
}

// outage is a restart, and all that arrived.
type outage struct {
	killed, ready, associated int64 // ns
	sent                      uint64
	frames                    []frame
}

// outage is the longest time between two frames, ns.
func (o *outage) outage() (longest int64) {
	for i := 1; i < len(o.frames); i++ {
		longest = max(longest, o.frames[i].at-o.frames[i-1].at)
	}
	return longest
}

// kept reports whether frames were forwarded before the CP function had said anything
// to the UPF that is there now.
func (o *outage) kept() bool {
	for _, f := range o.frames {
		if f.at > o.ready && f.at < o.associated {
			return true
		}
	}
	return false
}

// restart sends frames downlink, kills the UPF in the middle of them, and does what a CP
// function does when it is back: an association, and the session once more.
func (b *bed) restart(ctx context.Context) (o outage, err error) {
	s, err := b.establish(ctx, b.nextUE(), shape{})
	if err != nil {
		return o, err
	}
	g, err := b.sender(s, generator.Downlink, effectPayload)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r, err := record(b.topology.N3.Peer, b.run)
	if err != nil {
		return o, err
	}
	w := &watcher{generator: g}
	sending, stop := context.WithCancel(ctx)
	ended := w.start(sending, generator.Load{Rate: restartRate, Duration: restartMost, CPU: generator.LastCPU()})
	time.Sleep(around)
	err = b.again(ctx, s.ue, &o)
	time.Sleep(around)
	stop()
	done := <-ended
	if errors.Is(done.err, context.Canceled) && ctx.Err() == nil {
		done.err = nil
	}
	time.Sleep(settle)
	frames, endErr := r.end()
	o.sent, o.frames = done.Sent, frames
	return o, errors.Join(err, done.err, endErr)
}

// again restarts the UPF and establishes a session of the same UE and tunnel.
func (b *bed) again(ctx context.Context, ue netip.Addr, o *outage) error {
	o.killed = now()
	if _, err := b.system.Restart(ctx); err != nil {
		return err
	}
	o.ready = now()
	time.Sleep(around) // does it forward by itself?
	o.associated = now()
	if err := b.smf.associate(ctx); err != nil {
		return err
	}
	b.smf.forget()
	_, err := b.establish(ctx, ue, shape{})
	return err
}

// forget drops all sessions: the UP function has none.
func (s *smf) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
	clear(s.reports)
}
