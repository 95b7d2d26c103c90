package stopwatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// Snapshot is what a [Watch] had at a time. Times are nanoseconds.
type Snapshot struct {
	Name     string    `json:"name"` // owner
	Started  time.Time `json:"started"`
	At       time.Time `json:"at"`
	Messages []Message `json:"messages"` // by message id
	Parts    []Part    `json:"parts"`    // kinds of PDUs
	ToPNF    Sequences `json:"to_pnf"`
	ToVNF    Sequences `json:"to_vnf"`
	Clock    Clock     `json:"clock"`
}

// Message is the figures of one type of message, or those that are of a slot.
type Message struct {
	ID      nfapi.MessageID `json:"id"` // 0: vendor extensions, and what is not known; OfSlot: of a slot
	Name    string          `json:"message"`
	Counts  Counts          `json:"requests"`
	Lead    *Distribution   `json:"lead,omitempty"`   // before its slot; negative: late
	Waited  *Distribution   `json:"waited,omitempty"` // in the receiver's socket until it was read; a part of its way
	ToPNF   *Transits       `json:"to_pnf,omitempty"`
	ToVNF   *Transits       `json:"to_vnf,omitempty"`
	Steps   Steps           `json:"steps"`
	Handled *Distribution   `json:"handled,omitempty"` // from the sender's time stamp until all is done with it
}

// Way is how long messages of this type were under way, whichever way they go; nil: not known.
func (m *Message) Way() *Distribution {
	if m.ToPNF != nil {
		return m.ToPNF.Delay
	}
	if m.ToVNF != nil {
		return m.ToVNF.Delay
	}
	return nil
}

// Counts is how many requests came, by verdict. Those that are Unpaired are among those
// that were OnTime, and those that are LateByClock or LateByWaiting among those that were
// Late, none of them both.
type Counts struct {
	OnTime    uint64 `json:"on_time"`
	Late      uint64 `json:"late"`
	Early     uint64 `json:"early"`
	Duplicate uint64 `json:"duplicate"`
	Invalid   uint64 `json:"invalid"`
	Unpaired  uint64 `json:"unpaired"`
	// LateByClock would have been on time if SLOT.indication had been.
	LateByClock uint64 `json:"late_by_clock"`
	// LateByWaiting had come before their slot began, and were not read or decoded by then.
	LateByWaiting uint64 `json:"late_by_waiting"`
}

// Came is how many came in all.
func (c Counts) Came() uint64 { return c.OnTime + c.Late + c.Early + c.Duplicate + c.Invalid }

func (c *Counts) list() [numVerdicts]*uint64 {
	return [numVerdicts]*uint64{&c.OnTime, &c.Late, &c.Early, &c.Duplicate, &c.Invalid, &c.Unpaired, &c.LateByClock, &c.LateByWaiting}
}

// Transits is how long messages were under way.
type Transits struct {
	Delay    *Distribution `json:"delay"`
	JitterNS int64         `json:"jitter_ns"` // RFC 3550
}

// Steps are execution times; nil: there were none.
type Steps struct {
	Pack     *Distribution `json:"pack,omitempty"`
	Unpack   *Distribution `json:"unpack,omitempty"`
	Schedule *Distribution `json:"schedule,omitempty"`
	Indicate *Distribution `json:"indicate,omitempty"`
	PHY      *Distribution `json:"phy,omitempty"`
	Slot     *Distribution `json:"slot,omitempty"`
}

func (s *Steps) list() [numSteps]**Distribution {
	return [numSteps]**Distribution{&s.Pack, &s.Unpack, &s.Schedule, &s.Indicate, &s.PHY, &s.Slot}
}

// Part is the way of messages with a kind of PDU.
type Part struct {
	Name    string        `json:"part"`
	Handled *Distribution `json:"handled"`
}

// Sequences is what sequence numbers say.
type Sequences struct {
	Received  uint64 `json:"received"`
	Lost      uint64 `json:"lost"`
	Duplicate uint64 `json:"duplicate"`
	Reordered uint64 `json:"reordered"` // they came after a newer one
}

func (s *Sequences) list() [4]*uint64 {
	return [4]*uint64{&s.Received, &s.Lost, &s.Duplicate, &s.Reordered}
}

// Clock is the slot clock.
type Clock struct {
	Slots   uint64        `json:"slots"`
	Skipped uint64        `json:"skipped"`
	Late    *Distribution `json:"late,omitempty"`
}

// Snapshot is what the watch has recorded so far, labelled with name. It does not stop recording;
// figures may differ by what was recorded meanwhile.
func (w *Watch) Snapshot(name string) *Snapshot {
	s := &Snapshot{Name: name, At: time.Now(), Messages: []Message{}, Parts: []Part{}}
	if w == nil {
		s.Started = s.At
		return s
	}
	s.Started = w.started
	for i := range w.messages {
		if m := w.messages[i].snapshot(); m != (Message{}) {
			m.ID = idAt(i)
			m.Name = messageName(m.ID)
			s.Messages = append(s.Messages, m)
		}
	}
	for i := range w.parts {
		if d := w.parts[i].Distribution(); d != nil {
			s.Parts = append(s.Parts, Part{partNames[i], d})
		}
	}
	s.ToPNF, s.ToVNF = w.sequences[ToPNF].figures(), w.sequences[ToVNF].figures()
	s.Clock = Clock{Slots: w.slots.Load(), Skipped: w.skipped.Load(), Late: w.late.Distribution()}
	return s
}

func messageName(id nfapi.MessageID) string {
	switch id {
	case 0:
		return "others"
	case OfSlot:
		return "slot"
	}
	return id.String()
}

func (f *figures) snapshot() Message {
	m := Message{Lead: f.lead.Distribution(), Waited: f.waited.Distribution(), ToPNF: f.transits[ToPNF].snapshot(), ToVNF: f.transits[ToVNF].snapshot(), Handled: f.handled.Distribution()}
	for v, n := range m.Counts.list() {
		*n = f.verdicts[v].Load()
	}
	for i, d := range m.Steps.list() {
		*d = f.steps[i].Distribution()
	}
	return m
}

func (t *transit) snapshot() *Transits {
	d := t.delay.Distribution()
	if d == nil {
		return nil
	}
	return &Transits{Delay: d, JitterNS: t.jitter.Load() >> 4}
}

// Duration is how long the snapshot is of.
func (s *Snapshot) Duration() time.Duration { return s.At.Sub(s.Started) }

// Message is the figures of a type of message, without any if it did not come.
func (s *Snapshot) Message(id nfapi.MessageID) *Message {
	for i := range s.Messages {
		if s.Messages[i].ID == id {
			return &s.Messages[i]
		}
	}
	return &Message{ID: id, Name: messageName(id)}
}

// StepTime is how long a step took for a type of message, or for a slot.
type StepTime struct {
	Step  Step
	Of    string
	Times *Distribution
}

// StepTimes are all that were timed, step by step.
func (s *Snapshot) StepTimes() []StepTime {
	var all []StepTime
	for step := range numSteps {
		for i := range s.Messages {
			if d := *s.Messages[i].Steps.list()[step]; d != nil {
				all = append(all, StepTime{step, s.Messages[i].Name, d})
			}
		}
	}
	return all
}

// part is the way of messages with a kind of PDU, nil if there were none.
func (s *Snapshot) part(name string) *Distribution {
	for _, p := range s.Parts {
		if p.Name == name {
			return p.Handled
		}
	}
	return nil
}

// Since is what s has more than an earlier snapshot of the same watch. Jitter is as it
// is in s.
func (s *Snapshot) Since(earlier *Snapshot) *Snapshot {
	d := combined(s, earlier, func(a, b uint64) uint64 { return a - min(a, b) }, (*Distribution).since)
	d.Name, d.Started, d.At = s.Name, earlier.At, s.At
	return d
}

// Merge is s with the figures of another watch: the other half of the same P7, or
// another PHY. Jitter is the larger one.
func (s *Snapshot) Merge(other *Snapshot) *Snapshot {
	d := combined(s, other, func(a, b uint64) uint64 { return a + b }, (*Distribution).Merge)
	d.Name, d.Started, d.At = s.Name, s.Started, s.At
	if other.Name != s.Name {
		d.Name = s.Name + ", " + other.Name
	}
	if other.Started.Before(d.Started) {
		d.Started = other.Started
	}
	if other.At.After(d.At) {
		d.At = other.At
	}
	for i := range d.Messages {
		m := &d.Messages[i]
		o := other.Message(m.ID)
		m.ToPNF.raise(o.ToPNF)
		m.ToVNF.raise(o.ToVNF)
	}
	return d
}

func (t *Transits) raise(other *Transits) {
	if t != nil && other != nil {
		t.JitterNS = max(t.JitterNS, other.JitterNS)
	}
}

type (
	ofCounts        func(a, b uint64) uint64
	ofDistributions func(a, b *Distribution) *Distribution
)

// combined is two snapshots as one, count by count and distribution by distribution.
func combined(a, b *Snapshot, counts ofCounts, distributions ofDistributions) *Snapshot {
	c := &Snapshot{Messages: []Message{}, Parts: []Part{}}
	for _, id := range idsOf(a, b) {
		m := combinedMessage(a.Message(id), b.Message(id), counts, distributions)
		c.Messages = append(c.Messages, m)
	}
	for _, name := range partNames {
		if d := distributions(a.part(name), b.part(name)); d != nil {
			c.Parts = append(c.Parts, Part{name, d})
		}
	}
	combineCounts(c.ToPNF.list(), a.ToPNF.list(), b.ToPNF.list(), counts)
	combineCounts(c.ToVNF.list(), a.ToVNF.list(), b.ToVNF.list(), counts)
	c.Clock = Clock{
		Slots: counts(a.Clock.Slots, b.Clock.Slots), Skipped: counts(a.Clock.Skipped, b.Clock.Skipped),
		Late: distributions(a.Clock.Late, b.Clock.Late),
	}
	return c
}

func combineCounts(to, a, b [4]*uint64, counts ofCounts) {
	for i := range to {
		*to[i] = counts(*a[i], *b[i])
	}
}

// idsOf is the messages of two snapshots, ascending, vendor extensions last but one.
func idsOf(a, b *Snapshot) []nfapi.MessageID {
	var ids []nfapi.MessageID
	for _, list := range [][]Message{a.Messages, b.Messages} {
		for i := range list {
			ids = append(ids, list[i].ID)
		}
	}
	slices.SortFunc(ids, func(a, b nfapi.MessageID) int { return cmp.Compare(indexOf(a), indexOf(b)) })
	return slices.Compact(ids)
}

func combinedMessage(a, b *Message, counts ofCounts, distributions ofDistributions) Message {
	m := Message{ID: a.ID, Name: a.Name, Lead: distributions(a.Lead, b.Lead), Waited: distributions(a.Waited, b.Waited), Handled: distributions(a.Handled, b.Handled)}
	x, y := a.Counts.list(), b.Counts.list()
	for i, n := range m.Counts.list() {
		*n = counts(*x[i], *y[i])
	}
	left, right := a.Steps.list(), b.Steps.list()
	for i, d := range m.Steps.list() {
		*d = distributions(*left[i], *right[i])
	}
	m.ToPNF, m.ToVNF = combinedTransits(a.ToPNF, b.ToPNF, distributions), combinedTransits(a.ToVNF, b.ToVNF, distributions)
	return m
}

func combinedTransits(a, b *Transits, distributions ofDistributions) *Transits {
	a, b = cmp.Or(a, &Transits{}), cmp.Or(b, &Transits{})
	d := distributions(a.Delay, b.Delay)
	if d == nil {
		return nil
	}
	return &Transits{Delay: d, JitterNS: cmp.Or(a.JitterNS, b.JitterNS)}
}
