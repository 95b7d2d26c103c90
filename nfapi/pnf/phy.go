package pnf

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// sender is what a PHY needs of [transport.P7].
type sender interface {
	Send(to netip.AddrPort, phy uint16, m nfapi.Message, timestamp uint32) error
	Flush() error
}

// phy is one PHY of the PNF, over all connections to VNFs. Its methods except receive are called by
// the goroutine of P5.
type phy struct {
	config PHYConfig
	layer  fapi.PHY
	watch  *stopwatch.Watch
	log    *slog.Logger
	p7     sender
	socket *endpoint
	time   clockwork
	report func(errorReport)

	id      uint16 // as the VNF calls it
	state   state
	cell    cell.Config
	vnf     netip.AddrPort // where its P7 is; not valid: not known
	profile nfapi.Profile  // the VNF's, by P5
	vnfAddr netip.Addr     // where its P5 is
	stop    func()

	running atomic.Pointer[running]
	counts  counters
}

// noAddress is one that is not known.
var noAddress netip.AddrPort

// clockwork is the time of a PNF: all its PHYs have the same SFN.
type clockwork struct {
	source clock.Source // nil: the system's
	epoch  time.Time    // when slot 0.0 began
}

func (c clockwork) now() time.Time {
	if c.source != nil {
		return c.source.Now()
	}
	return time.Now()
}

// configure is CONFIG.request of a VNF with a profile, with decoded TLVs; vnf is its P7 address.
func (p *phy) configure(profile nfapi.Profile, c *cell.Config, vnf netip.AddrPort) error {
	if c.TimingWindow == 0 {
		c.TimingWindow = cell.TimingWindowDefault
	}
	if ahead := p.ahead(c.Numerology); ahead > int(c.TimingWindow) {
		return fmt.Errorf("slot_ahead %d is beyond the timing window of %d slots", ahead, c.TimingWindow)
	}
	if err := p.layer.Configure(c); err != nil {
		return err
	}
	p.cell, p.profile, p.vnf, p.state = *c, profile, vnf, configured
	return nil
}

// ahead is how many slots before the air slots SLOT.indication is.
func (p *phy) ahead(mu slot.Numerology) int {
	if p.config.SlotAhead > 0 {
		return p.config.SlotAhead
	}
	return 2 << mu
}

// start is START.request. The slots begin when run is called.
func (p *phy) start() (run func(), err error) {
	if err := p.layer.Start(); err != nil {
		return nil, err
	}
	p.watch.Restart()
	mu := p.cell.Numerology
	line := clock.Timeline{Numerology: mu, Epoch: p.time.epoch}
	now, _ := line.Slot(p.time.now())
	r := &running{
		phy: p, id: p.id, cell: p.cell, line: line, ahead: p.ahead(mu),
		ring: newRing(mu, int(p.cell.TimingWindow), now),
	}
	r.lateness.mu = mu
	r.timing.mode = p.cell.TimingInfo
	to := p.vnf
	r.to.Store(&to)
	p.running.Store(r)
	p.state = inOperation
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	return func() {
		ended := make(chan struct{})
		p.stop = func() {
			cancel()
			<-ended
		}
		go func() {
			defer close(ended)
			r.clock(ctx)
		}()
	}, nil
}

// halt is STOP.request: when it returns, no slot is run any more.
func (p *phy) halt() {
	p.stop()
	p.running.Store(nil)
	p.layer.Stop()
	p.state = configured
}

// clock runs slots until ctx ends.
func (r *running) clock(ctx context.Context) {
	c := clock.Clock{Source: r.time.source, Burst: int(r.cell.TimingWindow), Started: func(err error) {
		if err != nil {
			r.log.Warn("slots have no real-time priority, and may be late", "phy", r.id, "reason", err)
		}
	}}
	s := c.Run(ctx, r.line, r.tick)
	r.counts.add(s)
	r.log.Info("slots stopped", "phy", r.id, "slots", s.Ticks, "late", s.Late, "stalls", s.Stalls, "skipped", s.Skipped, "latest", s.MaxLate)
}

// receive takes a message of P7 that is for this PHY.
func (p *phy) receive(d *transport.Datagram) {
	p.watch.Sequence(stopwatch.ToPNF, d.Header.PhyID, d.Header.Sequence())
	p.watch.Waited(d.Header.MessageID, d.Waited)
	r := p.running.Load()
	kind := kindOf(d.Header.MessageID)
	switch {
	case d.Header.MessageID == nfapi.MsgDLNodeSync && r != nil:
		r.nodeSync(d)
	case kind < 0:
		p.counts.unexpected.Add(1)
	case r == nil:
		p.counts.notRunning.Add(1)
		sfn, s, _ := d.Profile.PeekSlot(d.Header.MessageID, d.Body)
		p.report(errorReport{phy: d.Header.PhyID, sfn: sfn, slot: s, message: d.Header.MessageID, code: codeInvalidState})
	default:
		r.request(kind, d)
	}
}
