package xdp

import (
	"sync/atomic"
	"unsafe"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// fillLists lets the programs do what they can of the keys that are for the slow
// path: a list of the rules that it has of them.
func (c *change) fillLists() {
	c.hosts = c.hostsOf()
	for i := range c.rules {
		p := &c.rules[i]
		if !p.slow {
			continue
		}
		rules, ok := c.modelsOf(p)
		if !ok {
			continue
		}
		b := listBuilder{
			d: c.d, tunnelled: p.kind() == ruleByTEID, urr: func(id uint32) *api.URR { return datapath.FindURR(c.in, id) }, hop: c.hopOf, rare: c.isRare,
			hosts: c.hosts,
		}
		if !b.build(rules, p.kind() == ruleByTEID || p.key == routesKey(c.in.GetSeid())) {
			continue
		}
		had := c.d.listAt(p.kind(), p.slot(), p.key)
		l, ok := c.d.lists.install(&b, had)
		if !ok {
			continue // no room: the slow path does it
		}
		p.list = l
		p.content.Ctl = ruleList
		if rules[0].Uplink {
			p.content.Ctl |= ruleUplink
		}
		if p.kind() == ruleByUE {
			p.content.Ctl |= c.d.numbers.inRule(rules[0].Network)
		}
		l.name(&p.content)
		if c.ethernet() {
			p.content.Ctl |= ruleEther
			p.content.UeIp4 = c.frames()
		}
	}
}

// frames returns where the rule for frames to an Ethernet PDU session stands, plus
// 1; 0: there is none.
func (c *change) frames() uint32 {
	if p := c.placedAt(tableKey{ruleByUE, routesKey(c.in.GetSeid())}); p != nil {
		return p.slot() + 1
	}
	return 0
}

// modelsOf returns the rules of a key, or false if bare packets have to come from
// different data networks for them.
func (c *change) modelsOf(p *placed) ([]*stages.Rule, bool) {
	var rules []*stages.Rule
	for i := range c.slow {
		s := &c.slow[i]
		for _, k := range s.keys {
			if k.key == p.key && k.kind == p.kind() {
				rules = append(rules, s.rule)
			}
		}
	}
	for _, r := range rules {
		if r.Network != rules[0].Network || r.Uplink != rules[0].Uplink {
			return nil, false
		}
	}
	return rules, len(rules) > 0
}

// hopOf returns the hop of a rule of the slow path.
func (c *change) hopOf(r *stages.Rule) (uint32, bool) {
	for i := range c.slow {
		if c.slow[i].rule == r {
			return c.slow[i].hop, c.slow[i].hop != 0
		}
	}
	return 0, false
}

// isRare reports whether the PDR of r asks for what only the slow path does.
func (c *change) isRare(r *stages.Rule) bool {
	for _, in := range c.in.GetRules() {
		if in.GetPdrId() == r.PDRID {
			return rare(c.in, in)
		}
	}
	return true
}

// listAt returns the list that the rule in a slot names, if it has this key.
func (d *Driver) listAt(k kind, slot uint32, key uint64) list {
	r := &d.table(k).slots[slot]
	if ctl := atomic.LoadUint32(&r.Ctl); r.Key != key || ctl&ruleList == 0 || ctl&ruleChanging != 0 {
		return list{}
	}
	return d.lists.of(r)
}

// recordOf returns what the programs did for a PDR before the start, or nil.
func (c *change) recordOf(pdrID uint32) *upfPdr {
	for i := range c.rules {
		p := &c.rules[i]
		if !c.d.table(p.kind()).orphans.has(p.slot()) {
			continue
		}
		records := c.d.lists.records(c.d.listAt(p.kind(), p.slot(), p.key))
		for j := range records {
			if uint32(records[j].PdrId) == pdrID {
				return &records[j]
			}
		}
	}
	return nil
}

// Counters implements [stages.State]: those that the PDR has had, also from before
// the start, else new ones that the programs can count in, if there is room.
func (s *slowState) Counters(r *api.Rule) *stages.Counters {
	id, t := r.GetPdrId(), s.d.lists
	if o := s.old.slowly(id); o != nil {
		if slot := t.counterSlot(o.rule.Counters); slot != 0 {
			s.others = append(s.others, hold(pdrCounter, id, slot))
		}
		return o.rule.Counters
	}
	slot := uint32(0)
	if had := s.recordOf(id); had != nil && t.orphans.has(had.Counter) {
		slot = had.Counter
	} else if fresh, ok := t.reserveCounter(id); ok {
		slot = fresh
	}
	if slot == 0 {
		return &stages.Counters{}
	}
	s.others = append(s.others, hold(pdrCounter, id, slot))
	return t.counter(slot)
}

// Meter implements [stages.State].
func (s *slowState) Meter(q *api.QER, kind stages.MeterKind, uplink bool) *stages.Meter {
	slot, err := s.meter(q, kind, uplink, s.meterBefore(q, kind))
	if err != nil && s.err == nil {
		s.err = &datapath.RuleError{Type: api.RuleType_QER_RULE, ID: q.GetId(), Err: err}
	}
	return s.d.meters.meter(slot)
}

// meterBefore returns the slot of the meter that the programs had for the QER in
// its place in the rule before the start, or 0.
func (s *slowState) meterBefore(q *api.QER, kind stages.MeterKind) uint32 {
	had := s.recordOf(s.rule.GetPdrId())
	if had == nil {
		return 0
	}
	place, source := uint32(0), s.rule.GetDetect().GetSourceInterface()
	for _, id := range s.rule.GetQerIds() {
		if id == q.GetId() {
			break
		}
		if o := datapath.FindQER(s.in, id); datapath.MBR(o, source) != 0 || datapath.GBR(o, source) != 0 || datapath.PacketRate(o, source) != nil {
			place++
		}
	}
	for _, ref := range had.Refs[:min(had.Meters, pdrMeters)] {
		if ref>>meterQERShift == uint32(kind)<<(meterKindShift-meterQERShift)|place {
			return ref & (1<<meterQERShift - 1)
		}
	}
	return 0
}

// adoptList takes what the list of an adopted rule uses.
func (d *Driver) adoptList(l list, used *[2][]run) {
	used[0], used[1] = append(used[0], l.entries), append(used[1], l.pdrs)
	for _, p := range d.lists.records(l) {
		if int(p.Counter) < len(d.lists.counters.slots) && p.Counter != 0 {
			d.lists.orphans.add(p.Counter)
		}
		for _, ref := range p.Refs[:min(p.Meters, pdrMeters)] {
			if m := ref & (1<<meterQERShift - 1); m < d.meters.places.size && m != 0 {
				d.meters.orphans.add(m)
			}
		}
		if p.Ctl&ruleOuter != 0 {
			d.hops.keep(uint32(p.Out.Hop))
		}
	}
	d.lists.number = max(d.lists.number, l.number)
	if l.hosts != 0 {
		d.lists.number = max(d.lists.number, d.lists.entries.slots[l.entries.first+l.ues].Qfis)
	}
}

// adopt takes the runs that are in use, and the counters.
func (t *listTable) adopt(used *[2][]run) {
	t.freeEntries.adopt(used[0])
	t.freePDRs.adopt(used[1])
	var counters []run
	for slot := range t.counters.slots {
		if t.orphans.has(uint32(slot)) {
			counters = append(counters, run{uint32(slot), 1})
		}
	}
	t.freeCounters.adopt(counters)
}

// listHops appends the hops of a list of a session that was not applied yet.
func (d *Driver) listHops(hops []uint32, l list) []uint32 {
	for _, p := range d.lists.records(l) {
		if p.Ctl&ruleOuter != 0 {
			hops = append(hops, uint32(p.Out.Hop))
		}
	}
	return hops
}

// volumeSlot is the URR's slot, as it is in a list.
func (d *Driver) volumeSlot(u stages.URR) uint32 {
	return slotOf(d.urrs.slots, unsafe.Pointer(u.Volume))
}
