package p4

import (
	"net/netip"
	"slices"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// plan is what is to be in the target of a session, and in which order it is written.
type plan struct {
	s       *session
	arena   *arena
	rules   []planned // table rules, and filters
	keys    []planned
	routes  []planned // the same, framed routes
	slots   []*slot
	filters []*p4rt.TableEntry
	bound   []datapath.Key
	lists   []datapath.Key // of these, who have a list
	own     []datapath.Key // of the session in the engine
	covered []datapath.Key // of these, who have an entry that says "cpu"
	blocked []netip.Prefix // framed routes that have to wait for others
	failed  bool           // the target has no room, or refuses a part
	retry   bool           // what keeps it apart may pass by itself
	limited bool
	all     []expressed
	unknown bool // to the engine
}

type planned struct {
	plan   *plan
	update *p4rt.Update
	// What is there when the target has it, or not there any more, if there is such a thing.
	slot  *slot
	key   *keyState
	front uint8  // of key
	done  func() // what else is to be done then
}

// expressed is how the rules of a key are put to the pipeline.
type expressed struct {
	key     datapath.Key
	rules   []*stages.Rule
	ok      bool // it does all that they ask for
	common  about
	list    bool // else there is one rule, for all packets of the key
	filters []filterMatch
}

// listKey says whose a list is.
type listKey struct {
	key  datapath.Key
	seid uint64
}

// plan says what the engine has of a session, which is held: so that does not change. mu is not
// held, since the engine is busy with others.
func (o *offload) plan(p *plan) {
	s := p.s
	keys, err := o.engine.Keys(s.seid)
	if err != nil {
		p.unknown = true
		return
	}
	p.own = keys
	every := p.arena.every[:0]
	for _, k := range keys {
		rules := o.engine.Candidates(k)
		p.all = append(p.all, o.express(k, rules))
		for _, r := range rules {
			if !slices.Contains(every, r) {
				every = append(every, r)
			}
		}
	}
	p.arena.every = every
	if p.limited = left(every) != stages.NoLimit; p.limited {
		s.rate.look(every, o.now())
	}
	if o.isNear(s, every) {
		p.retry = true
	}
}

// planKeys says what is to be in the target of the session of a plan. mu is held.
func (o *offload) planKeys(p *plan) {
	s, all := p.s, p.all
	if p.unknown {
		s.gone = true
	}
	if p.unknown || p.retry {
		return
	}
	for i := range all {
		if e := &all[i]; e.ok && e.key.Route.IsValid() && o.blocked(e.key.Route, s.seid) {
			e.ok, p.blocked = false, append(p.blocked, e.key.Route)
		}
	}
	leaveToCPU(all)
	for i := range all {
		if all[i].ok && !o.planKey(p, &all[i]) {
			p.failed, p.retry = true, true
			break
		}
	}
}

// express says how the rules of a key are put to the pipeline.
func (o *offload) express(k datapath.Key, rules []*stages.Rule) expressed {
	e := expressed{key: k, rules: rules, ok: len(rules) > 0}
	for _, r := range rules {
		e.ok = e.ok && o.can(r, k)
	}
	if e.ok {
		e.common, e.ok = aboutOf(rules, k)
	}
	if e.ok && !(len(rules) == 1 && plain(rules[0])) {
		e.filters, e.ok = filtersOf(rules, k)
		_, end := endOf(rules)
		e.ok, e.list = e.ok && (len(e.filters) > 0 || end), true
	}
	return e
}

// leaveToCPU leaves keys to the CPU that share a meter with one that is the CPU's: there packets
// are held against a meter of its own, and the rate would be had twice. And framed routes that
// cover one.
func leaveToCPU(all []expressed) {
	if !slices.ContainsFunc(all, func(e expressed) bool { return !e.ok }) {
		return
	}
	cpus := map[*stages.Meter]bool{}
	noted := make([]bool, len(all))
	for again := true; again; {
		again = false
		for i := range all {
			e := &all[i]
			e.ok = e.ok && !e.has(func(m *stages.Meter) bool { return cpus[m] }) &&
				!(e.key.Route.IsValid() && slices.ContainsFunc(all, func(o expressed) bool { return !o.ok && isBare(o.key) && covers(e.key.Route, o.key) }))
			if e.ok || noted[i] {
				continue
			}
			noted[i], again = true, true
			e.has(func(m *stages.Meter) bool { cpus[m] = true; return false })
		}
	}
}

// has reports whether a meter by which packets are held against their MBR is so.
func (e *expressed) has(is func(m *stages.Meter) bool) bool {
	return slices.ContainsFunc(e.rules, func(r *stages.Rule) bool {
		return slices.ContainsFunc(r.Limits, func(l stages.Limit) bool { return l.MBR != nil && !l.Shared && is(l.MBR) })
	})
}

// planKey adds a key to a plan. It reports whether there is room.
func (o *offload) planKey(p *plan, e *expressed) bool {
	front := header(e.rules, e.key, o.tag)
	ks := o.keys[e.key]
	if ks != nil && ks.owner == p.s.seid && ks.header != 0 {
		front = ks.header
	}
	var room [4]*slot // as many as usual
	slots := room[:0]
	for _, r := range e.rules {
		sl := o.slotOf(p, r, front)
		if sl == nil {
			return false
		}
		slots = append(slots, sl)
	}
	list := uint64(0)
	if e.list {
		if list = uint64(o.lists.take(listKey{e.key, p.s.seid})); list == 0 {
			return false
		}
		p.lists = append(p.lists, e.key)
		o.planFilters(p, e, list, slots)
	}
	o.planEntry(p, e, o.own(e.key, ks, p.s.seid), slots[0].index, list, front)
	if p.bound == nil {
		p.bound = make([]datapath.Key, 0, len(p.all))
	}
	p.bound = append(p.bound, e.key)
	return true
}

// keyOf returns the state of a key, which is the session's from now on.
func (o *offload) keyOf(k datapath.Key, seid uint64) *keyState { return o.own(k, o.keys[k], seid) }

// own is keyOf for a caller that has the state already; nil: there is none.
func (o *offload) own(k datapath.Key, ks *keyState, seid uint64) *keyState {
	if ks == nil {
		ks = &keyState{}
		o.keys[k] = ks
		if k.Route.IsValid() {
			o.routes++
		}
	}
	if ks.owner != seid {
		ks.owner, ks.header = seid, 0
	}
	return ks
}

// planEntry adds the entry of the key itself.
func (o *offload) planEntry(p *plan, e *expressed, ks *keyState, rule uint32, list uint64, front uint8) {
	k, common := e.key, &e.common
	var room [maxParams]uint64
	params := append(room[:0], uint64(rule), uint64(front))
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
	one := planned{plan: p, update: o.keyUpdate(p.arena, kind, k, act, params...), key: ks, front: front}
	if k.Route.IsValid() {
		p.routes = append(p.routes, one)
		return
	}
	p.keys = append(p.keys, one)
}

// planFilters adds the entries of a list.
func (o *offload) planFilters(p *plan, e *expressed, list uint64, slots []*slot) {
	priority := int32(len(e.filters) + 1)
	put := func(name string, key []match, priority int32, act string, param uint64) {
		e := o.schema.entry(name, append([]match{exact(list)}, key...), priority, act, param)
		p.rules = append(p.rules, planned{plan: p, update: update(p4rt.Update_INSERT, e), done: func() { p.filters = append(p.filters, e) }})
	}
	for _, f := range e.filters {
		name := tableFilters4
		if f.v6 {
			name = tableFilters6
		}
		put(name, f.key, priority, actionFiltered, uint64(slots[f.rule].index))
		priority--
	}
	if reason, known := endOf(e.rules); known {
		v4, v6 := versions(e.rules[0], e.key)
		if v4 {
			put(tableFilters4, make([]match, 8), priority, actionUnfiltered, uint64(reason))
		}
		if v6 {
			put(tableFilters6, make([]match, 10), priority, actionUnfiltered, uint64(reason))
		}
	}
}
