package stages

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// A FAR may send into a tunnel that ends at the UPF itself: one process is SGW-U and
// PGW-U of a UE, or I-UPF and PSA, and the tunnel is S5/S8-U or N9 between two of its
// sessions. No link carries such a packet. It goes on as what it would be after one: a
// G-PDU that has come from Outer.Local to Outer.Peer, whose F-TEID finds the rule. Both
// sessions have counted it, each by its own rules. An End Marker or Error Indication
// to an own address is treated likewise.
//
// Whoever sends what the stages return asks [Stages.Again] first.

// IsOwn reports whether what leaves through o, which may be nil, comes back to us.
func (s *Stages) IsOwn(o *Outer) bool { return o != nil && datapath.Has(s.Endpoints, o.Peer) }

// Again returns the message that a packet is which leaves for an F-TEID of our own: it
// is to be treated now, and not sent. Nil: it is to be sent. With a reason it has been
// through too many of them: it is dropped.
func (s *Stages) Again(p Sent) (*Datagram, datapath.Reason) {
	if !s.IsOwn(p.Outer) {
		return nil, datapath.ReasonNone
	}
	u := user(p.Packet)
	at := inet.LenIPv4
	if u.isIPv6() {
		at = inet.LenIPv6
	}
	d := &Datagram{
		From:    netip.AddrPortFrom(p.Outer.Local, binary.BigEndian.Uint16(u[at:])),
		To:      netip.AddrPortFrom(p.Outer.Peer, gtpu.Port),
		Payload: u[at+inet.LenUDP:], Passes: p.Passes,
	}
	return d, d.Pass()
}

// Pass counts one pass more, or says why there is none.
func (d *Datagram) Pass() datapath.Reason {
	if d.Passes >= datapath.MaxPasses {
		return datapath.DropLoop
	}
	d.Passes++
	return datapath.ReasonNone
}

// passed notes of all that becomes of a packet through how many own F-TEIDs it has come.
func (o *Out) passed(n int) {
	o.Passes = n
	for _, sent := range [][]Sent{o.Others, o.Copies} {
		for i := range sent {
			sent[i].Passes = n
		}
	}
	for i := range o.Bridged {
		o.Bridged[i].passed(n)
	}
}

// comesBack reports whether something of o goes to an F-TEID of our own.
func (s *Stages) comesBack(o Out) bool {
	own := func(p Sent) bool { return s.IsOwn(p.Outer) }
	return own(o.Sent()) || slices.ContainsFunc(o.Others, own) || slices.ContainsFunc(o.Copies, own)
}

// Sent is the packet itself on its way out; zero: it is not sent.
func (o Out) Sent() Sent {
	if o.Reason != datapath.ReasonNone {
		return Sent{}
	}
	return Sent{
		Packet: o.Packet, Outer: o.Rule.Outer, Way: o.Rule.Way, Flow: o.Flow,
		Ethernet: o.Rule.Ethernet != nil, Passes: o.Passes,
	}
}
