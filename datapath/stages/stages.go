// Package stages is the slow path of every datapath: one packet at a time, in Go. What a
// datapath cannot finish goes through [Stages] over its own tables.
//
// With tables of its own ([UPF]) it is a datapath for tests, with which the others agree octet for
// octet and counter for counter. Package conformance/oracle, which shares no code with it, judges
// all of them.
//
// A packet goes the way of every datapath; the stages are files:
//
//	parse    packet.go, inner.go   GTP-U header, user packet, ports
//	detect   detect.go, filter.go  the first PDR of the key that matches
//	forward  forward.go, relay.go  what the FAR asks for, and whether it can be done
//	enforce  enforce.go, meter.go  gates and MBRs of the QERs
//	measure  measure.go, urr.go    counters of the rule and of its URRs
//	emit     emit.go               outer header
//	bridge   ethernet.go bridge*.go frames of Ethernet PDU sessions, proxy*.go
//	buffer   buffer.go             BUFF: waits here until the FAR is FORW
//	N6       n6.go, nat.go, mss.go NAT and MSS, behind emit and before detect
//	own      own.go                behind emit, if the peer is the UPF itself: parse again
//
// A packet is tunnelled (it came as a G-PDU to one of our F-TEIDs) or bare (it
// came from N6, SGi or an N6-LAN). Uplink is what comes from Source Interface
// ACCESS, all else is downlink, whatever tunnels it comes and goes through.
//
// Source: TS 29.244 V18.6.0, 5.2.1A (detection), TS 29.281 V18.1.0 (GTP-U).
package stages

import (
	"net/netip"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// Rule is a PDR with the FAR, QERs and URRs that it names. A table replaces it
// whole; what it points to goes on from one Rule of the PDR to the next.
type Rule struct {
	SEID  uint64
	PDRID uint32

	// The PDI beside the key by which the rule was found.
	Uplink  bool           // Source Interface ACCESS: the UE is the source
	Network int            // data network that a bare packet comes from, from 1 on; 0: any
	UEIPv4  netip.Addr     // not valid: none
	UEIPv6  netip.Prefix   // /64; not valid: none
	Routes  []netip.Prefix // framed routes: addresses of the UE as well
	QFIs    uint64         // bit n is QFI n; 0: any
	Filters []Filter       // one has to match; none: any packet

	Bare     bool      // without F-TEID: packets come bare
	LAN      int       // number of the data network of Way, from 1 on
	Ethernet *Ethernet // of an Ethernet PDU session; nil: its packets are IP

	Action api.Action
	Notify bool // with BUFF: the first packet raises DOWNLINK_DATA
	// The first packet that is buffered raises DOWNLINK_BUFFERED, the first that is
	// dropped for want of room, or by DROP, DOWNLINK_DISCARDED.
	NotifyBuffered, NotifyDiscarded bool
	Incomplete                      bool // with DROP: what is to be done has not been said yet
	Spent                           bool // with DROP: a quota is used up

	BAR   *api.BAR // with BUFF; nil: none
	Outer *Outer   // with FORW: Outer Header Creation; nil: out bare
	Way   int      // with FORW, out bare: a way of [datapath.N6]
	QFI   byte     // of the first QER that has one; 0: none
	Marks Marks    // of downlink packets, beside the QFI

	// DropsContainer: no PDU Session Container leaves, whatever came and has a QFI.
	DropsContainer bool

	Opaque   bool             // of an unstructured PDU session: its T-PDUs are not parsed
	Unwrap   api.Unwrap       // bare: what is taken off
	Peers    []netip.AddrPort // unstructured: from whom it is taken
	Wrap     *Wrap            // with FORW: what is put around instead of Outer; nil: nothing
	Redirect *Redirect        // with FORW, uplink; nil: none
	Copies   []Copy           // with FORW: DUPL

	SlowOnly bool // no fast path does it: [datapath.SlowOnly]
	// FAR is the FAR of a rule that is SlowOnly, else nil: what only such rules have is not
	// compiled, but read from there.
	FAR *api.Forward

	Gate   bool // a QER closes it
	Limits []Limit
	URRs   []URR

	Counters *Counters
}

// Outer is an Outer Header Creation with GTP-U/UDP/IP.
// Source: TS 29.244 V18.6.0, 8.2.56.
type Outer struct {
	TEID     uint32
	Peer     netip.Addr
	Local    netip.Addr // source, of the same IP version as Peer
	DSCP     int        // -1: copied from the user packet
	ToAccess bool       // Destination Interface ACCESS: PDU type of the container
	// ToCP: Destination Interface CP_FUNCTION. Packets have no extension headers: the PDU
	// Session Container is N3's and N9's, and CP functions refuse it.
	// Source: TS 29.281 V18.1.0, 5.2.2.7.
	ToCP bool
}

// Counters is what was counted for a rule. Octets are those of user packets.
type Counters struct {
	Packets, Octets, Dropped uint64
}

// Total returns what was counted.
func (c *Counters) Total() datapath.Total {
	return datapath.Total{Packets: atomic.LoadUint64(&c.Packets), Octets: atomic.LoadUint64(&c.Octets), Dropped: atomic.LoadUint64(&c.Dropped)}
}

// Tables finds the rules of a key, in Precedence order, lowest value first.
// What it returns does not change.
type Tables interface {
	Candidates(k datapath.Key) []*Rule
	// Towards finds the rules that send into a tunnel, in any order.
	Towards(t gtpu.Tunnel) []*Rule
}

// Stages treats packets by the rules of Tables. Its methods may be called by
// several goroutines at once.
type Stages struct {
	Tables Tables
	Now    func() (ns uint64) // clock of the meters
	Post   func(e *api.Event) // takes events; nil: nobody does
	Links  Links              // nil: any packet fits, and nobody is told of others
	// Answers bounds what senders are told; nil: nothing.
	Answers   *Answers
	Advertise *RouterAdvertisement // nil: Router Solicitations are the CP function's
	Redirects *Redirects           // nil where Tables has no rule that redirects
	Names     *Names               // nil where Tables has no filter with a host
	Buffer    *Buffer              // for BUFF; nil where Tables has no such rule
	Bridge    *Bridge              // for Ethernet PDU sessions; nil where Tables has none
	N6        Networks             // zero value: packets leave and come as they are
	Hosts     Hosts                // nil: no user packet is to this host
	Endpoints []datapath.Endpoint  // own addresses: what leaves for there has arrived, see own.go

	datagrams datagrams
}

// Out is what becomes of a packet.
type Out struct {
	Reason datapath.Reason // ReasonNone: Packet is to be sent
	Packet []byte          // an IP packet in memory of its own
	Rule   *Rule           // that matched; nil: none
	Flow   uint32          // as in [Sent]
	// Others leave because of it, behind Packet: further fragments, and what its
	// sender is told.
	Others []Sent
	// Copies are those that the FAR asks for; Lost is how many could not be made:
	// DropCopy.
	Copies []Sent
	Lost   int
	// Bridged is what becomes of a frame to a group at other Ethernet PDU sessions.
	Bridged []Out
	Passes  int // as in [Sent]
}

// Tunnelled reports whether the packet leaves with an outer header, towards a
// GTP-U peer, and not bare.
func (o Out) Tunnelled() bool { return o.Reason == datapath.ReasonNone && o.Rule.Outer != nil }

// Tunnelled treats a GTP-U message to one of our addresses. Signalling is left to
// [Stages.Signal], with reason PassSignalling.
func (s *Stages) Tunnelled(d Datagram) Out {
	out := s.tunnelled(d.To.Addr(), d.Payload)
	if d.Passes > 0 {
		out.passed(d.Passes)
	}
	return out
}

func (s *Stages) tunnelled(local netip.Addr, message []byte) Out {
	h, tpdu, reason := parseGTPU(message)
	if reason != datapath.ReasonNone {
		return Out{Reason: reason}
	}
	candidates := s.Tables.Candidates(datapath.Key{TEID: h.TEID(), Local: local})
	if len(candidates) > 0 && candidates[0].Ethernet != nil {
		return s.etherTunnelled(h, tpdu, candidates)
	}
	if len(candidates) > 0 && candidates[0].Opaque {
		return s.opaque(candidates, h, tpdu)
	}
	u, reason := parseUser(tpdu)
	if reason != datapath.ReasonNone {
		return Out{Reason: reason}
	}
	r, reason := s.detect(candidates, h, u)
	own := s.own(candidates, h, u, r, reason)
	if reason == datapath.ReasonNone && r.refuses(h) {
		reason = datapath.DropGTPUExtType
	}
	if reason != datapath.ReasonNone {
		return Out{Reason: reason, Others: own}
	}
	out := s.treat(r, arrived{user: u, header: h})
	out.Others = append(out.Others, own...)
	return out
}

// opaque treats a T-PDU of an unstructured PDU session.
func (s *Stages) opaque(candidates []*Rule, h gtpu.Header, tpdu []byte) Out {
	r, reason := detectOpaque(candidates, func(r *Rule) bool { return r.matchQFI(h) })
	if reason == datapath.ReasonNone && r.refuses(h) {
		reason = datapath.DropGTPUExtType
	}
	if reason != datapath.ReasonNone {
		return Out{Reason: reason}
	}
	return s.treat(r, arrived{user: tpdu, header: h})
}

// Bare treats an IP packet that came without an outer header from the data
// network with this number, from 1 on.
func (s *Stages) Bare(network int, packet []byte) Out { return s.fromNetwork(network, packet, false) }

// Translated is Bare for a packet to which the NAT of the data network has given its
// UE's address already.
func (s *Stages) Translated(network int, packet []byte) Out {
	return s.fromNetwork(network, packet, true)
}

func (s *Stages) fromNetwork(network int, packet []byte, translated bool) Out {
	u, reason := parseUser(packet)
	if reason != datapath.ReasonNone {
		return Out{Reason: reason}
	}
	all, reason := s.arrive(network, u)
	if reason != datapath.ReasonNone {
		return Out{Reason: reason}
	}
	translated = translated || u.destination() != all[0].destination()
	out := s.bare(network, all[0], translated)
	for _, u := range all[1:] { // fragments that have waited for this one
		if o := s.bare(network, u, translated); o.Reason == datapath.ReasonNone {
			out.Others = append(append(out.Others, Sent{Packet: o.Packet, Outer: o.Rule.Outer, Way: o.Rule.Way, Flow: o.Flow}), o.Others...)
			out.Copies, out.Lost = append(out.Copies, o.Copies...), out.Lost+o.Lost
		}
	}
	return out
}

// reasonOfNobody is why a bare packet goes to no session: it may be the host's, but
// not if it came to an address of a NAT.
func reasonOfNobody(translated bool) datapath.Reason {
	if translated {
		return datapath.DropNATMapping
	}
	return datapath.PassHost
}

// bare is what becomes of one packet behind the NAT.
func (s *Stages) bare(network int, u user, translated bool) Out {
	candidates := s.towards(u.destination())
	if len(candidates) == 0 {
		return Out{Reason: reasonOfNobody(translated)}
	}
	candidates = fromNetwork(candidates, network)
	if len(candidates) == 0 {
		return Out{Reason: datapath.DropNetwork}
	}
	r, reason := s.detect(candidates, nil, u)
	if reason != datapath.ReasonNone {
		return Out{Reason: reason}
	}
	if r.Unwrap == api.Unwrap_UNWRAP_NONE && !translated && s.hides(network, u) {
		r.CountDropped()
		return Out{Reason: datapath.DropNATMapping, Rule: r}
	}
	if r.Unwrap != api.Unwrap_UNWRAP_NONE {
		if u, reason = r.unwrap(u); reason != datapath.ReasonNone {
			r.CountDropped()
			return Out{Reason: reason, Rule: r}
		}
	}
	return s.treat(r, arrived{user: u, network: network})
}

// arrived is a user packet and how it came.
type arrived struct {
	user    user
	header  gtpu.Header // nil: bare
	network int         // from which it came bare, from 1 on
}

// treat does what the rule asks for.
func (s *Stages) treat(r *Rule, a arrived) Out {
	reason := s.judge(r, a)
	switch {
	case reason == datapath.DropFAR, r.Spent && reason == datapath.DropQuota:
		s.notBuffered(r, a)
		return Out{Reason: reason, Rule: r}
	case reason != datapath.ReasonNone:
		r.CountDropped()
		return Out{Reason: reason, Rule: r, Others: s.tell(r, a, reason)}
	case r.Action == api.Action_BUFF:
		return Out{Reason: s.buffer(r, a), Rule: r}
	case r.bridges():
		return s.bridged(s.leave(r, a))
	}
	return s.leave(r, a)
}

// out is what becomes of a packet that leaves by r.
func (s *Stages) out(r *Rule, a arrived) Out {
	if r.departs(a) {
		return s.outBare(r, a)
	}
	sent := s.emit(r, a)
	copies, lost := s.copies(r, a)
	return Out{Packet: sent[0].Packet, Rule: r, Flow: sent[0].Flow, Others: sent[1:], Copies: copies, Lost: lost}
}

// judge says why a packet that matched is dropped; ReasonNone: it is not. One
// that is to be buffered is metered when it arrives, not when it leaves: it came
// at the rate at which it came.
func (s *Stages) judge(r *Rule, a arrived) datapath.Reason {
	if reason := s.forward(r, a); reason != datapath.ReasonNone {
		return reason
	}
	now := uint64(0)
	if len(r.Limits) > 0 {
		now = s.Now()
	}
	return s.Admit(r, len(a.user), now)
}

// Admit is what gates, quotas and meters say to a packet of so many octets that
// can be forwarded, at a time. It allocates nothing.
func (s *Stages) Admit(r *Rule, octets int, nowNs uint64) datapath.Reason {
	spent := r.spent() // by the packets before this one
	s.measureArrived(r, octets, spent)
	if reason := s.admit(r, spent); reason != datapath.ReasonNone {
		return reason
	}
	if len(r.Limits) == 0 {
		return datapath.ReasonNone
	}
	return enforce(r, octets, nowNs)
}

// allow is all of judge but the meters, for a packet that has arrived before.
func (s *Stages) allow(r *Rule, a arrived) datapath.Reason {
	if reason := s.forward(r, a); reason != datapath.ReasonNone {
		return reason
	}
	return s.admit(r, r.spent())
}
