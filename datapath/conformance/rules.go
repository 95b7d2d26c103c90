package conformance

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// uplink and downlink are the rules of the common session with one change.
func uplink(pdr, precedence, teid uint32, ue netip.Addr, f func(r *api.Rule)) *api.Rule {
	r := session(1, teid, ue).Rules[0]
	r.PdrId, r.FarId, r.Precedence, r.QerIds = pdr, pdr, precedence, nil
	f(r)
	return r
}

func downlink(pdr, precedence, peerTEID uint32, ue netip.Addr, f func(r *api.Rule)) *api.Rule {
	r := session(1, peerTEID-0x100, ue).Rules[1]
	r.PdrId, r.FarId, r.Precedence, r.QerIds = pdr, pdr, precedence, nil
	f(r)
	return r
}

// relay takes packets out of tunnel teid at local, whose Source Interface is
// source, and puts them into tunnel peer, which is in the network instance.
func relay(pdr, teid uint32, local netip.Addr, source, destination api.Interface, instance string, peer *api.OuterHeaderCreation) *api.Rule {
	return &api.Rule{
		PdrId: pdr, Precedence: 255, FarId: pdr, OuterHeaderRemoval: true,
		Detect: &api.Detect{SourceInterface: source, FTeid: &api.FTEID{Teid: teid, Ipv4: ipv4(local)}},
		Forward: &api.Forward{
			Action: api.Action_FORW, DestinationInterface: destination, NetworkInstance: instance, OuterHeaderCreation: peer,
		},
	}
}

func tunnel(teid uint32, peer netip.Addr) *api.OuterHeaderCreation {
	if peer.Is6() {
		return &api.OuterHeaderCreation{Teid: teid, Ipv6: peer.AsSlice()}
	}
	return &api.OuterHeaderCreation{Teid: teid, Ipv4: ipv4(peer)}
}

// endsOf are the End Markers of tunnels into which nothing goes any more.
func endsOf(tunnels ...*api.OuterHeaderCreation) (m []*api.EndMarker) {
	for _, t := range tunnels {
		m = append(m, &api.EndMarker{Tunnel: t})
	}
	return m
}

// protocol is a filter for a protocol.
func protocol(number uint32) *api.Filter { return &api.Filter{Protocol: &number} }

func prefix(s string) *api.Prefix {
	p := netip.MustParsePrefix(s)
	return &api.Prefix{Address: p.Addr().AsSlice(), Bits: uint32(p.Bits())}
}

func ports(first, last uint32) []*api.PortRange { return []*api.PortRange{{First: first, Last: last}} }
