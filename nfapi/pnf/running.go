package pnf

import (
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

// running is a PHY from START to STOP. Two goroutines have it: that of P7 puts requests
// into the ring, the clock's takes them out and sends.
type running struct {
	*phy
	id    uint16
	cell  cell.Config
	line  clock.Timeline
	ahead int
	ring  *ring
	to    atomic.Pointer[netip.AddrPort] // the VNF; not valid: not yet known

	timing   timing
	lateness lateness

	// Of the clock.
	begun       bool
	last        slot.Number // the slot before
	lastAt      time.Time   // when it was run
	indications fapi.Indications
	slotInd     nfapi.SlotIndication
	timingInfo  nfapi.TimingInfo
	sendFailed  bool

	// Of P7.
	syncRequest nfapi.DLNodeSync
	syncAnswer  nfapi.ULNodeSync
}

// request puts a request into the ring.
func (r *running) request(kind int, d *transport.Datagram) {
	id := kinds[kind].id
	r.learn(d.From)
	sfn, s, _ := d.Profile.PeekSlot(id, d.Body)
	n, ok := r.cell.Numerology.Number(sfn, s)
	if !ok || len(d.Body) < 4 {
		r.watch.Request(id, stopwatch.Invalid, 0)
		r.counts.requests[stopwatch.Invalid].Add(1)
		r.report(errorReport{phy: r.id, sfn: sfn, slot: s, message: id, code: codeInvalidSFN})
		return
	}
	read := r.line.Begin(n, d.At).Sub(d.At)
	lead := read + d.Waited // when it came, whenever it was read
	e, v := r.ring.claim(n, kinds[kind].have)
	var err error
	if e != nil {
		err = r.decode(e, kind, d)
		v = r.ring.commit(e, kinds[kind].have, err == nil)
	}
	r.watch.Request(id, v, lead)
	if v == stopwatch.Late {
		r.whyLate(id, n, lead)
	}
	r.timing.arrived(kind, read, v == stopwatch.Late) // so that the VNF is ahead of what waits here, too
	if sent := d.Header.Timestamp; sent != 0 {
		r.watch.Delay(stopwatch.ToPNF, id, stopwatch.Transit(sent, r.line.Micros(d.At)))
	}
	r.counts.requests[v].Add(1)
	if code := codeOf(v, kind); code != codeOK {
		r.report(errorReport{phy: r.id, sfn: sfn, slot: s, message: id, code: code, err: err})
	}
}

// whyLate counts a request that was late for slot n by cause, if not caused by the VNF or the network.
func (r *running) whyLate(id nfapi.MessageID, n slot.Number, lead time.Duration) {
	switch {
	case lead >= 0:
		r.watch.Request(id, stopwatch.LateByWaiting, 0)
	case lead+r.lateness.of(r.cell.Numerology.Add(n, -r.ahead)) >= 0:
		r.watch.Request(id, stopwatch.LateByClock, 0)
	}
}

// decode decodes a request into the entry that was claimed for it.
func (r *running) decode(e *entry, kind int, d *transport.Datagram) error {
	began := r.time.now()
	m, err := e.decode(kind, d.Profile, d.Body)
	done := r.time.now()
	r.watch.Execution(stopwatch.StepUnpack, kinds[kind].id, done.Sub(began))
	if err == nil && d.Header.Timestamp != 0 {
		r.watch.Handled(m, stopwatch.Transit(d.Header.Timestamp, r.line.Micros(done)))
	}
	return err
}

// codeOf is what ERROR.indication says about a request.
func codeOf(v stopwatch.Verdict, kind int) errorCode {
	switch v {
	case stopwatch.Late:
		return codeOutOfSync
	case stopwatch.Early:
		return codeInvalidSFN
	case stopwatch.Invalid:
		switch kinds[kind].have {
		case fapi.ULDCI:
			return codeULDCIError
		case fapi.TXData:
			return codeTXError
		}
		return codeSlotError
	}
	return codeOK
}

// learn takes the VNF to be where a message came from, if it did not say.
func (r *running) learn(from netip.AddrPort) {
	if !r.to.Load().IsValid() {
		to := from // here, so that only this costs memory
		r.to.Store(&to)
	}
}

// nodeSync answers DL_NODE_SYNC.
func (r *running) nodeSync(d *transport.Datagram) {
	r.learn(d.From)
	if err := r.syncRequest.DecodeBody(d.Profile, d.Body); err != nil {
		r.watch.Request(nfapi.MsgDLNodeSync, stopwatch.Invalid, 0)
		r.counts.requests[stopwatch.Invalid].Add(1)
		return
	}
	r.syncAnswer.T1 = r.syncRequest.T1
	r.syncAnswer.T2 = r.line.Micros(d.At)
	r.syncAnswer.T3 = r.line.Micros(r.time.now())
	if r.p7.Send(d.From, r.id, &r.syncAnswer, stamp(r.syncAnswer.T3)) == nil && r.p7.Flush() == nil {
		r.counts.nodeSyncs.Add(1)
	}
}

// stamp is a time as a time stamp: 0 would say that there is none.
func stamp(micros uint32) uint32 { return max(micros, 1) }

// tick is slot n, which has begun late ago.
func (r *running) tick(n slot.Number, late time.Duration) {
	began := r.time.now()
	skipped := 0
	if r.begun {
		skipped = (int(n) - int(r.last) - 1 + r.cell.Numerology.PerCycle()) % r.cell.Numerology.PerCycle()
	}
	r.watch.Tick(late, skipped)
	r.lateness.tick(n, late, skipped)
	if skipped > 0 || r.begun && began.Sub(r.lastAt) > slot.Cycle/2 {
		r.ring.pass(r.cell.Numerology.Add(n, -1), began.Sub(r.lastAt) > slot.Cycle/2)
	}
	r.send(n)
	r.lateness.tick(n, late+r.time.now().Sub(began), skipped) // what held the thread up until then is the clock's as well
	if skipped > 0 {
		r.leaveOut(n)
	}
	r.slot(n)
	r.begun, r.last, r.lastAt = true, n, began
	if r.timing.due(r.cell.Numerology, n, &r.timingInfo) {
		r.put(&r.timingInfo)
		r.flush()
	}
	r.watch.Execution(stopwatch.StepSlot, stopwatch.OfSlot, r.time.now().Sub(began))
}

// send sends what the PHY says about the slot before n, and then SLOT.indication: a MAC
// is to know the one before it acts on the other.
func (r *running) send(n slot.Number) {
	i := &r.indications
	for _, m := range [...]struct {
		have fapi.Have
		m    nfapi.Message
	}{{fapi.UCI, &i.UCI}, {fapi.CRC, &i.CRC}, {fapi.RXData, &i.RXData}, {fapi.RACH, &i.RACH}, {fapi.SRS, &i.SRS}} {
		if i.Have&m.have != 0 {
			r.put(m.m)
		}
	}
	i.Have = 0
	r.slotInd.SFN, r.slotInd.Slot = r.cell.Numerology.Split(r.cell.Numerology.Add(n, r.ahead))
	r.put(&r.slotInd)
	r.flush()
}

// put has a message sent with the next flush.
func (r *running) put(m nfapi.Message) {
	to := *r.to.Load()
	if !to.IsValid() {
		return
	}
	began := r.time.now()
	err := r.p7.Send(to, r.id, m, stamp(r.line.Micros(began)))
	r.watch.Execution(stopwatch.StepPack, m.MessageID(), r.time.now().Sub(began))
	r.failed(err)
}

func (r *running) flush() { r.failed(r.p7.Flush()) }

// failed counts what could not be sent, and logs the first one.
func (r *running) failed(err error) {
	if err == nil {
		return
	}
	r.counts.notSent.Add(1)
	if !r.sendFailed {
		r.sendFailed = true
		r.log.Warn("p7 cannot be sent; this is logged once", "phy", r.id, "to", *r.to.Load(), "err", err)
	}
}

// leaveOut tells the PHY about the slots between the last one and n, which the clock
// had no time for. What was to be done in them is lost.
func (r *running) leaveOut(n slot.Number) {
	mu := r.cell.Numerology
	for m := mu.Add(r.last, 1); m != n; m = mu.Add(m, 1) {
		e := r.ring.leave(m)
		for k := range kinds {
			if e.r.Have&kinds[k].have != 0 {
				r.counts.missed.Add(1)
				r.reportAt(m, kinds[k].id, codeSlotError)
			}
		}
		e.r.Have = 0
		r.indications.Reset(mu, m)
		r.layer.Slot(&e.r, &r.indications)
		r.ring.release(e)
	}
}

// slot has the PHY carry out slot n.
func (r *running) slot(n slot.Number) {
	e := r.ring.take(n)
	r.pair(&e.r)
	r.indications.Reset(r.cell.Numerology, n)
	began := r.time.now()
	r.layer.Slot(&e.r, &r.indications)
	r.watch.Execution(stopwatch.StepPHY, stopwatch.OfSlot, r.time.now().Sub(began))
	r.ring.release(e)
}

// typePDSCH is that of a PDU of DL_TTI.request.
const typePDSCH = 1

// pair drops DL_TTI.request with a PDSCH if its data is missing, and data that no PDSCH
// is for.
func (r *running) pair(q *fapi.Requests) {
	pdsch := false
	if q.Have&fapi.DLTTI != 0 {
		for i := range q.DLTTI.PDUs {
			pdsch = pdsch || q.DLTTI.PDUs[i].Type == typePDSCH
		}
	}
	data := q.Have&fapi.TXData != 0
	switch {
	case pdsch && !data:
		q.Have &^= fapi.DLTTI
		r.unpaired(q.At, nfapi.MsgDLTTIRequest)
	case data && !pdsch:
		q.Have &^= fapi.TXData
		r.unpaired(q.At, nfapi.MsgTXDataRequest)
	}
}

func (r *running) unpaired(n slot.Number, id nfapi.MessageID) {
	r.watch.Request(id, stopwatch.Unpaired, 0)
	r.counts.requests[stopwatch.Unpaired].Add(1)
	r.reportAt(n, id, codeTXError)
}

func (r *running) reportAt(n slot.Number, id nfapi.MessageID, code errorCode) {
	sfn, s := r.cell.Numerology.Split(n)
	r.report(errorReport{phy: r.id, sfn: sfn, slot: s, message: id, code: code})
}
