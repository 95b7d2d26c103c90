package p4

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"plumbline/api"
	"plumbline/datapath"
	"plumbline/datapath/model"
	"plumbline/datapath/nexthop"
)

// plan is what is to be in the target of a session, and in which order it is written.
type plan struct {
	s       *session
	arena   *arena
	rules   []planned // table rules, and filters
	keys    []planned
	slots   []*slot
	filters []*p4rt.TableEntry
	bound   []datapath.Key
	failed  bool // the target has no room
	limited bool
}

type planned struct {
	plan   *plan
	update *p4rt.Update
	done   func() // when the target has it
}

// install makes the target have of sessions that are held what it can, and releases them.
//
//	1  keys of those that were installed say "cpu", counters are read, old filters go
//	2  rules and filters
//	3  keys
//	4  what is in the target yet and not needed any more goes: keys, then rules
//
// Errors: the target's, for good; sessions are released all the same.
func (o *offload) install(ctx context.Context, all []*session, was []state) error {
	var old []*session
	for i, s := range all {
		if was[i] == installed {
			old = append(old, s)
		}
	}
	err := o.takeBack(ctx, old)
	if err == nil {
		err = o.removeFilters(ctx, all)
	}
	if err != nil {
		o.releaseAll(all, was)
		return err
	}
	a := newArena()
	defer a.free()
	o.mu.Lock()
	var plans []*plan
	for _, s := range all {
		plans = append(plans, o.plan(s, a))
	}
	relink := o.newPeers
	o.newPeers = false
	o.mu.Unlock()
	if relink {
		o.relink()
	}
	err = o.writeAll(ctx, plans, func(p *plan) []planned { return p.rules })
	if err == nil {
		err = o.writeAll(ctx, plans, func(p *plan) []planned { return p.keys })
	}
	if err == nil {
		err = o.remove(ctx, plans)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range plans {
		o.settle(p)
	}
	return err
}

func (o *offload) releaseAll(all []*session, was []state) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, s := range all {
		o.put(s, was[i])
	}
}

// writeAll writes one step of all plans at once. A plan of which the target refuses a part is
// given up: its session stays with the CPU.
func (o *offload) writeAll(ctx context.Context, plans []*plan, step func(p *plan) []planned) error {
	var all []planned
	var updates []*p4rt.Update
	for _, p := range plans {
		if p.failed {
			continue
		}
		for _, one := range step(p) {
			all, updates = append(all, one), append(updates, one.update)
		}
	}
	refused, err := o.target.write(ctx, updates)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, one := range all {
		if why := refused[i]; why != nil {
			if !one.plan.failed && !errors.Is(why, datapath.ErrFull) {
				o.log.Error("the target refuses a rule", "seid", one.plan.s.seid, "err", why)
			}
			one.plan.failed = true
			continue
		}
		o.written(one.update)
		if one.done != nil {
			one.done()
		}
	}
	return nil
}

// written counts an entry that the target has now, or not any more.
func (o *offload) written(u *p4rt.Update) {
	switch id := u.GetEntity().GetTableEntry().GetTableId(); u.GetType() {
	case p4rt.Update_INSERT:
		o.entries[id]++
	case p4rt.Update_DELETE:
		o.entries[id]--
	}
}

// plan says what is to be in the target of a session. mu is held.
func (o *offload) plan(s *session, a *arena) *plan {
	p := &plan{s: s, arena: a}
	s.retry = false
	if s.gone {
		return p
	}
	keys, err := o.engine.Keys(s.seid)
	if err != nil {
		return p // gone meanwhile: that is told of, too
	}
	var all [][]*model.Rule
	var every []*model.Rule
	for _, k := range keys {
		rules := o.engine.Candidates(k)
		all, every = append(all, rules), append(every, rules...)
	}
	if left(every) != model.NoLimit {
		slices.SortFunc(every, func(a, b *model.Rule) int { return cmp.Compare(a.PDRID, b.PDRID) })
		every = slices.Compact(every)
		s.rate.look(every, time.Now())
	}
	if o.isNear(s, every) {
		s.retry = true
		return p
	}
	cpus := o.leftToCPU(keys, all)
	for i, k := range keys {
		if !slices.ContainsFunc(all[i], func(r *model.Rule) bool { return len(r.Limits) > 0 && cpus[r.Limits[0].MBR] }) {
			o.planKey(p, k, all[i])
		}
		p.limited = p.limited || left(all[i]) != model.NoLimit
	}
	return p
}

// leftToCPU returns the meters by which packets are held against their MBR that are the CPU's:
// there they are held against one of its own, so that all by such a meter have to be its.
func (o *offload) leftToCPU(keys []datapath.Key, all [][]*model.Rule) map[*model.Meter]bool {
	var meters map[*model.Meter]bool
	for i, k := range keys {
		if slices.ContainsFunc(all[i], func(r *model.Rule) bool { return !o.can(r, k) }) {
			for _, r := range all[i] {
				for _, l := range r.Limits {
					if meters == nil {
						meters = map[*model.Meter]bool{}
					}
					meters[l.MBR] = true
				}
			}
		}
	}
	return meters
}

// planKey adds a key to a plan, if the pipeline can do all that its rules ask for.
func (o *offload) planKey(p *plan, k datapath.Key, rules []*model.Rule) {
	if len(rules) == 0 {
		return
	}
	for _, r := range rules {
		if !o.can(r, k) {
			return
		}
	}
	common, ok := aboutOf(rules, k)
	if !ok {
		return
	}
	single := len(rules) == 1 && plain(rules[0])
	var filters []filterMatch
	if !single {
		if filters, ok = filtersOf(rules, k); !ok {
			return
		}
	}
	ks := o.keyOf(k, p.s.seid)
	front := ks.header
	if front == 0 {
		front = header(rules, k, o.tag)
	}
	var slots []*slot
	for _, r := range rules {
		sl := o.slotOf(p, r, front)
		if sl == nil {
			return // the others stay the session's, unused
		}
		slots = append(slots, sl)
	}
	number := uint64(0)
	if !single {
		if number = uint64(o.lists.take(k)); number == 0 {
			return
		}
		ks.list = true
		o.planFilters(p, k, rules, number, filters, slots)
	}
	o.planEntry(p, k, ks, common, slots[0].index, number, front)
	p.bound = append(p.bound, k)
}

// keyOf returns the state of a key, which is the session's from now on.
func (o *offload) keyOf(k datapath.Key, seid uint64) *keyState {
	ks := o.keys[k]
	if ks == nil {
		ks = &keyState{}
		o.keys[k] = ks
	}
	if ks.owner != seid {
		ks.owner, ks.header = seid, 0
	}
	return ks
}

// planEntry adds the entry of the key itself.
func (o *offload) planEntry(p *plan, k datapath.Key, ks *keyState, common about, rule uint32, list uint64, front uint8) {
	t, key := o.keyEntry(k)
	params := []uint64{uint64(rule), uint64(front)}
	act := actionOneBare
	if list != 0 {
		params[0], act = list, actionSeveralBare
	}
	if k.Local.IsValid() {
		params = append(params, bit(common.uplink), bit(common.check), common.ue4, common.ue6)
		if act = actionOne; list != 0 {
			act = actionSeveral
		}
	}
	kind := p4rt.Update_INSERT
	if ks.there {
		kind = p4rt.Update_MODIFY
	}
	p.keys = append(p.keys, planned{p, p.arena.add(kind, t, key, act, params...), func() { ks.there, ks.expects = true, front }})
}

// planFilters adds the entries of a list.
func (o *offload) planFilters(p *plan, k datapath.Key, rules []*model.Rule, list uint64, filters []filterMatch, slots []*slot) {
	priority := int32(len(filters) + 1)
	put := func(name string, key []match, priority int32, act string, param uint64) {
		e := o.schema.entry(name, append([]match{exact(list)}, key...), priority, act, param)
		p.rules = append(p.rules, planned{p, update(p4rt.Update_INSERT, e), func() { p.filters = append(p.filters, e) }})
	}
	for _, f := range filters {
		name := tableFilters4
		if f.v6 {
			name = tableFilters6
		}
		put(name, f.key, priority, actionFiltered, uint64(slots[f.rule].index))
		priority--
	}
	if reason, known := endOf(rules); known {
		v4, v6 := versions(rules[0], k)
		if v4 {
			put(tableFilters4, make([]match, 8), priority, actionUnfiltered, uint64(reason))
		}
		if v6 {
			put(tableFilters6, make([]match, 10), priority, actionUnfiltered, uint64(reason))
		}
	}
}

// slotOf returns the place of a PDR for packets with so many octets in front of the user
// packet, and plans its entry; nil: there is no room.
func (o *offload) slotOf(p *plan, r *model.Rule, front uint8) *slot {
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
	if sl.index == 0 {
		if sl.index = o.slots.take(sk); sl.index == 0 {
			return nil
		}
		sl.had = o.cells[sl.index]
		delete(o.cells, sl.index)
	}
	sl.rule = r
	sl.peer, sl.bucket = nexthop.Peer{}, nil
	u := o.ruleEntry(p.arena, kind, sl, r)
	if u == nil {
		if kind == p4rt.Update_INSERT {
			o.slots.give(sk)
			o.cells[sl.index] = sl.had
		}
		return nil
	}
	p.slots = append(p.slots, sl)
	p.rules = append(p.rules, planned{p, u, func() { sl.there = true }})
	return sl
}

// ruleEntry makes the entry of a PDR with its FAR and QERs; nil: there is no room for all of it.
func (o *offload) ruleEntry(a *arena, kind p4rt.Update_Type, sl *slot, r *model.Rule) *p4rt.Update {
	t, key := o.schema.tables[tableRules], []uint64{uint64(sl.index)}
	if r.Action == api.Action_DROP {
		return a.add(kind, t, key, actionRefuse, uint64(r.Refusal()))
	}
	var bucket uint32
	var unit, tolerance uint64
	if len(r.Limits) > 0 {
		sl.bucket = r.Limits[0].MBR
		if bucket = o.buckets.take(sl.bucket); bucket == 0 {
			sl.bucket = nil
			return nil
		}
		unit, tolerance = sl.bucket.Rate()
	}
	if r.Outer == nil {
		return a.add(kind, t, key, actionToN6, bit(r.Uplink), uint64(r.Way), uint64(bucket), unit, tolerance, 0)
	}
	to := nexthop.Peer{Local: r.Outer.Local, Addr: r.Outer.Peer}
	if o.uses[to] == 0 {
		o.newPeers = true
	}
	number := o.peers.take(to)
	if number == 0 {
		o.giveBucket(sl)
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
		bit(r.Outer.DSCP >= 0), dscp, uint64(bucket), unit, tolerance, 0)
}

func bit(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}
