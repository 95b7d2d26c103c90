// Package vector is the UPF in user space: the stages over vectors of packets,
// without an allocation for a packet. It is what the datapaths tun, tap and
// afxdp have in common; they bring packets in and out.
//
//	I/O of a worker ─► [Worker.Run]: parse ► detect ► forward ► enforce ► measure ► emit ─► I/O
//	                         └─ what is rare, in its turn ─► package model, over the same rules,
//	                            meters and counters
//
// Rules change between two vectors, never within one, and not before what a
// vector sends has been sent. So no packet is treated by half a rule, and an End
// Marker follows the last packet of the old tunnel.
package vector

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// MaxVector is how many packets a vector has at most.
const MaxVector = 256

// Headroom is how many octets of its buffer stand free before a packet that
// arrives, so that headers can be put in front of it where it is: Ethernet with a
// tag, IPv6, UDP, and GTP-U with a PDU Session Container.
const Headroom = 128

// Packet is a packet on its way, in a buffer of who read it. What counts of the
// buffer is Buf[Start:End]. It arrives as a GTP-U message (the payload of a UDP
// datagram, signalling too), as a bare IP packet, or as an Ethernet frame from an
// Ethernet data network, and leaves as one of them.
//
// A bare packet must not be shorter than Start says: what its IP header says of its
// length is looked at here, and what follows it is cut off.
type Packet struct {
	Buf        []byte
	Start, End int

	// How it came.
	Network int            // number of the data network from which it came bare, from 1 on; 0: a GTP-U message
	From    netip.AddrPort // of a GTP-U message: who sent it; IPv4 addresses are no IPv6 ones
	To      netip.Addr     // of a GTP-U message: our address
	Outside uint8          // of a GTP-U message: octets of the outer header in front of it; 0: somebody else took it off

	// How it leaves.
	Reason datapath.Reason // of one that came: what became of it; ReasonNone: it leaves, here or as others
	Outer  *stages.Outer   // to whom the GTP-U message goes, and from which address; nil: bare
	Source uint16          // with Outer: UDP source port that it should have: one for each flow of the user
	Port   uint16          // with Outer: UDP destination port
	DSCP   byte            // with Outer: of the outer header
	Flow   uint32          // the same for all packets of a user's flow, good bits first
	Way    int             // bare: a way of [datapath.N6]
	Frame  bool            // bare: an Ethernet frame of an Ethernet PDU session

	first *Packet // of one that goes through the stages again: the one that came, if that is another
}

// Octets returns what counts of the buffer.
func (p *Packet) Octets() []byte { return p.Buf[p.Start:p.End] }
