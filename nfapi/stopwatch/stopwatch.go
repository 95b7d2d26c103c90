// Package stopwatch measures the two halves of a split gNB: how long before its slot
// each request came, how long messages were in transit, which were lost, and how long each step took.
//
//	VNF  Schedule ─ Pack ─►            Delay             ─► Unpack ─ lead ─► slot: PHY    PNF
//	     └───── Step ────┘└─ Handled: from the time stamp on ─────┘
//	     Indicate ◄─ Unpack ◄─         Delay             ◄─ Pack
//
// A [Watch] may be used by several goroutines, those of real time among them: recording takes no
// lock and, except for the first value of a kind, does not allocate. A nil Watch records nothing.
// [Watch.Snapshot] is what it has so far; snapshots can be subtracted and merged, kept as JSON, and
// shown as a table and as metrics.
//
// Jitter is that of RFC 3550, 6.4.1, of each type of message.
package stopwatch

import (
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// Verdict is the result of a received request.
type Verdict uint8

// The verdicts.
const (
	OnTime    Verdict = iota
	Late              // its slot had begun
	Early             // its slot is beyond the window
	Duplicate         // its slot has that message already
	Invalid           // it could not be decoded, or its checksum is wrong
	Unpaired          // it was on time, DL_TTI.request or TX_DATA.request, and the other of both was not
	// LateByClock counts requests reported as Late that would have been on time with SLOT.indication
	// on time.
	LateByClock
	// LateByWaiting counts requests reported as Late that arrived before their slot began, but were
	// not read or not decoded until then.
	LateByWaiting
	numVerdicts
)

// Direction is that of a message.
type Direction uint8

// The directions.
const (
	ToPNF Direction = iota
	ToVNF
	numDirections
)

// Step is a timed execution step, in addition to the P7 messages.
type Step uint8

// The steps.
const (
	StepPack     Step = iota // encoding, checksum, segments
	StepUnpack               // decoding
	StepSchedule             // the MAC's work for a slot
	StepIndicate             // the MAC's work for an indication
	StepPHY                  // the PHY's work for a slot
	StepSlot                 // all of a PNF's work for a slot
	numSteps
)

var verdictNames = [numVerdicts]string{"on_time", "late", "early", "duplicate", "invalid", "unpaired", "late_by_clock", "late_by_waiting"}

// String is the name of the verdict.
func (v Verdict) String() string { return verdictNames[v] }

var directionNames = [numDirections]string{"to_pnf", "to_vnf"}

// String is the name of the direction.
func (d Direction) String() string { return directionNames[d] }

var stepNames = [numSteps]string{"pack", "unpack", "schedule", "indicate", "phy", "slot"}

// String is the name of the step.
func (s Step) String() string { return stepNames[s] }

// OfSlot is the message of steps that are of a slot, and of none.
const OfSlot nfapi.MessageID = 0xffff

// Watch keeps the figures of one PHY's P7.
type Watch struct {
	started   time.Time
	messages  [numMessages]figures
	parts     [numParts]Times
	sequences [numDirections]sequences

	late           Times // of the clock
	slots, skipped atomic.Uint64
}

// figures are those of one type of message.
type figures struct {
	verdicts [numVerdicts]atomic.Uint64
	lead     Times
	waited   Times
	transits [numDirections]transit
	steps    [numSteps]Times
	handled  Times
}

// transit is one direction of a type of message.
type transit struct {
	delay  Times
	last   atomic.Int64 // ns
	any    atomic.Bool
	jitter atomic.Int64 // ns, 16 times
}

// New makes a watch, which begins now.
func New() *Watch { return &Watch{started: time.Now()} }

// Indices of [Watch.messages]: 0x80 to 0x8f, 0x180 to 0x182, and two more.
const (
	firstSync   = 16
	indexOther  = firstSync + 3 // vendor extensions, and what is not known
	indexSlot   = indexOther + 1
	numMessages = indexSlot + 1
)

func indexOf(id nfapi.MessageID) int {
	switch {
	case id >= nfapi.MsgDLTTIRequest && id < nfapi.MsgDLTTIRequest+firstSync:
		return int(id - nfapi.MsgDLTTIRequest)
	case id >= nfapi.MsgULNodeSync && id < nfapi.MsgULNodeSync+indexOther-firstSync:
		return firstSync + int(id-nfapi.MsgULNodeSync)
	case id == OfSlot:
		return indexSlot
	}
	return indexOther
}

// idAt is the inverse of [indexOf]; indexOther is 0.
func idAt(index int) nfapi.MessageID {
	switch {
	case index < firstSync:
		return nfapi.MsgDLTTIRequest + nfapi.MessageID(index)
	case index < indexOther:
		return nfapi.MsgULNodeSync + nfapi.MessageID(index-firstSync)
	case index == indexSlot:
		return OfSlot
	}
	return 0
}

// Request is for the PNF: a request came, lead before its slot began; negative: after.
// Of those that are [Invalid] or anything behind it the lead is not kept: it is not known,
// or was when they came.
func (w *Watch) Request(id nfapi.MessageID, v Verdict, lead time.Duration) {
	if w == nil || v >= numVerdicts {
		return
	}
	f := &w.messages[indexOf(id)]
	f.verdicts[v].Add(1)
	if v < Invalid {
		f.lead.Record(lead)
	}
}

// Waited is how long a message was in the receiver's socket, or the last segment of it,
// before it was read.
func (w *Watch) Waited(id nfapi.MessageID, waited time.Duration) {
	if w == nil {
		return
	}
	w.messages[indexOf(id)].waited.Record(waited)
}

// Delay is how long a message was under way, until it was read: by its time stamp and the offset of the
// clocks that node sync gives. Jitter is right without the offset.
func (w *Watch) Delay(d Direction, id nfapi.MessageID, delay time.Duration) {
	if w == nil || d >= numDirections {
		return
	}
	w.messages[indexOf(id)].transits[d].record(int64(delay))
}

// record also moves the jitter on: J += (|D| - J) / 16, kept as 16 J so that nothing is
// lost by rounding.
//
// Source: RFC 3550, 6.4.1 and A.8.
func (t *transit) record(ns int64) {
	t.delay.Record(time.Duration(ns))
	last := t.last.Swap(ns)
	if !t.any.Swap(true) {
		return
	}
	d := ns - last
	if d < 0 {
		d = -d
	}
	t.jitter.Add(d - (t.jitter.Load()+8)>>4)
}

// Sequence is the sequence number of a message that came: gaps, repetitions and
// messages overtaken are counted for each of the first 8 PHYs.
func (w *Watch) Sequence(d Direction, phy uint16, sequence uint8) {
	if w == nil || d >= numDirections {
		return
	}
	w.sequences[d].add(phy, sequence)
}

// Restart marks a restart of the peers: following messages are not compared with earlier ones.
// Figures stay.
func (w *Watch) Restart() {
	if w == nil {
		return
	}
	for d := range w.sequences {
		w.sequences[d].restart()
	}
	for i := range w.messages {
		for d := range w.messages[i].transits {
			w.messages[i].transits[d].any.Store(false)
		}
	}
}

// Execution is how long a step took for a message; id is [OfSlot] for steps that are of
// a slot.
func (w *Watch) Execution(s Step, id nfapi.MessageID, took time.Duration) {
	if w == nil || s >= numSteps {
		return
	}
	w.messages[indexOf(id)].steps[s].Record(took)
}

// Handled is the time from the sender's time stamp until the receiver has processed a message: a
// request is in its slot, an indication has passed the MAC. The PDUs of the message are counted by
// kind as well.
func (w *Watch) Handled(m nfapi.Message, took time.Duration) {
	if w == nil {
		return
	}
	w.messages[indexOf(m.MessageID())].handled.Record(took)
	for parts := partsOf(m); parts != 0; parts &= parts - 1 {
		w.parts[parts.first()].Record(took)
	}
}

// Tick is called by the owner of the clock: a slot began, with this lateness; skipped slots were
// left out before it.
func (w *Watch) Tick(late time.Duration, skipped int) {
	if w == nil {
		return
	}
	w.late.Record(late)
	w.slots.Add(1)
	w.skipped.Add(uint64(skipped))
}

// cycleMicros is the SFN cycle in us, which time stamps count to.
const cycleMicros = 10_240_000

// Transit is how long after sent received is, both in us of the SFN cycle: negative if
// it is before. Of the two ways around the cycle it is the shorter one.
func Transit(sent, received uint32) time.Duration {
	d := (int64(received)-int64(sent))%cycleMicros + cycleMicros
	return time.Duration((d+cycleMicros/2)%cycleMicros-cycleMicros/2) * time.Microsecond
}
