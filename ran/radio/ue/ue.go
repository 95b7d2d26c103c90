// Package ue is a UE above its radio: it reads DCIs, keeps HARQ processes, requests uplink by
// scheduling requests and buffer status reports, and has a bearer that ends in a TUN device.
//
//	PDCCH ─► Control ─┬─ 1_1: what to expect ─► Receive ─ HARQ ─ held until the slot
//	                  │                                          has ended ─► bearer ─► TUN
//	                  └─ 0_1: grants by slot ─► Prepare ─ HARQ ◄─ bearer ◄─ TUN
//	PUCCH ◄─ Feedback (a bit for each PDSCH), Requests (SR)
//	PRACH ◄─ Preamble, until a DCI answers
//
// A UE transmits and receives only as scheduled, and gets no feedback about its transmissions:
// [plumbline/radio/phy] is the air between it and the gNB.
//
// Time is given in slots. Downlink data reaches the UE at the end of its slot; uplink data is
// decided one slot before.
//
// Source: TS 38.321 V18, 5.3.2, 5.4.1, 5.4.2 (HARQ), 5.4.4, 5.4.5 (SR, BSR), 5.1
// (random access; without contention, and answered by any DCI).
package ue

import (
	"errors"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/bearer"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
	"github.com/plumbline-upf/plumbline/ran/radio/grid"
	"github.com/plumbline-upf/plumbline/ran/radio/rrc"
)

// ErrConfig is wrapped by every error about what a configuration says.
var ErrConfig = errors.New("ue: configuration")

// ringSlots is the number of slots for which a UE keeps its DCIs, a power of two that divides an
// SFN cycle and is above k1 and k2.
const ringSlots = 64

// retxBSR is how long a UE waits for a grant that its buffer status report asked for,
// in ms. Source: TS 38.331 V18, BSR-Config, retxBSR-Timer sf10.
const retxBSR = 10

// attachment is how far a UE has come.
type attachment uint8

const (
	off attachment = iota
	searching
	waiting // for a DCI that answers its preamble
	attached
)

// Config is a UE.
type Config struct {
	Cell  *rrc.Config
	UE    radio.UE
	Index int // in the cell's configuration
	// RLC is the mode of its bearer: um or am.
	RLC string
	// Deliver takes a packet of the downlink, which stays until Flush has returned.
	// Flush is called when no more come with this transport block.
	Deliver func(qfi uint8, packet []byte)
	Flush   func()
}

// UE is a UE. Its methods are called by one goroutine, except [UE.Send], [UE.WaitRoom]
// and [UE.Stats].
type UE struct {
	Config
	formats *dci.Formats
	bearer  *bearer.Bearer
	state   attachment

	// Downlink.
	expected  expectation
	receivers [radio.MaxHARQ]receiver
	feedback  [ringSlots]feedback
	block     []byte // what was received in the slot that has not ended
	memory    []byte // of block
	delivered bool   // packets since the last flush

	// Uplink.
	grants    [ringSlots]grant
	fresh     int // grants for new data that are still to come
	senders   [radio.MaxHARQ]sender
	sending   Transmission
	requests  bool // sends a scheduling request in the slot that is prepared
	unserved  bool // a buffer status report is triggered
	hadData   bool
	patience  int // slots until the buffer status is reported again
	room      chan struct{}
	countings counters
}

// New makes a UE that is switched off.
//
// Errors: those of [bearer.New].
func New(c Config) (*UE, error) {
	if c.Deliver == nil {
		c.Deliver, c.Flush = func(uint8, []byte) {}, func() {}
	}
	u := &UE{Config: c, formats: dci.New(c.Cell.Grid), room: make(chan struct{}, 1)}
	var err error
	down, up := c.Cell.Bound()
	end := bearer.Config{Mode: c.RLC, Numerology: c.Cell.Numerology, UE: true, Downlink: down, Uplink: up}
	if u.bearer, err = bearer.New(end, u.deliver); err != nil {
		return nil, err
	}
	var most int
	for n := range slot.Number(c.Cell.Numerology.PerFrame()) {
		s := c.Cell.Slot(n)
		most = max(most, c.largest(s.PDSCH), c.largest(s.PUSCH))
	}
	u.memory = make([]byte, most)
	for i := range u.senders {
		u.senders[i].memory = make([]byte, most)
	}
	return u, nil
}

// largest is the most octets of a transport block in such symbols.
func (c *Config) largest(s grid.Symbols) (octets int) {
	for mcs := range uint8(32) {
		octets = max(octets, c.Cell.Allocation(s, c.Cell.PRBs, mcs).TransportBlock())
	}
	return octets
}

// Start switches the UE on: it looks for an occasion to send its preamble.
func (u *UE) Start() {
	u.reset()
	u.state = searching
}

// Stop switches it off. What was to be sent is lost.
func (u *UE) Stop() {
	u.reset()
	u.state = off
}

// reset forgets everything of before: HARQ, grants, bearer.
func (u *UE) reset() {
	u.bearer.Reset()
	u.expected.assigned = false
	u.block = nil
	u.fresh, u.requests, u.unserved, u.hadData, u.patience = 0, false, false, false, 0
	u.sending.Block = nil
	for i := range u.receivers {
		u.receivers[i] = receiver{}
	}
	for i := range u.senders {
		u.senders[i].used, u.senders[i].block = false, nil
	}
	for i := range ringSlots {
		u.feedback[i].due, u.grants[i].given = false, false
	}
}

// Attached reports whether a DCI has answered the UE's preamble.
func (u *UE) Attached() bool { return u.state == attached }

// Begin is the start of slot n: what was received in the slot before goes up.
func (u *UE) Begin(n slot.Number) {
	if u.state == off {
		return
	}
	u.expected.assigned = false
	u.feedback[u.Cell.Numerology.Add(n, -1)%ringSlots].due = false // slots come round
	u.bearer.Tick(n)
	u.flush()
	if u.block == nil {
		return
	}
	if _, err := u.bearer.Receive(u.block); err != nil {
		u.countings.malformed.Add(1)
	}
	u.flush()
	u.block = nil
}

// flush has the packets written that were delivered: they stay only until the bearer is
// called again.
func (u *UE) flush() {
	if u.delivered {
		u.delivered = false
		u.Flush()
	}
}

// Preamble reports whether the UE sends its preamble in slot n. Everything of before
// is then forgotten, as it is at the gNB.
func (u *UE) Preamble(n slot.Number) bool {
	if u.state != searching && u.state != waiting || !u.Cell.PRACH(n) {
		return false
	}
	u.reset()
	u.state = waiting
	u.countings.preambles.Add(1)
	return true
}

// answered is called for each DCI that the UE could read. It reports whether the UE executes it.
func (u *UE) answered() bool {
	if u.state == waiting {
		u.state = attached
	}
	return u.state == attached
}

func (u *UE) deliver(qfi uint8, packet []byte) {
	u.countings.downPackets.Add(1)
	u.countings.downOctets.Add(uint64(len(packet)))
	u.delivered = true
	u.Deliver(qfi, packet)
}
