package nexthop

import (
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
)

// Buckets is among how many buckets the gateways of a route share its flows.
const Buckets = 64

// Bucket returns the bucket of a flow: a number whose best bits come first.
func Bucket(flow uint32) int { return int(flow >> 26 % Buckets) }

// Score is a fixed number for a gateway and a bucket, and is the highest of all for a share of the
// buckets proportional to the weight. Only buckets of a removed or added gateway therefore move.
//
// Source: Thaler, Ravishankar, Using name-based mappings to increase hit rates,
// IEEE/ACM Transactions on Networking 6 (1), 1998 (highest random weight).
func (g Gateway) Score(bucket int) float64 {
	a := g.Addr.As16()
	h := uint64(bucket) + 1
	for _, word := range []uint64{binary.BigEndian.Uint64(a[:]), binary.BigEndian.Uint64(a[8:])} {
		h ^= word
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9 // splitmix64
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	uniform := (float64(h>>11) + 0.5) / (1 << 53)
	return float64(max(g.Weight, 1)) / -math.Log(uniform)
}

// Defaults returns default routes through gateways, of each IP version that they
// have.
func Defaults(gateways []netip.Addr) []Route {
	var v4, v6 []Gateway
	for _, a := range gateways {
		if a.Is4() {
			v4 = append(v4, Gateway{Addr: a, Weight: 1})
		} else {
			v6 = append(v6, Gateway{Addr: a, Weight: 1})
		}
	}
	var routes []Route
	if v4 != nil {
		routes = append(routes, Route{Prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Gateways: v4})
	}
	if v6 != nil {
		routes = append(routes, Route{Prefix: netip.PrefixFrom(netip.IPv6Unspecified(), 0), Gateways: v6})
	}
	return routes
}

// Instead returns the kernel's routes with these gateways in place of its default
// routes, of each IP version of which there is any.
func Instead(gateways []netip.Addr, kernel []Route) []Route {
	set := Defaults(gateways)
	routes := slices.Clone(set)
	for _, r := range kernel {
		if !slices.ContainsFunc(set, func(d Route) bool { return d.Prefix == r.Prefix }) {
			routes = append(routes, r)
		}
	}
	return routes
}
