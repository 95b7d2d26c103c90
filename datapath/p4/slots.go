package p4

import (
	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// slotOf returns the place of a PDR for packets with so many octets in front of the user
// packet, and plans its entry; nil: there is no room.
func (o *offload) slotOf(p *plan, r *stages.Rule, front uint8) *slot {
	sk := slotKey{r.Counters, front}
	for _, sl := range p.slots {
		if sl.slotKey == sk {
			return sl
		}
	}
	sl := &slot{slotKey: sk}
	kind := p4rt.Update_INSERT
	for _, had := range p.s.slots {
		if had.slotKey == sk {
			*sl = *had
			if had.there {
				kind = p4rt.Update_MODIFY
			}
		}
	}
	added := sl.index == 0
	if added {
		if sl.index = o.slots.take(); sl.index == 0 {
			return nil
		}
		sl.had = o.cells[sl.index]
		delete(o.cells, sl.index)
	}
	sl.rule = r
	sl.peer, sl.limits = nexthop.Peer{}, limits{}
	u := o.ruleEntry(p.arena, kind, sl, r)
	if u == nil {
		if added {
			o.slots.give(sl.index)
			o.cells[sl.index] = sl.had
		}
		return nil
	}
	if p.slots == nil {
		p.slots = make([]*slot, 0, len(p.all))
	}
	p.slots = append(p.slots, sl)
	p.rules = append(p.rules, planned{plan: p, update: u, slot: sl})
	return sl
}

// ruleEntry makes the entry of a PDR with its FAR and QERs; nil: there is no room for all of it.
func (o *offload) ruleEntry(a *arena, kind p4rt.Update_Type, sl *slot, r *stages.Rule) *p4rt.Update {
	t, key := o.schema.tables[tableRules], []uint64{uint64(sl.index)}
	if r.Action == api.Action_DROP {
		return a.add(kind, t, key, actionRefuse, uint64(r.Refusal()))
	}
	l, _ := limitsOf(r)
	b, ok := o.takeBuckets(sl, l, r.Uplink)
	if !ok {
		return nil
	}
	if r.Outer == nil {
		return a.add(kind, t, key, actionToN6, bit(r.Uplink), uint64(r.Way), bit(r.Gate), b[0], b[1], b[2], b[3], b[4], b[5], b[6])
	}
	to := nexthop.Peer{Local: r.Outer.Local, Addr: r.Outer.Peer}
	if o.uses[to] == 0 {
		o.unlinked = true
	}
	number := o.peers.take(to)
	if number == 0 {
		o.giveBuckets(sl)
		return nil
	}
	o.uses[to]++
	sl.peer = to
	pduType, dscp := uint64(1), uint64(0)
	if r.Outer.ToAccess {
		pduType = 0
	}
	if r.Outer.DSCP >= 0 {
		dscp = uint64(r.OuterDSCP(0))
	}
	return a.add(kind, t, key, actionToPeer, bit(r.Uplink), uint64(number), uint64(r.Outer.TEID), bit(r.QFI != 0), uint64(r.QFI), pduType,
		bit(r.Outer.DSCP >= 0), dscp, bit(r.Gate), b[0], b[1], b[2], b[3], b[4], b[5], b[6])
}

func bit(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}
