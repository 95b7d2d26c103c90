package xdp

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// slowTables reads rules as the programs do. The driver's lock is held, so no
// rule is being changed.
type slowTables struct{ *Driver }

// Candidates implements [stages.Tables].
func (t slowTables) Candidates(k datapath.Key) []*stages.Rule {
	key := placeOf(0, k)
	if k.Route.IsValid() {
		key.key = t.framed.key[k.Route]
	}
	tab := t.table(key.kind)
	if tab.slots == nil || key.key == 0 {
		return nil // closed, or no key
	}
	slot, ok := tab.find(key.key)
	if !ok {
		return nil
	}
	switch ctl := tab.slots[slot].Ctl; {
	case ctl&(ruleSlow|ruleList) != 0 && k.Route.IsValid():
		return reached(t.slowRules[key], k.Route)
	case ctl&(ruleSlow|ruleList) != 0:
		return t.slowRules[key]
	case ctl&ruleChanging != 0:
		return nil // whose writer was killed: its session is about to be applied
	}
	if r := t.rule(tab, slot); r.Network >= 0 && r.Way >= 0 {
		return []*stages.Rule{r}
	}
	return nil // of a data network that is gone, and so its session perhaps
}

// reached returns those of a session's rules whose framed routes have all of route in
// them: all routes of a session have one key here.
func reached(rules []*stages.Rule, route netip.Prefix) (some []*stages.Rule) {
	has := func(p netip.Prefix) bool { return p.Bits() <= route.Bits() && p.Contains(route.Addr()) }
	for _, r := range rules {
		if slices.ContainsFunc(r.Routes, has) {
			some = append(some, r)
		}
	}
	return some
}

// Towards implements [stages.Tables]. Error Indications are looked into by
// [errorIndications], where it may take long.
func (t slowTables) Towards(gtpu.Tunnel) []*stages.Rule { return nil }

// rule returns a rule of the programs as the stages do. Meters, URR and
// counters are the same.
func (t slowTables) rule(tab *table, slot uint32) *stages.Rule {
	r := &tab.slots[slot]
	m := &stages.Rule{
		Uplink: r.Ctl&ruleUplink != 0, Gate: r.Ctl&ruleGate != 0, Counters: tab.counters(slot),
		Incomplete: r.Ctl&ruleIncomplete != 0, Spent: r.Ctl&(ruleForw|ruleSpent) == ruleSpent,
	}
	if r.Ctl&ruleForw != 0 {
		m.Action = api.Action_FORW
	}
	for _, q := range r.Qfis {
		if q != 0 {
			m.QFIs |= 1 << q
		}
	}
	for _, slot := range r.Meter {
		if slot != 0 {
			m.Limits = append(m.Limits, stages.Limit{MBR: t.meters.meter(slot)})
		}
	}
	if r.Urr != 0 {
		m.URRs = []stages.URR{t.urrs.urr(r.Urr)}
	}
	if r.Ctl&ruleMatchIP4 != 0 {
		m.UEIPv4 = ipv4(r.UeIp4)
	}
	switch {
	case tab.kind == ruleByUE:
		m.Network = t.numbers.ofRule(r.Ctl)
	default:
		m.Way = t.numbers.ofRule(r.Ctl)
	}
	switch {
	case r.Ctl&ruleOuter != 0:
		t.outer(m, r)
	case r.Ctl&ruleMatchIP6 != 0:
		var a [16]byte
		binary.BigEndian.PutUint64(a[:], r.UeIp6)
		m.UEIPv6 = netip.PrefixFrom(netip.AddrFrom16(a), 64)
	}
	return m
}

func (t slowTables) outer(m *stages.Rule, r *upfRule) {
	o := unpackOuter(r.UeIp6)
	hop := t.hops.keyOf(uint32(o.hop))
	m.QFI = o.qfi
	m.Outer = &stages.Outer{
		TEID: o.teid, Peer: hop.addr, Local: t.ports.localOf(hop),
		DSCP: -1, ToAccess: r.Ctl&ruleToAccess != 0,
	}
	if r.Ctl&ruleDSCP != 0 {
		m.Outer.DSCP = int(o.dscp)
	}
}
