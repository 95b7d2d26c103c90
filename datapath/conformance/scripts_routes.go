package conformance

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// routed is the common session of a UE behind which there are networks.
func routed(seid uint64, teid uint32, ue netip.Addr, routes ...string) *api.Session {
	return change(session(seid, teid, ue), func(s *api.Session) {
		for _, r := range s.Rules {
			for _, route := range routes {
				r.Detect.FramedRoutes = append(r.Detect.FramedRoutes, prefix(route))
			}
		}
	})
}

// toRoute is a downlink packet to an address behind the UE, and fromRoute an
// uplink one from there.
func toRoute(address string, seid uint64, peerTEID string) packet {
	u := user{src: far, dst: netip.MustParseAddr(address), ttl: 64, port: 1000, payload: 32}
	octets := uint64(size4)
	if u.dst.Is6() {
		u.src, octets = far6, size6
	}
	return packet{
		port: N6, in: onN6(u), want: outN3(GNBAddress, GNBMAC, outerPort(u), 0, gpdu(pscDL(peerTEID), hop(u))),
		seid: seid, pdr: 2, octets: octets, either: true,
	}
}

func fromRoute(address string, seid uint64, teid string) packet {
	u := user{src: netip.MustParseAddr(address), dst: far, ttl: 64, port: 1000, payload: 32}
	octets := uint64(size4)
	if u.src.Is6() {
		u.dst, octets = far6, size6
	}
	return packet{
		port: N3, in: onN3(gpdu(pscUL(teid), u)), want: outN6(GatewayMAC, hop(u)), seid: seid, pdr: 1, octets: octets, either: true,
	}
}

// notRouted is a packet to an address that nobody has, and spoofed one from it.
func notRouted(address string) packet {
	p := toRoute(address, 0, "00000101")
	p.want, p.octets, p.reason = nil, 0, datapath.PassHost
	return p
}

func spoofed(address, teid string) packet {
	p := fromRoute(address, 0, teid)
	p.want, p.octets, p.reason = nil, 0, datapath.DropUEAddress
	return p
}

var routeScripts = []script{
	{"framed routes are addresses of the UE, both ways", []step{
		install(routed(1, 1, ue1, "192.168.4.0/22", "2001:db8:77::/56", "172.16.0.9/32", "2001:db8:78:9::/64")),
		frames(1, eitherWay(downRow)), frames(1, eitherWay(upRow)),
		frames(1, toRoute("192.168.4.0", 1, "00000101")), frames(1, toRoute("192.168.7.255", 1, "00000101")),
		frames(1, notRouted("192.168.8.0")), frames(1, notRouted("192.168.3.255")),
		frames(1, toRoute("2001:db8:77:ff::1", 1, "00000101")), frames(1, notRouted("2001:db8:77:100::1")),
		frames(1, toRoute("172.16.0.9", 1, "00000101")), frames(1, notRouted("172.16.0.8")),
		frames(1, toRoute("2001:db8:78:9::ffff", 1, "00000101")), frames(1, notRouted("2001:db8:78:8::1")),
		frames(1, fromRoute("192.168.5.6", 1, "00000001")), frames(1, fromRoute("2001:db8:77:1::1", 1, "00000001")),
		frames(1, fromRoute("172.16.0.9", 1, "00000001")),
		frames(1, spoofed("192.168.8.0", "00000001")), frames(1, spoofed("2001:db8:77:100::1", "00000001")), frames(1, spoofed("172.16.0.8", "00000001")),
	}},
	{"host bits of a framed route do not matter", []step{
		install(routed(1, 1, ue1, "192.168.4.77/22")),
		frames(1, toRoute("192.168.7.1", 1, "00000101")), frames(1, fromRoute("192.168.5.6", 1, "00000001")),
	}},
	{"of two sessions' framed routes the longer one is taken", []step{
		install(routed(1, 1, ue1, "192.168.0.0/16", "2001:db8:70::/44")),
		install(routed(2, 2, ue2, "192.168.9.0/24", "2001:db8:77::/48")),
		frames(1, toRoute("192.168.8.1", 1, "00000101")), frames(1, toRoute("192.168.9.1", 2, "00000102")), frames(1, toRoute("192.168.10.1", 1, "00000101")),
		frames(1, toRoute("2001:db8:76::1", 1, "00000101")), frames(1, toRoute("2001:db8:77::1", 2, "00000102")),
		frames(1, spoofed("192.168.8.1", "00000002")), frames(1, fromRoute("192.168.9.1", 1, "00000001")),
		remove(2), frames(1, toRoute("192.168.9.1", 1, "00000101")),
		remove(1), frames(1, notRouted("192.168.9.1")),
	}},
	{"a UE address lies in the framed route of another session", []step{
		install(routed(1, 1, ue1, "10.45.0.0/16")), install(session(2, 2, ue2)),
		frames(1, toRoute("10.45.0.2", 2, "00000102")), frames(1, toRoute("10.45.0.3", 1, "00000101")),
	}},
	{"another session's framed route is refused and nothing changes", []step{
		install(routed(1, 1, ue1, "192.168.4.0/22")),
		refuse(routed(2, 2, ue2, "192.168.5.0/22"), datapath.ErrClash, pdrRule, 2),
		refuse(change(session(2, 2, ue1), func(*api.Session) {}), datapath.ErrClash, pdrRule, 2),
		frames(1, toRoute("192.168.5.1", 1, "00000101")),
	}},
	{"a framed route as long as an address clashes with that address", []step{
		install(session(1, 1, ue1)), refuse(routed(2, 2, ue2, "10.45.0.1/32"), datapath.ErrClash, pdrRule, 2),
		install(routed(2, 2, ue2, "10.45.0.3/32")), refuse(session(3, 3, netip.MustParseAddr("10.45.0.3")), datapath.ErrClash, pdrRule, 2),
	}},
	{"the longest framed route finds the session, Precedence the PDR", []step{
		install(change(routed(1, 1, ue1, "192.168.9.0/24"), func(s *api.Session) {
			wide := downlink(3, 10, 0x103, ue1, func(r *api.Rule) {
				r.Detect.UeAddress, r.QerIds = nil, []uint32{1}
				r.Detect.FramedRoutes = []*api.Prefix{prefix("192.168.0.0/16")}
				r.Detect.Filters = []*api.Filter{{Remote: prefix("198.18.0.0/24")}}
			})
			s.Rules = append([]*api.Rule{wide}, s.Rules...)
		})),
		frames(1, viaPDR3(toRoute("192.168.1.1", 1, "00000103"))), frames(1, viaPDR3(toRoute("192.168.9.1", 1, "00000103"))),
		frames(1, toRoute("10.45.0.1", 1, "00000101")),
	}},
	{"framed routes alone, without a UE address", []step{
		install(change(routed(1, 1, ue1, "192.168.4.0/22"), func(s *api.Session) {
			s.Rules[0].Detect.UeAddress, s.Rules[1].Detect.UeAddress = nil, nil
		})),
		frames(1, toRoute("192.168.4.1", 1, "00000101")), frames(1, fromRoute("192.168.4.1", 1, "00000001")),
		frames(1, downUnknown), frames(1, spoofed("10.45.0.1", "00000001")),
	}},
	{"framed routes change", []step{
		install(routed(1, 1, ue1, "192.168.4.0/24", "192.168.5.0/24")), frames(1, toRoute("192.168.4.1", 1, "00000101")),
		install(routed(1, 1, ue1, "192.168.5.0/24", "192.168.6.0/23")),
		frames(1, notRouted("192.168.4.1")), frames(1, spoofed("192.168.4.1", "00000001")),
		frames(1, toRoute("192.168.5.1", 1, "00000101")), frames(1, toRoute("192.168.7.1", 1, "00000101")), frames(1, fromRoute("192.168.7.1", 1, "00000001")),
		counted(1, 2, counters{3, 3 * size4, 0}),
		install(session(1, 1, ue1)), frames(1, notRouted("192.168.5.1")), frames(1, eitherWay(downRow)),
	}},
}

func viaPDR3(p packet) packet {
	p.pdr = 3
	return p
}
