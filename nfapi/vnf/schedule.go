package vnf

import (
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// scheduleTo has all slots scheduled up to n that were not yet, as far as their requests
// can still come in time.
func (p *phy) scheduleTo(n slot.Number, now time.Time) {
	mu := p.cell.Numerology
	for d := mu.Distance(n, p.scheduled); d > 0; d-- {
		p.scheduled = mu.Add(n, 1-d)
		if !p.reachable(p.scheduled, d == 1, now) {
			p.count.Skipped++
			continue
		}
		p.schedule(p.scheduled)
		now = p.now()
	}
}

// reachable reports whether requests that are sent now come before a slot begins. If the
// PNF's clock is not known, only the newest slot is, unless its tick has waited for longer
// than the window, which no slot_ahead exceeds. One that seems to begin long after
// now is one of the last cycle: this process has stood still for more than half of it,
// and its tick has waited.
func (p *phy) reachable(n slot.Number, newest bool, now time.Time) bool {
	window := time.Duration(p.cell.TimingWindow) * p.cell.Slot()
	if !p.sync.ok() {
		return newest && p.pace.waited(p.cell.Numerology, n, now, window) <= window
	}
	p.pace.begun = false // when it is needed again, clocks may have drifted far
	ahead := max(nearMs*time.Millisecond, window)
	if left := p.sync.clock().Begin(n, now).Sub(now); left > p.sync.delay && left <= ahead {
		p.missing = time.Time{}
		return true
	}
	// Slot after slot could not be reached for a second: then node sync is wrong. Those
	// that waited while this process stood still are gone in less.
	switch {
	case p.missing.IsZero():
		p.missing = now
	case now.Sub(p.missing) > time.Second:
		p.sync.reset(p.cell.Numerology, now)
		p.missing = time.Time{}
	}
	return false
}

// schedule lets the MAC schedule a slot, and sends its requests.
func (p *phy) schedule(n slot.Number) {
	r := &p.requests
	r.Reset(p.cell.Numerology, n)
	begin := p.now()
	p.mac.Schedule(r)
	now := p.now()
	p.watch.Execution(stopwatch.StepSchedule, stopwatch.OfSlot, now.Sub(begin))
	p.count.Slots++
	if p.profile == nfapi.Aerial { // it wants both in each slot, be they empty
		r.Have |= fapi.DLTTI | fapi.ULTTI
	}
	p.sendIf(r.Have&fapi.DLTTI != 0, &r.DLTTI, &p.count.DLTTI)
	p.sendIf(r.Have&fapi.ULTTI != 0, &r.ULTTI, &p.count.ULTTI)
	p.sendIf(r.Have&fapi.ULDCI != 0, &r.ULDCI, &p.count.ULDCI)
	p.sendIf(r.Have&fapi.TXData != 0, &r.TXData, &p.count.TXData)
	p.flush(now)
}

func (p *phy) sendIf(wanted bool, m nfapi.Message, count *uint64) {
	if wanted && p.send(m, p.now()) {
		*count++
	}
}

// send puts a message into the batch, with the time that it is at the PNF.
func (p *phy) send(m nfapi.Message, now time.Time) bool {
	err := p.p7.Send(p.to(), p.id, m, p.stamp(now))
	p.watch.Execution(stopwatch.StepPack, m.MessageID(), p.now().Sub(now))
	if err != nil {
		p.count.NotSent++
		p.complain(now, "not sent", "message", m.MessageID(), "error", err)
	}
	return err == nil
}

// stamp is the time stamp of a message: 0 as long as the PNF's clock is not known.
func (p *phy) stamp(now time.Time) uint32 {
	if p.sync.count == 0 {
		return 0
	}
	return max(p.sync.clock().Micros(now), 1)
}

func (p *phy) flush(now time.Time) {
	if err := p.p7.Flush(); err != nil {
		p.count.NotSent++
		p.complain(now, "not sent", "error", err)
	}
}
