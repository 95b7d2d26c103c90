package analyze

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/capture"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// cell follows one PHY.
type cell struct {
	mu     slot.Numerology
	ahead  int
	window int
	k1     int // 0: that which fits best
	ways   [2]least
	result *Cell

	ticking bool
	first   int64 // slot of the first tick; slots are counted on when their numbers come round
	newest  int64 // slot of the newest tick
	at      time.Time
	came    [ringSlots]int64 // slots of ticks
	gaps    []gap            // in the ring

	cutTicks int    // that are cut off, since the newest one
	segments [2]int // sequence number, plus one, of the last segment that was cut off
	judging  bool   // no message is cut off
	ring     [ringSlots]entry
	last     int64 // the last slot that was judged

	requests    [numRequests]request
	interval    stopwatch.Times
	firstOf     stopwatch.Times
	lastOf      stopwatch.Times
	watch       *stopwatch.Watch
	ues         map[uint16]*UE
	toGrant     stopwatch.Times
	grantToCRC  stopwatch.Times
	requestsCRC stopwatch.Times

	outcomes       outcomes // of all UEs
	contradictions [MaxK1 + 1]int
}

// The requests, as indices.
const (
	dlTTI = iota
	ulTTI
	ulDCI
	txData
	numRequests
)

var requestIDs = [numRequests]nfapi.MessageID{nfapi.MsgDLTTIRequest, nfapi.MsgULTTIRequest, nfapi.MsgULDCIRequest, nfapi.MsgTXDataRequest}

// request is a type of request.
type request struct {
	counts         stopwatch.Counts
	lead, response stopwatch.Times
	octets         uint64
}

// entry is what is known of a slot until it is judged.
type entry struct {
	used     bool
	slot     int64
	tick     time.Time // of its SLOT.indication; zero: there was none
	requests [numRequests]time.Time
	first    time.Time // of all requests
	last     time.Time
	pdsch    []block
	tx       []block
	pusch    []block
	pucch    []block
}

// block is a transport block or a PUCCH that a slot has.
type block struct {
	index   uint16 // TX_DATA's
	rnti    uint16
	harq    uint8
	octets  uint32
	again   bool
	bits    uint16 // of HARQ feedback: that a PDSCH asks for, that a PUCCH or PUSCH has
	matched bool   // CRC, UCI or TX_DATA came
	good    bool   // its CRC is
	data    bool   // RX_DATA came
}

func newCell(key cellKey, e *capture.Event, known *learned, o *Options) *cell {
	c := &cell{mu: known.mu, ahead: o.SlotAhead, window: o.Window, k1: min(max(o.K1, 0), MaxK1), ways: known.ways, watch: stopwatch.New(), ues: map[uint16]*UE{}}
	c.judging = !known.cut
	if c.ahead < 0 {
		c.ahead = known.ahead()
	}
	c.ahead = min(c.ahead, MaxSlotAhead)
	c.result = &Cell{
		VNF: key.vnf.String(), PNF: key.pnf.String(), PHY: key.phy, Profile: e.Profile.String(), Numerology: uint8(c.mu), SlotAhead: c.ahead, Window: c.window,
		Started: e.At, Requests: []Request{}, Ways: []Way{}, UEs: []*UE{}, Findings: []Finding{},
	}
	return c
}

// message takes a message of P7.
func (c *cell) message(e *capture.Event, d stopwatch.Direction) {
	c.result.Ended = e.At
	if errors.Is(e.Err, capture.ErrCut) {
		c.cutOff(e, d)
		return
	}
	index := requestOf(e.Header.MessageID)
	if e.Err != nil || e.Checksum == nfapi.ChecksumWrong {
		if index >= 0 {
			c.requests[index].counts.Invalid++
		}
		c.note(e.At, "", "%s of %d octets: %s", e.Header.MessageID, e.Octets, wrong(e))
		return
	}
	if e.Header.Generation != nfapi.GenFAPI { // which has no sequence numbers
		c.watch.Sequence(d, c.result.PHY, e.Header.Sequence())
	}
	if e.Header.Timestamp != 0 {
		way := &c.ways[d]
		c.watch.Delay(d, e.Header.MessageID, way.delay(e.Header.Timestamp, e.At)-way.least)
	}
	sfn, number, ok := nfapi.SlotOf(e.Message)
	if !ok {
		return
	}
	n, ok := c.mu.Number(sfn, number)
	if !ok {
		c.note(e.At, fmt.Sprintf("%d.%d", sfn, number), "%s: numerology %d has no such slot", e.Header.MessageID, c.mu)
		return
	}
	if e.Header.MessageID == nfapi.MsgSlotIndication {
		c.tick(n, e.At)
		return
	}
	s := c.entry(n, e, index)
	switch {
	case s == nil:
	case index >= 0:
		c.request(s, index, e)
	default:
		c.indication(s, e)
	}
}

// cutOff is a message of which the capture has the header only: it came, so it is not lost.
func (c *cell) cutOff(e *capture.Event, d stopwatch.Direction) {
	c.result.CutOff++
	if e.Header.MessageID == nfapi.MsgSlotIndication {
		c.result.Ticks.CutOff++
		c.cutTicks++
	}
	sequence := int(e.Header.Sequence())
	if e.Header.Generation != nfapi.GenFAPI && (e.Header.Whole() || c.segments[d] != sequence+1) {
		c.watch.Sequence(d, c.result.PHY, uint8(sequence))
	}
	if c.segments[d] = 0; !e.Header.Whole() {
		c.segments[d] = sequence + 1
	}
}

func wrong(e *capture.Event) string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "wrong checksum"
}

func requestOf(id nfapi.MessageID) int {
	for i, r := range requestIDs {
		if r == id {
			return i
		}
	}
	return -1
}

// note keeps something that is wrong.
func (c *cell) note(at time.Time, slot, format string, values ...any) {
	if len(c.result.Findings) == maxFindings {
		c.result.Further++
		return
	}
	c.result.Findings = append(c.result.Findings, Finding{at, slot, fmt.Sprintf(format, values...)})
}

// number is the name of a slot.
func (c *cell) number(n int64) string {
	return c.mu.String(slot.Number(n % int64(c.mu.PerCycle())))
}

// claim is the entry of a slot. If it was another one's, that one has been judged.
func (c *cell) claim(n int64) *entry {
	c.judgeTo(n - ringSlots)
	s := &c.ring[n%ringSlots]
	if !s.used || s.slot != n {
		*s = entry{used: true, slot: n, pdsch: s.pdsch[:0], tx: s.tx[:0], pusch: s.pusch[:0], pucch: s.pucch[:0]}
	}
	return s
}

// entry is that of a message's slot, nil if the slot is not followed: it is too far from
// the newest tick.
func (c *cell) entry(n slot.Number, e *capture.Event, request int) *entry {
	if !c.ticking {
		return nil
	}
	away := c.mu.Distance(n, slot.Number(c.newest%int64(c.mu.PerCycle())))
	if away > -ringSlots/2 && away <= ringSlots/4 {
		at := c.newest + int64(away)
		return c.claim(at)
	}
	c.note(e.At, c.mu.String(n), "%s %d slots from the newest SLOT.indication", e.Header.MessageID, away)
	if request >= 0 {
		counts := &c.requests[request].counts
		if away < 0 {
			counts.Late++
		} else {
			counts.Early++
		}
	}
	return nil
}

// request is a request for a slot.
func (c *cell) request(s *entry, index int, e *capture.Event) {
	r := &c.requests[index]
	r.octets += uint64(e.Octets)
	if !s.requests[index].IsZero() {
		r.counts.Duplicate++
		c.note(e.At, c.number(s.slot), "%s again", e.Header.MessageID)
		return
	}
	s.requests[index] = e.At
	if s.first.IsZero() {
		s.first = e.At
	}
	s.last = e.At
	switch m := e.Message.(type) {
	case *nfapi.DLTTIRequest:
		c.downlink(s, m)
	case *nfapi.TXDataRequest:
		c.data(s, m)
	case *nfapi.ULTTIRequest:
		c.uplink(s, m)
	case *nfapi.ULDCIRequest:
		c.grants(s, m, e.At)
	}
}

// judgeTo judges slots up to one. The ring has none that are further behind the last
// judged one than it is long.
func (c *cell) judgeTo(end int64) {
	for n := c.last + 1; n <= min(end, c.last+ringSlots); n++ {
		if s := &c.ring[n%ringSlots]; s.used && s.slot == n {
			c.judge(s)
			s.used = false
		}
	}
	c.last = max(c.last, end)
}

// tickOf is when the SLOT.indication of a slot came, by the newest one if it is not
// known.
func (c *cell) tickOf(n int64) time.Time {
	if s := &c.ring[n%ringSlots]; s.used && s.slot == n && !s.tick.IsZero() {
		return s.tick
	}
	return c.at.Add(time.Duration(n-c.newest) * c.mu.Duration())
}

// judge evaluates a slot.
func (c *cell) judge(s *entry) {
	for i, at := range s.requests {
		if !at.IsZero() {
			c.judgeRequest(s, i, at)
		}
	}
	if !s.first.IsZero() && !s.tick.IsZero() {
		c.firstOf.Record(s.first.Sub(s.tick))
		c.lastOf.Record(s.last.Sub(s.tick))
	}
	if s.slot < c.first { // what belongs to it may have come before the capture began
		return
	}
	c.count(s)
	if !c.judges() {
		return
	}
	c.judgePair(s)
	if c.newest-s.slot >= feedbackSlots {
		c.judgeFeedback(s)
	}
}

// judges reports whether what is missing says something: it may also be cut off.
func (c *cell) judges() bool { return c.judging && c.result.Unseen == 0 }

func (c *cell) judgeRequest(s *entry, index int, at time.Time) {
	r := &c.requests[index]
	if !s.tick.IsZero() {
		r.response.Record(at.Sub(s.tick))
	}
	if c.ahead < 0 {
		r.counts.OnTime++
		return
	}
	lead := c.tickOf(s.slot + int64(c.ahead)).Sub(at)
	r.lead.Record(lead)
	switch {
	case lead < 0:
		r.counts.Late++
		c.note(at, c.number(s.slot), "%s is %v late", requestIDs[index], -lead)
	case lead > time.Duration(c.window)*c.mu.Duration():
		r.counts.Early++
	default:
		r.counts.OnTime++
	}
}

// finish judges what is left, and writes the result.
func (c *cell) finish() *Cell {
	if c.ticking {
		// Of the newest slots not all has come yet: they are not judged.
		c.judgeTo(c.newest - int64(max(c.ahead, 1)))
	}
	out := c.result
	out.Findings = slices.DeleteFunc(out.Findings, func(f Finding) bool { return f.Text == noneMissing })
	for i := range c.requests {
		r := &c.requests[i]
		if r.counts.Came() > 0 {
			out.Requests = append(out.Requests, Request{requestIDs[i].String(), r.counts, r.lead.Distribution(), r.response.Distribution(), r.octets})
		}
	}
	out.Ticks.Interval = c.interval.Distribution()
	out.First, out.Last = c.firstOf.Distribution(), c.lastOf.Distribution()
	snapshot := c.watch.Snapshot("")
	out.ToPNF, out.ToVNF = snapshot.ToPNF, snapshot.ToVNF
	for i := range snapshot.Messages {
		m := &snapshot.Messages[i]
		if m.ToPNF != nil {
			out.Ways = append(out.Ways, Way{m.Name, "PNF", m.ToPNF.Delay, m.ToPNF.JitterNS})
		}
		if m.ToVNF != nil {
			out.Ways = append(out.Ways, Way{m.Name, "VNF", m.ToVNF.Delay, m.ToVNF.JitterNS})
		}
	}
	c.finishFeedback(c.k1)
	c.finishUEs()
	return out
}
