package xdp

import (
	"math/bits"
	"slices"
	"sync/atomic"
)

// adopt finds out what the tables hold that a process before this one has left.
// Its packets flow on. All of it is an orphan until its session is applied, which
// then finds its slots again, or until [Driver.Settle].
func (d *Driver) adopt() {
	d.hops.adopt(d.ports)
	d.meters.orphans = newBitmap(int(d.meters.places.size))
	d.lists.orphans = newBitmap(len(d.lists.counters.slots))
	var used [2][]run
	for _, t := range []*table{d.teids, d.ues} {
		t.adopt(func(r *upfRule) {
			if r.Ctl&ruleList != 0 {
				if l := d.lists.of(r); l != (list{}) && r.Ctl&ruleChanging == 0 {
					d.adoptList(l, &used)
				}
				return
			}
			for _, m := range r.Meter {
				if m < d.meters.places.size && m != 0 {
					d.meters.orphans.add(m)
				}
			}
			if r.Ctl&ruleOuter != 0 {
				d.hops.keep(uint32(unpackOuter(r.UeIp6).hop))
			}
		})
	}
	d.hops.settle()
	d.meters.places.adopt(d.meters.orphans.has)
	d.lists.adopt(&used)
	d.framed.adopt()
	d.stations.adopt()
	d.urrs.adoptAll()
}

// adopt takes all slots that have a rule; each is told of.
func (t *table) adopt(found func(r *upfRule)) {
	t.orphans = newBitmap(len(t.slots))
	for i := range t.slots {
		r, slot := &t.slots[i], uint32(i)
		if r.Key == 0 {
			// A writer that was killed leaves its mark.
			atomic.StoreUint32(&r.Ctl, atomic.LoadUint32(&r.Ctl)&^ruleFlags)
			continue
		}
		t.take(slot)
		t.orphans.add(slot)
		if uint32(r.Key)&t.mask != slot {
			t.guests[r.Key] = slot
			t.overflowed(1)
		}
		found(r)
	}
}

// adoptAll finds all URRs that have an owner.
func (t *urrTable) adoptAll() {
	t.places.adopt(func(slot uint32) bool {
		seid := t.owners.slots[slot].Seid
		if seid != 0 {
			t.orphans = append(t.orphans, urrOrphan{seid, t.volume(slot).Id, slot})
		}
		return seid != 0
	})
	slices.SortFunc(t.orphans, compareOrphans)
}

// adopt finds the hops of GTP-U peers. Those of N6 are made anew, and the old
// ones kept out of use until the programs that know them are gone.
func (t *hopTable) adopt(p *ports) {
	for i := len(t.slots) - 1; i > 0; i-- {
		h := &t.slots[i]
		if h.Mtu == 0 {
			continue // never used
		}
		t.next = max(t.next, uint32(i)+1)
		if h.Outer == 0 {
			t.limbo = append(t.limbo, uint32(i))
			continue
		}
		key := hopKey{gonePort, addrOf(h.Ip)}
		for j := range p.gtpu {
			want := p.gtpu[j].hop(hopKey{j, key.addr}, t.isOwn(key))
			if want.SrcIp == h.SrcIp && (want.Vlan == hopOwn) == (h.Vlan == hopOwn) {
				key.port = j
			}
		}
		t.uses[i] = hopUse{key: key}
	}
}

// gonePort is that of hops of an endpoint that is not there any more.
const gonePort = -1

// keep counts a rule that refers to an adopted hop.
func (t *hopTable) keep(slot uint32) {
	if int(slot) < len(t.uses) {
		t.uses[slot].refs++
	}
}

// settle lets hops be found that rules refer to, and gives back the others.
func (t *hopTable) settle() {
	for slot := uint32(1); slot < t.next; slot++ {
		switch u := &t.uses[slot]; {
		case u.refs == 0 && u.key.addr.IsValid():
			*u = hopUse{}
			t.freed.put(slot)
		case u.refs > 0 && u.key.port != gonePort:
			t.slot[u.key] = slot
		}
	}
}

// leaveLimbo gives back the hops that only programs knew that are gone.
func (t *hopTable) leaveLimbo() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, slot := range t.limbo {
		t.freed.put(slot)
	}
	t.limbo = nil
}

// dropOrphans removes what was not applied since the start.
func (d *Driver) dropOrphans() {
	for _, t := range []*table{d.teids, d.ues} {
		for w, set := range t.orphans {
			for ; set != 0; set &= set - 1 {
				slot := uint32(w*64 + bits.TrailingZeros64(set))
				key := t.slots[slot].Key
				had := d.listAt(t.kind, slot, key)
				hops := d.listHops(t.hop(nil, slot), had)
				t.clear(slot)
				t.release(slot, key)
				d.releaseUE(t.kind, key)
				d.lists.remove(had, monotonic())
				for _, hop := range hops {
					d.releasePeer(hop)
				}
			}
		}
		t.orphans = nil
	}
	for w, set := range d.meters.orphans {
		for ; set != 0; set &= set - 1 {
			d.meters.places.give(uint32(w*64 + bits.TrailingZeros64(set)))
		}
	}
	d.meters.orphans = nil
	for w, set := range d.lists.orphans {
		for ; set != 0; set &= set - 1 {
			d.lists.freeCounters.give(uint32(w*64+bits.TrailingZeros64(set)), 1, monotonic())
		}
	}
	d.lists.orphans = nil
	d.framed.settle(d.ues)
	d.stations.settle()
	for _, o := range d.urrs.orphans {
		if o.slot != 0 {
			d.urrs.release(o.slot)
		}
	}
	d.urrs.orphans = nil
}
