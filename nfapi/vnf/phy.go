package vnf

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// carrier is what a [phy] sends through: a [transport.P7].
type carrier interface {
	Send(to netip.AddrPort, phy uint16, m nfapi.Message, timestamp uint32) error
	Flush() error
	Admit(peers ...netip.AddrPort)
}

// phy is P7 of one PHY: it has the MAC take in what the PHY says, and schedule.
type phy struct {
	log     *slog.Logger
	id      uint16
	config  PHY
	profile nfapi.Profile
	ahead   SlotAhead
	resync  time.Duration // interval of node sync; negative: never
	mac     fapi.MAC
	p7      carrier
	watch   *stopwatch.Watch
	woken   chan struct{} // the own clock may continue
	lines   chan func()   // of the log
	now     func() time.Time

	// mu guards all of the following, and the MAC.
	mu        clock.Mutex
	on        bool
	cell      *cell.Config
	hosts     []netip.Addr // from where its messages may come
	peer      netip.AddrPort
	ticks     ticks
	sync      nodeSync
	pace      pace
	lead      lead
	scheduled slot.Number // the last one
	missing   time.Time   // since when no slot could be reached; zero: the last one could
	started   time.Time   // START.response
	heard     time.Time   // the last SLOT.indication
	asked     time.Time   // the last DL_NODE_SYNC
	quiet     time.Time   // until then, what cannot be sent is not logged
	count     PHYCounts

	requests    fapi.Requests
	indications fapi.Indications
	tick        nfapi.SlotIndication
	ask         nfapi.DLNodeSync
	answer      nfapi.ULNodeSync
	timing      nfapi.TimingInfo
}

// begin says from which hosts the PHY's messages are to come. It does not run yet.
func (p *phy) begin(hosts []netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.config.PNFP7.IsValid() {
		hosts = append(hosts, p.config.PNFP7.Addr())
	}
	p.hosts, p.peer = hosts, netip.AddrPort{}
	p.admit()
}

// admit tells the socket whom it is to listen to.
func (p *phy) admit() {
	if p.peer.IsValid() {
		p.p7.Admit(p.peer)
		return
	}
	var from []netip.AddrPort
	for _, h := range p.hosts {
		from = append(from, netip.AddrPortFrom(h, 0))
	}
	p.p7.Admit(from...)
}

// start is START.response: the PHY runs. c is its configuration.
func (p *phy) start(c *cell.Config, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cell, p.started, p.heard, p.asked = c, now, now, time.Time{}
	p.ticks, p.pace = ticks{mu: c.Numerology}, pace{}
	p.sync.reset(c.Numerology, now)
	// What comes before the window is refused as too early.
	most := min(p.ahead.Max, time.Duration(max(int(c.TimingWindow)-1, 1))*c.Slot())
	p.lead = lead{least: min(p.ahead.least(c.Numerology), most), most: most, margin: p.ahead.Margin, calm: p.ahead.Calm}
	p.lead.start(now)
	p.missing, p.on = time.Time{}, true
	p.watch.Restart()
	p.mac.Start()
}

// stop has nothing sent any more.
func (p *phy) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.on {
		p.on = false
		p.mac.Stop()
	}
}

// silent is how long there was no SLOT.indication of a PHY that runs.
func (p *phy) silent(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.on {
		return 0
	}
	return now.Sub(p.heard)
}

// datagram takes a message of P7 in.
func (p *phy) datagram(d *transport.Datagram) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.on || d.Header.PhyID != p.id || !p.from(d) {
		p.count.Ignored++
		return
	}
	p.watch.Sequence(stopwatch.ToVNF, d.Header.PhyID, d.Header.Sequence())
	p.watch.Waited(d.Header.MessageID, d.Waited)
	if p.timed(d) {
		p.watch.Delay(stopwatch.ToVNF, d.Header.MessageID, p.since(d, d.At))
	}
	if err := p.message(d); err != nil {
		p.count.Invalid++
		p.complain(d.At, "message of p7 not understood", "from", d.From, "error", err)
	}
}

// timed reports whether a message says when it was sent, by a clock that is known.
func (p *phy) timed(d *transport.Datagram) bool { return p.sync.ok() && d.Header.Timestamp != 0 }

// since is how long before a time a message was sent.
func (p *phy) since(d *transport.Datagram, at time.Time) time.Duration {
	return stopwatch.Transit(d.Header.Timestamp, p.sync.clock().Micros(at))
}

// from reports whether a message is the PNF's. The first one that may be names its port;
// what was in the socket before START.response came may be of a PNF that ran before.
func (p *phy) from(d *transport.Datagram) bool {
	if p.peer == d.From {
		return true
	}
	if p.peer.IsValid() || !slices.Contains(p.hosts, d.From.Addr()) || d.At.Add(-d.Waited).Before(p.started) {
		return false
	}
	from := d.From // the line is written when d is another datagram
	p.say(func() { p.log.Info("p7", "peer", from) })
	p.peer = from
	p.admit()
	return true
}

// to is where requests go.
func (p *phy) to() netip.AddrPort {
	if p.config.PNFP7.IsValid() {
		return p.config.PNFP7
	}
	return p.peer
}

func (p *phy) message(d *transport.Datagram) error {
	switch d.Header.MessageID {
	case nfapi.MsgSlotIndication:
		return p.slotIndication(d)
	case nfapi.MsgULNodeSync:
		if err := p.answer.DecodeBody(d.Profile, d.Body); err != nil {
			return err
		}
		p.synchronise(d.At)
	case nfapi.MsgTimingInfo:
		if err := p.timing.DecodeBody(d.Profile, d.Body); err != nil {
			return err
		}
		p.count.TimingInfos++
		if latest, any := latestOf(&p.timing); any && latest > 0 {
			p.count.LateReports++
		}
		p.lead.report(&p.timing, d.At)
	default:
		return p.indication(d)
	}
	return nil
}

// synchronise takes the answer of node sync in.
func (p *phy) synchronise(at time.Time) {
	was := p.sync.ok()
	if !p.sync.answer(&p.answer, at) {
		p.count.SyncOdd++
		return
	}
	p.count.SyncAnswers++
	if !was && p.sync.ok() {
		offset, delay := p.sync.offset, p.sync.delay
		p.say(func() { p.log.Info("node sync", "offset", offset, "delay", delay) })
		p.wake()
	}
}

// wake lets the own clock continue.
func (p *phy) wake() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// slotIndication has the slots scheduled that are due with it.
func (p *phy) slotIndication(d *transport.Datagram) error {
	if err := p.tick.DecodeBody(d.Profile, d.Body); err != nil {
		return err
	}
	n, ok := p.cell.Numerology.Number(p.tick.SFN, p.tick.Slot)
	if !ok {
		return errNoSlot(p.tick.SFN, p.tick.Slot)
	}
	v, lost := p.ticks.take(n)
	p.heard = d.At
	switch v {
	case tickOld:
		p.count.TicksOld++
		if lost < 0 {
			p.count.TicksLost--
			p.count.TicksLate++
		}
		return nil
	case tickStrange:
		p.count.TicksStrange++
		return nil
	case tickJumped:
		p.jumped(n)
	}
	p.count.Ticks++
	p.count.TicksLost += uint64(lost)
	if p.autonomous() {
		p.wake()
	} else {
		p.scheduleTo(n, p.now())
	}
	if p.resync > 0 && d.At.Sub(p.asked) >= p.resync {
		p.asked = d.At
		p.askSync()
	}
	return nil
}

// jumped restarts at slot n: the first one, or the PNF's clock was set. According to node sync it
// is also possible that many ticks were lost while time continued normally.
func (p *phy) jumped(n slot.Number) {
	now, mu := p.now(), p.cell.Numerology
	at, _ := p.sync.clock().Slot(now)
	if p.sync.ok() && near(mu, n, at) {
		if mu.Distance(n, p.scheduled) < -nearMs<<mu { // more than half a cycle has passed
			p.scheduled = mu.Add(n, -1)
		}
		return
	}
	if p.sync.count > 0 {
		p.count.Jumps++
	}
	p.scheduled, p.pace = mu.Add(n, -1), pace{}
	p.sync.reset(mu, now)
}

// askSync sends DL_NODE_SYNC.
func (p *phy) askSync() {
	now := p.now()
	p.sync.ask(&p.ask, now)
	p.send(&p.ask, now)
	p.flush(now)
}

// complain logs what may happen in each slot once a second.
func (p *phy) complain(now time.Time, text string, values ...any) {
	if now.Before(p.quiet) {
		return
	}
	p.quiet = now.Add(time.Second)
	p.say(func() { p.log.Warn(text, values...) })
}

// say logs a line from another goroutine: no goroutine that keeps slots, or holds mu, waits for the
// log. If too many lines wait, it is lost.
func (p *phy) say(line func()) {
	select {
	case p.lines <- line:
	default:
	}
}

// cellFor is the cell of the MAC with the additions of the VNF: its P7 address, and when it wants
// reports on the arrival of requests.
func (p *phy) cellFor(p7 netip.AddrPort, host netip.Addr) (*cell.Config, error) {
	c := *p.mac.Cell()
	if !c.Numerology.Valid() || c.TDD.IsZero() {
		return nil, fmt.Errorf("the mac's cell has numerology %d and tdd %q", c.Numerology, c.TDD)
	}
	switch {
	case p.config.Announce.IsValid():
		p7 = p.config.Announce
	case p7.Addr().IsUnspecified():
		p7 = netip.AddrPortFrom(host, p7.Port())
	}
	c.P7 = p7
	if c.TimingWindow == 0 {
		c.TimingWindow = cell.TimingWindowDefault
	}
	if c.TimingInfo == (cell.TimingInfo{}) {
		c.TimingInfo = cell.TimingInfo{Periodic: true, Aperiodic: true, Period: timingPeriod}
	}
	return &c, nil
}

// timingPeriod is how often TIMING_INFO is wanted, in slots.
const timingPeriod = 32

// complained takes an ERROR.indication in.
func (p *phy) complained(e *nfapi.ErrorIndication, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.complain(now, "ERROR.indication", "message", nfapi.MessageID(e.Message), "sfn", e.SFN, "slot", e.Slot, "code", codeText(uint32(e.ErrorCode)))
	if e.ErrorCode == codeSFNOutOfSync || e.ErrorCode == codeInvalidSFN {
		p.count.LateReports++
		p.lead.complaint(now)
	}
}
