package p4

import (
	"net/netip"
	"slices"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// What the pipeline does and what not: the latter is left to the stages, by key.

// can reports whether the pipeline does all that a rule asks for with packets of a key.
func (o *offload) can(r *stages.Rule, k datapath.Key) bool {
	_, limited := limitsOf(r)
	switch {
	case !limited:
		return false
	case r.SlowOnly, r.Ethernet != nil, r.Opaque, len(r.Copies) > 0, r.Marks != stages.Marks{}:
		return false
	case !quiet(r):
		return false
	case r.Action == api.Action_DROP:
		return !r.NotifyDiscarded && !r.CountsDropped()
	case r.Action != api.Action_FORW:
		return false
	case r.Outer != nil:
		return r.Outer.Local.IsValid() && !datapath.Has(o.endpoints, r.Outer.Peer)
	case !k.Local.IsValid(): // from one data network to another
		return false
	}
	p := o.n6.Policy(r.Way)
	return whole(&o.n6.Networks[o.n6.Of(r.Way)]) && (p == nil || p.DSCP < 0)
}

// quiet reports whether packets of a rule are only counted, and no limit is near: what the
// target counts is heard of a period later.
func quiet(r *stages.Rule) bool {
	direction := directionOf(r)
	for _, u := range r.URRs {
		if !u.Quiet(direction) {
			return false
		}
	}
	return true
}

func directionOf(r *stages.Rule) int {
	if r.Uplink {
		return stages.Uplink
	}
	return stages.Downlink
}

// left returns how many octets there may be by the rules before one of them reaches a limit.
func left(rules []*stages.Rule) uint64 {
	least := uint64(stages.NoLimit)
	for _, r := range rules {
		for _, u := range r.URRs {
			least = min(least, u.Left(directionOf(r)))
		}
	}
	return least
}

// about is what a key's entry says of all packets of the key, beside the PDR.
type about struct {
	uplink, check bool
	ue4           uint64
	ue6           uint64
}

// aboutOf returns what the rules have in common; ok: there is nothing else to be compared by
// the key's entry.
func aboutOf(rules []*stages.Rule, k datapath.Key) (a about, ok bool) {
	if !k.Local.IsValid() {
		return about{}, true // the key is the UE address
	}
	for i, r := range rules {
		one := about{uplink: r.Uplink}
		if r.UEIPv4.IsValid() {
			one.check, one.ue4 = true, word4(r.UEIPv4)
		}
		if r.UEIPv6.IsValid() {
			one.check = true
			one.ue6, _ = words6(r.UEIPv6.Addr())
		}
		if len(r.Routes) > 0 || i > 0 && one != a {
			return about{}, false
		}
		a = one
	}
	return a, true
}

// plain reports whether a rule matches all packets of its key that pass the key's entry.
func plain(r *stages.Rule) bool { return len(r.Filters) == 0 && r.QFIs == 0 && r.Network == 0 }

// header returns how many octets stand in front of the user packets of a key, as far as the
// rules let that be known. A peer that sends others shows it: see [offload.seen].
func header(rules []*stages.Rule, k datapath.Key, tag int) uint8 {
	size := inet.LenEthernet + tag
	if !k.Local.IsValid() {
		return uint8(size)
	}
	size += inet.LenIPv4 + inet.LenUDP + inet.LenGTPU
	if k.Local.Is6() {
		size += inet.LenIPv6 - inet.LenIPv4
	}
	if slices.ContainsFunc(rules, func(r *stages.Rule) bool { return r.QFI != 0 || r.QFIs != 0 }) {
		size += lenContainer
	}
	return uint8(size)
}

const (
	// lenContainer is a PDU Session Container with the fields in front of it.
	lenContainer = 8
)

// keyUpdate makes an update of a key's entry. act "": of one that goes.
func (o *offload) keyUpdate(a *arena, kind p4rt.Update_Type, k datapath.Key, act string, params ...uint64) *p4rt.Update {
	switch tables := o.schema.tables; {
	case k.Local.IsValid():
		return a.add(kind, tables[tableTunnels], []uint64{o.numberOf[k.Local], uint64(k.TEID)}, act, params...)
	case k.IPv4 != 0:
		return a.add(kind, tables[tableUEs4], []uint64{uint64(k.IPv4)}, act, params...)
	case k.IPv6 != 0:
		return a.add(kind, tables[tableUEs6], []uint64{k.IPv6}, act, params...)
	}
	name, key := routeEntry(k.Route)
	return update(kind, o.schema.entry(name, key, 0, act, params...))
}

// routeEntry is the table of a framed route and how it stands there.
func routeEntry(p netip.Prefix) (name string, key []match) {
	a := p.Masked().Addr()
	if a.Is4() {
		return tableFramed4, []match{{value: number(word4(a)), bits: p.Bits()}}
	}
	hi, _ := words6(a)
	return tableFramed6, []match{{value: number(hi), bits: p.Bits()}}
}

// versions reports which IP versions packets of a key have.
func versions(r *stages.Rule, k datapath.Key) (v4, v6 bool) {
	switch {
	case k.IPv4 != 0, k.Route.IsValid() && k.Route.Addr().Is4():
		return true, false
	case k.IPv6 != 0, k.Route.IsValid():
		return false, true
	case !r.UEIPv4.IsValid() && !r.UEIPv6.IsValid():
		return true, true
	}
	return r.UEIPv4.IsValid(), r.UEIPv6.IsValid()
}
