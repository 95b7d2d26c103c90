package xdp

import (
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// commit makes the change visible; it cannot fail. The slow path is locked out
// all the while. Packets that it kept back go out behind the new slow rules and
// before the fast ones, so that none overtakes another.
func (c *change) commit(discard bool) *session {
	c.setMeters()
	c.setURRs()
	before := c.hopsBefore()
	made := c.session()
	c.d.bindSlow(c.in.GetSeid(), c.old, made)
	c.d.names.bind(c.in.GetSeid(), c.hosts)
	if c.d.slow != nil {
		// The old rules have what was learnt for them until the new ones are in place.
		defer c.d.slow.stages.Names.Teach(c.in.GetSeid())()
	}
	if len(c.old.slow) > 0 && c.d.slow != nil {
		c.d.slow.release(c.in.GetSeid(), c.models, discard)
	}
	for i := range c.rules {
		c.write(&c.rules[i], made, uint16(c.in.GetSlice()))
	}
	c.d.framed.keep(routesKey(c.in.GetSeid()), c.routes)
	c.d.retireSlow(c.old, made)
	c.d.giveBack(c.old, made)
	if c.ethernet() { // when a rule that is gone is not found any more
		c.d.bindFrames(c.in.GetSeid())
	}
	for _, hop := range before {
		c.d.releasePeer(hop)
	}
	return made
}

// setMeters sets the rates, and takes adopted meters from the orphans.
func (c *change) setMeters() {
	now := c.d.cfg.now()
	for _, q := range c.in.GetQers() {
		for limit := stages.MBR; limit <= stages.PacketRate; limit++ {
			for _, uplink := range []bool{true, false} {
				if slot, ok := c.find(meterKind(q, limit, uplink)); ok {
					c.d.meters.meter(slot).Set(q, limit, uplink, c.d.cfg.MeterBurst, now)
					c.d.meters.orphans.remove(slot)
				}
			}
		}
	}
	for _, h := range c.others {
		if h.kind() == pdrCounter {
			c.d.lists.orphans.remove(h.slot())
		}
	}
}

// setURRs sets the limits, and says at once what of them is reached already.
func (c *change) setURRs() {
	for _, u := range c.in.GetUrrs() {
		slot, _ := c.find(urr, u.GetId())
		c.d.urrs.adopted(c.in.GetSeid(), u.GetId())
		for _, event := range c.d.urrs.urr(slot).SetLimits(u) {
			c.d.events.Post(&api.Event{Kind: event, Seid: c.in.GetSeid(), RuleId: u.GetId()})
		}
	}
}

// hopsBefore returns what the rules refer to that the change replaces.
func (c *change) hopsBefore() []uint32 {
	c.hops = c.d.hopsOf(c.hops[:0], c.old)
	for i := range c.rules {
		p := &c.rules[i]
		if t := c.d.table(p.kind()); t.orphans.has(p.slot()) {
			t.orphans.remove(p.slot())
			c.hops = t.hop(c.hops, p.slot())
			c.hops = c.d.listHops(c.hops, c.d.listAt(p.kind(), p.slot(), p.key))
		}
	}
	return c.hops
}

// hopsOf appends the hops that s refers to.
func (d *Driver) hopsOf(hops []uint32, s *session) []uint32 {
	for i := range s.slow {
		if s.slow[i].hop != 0 {
			hops = append(hops, s.slow[i].hop)
		}
	}
	for _, h := range s.held {
		if h.isRule() {
			hops = d.table(h.kind()).hop(hops, h.slot())
		}
	}
	return hops
}

// hop appends the hop of the rule, if it has one.
func (t *table) hop(hops []uint32, slot uint32) []uint32 {
	r := &t.slots[slot]
	if atomic.LoadUint32(&r.Ctl)&ruleOuter == 0 {
		return hops
	}
	return append(hops, uint32(unpackOuter(r.UeIp6).hop))
}

// session returns what is held from now on.
func (c *change) session() *session {
	made := &session{held: make([]held, 0, len(c.rules)+len(c.others))}
	for i := range c.rules {
		made.held = append(made.held, c.rules[i].held)
	}
	made.held = append(made.held, c.others...)
	if len(c.slow) > 0 {
		made.slow = append(made.slow, c.slow...)
	}
	return made
}

// write puts p into its slot. What the slot has counted stays with the PDR for
// which it was counted.
func (c *change) write(p *placed, made *session, slice uint16) {
	t := c.d.table(p.kind())
	atomic.StoreUint32(&c.d.queueOf(p.kind(), p.slot()).Full, 0)
	if holder, had := c.old.holder(p.where); had && (holder != p.id || p.slow) {
		if s := made.slowly(holder); s != nil {
			addCounters(s.rule.Counters, t.drain(p.slot()))
		} else if holder != p.id {
			t.retire(p.slot(), atomic.LoadUint32(&t.slots[p.slot()].Ctl))
		}
	}
	had := c.d.listAt(p.kind(), p.slot(), t.slots[p.slot()].Key)
	t.write(p.slot(), &p.content, slice)
	if had != p.list {
		c.d.lists.remove(had, monotonic())
	}
	if s := c.old.slowly(p.id); s != nil && !p.slow && made.slowly(p.id) == nil {
		addCounters(t.counters(p.slot()), drainCounters(s.rule.Counters))
	}
}

// abort gives back what was reserved.
func (c *change) abort() {
	for i := range c.rules {
		p := &c.rules[i]
		if p.hop != 0 {
			c.d.releasePeer(p.hop)
		}
		if p.list != c.d.listAt(p.kind(), p.slot(), p.key) {
			c.d.lists.remove(p.list, 0)
		}
		if t := c.d.table(p.kind()); !c.old.has(p.held) && !t.orphans.has(p.slot()) {
			t.release(p.slot(), p.key)
		}
	}
	for i := range c.slow {
		if c.slow[i].hop != 0 {
			c.d.releasePeer(c.slow[i].hop)
		}
	}
	for _, p := range c.fresh {
		c.d.framed.giveBack(p)
	}
	for _, h := range c.others {
		switch {
		case c.old.has(h):
		case h.kind() == pdrCounter:
			c.d.lists.releaseCounter(h.slot())
		case h.kind().isMeter():
			c.d.meters.release(h)
		case h.kind() == urr && c.d.urrs.adopt(c.in.GetSeid(), h.id) == 0:
			c.d.urrs.release(h.slot())
		}
	}
}

// remove takes the session away.
func (d *Driver) remove(seid uint64, s *session) {
	hops := d.hopsOf(nil, s)
	none := &session{}
	d.framed.keep(routesKey(seid), nil)
	d.bindSlow(seid, s, none)
	d.names.bind(seid, nil)
	if len(s.slow) > 0 && d.slow != nil {
		d.slow.release(seid, nil, true)
	}
	d.retireSlow(s, none)
	d.giveBack(s, none)
	for _, hop := range hops {
		d.releasePeer(hop)
	}
}

// giveBack clears and gives back the slots of s that keep does not have: rules
// first, which refer to the others.
func (d *Driver) giveBack(s, keep *session) {
	for _, h := range s.held {
		if h.isRule() && !keep.has(h) {
			t := d.table(h.kind())
			key := t.slots[h.slot()].Key
			had := d.listAt(h.kind(), h.slot(), key)
			t.clear(h.slot())
			t.release(h.slot(), key)
			d.releaseUE(h.kind(), key)
			d.lists.remove(had, monotonic())
		}
	}
	for _, h := range s.held {
		switch {
		case h.isRule() || keep.has(h):
		case h.kind() == urr:
			d.urrs.release(h.slot())
		case h.kind() == pdrCounter:
			d.lists.releaseCounter(h.slot())
		default:
			d.meters.release(h)
		}
	}
}
