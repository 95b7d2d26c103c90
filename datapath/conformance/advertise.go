package conformance

import (
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// Advertise is what a UPF under test tells UEs that solicit a router.
var Advertise = stages.RouterAdvertisement{
	Lifetime: 9000 * time.Second, MTU: 1400, Other: true,
	DNS: []netip.Addr{netip.MustParseAddr("2001:db8:53::1"), netip.MustParseAddr("2001:db8:53::2")},
}

var (
	linkLocal  = netip.MustParseAddr("fe80::7")
	allRouters = netip.MustParseAddr("ff02::2")
	nobody     = netip.IPv6Unspecified()
)

// nd is a message of Neighbour Discovery with its Hop Limit.
func nd(src, dst netip.Addr, hopLimit uint8, tos uint8, icmpType uint8, body gopacket.SerializableLayer) user {
	ip := &layers.IPv6{
		Version: 6, HopLimit: hopLimit, TrafficClass: tos, NextHeader: layers.IPProtocolICMPv6, SrcIP: src.AsSlice(), DstIP: dst.AsSlice(),
	}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(icmpType, 0)}
	must(icmp.SetNetworkLayerForChecksum(ip))
	return user{raw: serialize(ip, icmp, body)}
}

func solicit(src netip.Addr, hopLimit uint8) user {
	return nd(src, allRouters, hopLimit, 0, layers.ICMPv6TypeRouterSolicitation, &layers.ICMPv6RouterSolicitation{})
}

// advertised is the Router Advertisement with these prefixes.
func advertised(to netip.Addr, prefixes ...string) user {
	var options layers.ICMPv6Options
	for _, p := range prefixes {
		// 64 bits, A but not L, valid and preferred for ever.
		options = append(options, layers.ICMPv6Option{
			Type: layers.ICMPv6OptPrefixInfo,
			Data: append(octets("40 40 ffffffff ffffffff 00000000"), netip.MustParseAddr(p).AsSlice()...),
		})
	}
	options = append(options,
		layers.ICMPv6Option{Type: layers.ICMPv6OptMTU, Data: octets("0000 00000578")},
		layers.ICMPv6Option{Type: 25, Data: octets("0000 00002328 20010db8005300000000000000000001 20010db8005300000000000000000002")})
	slices.Reverse(options) // gopacket writes the last one first
	return nd(stages.RouterLinkLocal, to, 255, 0xc0, layers.ICMPv6TypeRouterAdvertisement, &layers.ICMPv6RouterAdvertisement{
		HopLimit: 64, Flags: 0x40, RouterLifetime: 9000, Options: options,
	})
}

func neighbourSolicitation(src, dst, target netip.Addr) user {
	return nd(src, dst, 255, 0, layers.ICMPv6TypeNeighborSolicitation, &layers.ICMPv6NeighborSolicitation{
		TargetAddress: net.IP(target.AsSlice()),
	})
}

func neighbourAdvertisement(to netip.Addr, flags uint8) user {
	return nd(stages.RouterLinkLocal, to, 255, 0xc0, layers.ICMPv6TypeNeighborAdvertisement, &layers.ICMPv6NeighborAdvertisement{
		Flags: flags, TargetAddress: net.IP(stages.RouterLinkLocal.AsSlice()),
	})
}

// Source ports of the UPF's answers from its link-local address.
const (
	portFromRouter = 0xdda0 // to any link-local address
)

// asks is a row of a UE that asks on its link.
func asks(name, teid string, reason datapath.Reason, u user, sent ...[]byte) packet {
	return packet{name: name, port: N3, in: onN3(gpdu(pscUL(teid), u)), reason: reason, sent: sent}
}

func advertiseRows() []step {
	const no = datapath.DropUEAddress
	answer := func(u user) []byte { return toUE(portFromRouter, u.bytes()) }
	target := stages.RouterLinkLocal
	group := netip.MustParseAddr("ff02::1:ff75:7066")
	return rows(
		asks("Router Solicitation", "00000001", no, solicit(linkLocal, 255), answer(advertised(linkLocal, "2001:db8:45:1::"))),
		asks("Router Solicitation from nobody", "00000001", no, solicit(nobody, 255),
			answer(advertised(netip.MustParseAddr("ff02::1"), "2001:db8:45:1::"))),
		asks("Router Solicitation from another link", "00000001", no, solicit(linkLocal, 254)),
		asks("Router Solicitation with a wrong checksum", "00000001", no, header(solicit(linkLocal, 255), func(b []byte) []byte {
			b[42]++
			return b
		})),
		asks("Router Solicitation, cut", "00000001", no, header(solicit(linkLocal, 255), func(b []byte) []byte {
			b[5]--
			return cut(b, 1)
		})),
		asks("Neighbour Solicitation of the router", "00000001", no, neighbourSolicitation(linkLocal, group, target),
			answer(neighbourAdvertisement(linkLocal, 0xe0))),
		asks("somebody tries the router's address", "00000001", no, neighbourSolicitation(nobody, group, target),
			answer(neighbourAdvertisement(netip.MustParseAddr("ff02::1"), 0xa0))),
		asks("Neighbour Solicitation of another", "00000001", no, neighbourSolicitation(linkLocal, group, linkLocal)),
		asks("link-local source of anything else", "00000001", no, from(to(up6, "2001:db8:99::1"), "fe80::7")),
		asks("a session without prefix", "00000002", no, solicit(linkLocal, 255)),
	)
}

// multihomed has two prefixes on one F-TEID: its uplink PDRs go by the source.
func multihomed() *api.Session {
	s := plainSession()
	second := plainSession()
	p := ipv6Prefix(netip.MustParseAddr("2001:db8:45:2::"))
	for i, r := range second.Rules {
		r.PdrId, r.FarId, r.Detect.UeAddress = uint32(i+3), uint32(i+3), &api.UEAddress{Ipv6Prefix: p}
		s.Rules = append(s.Rules, r)
	}
	s.Rules[2].Forward = &api.Forward{
		Action: api.Action_FORW, DestinationInterface: api.Interface_CORE, NetworkInstance: "n9", OuterHeaderCreation: tunnel(0x140, PeerAddress),
	}
	return s
}

const portSecond = 0xf5a7 // of the second prefix to far6

func multihomedRows() []step {
	second := from(up6, "2001:db8:45:2::7")
	return rows(
		packet{
			name: "the first prefix goes out here", port: N3, in: onN3(gpdu(pscUL("00000001"), up6)), want: outN6(GatewayMAC, up6x),
			seid: plain, pdr: 1, octets: size6,
		},
		packet{
			name: "the second goes to another anchor", port: N3, in: onN3(gpdu(pscUL("00000001"), second)),
			want: outN9(portSecond, gpdu("34ff LEN 00000140 0000 00 85 01 10 09 00", second)), seid: plain, pdr: 3, octets: size6,
		},
		asks("both are advertised", "00000001", datapath.DropUEAddress, solicit(linkLocal, 255),
			toUE(portFromRouter, advertised(linkLocal, "2001:db8:45:1::", "2001:db8:45:2::").bytes())),
	)
}

var advertiseScripts = []script{
	{"a UE solicits its router", append([]step{install(plainSession()), install(sessions()[1])}, advertiseRows()...)},
	{"a UE with two prefixes", append([]step{install(multihomed())}, multihomedRows()...)},
}
