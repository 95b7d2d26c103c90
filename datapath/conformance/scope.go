package conformance

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
)

// Addresses that a router does not forward, and those beside them that it does.
var (
	confined4 = []string{
		"0.0.0.0", "0.255.255.255", "127.0.0.1", "127.255.255.255", "169.254.0.0", "169.254.255.255",
		"224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
	}
	forwarded4 = []string{"1.0.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "223.255.255.255"}
	confined6  = []string{
		"::", "::1", "::198.18.0.1", "fe80::7", "febf:ffff::1", "ff31::1", "ff02::1", "ff35::1", "ff0e::1",
	}
	forwarded6 = []string{"0:0:0:1::1", "64:ff9b::1", "fd00::1", "fe7f:ffff::1", "fec0::1"}
)

// scopeRows: what is not forwarded by its addresses, where the PDI does not look at
// the source. Source: RFC 1812, 5.3.7; RFC 3927, 2.7; RFC 4291, 2.5 and 2.7.
func scopeRows() []step {
	var all []packet
	add := func(u user, name string, forwarded bool) {
		p := packet{name: name, port: N3, in: onN3(gpdu(pscUL("00000004"), u)), seid: lte, pdr: 1, reason: datapath.DropScope}
		if forwarded {
			p.reason, p.octets, p.want = datapath.ReasonNone, uint64(len(u.bytes())), outN6(GatewayMAC, later(u))
		}
		all = append(all, p)
	}
	for _, v := range []struct {
		packet              user
		confined, forwarded []string
	}{{up4, confined4, forwarded4}, {up6, confined6, forwarded6}} {
		for _, forwarded := range []bool{false, true} {
			list := v.confined
			if forwarded {
				list = v.forwarded
			}
			for _, a := range list {
				add(from(v.packet, a), "from "+a, forwarded)
				add(to(v.packet, a), "to "+a, forwarded)
			}
		}
	}
	add(solicit(linkLocal, 255), "Router Solicitation: nobody knows the prefix", false)
	return rows(all...)
}

// scopeDownRows: the same from a data network, of which the source counts.
func scopeDownRows() []step {
	var all []packet
	for _, v := range []struct {
		packet              user
		confined, forwarded []string
	}{{down4, confined4, forwarded4}, {down6, confined6, forwarded6}} {
		for _, a := range v.confined {
			all = append(all, packet{
				name: fmt.Sprintf("downlink, from %s", a), port: N6, in: onN6(from(v.packet, a)), seid: plain, pdr: 2, reason: datapath.DropScope,
			})
		}
		for _, a := range v.forwarded {
			u := from(v.packet, a)
			all = append(all, fromN6("from "+a, u, later(u), outerPort(u), 0, uint64(len(u.bytes()))))
		}
	}
	return rows(all...)
}

// withReason is the row of a packet that is dropped for another reason.
func withReason(p packet, reason datapath.Reason) packet {
	p.reason = reason
	return p
}

var scopeScripts = []script{
	{"what routers do not forward", append([]step{install(sessions()[3])}, scopeRows()...)},
	{"what is the UPF's own", append([]step{install(sessions()[3]), install(relayedSession()), install(corpSession()), install(steeredSession())}, hostRows()...)},
	{"what routers do not forward, downlink", append([]step{install(plainSession())}, scopeDownRows()...)},
}

const portOwn9 = 0xd8c2 // ue9 and N6Address, ports 1000 and 9

// hostRows: user packets to this host itself, to whichever data network they were to go.
func hostRows() []step {
	var all []packet
	for _, a := range HostAddresses {
		u := up4
		if a.Is6() {
			u = up6
		}
		u = to(u, a.String())
		all = append(all, packet{name: fmt.Sprintf("to %v", a), port: N3, in: onN3(gpdu(pscUL("00000004"), u)), seid: lte, pdr: 1, reason: datapath.DropLocal})
		other := to(u, beside(a).String())
		all = append(all, packet{
			name: fmt.Sprintf("to %v, which looks like %v", beside(a), a), port: N3, in: onN3(gpdu(pscUL("00000004"), other)), seid: lte, pdr: 1,
			octets: uint64(len(u.bytes())), want: outN6(GatewayMAC, later(other)),
		})
	}
	own := to(up4, N3Address.String())
	return rows(append(all,
		packet{name: "TTL 1", port: N3, in: onN3(gpdu(pscUL("00000004"), ttl(own, 1))), seid: lte, pdr: 1, reason: datapath.DropTTL},
		packet{name: "too long, DF", port: N3, in: onN3(gpdu(pscUL("00000004"), df(size(own, 1501)))), seid: lte, pdr: 1, reason: datapath.DropLocal},
		packet{
			name: "the second data network", port: N3, in: onN3(gpdu(pscUL("00000060"), from(own, "10.45.0.50"))),
			seid: corporate, pdr: 1, reason: datapath.DropLocal,
		},
		packet{
			name: "a forwarding policy", port: N3, in: onN3(gpdu(pscUL("00000061"), from(own, "10.45.0.51"))),
			seid: steered, pdr: 1, reason: datapath.DropLocal,
		},
		packet{
			name: "a relay, which does not route", port: N3, in: onN3(gpdu("30ff LEN 00000030", to(up9, N6Address.String()))),
			want: outN9(portOwn9, gpdu("30ff LEN 00000130", to(up9, N6Address.String()))), seid: relayed, pdr: 1, octets: size4, urrs: []uint32{1},
		},
	)...)
}

// beside returns an address that no host here has and that has in common with a what a table of few
// bits knows of it: 12 bits of a product with one word, of IPv6 the sum of the second and
// the last.
func beside(a netip.Addr) netip.Addr {
	hash := func(a netip.Addr) uint32 {
		b := a.As16()
		word := binary.BigEndian.Uint32(b[12:])
		if a.Is6() {
			word ^= binary.BigEndian.Uint32(b[4:])
		}
		return word * 0x9e3779b1 >> 20
	}
	other := netip.MustParseAddr("198.18.0.1")
	if a.Is6() {
		other = netip.MustParseAddr("2001:db8:99::1")
	}
	for hash(other) != hash(a) {
		other = other.Next()
	}
	return other
}
