package ue

import (
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
	"github.com/plumbline-upf/plumbline/ran/radio/grid"
)

// grant is a PUSCH that is to be sent.
type grant struct {
	dci.Uplink
	given bool
	fresh bool // for a new transport block
	at    slot.Number
	size  int
}

// sender is a HARQ process of the uplink.
type sender struct {
	used   bool
	ndi    uint8
	size   int // that was granted last
	sent   slot.Number
	block  []byte // nil: none
	memory []byte
}

// Transmission is a PUSCH on the air.
type Transmission struct {
	HARQ, MCS      uint8
	PRBStart, PRBs int
	Symbols        grid.Symbols
	Block          []byte // it stays until the process has another one
}

// Grant is a DCI of format 0_1 for this UE, in slot n.
func (u *UE) Grant(n slot.Number, d *nfapi.DCI) {
	m, err := u.formats.Uplink(d)
	if err != nil {
		u.countings.badDCIs.Add(1)
		return
	}
	at := u.Cell.Numerology.Add(n, m.K2)
	size := u.Cell.Allocation(u.Cell.Slot(at).PUSCH, m.PRBs, m.MCS).TransportBlock()
	g := &u.grants[at%ringSlots]
	if size == 0 || m.K2 <= 0 || m.K2 >= ringSlots || g.given && g.at == at || !u.answered() {
		u.countings.ignoredDCIs.Add(1)
		return
	}
	u.countings.grants.Add(1)
	u.forget(g)
	p := &u.senders[m.HARQ]
	*g = grant{Uplink: m, given: true, at: at, size: size, fresh: !p.used || p.ndi != m.NDI || p.size != size}
	p.used, p.ndi, p.size = true, m.NDI, size
	if g.fresh {
		u.fresh++
		u.patience = u.patienceSlots()
	}
}

// forget takes a grant back, if it was given.
func (u *UE) forget(g *grant) {
	if g.given && g.fresh {
		u.fresh--
	}
	g.given = false
}

func (u *UE) patienceSlots() int { return retxBSR << u.Cell.Numerology }

// Prepare decides what the UE sends in slot n, which is the next one: a transport block
// if it has a grant, a scheduling request if it needs one and n has an occasion.
func (u *UE) Prepare(n slot.Number) {
	u.sending.Block, u.requests = nil, false
	if u.state != attached {
		return
	}
	u.status()
	if g := &u.grants[n%ringSlots]; g.given && g.at == n {
		u.forget(g)
		u.send(g)
	}
	if u.unserved && u.fresh == 0 && u.Cell.SR(n) {
		u.requests = true
		u.countings.requests.Add(1)
	}
}

// status triggers a buffer status report if there are data and were none, or if
// nothing has come of the last one. Source: TS 38.321 V18, 5.4.5.
func (u *UE) status() {
	if u.patience > 0 {
		u.patience--
	}
	if u.bearer.Buffered() == 0 {
		u.hadData, u.unserved = false, false
		return
	}
	if !u.hadData || u.patience == 0 {
		u.unserved = true
	}
	u.hadData = true
}

// send makes the transmission of a grant.
func (u *UE) send(g *grant) {
	p := &u.senders[g.HARQ]
	if g.fresh {
		if p.block != nil && g.at == u.Cell.Numerology.Add(p.sent, 1) {
			u.countings.ignoredDCIs.Add(1) // its last one is still on the air
			return
		}
		p.block = p.memory[:g.size]
		u.bearer.Fill(p.block)
		u.countings.upBlocks.Add(1)
		u.countings.upBlockOctets.Add(uint64(g.size))
		u.unserved, u.hadData = false, u.bearer.Buffered() > 0
		u.signalRoom()
	} else {
		u.countings.upAgain.Add(1)
	}
	if len(p.block) != g.size {
		u.countings.ignoredDCIs.Add(1) // this block was created for another size
		return
	}
	p.sent = g.at
	u.sending = Transmission{
		HARQ: g.HARQ, MCS: g.MCS, PRBStart: g.PRBStart, PRBs: g.PRBs,
		Symbols: u.Cell.Slot(g.at).PUSCH, Block: p.block,
	}
}

// Transmission is the PUSCH that the UE sends in the slot that was prepared; nil: none.
func (u *UE) Transmission() *Transmission {
	if u.sending.Block == nil {
		return nil
	}
	return &u.sending
}

// Requests reports whether the UE sends a scheduling request in the slot that was
// prepared.
func (u *UE) Requests() bool { return u.requests }

// Send queues a packet for the uplink, copied. It may be called by any goroutine.
// False: there is no room.
func (u *UE) Send(packet []byte) bool {
	if !u.bearer.Send(u.UE.QFI, packet) {
		return false
	}
	u.countings.upPackets.Add(1)
	u.countings.upOctets.Add(uint64(len(packet)))
	return true
}

func (u *UE) signalRoom() {
	select {
	case u.room <- struct{}{}:
	default:
	}
}

// WaitRoom waits until something was sent, and there may be room for a packet; at most
// until the timer has run out.
func (u *UE) WaitRoom(limit *time.Timer) (ok bool) {
	select {
	case <-u.room:
		return true
	case <-limit.C:
		return false
	}
}
