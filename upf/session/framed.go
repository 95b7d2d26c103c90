package session

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
)

// ParseFramedRoute reads a Framed-Route or Framed-IPv6-Route: a prefix, and then a
// gateway and metrics, which mean nothing here, as all of it goes through the UE.
// An IPv4 address without length has that of its class, as RFC 2865 wants it.
//
//	10.60.0.0/16 0.0.0.0 1
//	2001:db8:60::/48 :: 1
//
// Source: TS 29.244 V18.6.0, 8.2.109 and 8.2.111; RFC 2865, 5.22; RFC 3162, 2.5.
func ParseFramedRoute(text []byte) (netip.Prefix, error) {
	words := bytes.Fields(text)
	if len(words) == 0 {
		return netip.Prefix{}, fmt.Errorf("framed route %q: %w", text, ErrIncomplete)
	}
	if len(words) > 1 {
		if gateway, err := netip.ParseAddr(string(words[1])); err != nil || gateway.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("framed route %.80q: gateway %q: %w", text, words[1], ErrUnsupported)
		}
	}
	to := string(words[0])
	if a, err := netip.ParseAddr(to); err == nil && a.Is4() {
		return netip.PrefixFrom(a, classBits(a)).Masked(), nil
	}
	p, err := netip.ParsePrefix(to)
	if err != nil || p.Addr().Is4In6() || p.Bits() == 0 {
		return netip.Prefix{}, fmt.Errorf("framed route %.80q: prefix %q: %w", text, to, ErrUnsupported)
	}
	return p.Masked(), nil
}

// classBits is the length of the network of an address by its class.
// Source: RFC 791, 3.2.
func classBits(a netip.Addr) int {
	switch first := a.As4()[0]; {
	case first < 128:
		return 8
	case first < 192:
		return 16
	default:
		return 24
	}
}

// framedResources appends what prefixes need. One that is as long as an address of
// a UE is the same as that.
func framedResources(list []resource, prefixes []netip.Prefix) []resource {
	for _, p := range prefixes {
		a := p.Addr()
		r := resource{kind: resourceFramedIPv4, bits: uint8(p.Bits())}
		if a.Is4() {
			if r.value = ipv4Number(a.As4()); r.bits == 32 {
				r = resource{kind: resourceUEIPv4, value: r.value}
			}
		} else {
			r.kind = resourceFramedIPv6
			if r.value, r.low = ipv6Numbers(a.As16()); r.bits == 64 {
				r = resource{kind: resourceUEIPv6, value: r.value}
			}
		}
		list = add(list, r)
	}
	return list
}

// prefix is a UE IPv4 address or a framed route as a prefix.
func (r resource) prefix() netip.Prefix {
	if r.kind == resourceFramedIPv6 {
		return netip.PrefixFrom(netip.AddrFrom16(numbersIPv6(r.value, r.low)), int(r.bits))
	}
	var a IPv4
	binary.BigEndian.PutUint32(a[:], uint32(r.value))
	return netip.PrefixFrom(netip.AddrFrom4(a), int(r.bits))
}
