package afxdp

import (
	"iter"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath/nexthop"
)

// routes are the lookup form of the routes of a way: rebuilt when the kernel's change, or a gateway
// is resolved or lost.
type routes struct {
	levels4, levels6 []level // the longest prefixes first
}

// level is all routes of one prefix length.
type level struct {
	bits     int
	byPrefix map[netip.Addr]*route
	only     *route // of the default route, which needs no look-up
}

// route is where packets to a prefix go.
type route struct {
	mtu    int // octets of IP packet; 0: that of the device
	onlink bool
	hops   [nexthop.Buckets]*hop
}

// newRoutes makes the table of routes; hopOf returns the hop of a gateway.
func newRoutes(all []nexthop.Route, hopOf func(netip.Addr) *hop) *routes {
	r := &routes{}
	for i := range all {
		levels := &r.levels6
		if all[i].Prefix.Addr().Is4() {
			levels = &r.levels4
		}
		made := newRoute(&all[i], hopOf)
		l := levelOf(levels, all[i].Prefix.Bits())
		l.byPrefix[all[i].Prefix.Masked().Addr()] = made
		if l.bits == 0 {
			l.only = made
		}
	}
	return r
}

// levelOf returns the level of a prefix length, which it adds in its place.
func levelOf(levels *[]level, bits int) *level {
	i := slices.IndexFunc(*levels, func(l level) bool { return l.bits <= bits })
	if i < 0 {
		i = len(*levels)
	}
	if i == len(*levels) || (*levels)[i].bits != bits {
		*levels = slices.Insert(*levels, i, level{bits: bits, byPrefix: map[netip.Addr]*route{}})
	}
	return &(*levels)[i]
}

// newRoute shares the flows of a route among the gateways that are resolved; while
// none is, all go to the first one, which is not known to fail.
func newRoute(r *nexthop.Route, hopOf func(netip.Addr) *hop) *route {
	made := &route{mtu: r.MTU, onlink: len(r.Gateways) == 0}
	if made.onlink {
		return made
	}
	hops := make([]*hop, len(r.Gateways))
	for i, g := range r.Gateways {
		hops[i] = hopOf(g.Addr)
	}
	for b := range made.hops {
		best := -1.0
		made.hops[b] = hops[0]
		for i, g := range r.Gateways {
			if s := g.Score(b); hops[i].mac.Load() != 0 && s > best {
				best, made.hops[b] = s, hops[i]
			}
		}
	}
	return made
}

// all yields all of them.
func (r *routes) all() iter.Seq2[netip.Prefix, *route] {
	return func(yield func(netip.Prefix, *route) bool) {
		for _, levels := range [...][]level{r.levels4, r.levels6} {
			for i := range levels {
				for a, one := range levels[i].byPrefix {
					if !yield(netip.PrefixFrom(a, levels[i].bits), one) {
						return
					}
				}
			}
		}
	}
}

// single reports whether all flows go to one neighbour.
func (r *route) single() bool {
	for _, h := range r.hops {
		if h != r.hops[0] {
			return false
		}
	}
	return true
}

// find returns the route to an address, or nil.
func (r *routes) find(to netip.Addr) *route {
	levels := r.levels6
	if to.Is4() {
		levels = r.levels4
	}
	for i := range levels {
		l := &levels[i]
		if l.only != nil {
			return l.only
		}
		p, err := to.Prefix(l.bits)
		if err != nil {
			return nil
		}
		if found := l.byPrefix[p.Addr()]; found != nil {
			return found
		}
	}
	return nil
}
