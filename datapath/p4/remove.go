package p4

import (
	"context"
	"slices"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
)

// removeFilters takes the filters of sessions, whose keys say "cpu", out of the target.
func (o *offload) removeFilters(ctx context.Context, all []*session) error {
	var gone []planned
	for _, s := range all {
		if len(s.filters) == 0 {
			continue
		}
		gone = append(gone, deletions(&plan{s: s}, s.filters)...)
		s.filters = nil
	}
	return o.removeSome(ctx, gone)
}

func deletions(p *plan, entries []*p4rt.TableEntry) []planned {
	var all []planned
	for _, e := range entries {
		all = append(all, planned{plan: p, update: update(p4rt.Update_DELETE, &p4rt.TableEntry{TableId: e.TableId, Match: e.Match, Priority: e.Priority})})
	}
	return all
}

// remove takes out of the target what the sessions of plans do not need any more: keys first,
// since nothing leads to filters and rules then.
func (o *offload) remove(ctx context.Context, plans []*plan) error {
	var keys, filters, rules []planned
	var failed []*slot
	table := o.schema.tables[tableRules]
	o.mu.Lock()
	o.handOver(plans)
	for _, p := range plans {
		keys = append(keys, o.planCovered(p)...)
		for _, k := range p.freed() {
			ks := o.keys[k]
			if ks == nil || ks.owner != p.s.seid || !ks.there || slices.Contains(p.own, k) && o.covered(k) {
				continue
			}
			keys = append(keys, planned{plan: p, update: o.keyUpdate(p.arena, p4rt.Update_DELETE, k, ""), key: ks})
		}
		if p.failed {
			filters = append(filters, deletions(p, p.filters)...)
			failed = append(failed, p.slots...)
		}
		for _, sl := range p.unused() {
			rules = append(rules, planned{plan: p, update: p.arena.add(p4rt.Update_DELETE, table, []uint64{uint64(sl.index)}, ""), slot: sl})
		}
	}
	o.mu.Unlock()
	if err := o.removeSome(ctx, keys); err != nil {
		return err
	}
	// A part of the keys may have been there, and packets with them.
	if err := o.countSlots(ctx, failed); err != nil {
		return err
	}
	if err := o.removeSome(ctx, filters); err != nil {
		return err
	}
	return o.removeSome(ctx, rules)
}

// freed returns the keys that the session has had, or was to have, and has none of now. What others
// have left to it is among them.
func (p *plan) freed() []datapath.Key {
	var all []datapath.Key
	for _, had := range [2][]datapath.Key{p.s.keys, p.s.rest} {
		for _, k := range had {
			if !slices.Contains(p.bound, k) {
				all = append(all, k)
			}
		}
	}
	if p.failed {
		all = append(all, p.bound...)
	}
	return all
}

// without returns those of all that are not in some.
func without[T comparable](all, some []T) []T {
	var rest []T
	for _, one := range all {
		if !slices.Contains(some, one) {
			rest = append(rest, one)
		}
	}
	return rest
}

func (o *offload) removeSome(ctx context.Context, all []planned) error {
	if len(all) == 0 {
		return nil
	}
	var updates []*p4rt.Update
	for _, one := range all {
		updates = append(updates, one.update)
	}
	refused, err := o.target.write(ctx, updates)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, one := range all {
		if refused[i] != nil {
			o.log.Error("the target refuses to change an entry", "seid", one.plan.s.seid, "type", one.update.GetType(), "err", refused[i])
			continue
		}
		o.finish(&all[i])
	}
	return nil
}

// unused returns the places in the table rules that the session has and the plan does not.
func (p *plan) unused() []*slot {
	var all []*slot
	add := func(from []*slot, keep []*slot) {
		for _, sl := range from {
			if sl.there && !slices.ContainsFunc(keep, func(o *slot) bool { return o.index == sl.index }) {
				all = append(all, sl)
			}
		}
	}
	if p.failed {
		add(p.slots, nil)
		add(p.s.slots, p.slots)
		return all
	}
	add(p.s.slots, p.slots)
	return all
}

// settle makes a plan what its session has, and releases that. mu is held.
func (o *offload) settle(p *plan) {
	s := p.s
	for _, sl := range s.slots {
		o.unref(sl)
	}
	to, lists := installed, append(slices.Clone(s.lists), p.lists...)
	all := s.slots
	if p.failed {
		all = append(slices.Clone(p.slots), s.slots...) // what was read last stands first
	}
	for _, k := range p.freed() {
		if ks := o.keys[k]; ks != nil && ks.owner == s.seid && !ks.there {
			o.forget(k)
		}
	}
	if p.failed {
		for _, sl := range p.slots {
			o.unref(sl)
		}
		*p = plan{s: s, arena: p.arena, retry: p.retry, own: p.own, covered: p.covered, blocked: p.blocked}
	}
	for i, sl := range all {
		same := func(other *slot) bool { return other.index == sl.index }
		if !slices.ContainsFunc(p.slots, same) && !slices.ContainsFunc(all[:i], same) {
			o.slots.give(sl.index)
			o.cells[sl.index] = sl.had
		}
	}
	for _, k := range without(lists, p.lists) {
		o.lists.give(listKey{k, s.seid})
	}
	s.slots, s.filters, s.keys, s.lists, s.limited = p.slots, p.filters, append(p.bound, p.covered...), p.lists, p.limited
	s.cpu, s.retry, s.blocked = len(p.bound) == 0, p.retry, p.blocked
	if s.cpu {
		to = apart
	}
	o.register(s, p.own)
	o.put(s, to)
	if s.gone && s.state == apart {
		delete(o.sessions, s.seid)
	}
}

func (o *offload) forget(k datapath.Key) {
	delete(o.keys, k)
	if k.Route.IsValid() {
		o.routes--
	}
}

// unref gives up what a place in the table rules refers to.
func (o *offload) unref(sl *slot) {
	if sl.peer != (nexthop.Peer{}) {
		if o.uses[sl.peer]--; o.uses[sl.peer] == 0 {
			delete(o.uses, sl.peer)
			o.peers.give(sl.peer)
			o.unlinked = true
		}
	}
	o.giveBuckets(sl)
	sl.peer = nexthop.Peer{}
}
