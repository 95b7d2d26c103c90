package conformance

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// replaceSteps: packets of the UE to far go to host at another port, and those that come
// from there come as from far, as an SMF asks for that moves an application to another
// server.
func replaceSteps(host, far, ue netip.Addr, to, from *api.Replacement, downPort uint16) []step {
	up := func(name string, in, out user) packet {
		return packet{
			name: name, port: N3, in: onN3(gpdu(pscUL("00000001"), in)), want: outN6(GatewayMAC, out),
			seid: plain, pdr: 1, octets: uint64(len(in.bytes())), slow: true,
		}
	}
	down := func(name string, in, out user, port uint16) packet {
		return packet{
			name: name, port: N6, in: onN6(in), want: outN3(GNBAddress, GNBMAC, port, 0, gpdu(pscDL("00000101"), out)),
			seid: plain, pdr: 2, octets: uint64(len(in.bytes())), slow: true,
		}
	}
	s := change(plainSession(), func(s *api.Session) { s.Rules[0].Forward.Replacement, s.Rules[1].Forward.Replacement = to, from })
	all := []packet{
		up("UDP", udp(ue, far, 1000, 9, 64), udp(ue, host, 1000, 8009, 63)),
		up("TCP", syn(ue, far, 64, 1000, 9, 1400), syn(ue, host, 63, 1000, 8009, 1400)),
		down("UDP", udp(host, ue, 8009, 1000, 64), udp(far, ue, 9, 1000, 63), downPort),
	}
	if ue.Is4() {
		later := func(u user) user { return flags(u, 0, 4) }
		all = append(all, up("a later fragment, by its addresses", later(udp(ue, far, 1000, 9, 64)), header(later(udp(ue, far, 1000, 9, 63)), toward(host))))
	}
	return append([]step{install(s)}, rows(all...)...)
}

var replacementScripts = []script{
	{"IPv4 address and port replaced", replaceSteps(host, far, ue1,
		&api.Replacement{DestinationIpv4: ipv4(host), DestinationPort: 8009}, &api.Replacement{SourceIpv4: ipv4(far), SourcePort: 9},
		outerPort(udp(far, ue1, 9, 1000, 63)))},
	{"IPv6 address and port replaced", replaceSteps(host6, far6, ue16,
		&api.Replacement{DestinationIpv6: host6.AsSlice(), DestinationPort: 8009}, &api.Replacement{SourceIpv6: far6.AsSlice(), SourcePort: 9},
		outerPort(udp(far6, ue16, 9, 1000, 63)))},
	{"address replaced by that of the UPF", append([]step{install(change(plainSession(), func(s *api.Session) {
		s.Rules[0].Forward.Replacement = &api.Replacement{DestinationIpv4: ipv4(N6Address)}
	}))}, rows(packet{
		name: "up", port: N3, in: onN3(gpdu(pscUL("00000001"), udp(ue1, far, 1000, 9, 64))), reason: datapath.DropLocal, seid: plain, pdr: 1,
	})...)},
	refusal("address replaced and redirected", datapath.ErrUnsupported, farRule, 1, func(s *api.Session) {
		s.Rules[0].Forward.Redirect, s.Rules[0].Forward.Replacement = &api.Redirect{Url: portalURL}, &api.Replacement{DestinationPort: 1}
	}),
}
