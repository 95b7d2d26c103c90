package scheduler_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/bearer"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
	"github.com/plumbline-upf/plumbline/ran/radio/rrc"
	"github.com/plumbline-upf/plumbline/ran/radio/scheduler"
)

// air is a PHY, its UEs and the split between them and a scheduler, as simple as can
// be: no time, no memory kept for later use, and messages of each kind are lost as told.
type air struct {
	rrc     *rrc.Config
	formats *dci.Formats
	mac     *scheduler.Scheduler
	ahead   int
	now     slot.Number
	random  *rand.Rand

	loss       map[fapi.Have]float64
	tickLoss   float64
	crcFailure [2]float64 // downlink, uplink
	repetition float64    // of an indication, up to repeatedSlots later

	pending map[slot.Number]*fapi.Requests
	heard   *fapi.Indications
	repeats map[slot.Number][]*fapi.Indications
	ues     []*airUE
	problem error // what a PHY or UE must not be told
	seen    map[string]int
}

type airUE struct {
	radio.UE
	index    int
	bearer   *bearer.Bearer
	fresh    bool // it sent a preamble, and was told nothing yet
	sentAt   slot.Number
	downlink [radio.MaxHARQ]airProcess
	uplink   [radio.MaxHARQ]airProcess
	acks     map[slot.Number]map[int]bool // by slot of the PUCCH and bit
	grants   map[slot.Number]*dci.Uplink
	received []uint32 // numbers of packets
}

type airProcess struct {
	used, done bool
	ndi        uint8
	size       int
	tb         []byte
}

// isNew reports whether a DCI is for a new transport block. One of another size is: the
// gNB has given up a block between, of which no DCI came, and NDI is as it was.
func (p *airProcess) isNew(ndi uint8, size int) bool {
	if p.used && p.ndi == ndi && p.size == size {
		return false
	}
	p.used, p.ndi, p.size, p.done = true, ndi, size, false
	return true
}

func newAir(c radio.Config, ahead int, seed uint64, core radio.Core) (*air, error) {
	mac, err := scheduler.New(c, core, scheduler.Options{})
	if err != nil {
		return nil, err
	}
	r, err := rrc.New(&c)
	if err != nil {
		return nil, err
	}
	a := &air{
		rrc: r, formats: dci.New(r.Grid), mac: mac, ahead: ahead, random: rand.New(rand.NewPCG(seed, 1)),
		loss: map[fapi.Have]float64{}, pending: map[slot.Number]*fapi.Requests{}, heard: &fapi.Indications{},
		repeats: map[slot.Number][]*fapi.Indications{}, seen: map[string]int{},
	}
	for i, u := range c.UEs {
		ue := &airUE{UE: u, index: i}
		if err := a.begin(ue, &c); err != nil {
			return nil, err
		}
		a.ues = append(a.ues, ue)
	}
	mac.Start()
	return a, nil
}

// repeatedSlots is how much later an indication may come again: 50 ms.
const repeatedSlots = 100

func (a *air) begin(u *airUE, c *radio.Config) error {
	var err error
	down, up := a.rrc.Bound()
	u.bearer, err = bearer.New(bearer.Config{Mode: c.RLC, Numerology: c.Numerology, UE: true, Downlink: down, Uplink: up}, func(_ uint8, packet []byte) {
		u.received = append(u.received, number(packet))
	})
	u.acks, u.grants = map[slot.Number]map[int]bool{}, map[slot.Number]*dci.Uplink{}
	return err
}

func (a *air) fail(format string, args ...any) {
	if a.problem == nil {
		a.problem = fmt.Errorf("slot %d: "+format, append([]any{a.now}, args...)...)
	}
}

// lost draws lots for a message.
func (a *air) lost(h fapi.Have) bool { return a.random.Float64() < a.loss[h] }

// tick is what happens at the start of a slot.
func (a *air) tick() {
	mu := a.rrc.Numerology
	a.indicate()
	if a.random.Float64() >= a.tickLoss {
		r := &fapi.Requests{}
		r.Reset(mu, mu.Add(a.now, a.ahead))
		a.mac.Schedule(r)
		for _, h := range []fapi.Have{fapi.DLTTI, fapi.TXData, fapi.ULTTI, fapi.ULDCI} {
			if r.Have&h != 0 && a.lost(h) {
				r.Have &^= h
			}
		}
		a.pending[r.At] = r
	}
	a.heard = &fapi.Indications{}
	a.heard.Reset(mu, a.now)
	r := a.pending[a.now]
	delete(a.pending, a.now)
	if r == nil {
		r = &fapi.Requests{}
		r.Reset(mu, a.now)
	}
	a.uplink(r)
	a.downlink(r)
	for _, u := range a.ues {
		u.bearer.Tick(a.now)
		delete(u.acks, a.now)
		delete(u.grants, a.now)
	}
	a.now = mu.Add(a.now, 1)
}

// indicate tells of the slot before, one message at a time.
func (a *air) indicate() {
	for _, h := range []fapi.Have{fapi.RACH, fapi.UCI, fapi.CRC, fapi.RXData} {
		if a.heard.Have&h != 0 && !a.lost(h) {
			one := *a.heard
			one.Have = h
			a.mac.Indicate(&one)
			if a.random.Float64() < a.repetition {
				n := a.rrc.Numerology.Add(a.now, 1+a.random.IntN(repeatedSlots))
				a.repeats[n] = append(a.repeats[n], &one)
			}
		}
	}
	for _, i := range a.repeats[a.now] {
		a.mac.Indicate(i)
	}
	delete(a.repeats, a.now)
}

func (a *air) ue(rnti uint16) *airUE {
	for _, u := range a.ues {
		if u.RNTI == rnti {
			return u
		}
	}
	a.fail("rnti %#x is no UE's", rnti)
	return nil
}

// downlink is DL_TTI with TX_DATA, and UL_DCI.
func (a *air) downlink(r *fapi.Requests) {
	at := a.rrc.Slot(r.At)
	if r.Have&fapi.DLTTI != 0 {
		a.checkPDSCH(r)
		for i := range r.DLTTI.PDUs {
			p := &r.DLTTI.PDUs[i]
			a.seen[[]string{"PDCCH", "PDSCH", "CSI-RS", "SSB"}[p.Type]]++
			if p.Type != 0 {
				continue
			}
			for j := range p.PDCCH.DCIs {
				d := &p.PDCCH.DCIs[j]
				m, err := a.formats.Downlink(d)
				if err != nil || m.Symbols != at.PDSCH || m.K1 != at.K1 {
					a.fail("assignment %+v, %v, of a slot with %+v", m, err, at)
					continue
				}
				a.assignment(r, a.ue(d.RNTI), &m)
			}
		}
	}
	if r.Have&fapi.ULDCI != 0 {
		for i := range r.ULDCI.PDUs {
			for j := range r.ULDCI.PDUs[i].PDCCH.DCIs {
				d := &r.ULDCI.PDUs[i].PDCCH.DCIs[j]
				m, err := a.formats.Uplink(d)
				n := a.rrc.Numerology.Add(r.At, m.K2)
				if err != nil || a.rrc.Slot(n).PUSCH.Length == 0 {
					a.fail("grant %+v, %v, for slot %d", m, err, n)
					continue
				}
				u := a.ue(d.RNTI)
				if u.grants[n] != nil {
					a.fail("a second grant for slot %d", n)
				}
				a.seen["grant"]++
				u.grants[n], u.fresh = &m, false
			}
		}
	}
}

// assignment is a DCI that a UE has read.
func (a *air) assignment(r *fapi.Requests, u *airUE, m *dci.Downlink) {
	u.fresh = false
	p := &u.downlink[m.HARQ]
	p.isNew(m.NDI, a.rrc.Allocation(m.Symbols, m.PRBs, m.MCS).TransportBlock())
	n := a.rrc.Numerology.Add(r.At, m.K1)
	if u.acks[n] == nil {
		u.acks[n] = map[int]bool{}
	}
	defer func() { u.acks[n][a.rrc.Bit(n, r.At)] = p.done }()
	tb := a.payload(r, u, m)
	if tb == nil || p.done || a.random.Float64() < a.crcFailure[0] {
		return
	}
	p.done = true
	if _, err := u.bearer.Receive(tb); err != nil {
		a.fail("transport block: %v", err)
	}
}

// payload is the transport block of an assignment; nil if TX_DATA was lost.
func (a *air) payload(r *fapi.Requests, u *airUE, m *dci.Downlink) []byte {
	size := a.rrc.Allocation(m.Symbols, m.PRBs, m.MCS).TransportBlock()
	for i := range r.DLTTI.PDUs {
		p := &r.DLTTI.PDUs[i].PDSCH
		if r.DLTTI.PDUs[i].Type != 1 || p.RNTI != u.RNTI {
			continue
		}
		if int(p.TBSize[0]) != size || int(p.RBSize) != m.PRBs || int(p.RBStart) != m.PRBStart || p.RVIndex[0] != m.RV {
			a.fail("PDSCH %+v of assignment %+v, whose size is %d", p, m, size)
		}
		if r.Have&fapi.TXData == 0 {
			return nil
		}
		for _, d := range r.TXData.PDUs {
			if d.PDUIndex == p.PDUIndex {
				if len(d.TLVs) != 1 || len(d.TLVs[0].Payload) != size {
					a.fail("TX_DATA of a PDSCH of %d octets: %d TLVs", size, len(d.TLVs))
				}
				return d.TLVs[0].Payload
			}
		}
	}
	a.fail("assignment %+v without PDSCH or TX_DATA", m)
	return nil
}

// checkPDSCH: no PRB is used twice, and each UE has one PDSCH at most.
func (a *air) checkPDSCH(r *fapi.Requests) {
	var taken [275]bool
	rntis := map[uint16]bool{}
	for i := range r.DLTTI.PDUs {
		if r.DLTTI.PDUs[i].Type != 1 {
			continue
		}
		p := &r.DLTTI.PDUs[i].PDSCH
		a.take(taken[:a.rrc.PRBs], p.RBStart, p.RBSize)
		if rntis[p.RNTI] {
			a.fail("two PDSCHs of %#x", p.RNTI)
		}
		rntis[p.RNTI] = true
	}
}

func (a *air) take(taken []bool, start, size uint16) {
	for prb := int(start); prb < int(start)+int(size); prb++ {
		if prb >= len(taken) || taken[prb] {
			a.fail("PRB %d of %d is used twice, or is not one", prb, len(taken))
			return
		}
		taken[prb] = true
	}
}
