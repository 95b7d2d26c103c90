package stages

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// forward says whether what the FAR asks for can be done.
//
// TTL and Hop Limit count where the packet changes between a tunnel and a data
// network, which is where the UPF is a router. A relay from tunnel to tunnel (N9,
// S5/S8, indirect forwarding) is none: the T-PDU is carried, and the one who
// takes it out counts. So Router Solicitations, which must arrive with Hop Limit
// 255, reach whoever answers them.
//
// A router cuts what is too long for the next link, if it may, or drops it. A
// relay, which must not look, has the tunnel's packets fragmented outside.
//
// Source: TS 29.244 V18.6.0, 8.2.26; RFC 2003, 3.1; RFC 4861, 4.1; RFC 1812,
// 4.2.2.7 (fragmentation), 5.3.7 (martian addresses).
func (s *Stages) forward(r *Rule, a arrived) datapath.Reason {
	switch {
	case r.Action == api.Action_DROP:
		return r.Refusal()
	case r.Action != api.Action_FORW:
		return datapath.ReasonNone
	case r.Ethernet != nil:
		return s.forwardFrame(r, a)
	case r.routes(a) && *a.user.ttl() <= 1:
		return datapath.DropTTL
	case r.routes(a) && !a.user.isForwarded():
		return datapath.DropScope
	case r.departs(a) && r.Redirect == nil && s.Hosts != nil && s.Hosts.Has(a.user.destination()):
		return datapath.DropLocal
	case r.routes(a) && len(a.user) > s.limit(r, a) && !a.user.mayFragment():
		return datapath.DropMTU
	case r.Outer != nil && r.outerSize(a) > maxPacket:
		return datapath.DropMTU
	case r.Wrap != nil && !s.local(r.Wrap).IsValid():
		return datapath.DropNextHop
	}
	return s.admitN6(r, a)
}

// Refusal is why a packet is dropped whose FAR neither forwards nor buffers.
func (r *Rule) Refusal() datapath.Reason {
	switch {
	case r.Spent:
		return datapath.DropQuota
	case r.Incomplete:
		return datapath.DropIncomplete
	}
	return datapath.DropFAR
}

// isForwarded reports whether a router forwards u, by its addresses. The UPF routes no
// multicast.
func (u user) isForwarded() bool { return isForwarded(u.source()) && isForwarded(u.destination()) }

// isForwarded reports whether a router forwards packets from and to a: not of this
// network, the host, one link, many, or reserved. Source: RFC 1812, 5.3.7; RFC 3927,
// 2.7; RFC 4291, 2.5 and 2.7.
func isForwarded(a netip.Addr) bool {
	if a.Is6() && ueKey(a).IPv6 == 0 {
		return false // ::/64: unspecified, loopback, and IPv4 addresses
	}
	return isHost(a) && !a.IsLinkLocalUnicast()
}

// routes reports whether a is an IP packet that comes out of a GTP-U tunnel or goes
// into one, but not both.
func (r *Rule) routes(a arrived) bool { return !r.Opaque && (a.header != nil) != (r.Outer != nil) }
