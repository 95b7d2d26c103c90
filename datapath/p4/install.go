package p4

import (
	"context"
	"errors"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath"
)

// install makes the target have of sessions that are held what it can, and releases them.
//
//	1  keys of those that were installed say "cpu", counters are read, old filters go
//	2  rules and filters
//	3  keys, UE addresses before framed routes
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
	for _, s := range all {
		o.plan(a.plan(s))
	}
	plans := a.plans
	o.mu.Lock()
	for _, p := range plans {
		o.planKeys(p)
		o.mu.Unlock() // who is about to change a session waits for one plan, not for all
		o.mu.Lock()
	}
	relink := o.unlinked
	o.unlinked = false
	o.mu.Unlock()
	if relink {
		o.relink()
	}
	for _, step := range [...]func(p *plan) []planned{
		func(p *plan) []planned { return p.rules }, func(p *plan) []planned { return p.keys }, func(p *plan) []planned { return p.routes },
	} {
		if err == nil {
			err = o.writeAll(ctx, a, step)
		}
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
func (o *offload) writeAll(ctx context.Context, a *arena, step func(p *plan) []planned) error {
	all, updates := a.steps[:0], a.written[:0]
	for _, p := range a.plans {
		if p.failed {
			continue
		}
		for _, one := range step(p) {
			all, updates = append(all, one), append(updates, one.update)
		}
	}
	a.steps, a.written = all, updates
	refused, err := o.target.write(ctx, updates)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, one := range all {
		if why := refused[i]; why != nil {
			full := errors.Is(why, datapath.ErrFull) || o.full(one.update)
			if !one.plan.failed && !full {
				o.log.Error("the target refuses a rule", "seid", one.plan.s.seid, "err", why)
			}
			one.plan.failed, one.plan.retry = true, full
			continue
		}
		o.finish(&all[i])
	}
	return nil
}

// full reports whether a table has no room for an entry: not every target says why it refuses one.
// mu is held.
func (o *offload) full(u *p4rt.Update) bool {
	id := u.GetEntity().GetTableEntry().GetTableId()
	for _, t := range o.schema.tables {
		if t.id == id {
			return u.GetType() == p4rt.Update_INSERT && o.entries[id] >= int(t.size)
		}
	}
	return false
}

// finish notes that the target has done an update. mu is held.
func (o *offload) finish(one *planned) {
	o.written(one.update)
	there := one.update.GetType() != p4rt.Update_DELETE
	if one.slot != nil {
		one.slot.there = there
	}
	if one.key != nil {
		one.key.there = there
		if there {
			one.key.expects = one.front
		}
	}
	if one.done != nil {
		one.done()
	}
}

// written counts an entry that the target has now, or not any more. mu is held.
func (o *offload) written(u *p4rt.Update) {
	switch id := u.GetEntity().GetTableEntry().GetTableId(); u.GetType() {
	case p4rt.Update_INSERT:
		o.entries[id]++
	case p4rt.Update_DELETE:
		o.entries[id]--
	}
}
