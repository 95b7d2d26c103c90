package n4

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// ueAddress converts UE IP Addresses. The first IPv4 address and the first IPv6
// prefix of 64 bits are the UE's address, given or to be chosen; all others are
// prefixes beside it. It reports whether all of that is possible: what is to be
// chosen is one of each IP version, and 64 bits long.
//
// IPv6D says how many bits shorter than 64 a delegated prefix is; IP6PL how long
// one is. Source: TS 29.244 V18.6.0, 8.2.62.
func ueAddress(out *session.UEAddress, choose *session.ChooseUE, framed *[]netip.Prefix, list []pfcp.UEIPAddress) bool {
	good := true
	for i := range list {
		a := &list[i]
		if a.CHV4 {
			good = good && !choose.V4 && out.IPv4 == session.IPv4{}
			choose.V4 = true
		}
		if a.CHV6 {
			good = good && !choose.V6 && out.IPv6Prefix == session.IPv6Prefix{} && prefixBits(a) == 64
			choose.V6 = true
		}
		if a.IPv4.IsValid() {
			if octets := a.IPv4.As4(); out.IPv4 == (session.IPv4{}) && !choose.V4 {
				out.IPv4 = octets
			} else if out.IPv4 != octets {
				*framed = append(*framed, netip.PrefixFrom(a.IPv4, 32))
			}
		}
		if a.IPv6.IsValid() {
			good = ueIPv6(out, choose, framed, netip.PrefixFrom(a.IPv6, prefixBits(a)).Masked()) && good
		}
	}
	return good
}

// ueIPv6 takes an IPv6 prefix. It reports whether there is such a one.
func ueIPv6(out *session.UEAddress, choose *session.ChooseUE, framed *[]netip.Prefix, p netip.Prefix) bool {
	if p.Bits() <= 0 {
		return false
	}
	octets := p.Addr().As16()
	prefix := session.IPv6Prefix(octets[:8])
	switch {
	case p.Bits() != 64, out.IPv6Prefix != session.IPv6Prefix{} && out.IPv6Prefix != prefix, choose.V6:
		*framed = append(*framed, p)
	default:
		out.IPv6Prefix = prefix
	}
	return true
}

// prefixBits is how long the IPv6 prefix of a UE is.
func prefixBits(a *pfcp.UEIPAddress) int {
	switch {
	case a.IPv6Delegate.Value != 0:
		return 64 - int(a.IPv6Delegate.Value)
	case a.IPv6Length.Present:
		return int(a.IPv6Length.Value)
	}
	return 64
}

func hasFramedRoutes(f *pfcp.FramedRoutes) bool {
	return len(f.IPv4)+len(f.IPv6) > 0 || f.Routing.Present
}

// framedRoutes appends the prefixes of framed routes. Errors: why one cannot be
// done, with its IE. Framed-Routing may only say that no routing protocol is spoken.
// Source: TS 29.244 V18.6.0, 8.2.109 to 8.2.111; RFC 2865, 5.10.
func framedRoutes(list *[]netip.Prefix, f *pfcp.FramedRoutes) (pfcp.IEType, error) {
	for _, from := range [...]struct {
		ie    pfcp.IEType
		texts [][]byte
	}{{pfcp.IEFramedRoute, f.IPv4}, {pfcp.IEFramedIPv6Route, f.IPv6}} {
		for _, text := range from.texts {
			p, err := session.ParseFramedRoute(text)
			if err == nil && p.Addr().Is4() != (from.ie == pfcp.IEFramedRoute) {
				err = session.ErrUnsupported
			}
			if err != nil {
				return from.ie, err
			}
			*list = append(*list, p)
		}
	}
	if f.Routing.Value != 0 {
		return pfcp.IEFramedRouting, session.ErrUnsupported
	}
	return 0, nil
}

// ethernetFilter converts an Ethernet Packet Filter. One of an ID alone refers to
// the bidirectional one of another PDR.
// Source: TS 29.244 V18.6.0, 7.5.2.2-3.
func ethernetFilter(f *pfcp.EthernetPacketFilter) (session.EthernetFilter, error) {
	out := session.EthernetFilter{
		ID: optional(f.FilterID), Bidirectional: f.Properties&pfcp.EthernetBIDE != 0, Ethertype: f.Ethertype.Value,
		CTAG: tag(f.CTAG), STAG: tag(f.STAG),
	}
	for i := range f.MACAddresses {
		m := &f.MACAddresses[i]
		out.MACs = append(out.MACs, session.MACs{
			Source: mac(m.Source), Destination: mac(m.Destination),
			UpperSource: mac(m.UpperSource), UpperDestination: mac(m.UpperDestination),
		})
	}
	for i := range f.SDFFilters {
		var sdf session.SDFFilter
		if err := sdfFilter(&sdf, &f.SDFFilters[i]); err != nil {
			return out, err
		}
		if sdf.Reference {
			return out, session.ErrUnsupported // an SDF Filter ID alone
		}
		out.Filters = append(out.Filters, sdf)
	}
	says := len(out.MACs) > 0 || f.Ethertype.Present || f.CTAG.Present || f.STAG.Present || len(out.Filters) > 0
	if !says && !f.FilterID.Present {
		return out, session.ErrIncomplete
	}
	out.Reference = !says
	return out, nil
}

func mac(m pfcp.Optional[pfcp.MAC]) session.Optional[session.MAC] {
	return session.Optional[session.MAC]{Value: session.MAC(m.Value), Present: m.Present}
}

func tag(t pfcp.Optional[pfcp.VLANTag]) session.Optional[session.VLANTag] {
	v := t.Value
	return session.Optional[session.VLANTag]{Present: t.Present, Value: session.VLANTag{
		VID: optional(v.VID), PCP: optional(v.PCP), DEI: optional(v.DEI),
	}}
}
