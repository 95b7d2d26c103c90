package p4

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// A bare packet is looked for among UE addresses, and then among framed routes, the longest one
// first: in the engine among all, in the target among those that are in it. So a route in the
// target must not take packets to an address, or to a longer route, that is left to the CPU:
//
//   - such a key has an entry that says "cpu" where a route in the target covers it,
//   - a route is put into the target only if it covers no key without an entry, and behind the
//     other keys of its session.

// maxRest is among how many keys without an entry is looked for those that a route covers; with
// more of them a route waits.
const maxRest = 1 << 16

// isBare reports whether a key is that of bare packets.
func isBare(k datapath.Key) bool { return !k.Local.IsValid() }

// bareKeys returns those of a change.
func bareKeys(c *api.Change) (all []datapath.Key) {
	var room [4]datapath.Key // as many as usual
	for _, r := range c.GetSession().GetRules() {
		for _, k := range datapath.AppendKeys(room[:0], r) {
			if isBare(k) && !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	return all
}

// covers reports whether packets to a key would be taken by a framed route.
func covers(route netip.Prefix, k datapath.Key) bool {
	p := k.Prefix()
	return route.Bits() < p.Bits() && route.Overlaps(p)
}

// covered reports whether a route that is in the target, or about to be, covers a key. mu is held.
func (o *offload) covered(k datapath.Key) bool {
	if o.routes == 0 || !isBare(k) {
		return false
	}
	p := k.Prefix()
	for bits := p.Bits() - 1; bits > 0; bits-- {
		if o.keys[datapath.Key{Route: netip.PrefixFrom(p.Addr(), bits).Masked()}] != nil {
			return true
		}
	}
	return false
}

// blocked reports whether a framed route of a session covers a key without an entry of another
// one. mu is held.
func (o *offload) blocked(route netip.Prefix, seid uint64) bool {
	if len(o.rest) > maxRest {
		return true
	}
	for k := range o.rest {
		if covers(route, k) && o.wants(k, seid) != 0 {
			return true
		}
	}
	return false
}

// wants returns who has a key without an entry, or is about to have it, other than a session; 0:
// nobody. Two may be about to: the engine refuses one of them. mu is held.
func (o *offload) wants(k datapath.Key, but uint64) uint64 {
	for _, seid := range o.rest[k] {
		if seid != but {
			return seid
		}
	}
	return 0
}

// register notes keys of a session that are in the engine, or about to be. mu is held.
func (o *offload) register(s *session, keys []datapath.Key) {
	var rest []datapath.Key
	for _, k := range keys {
		if isBare(k) && !slices.Contains(s.keys, k) && !slices.Contains(rest, k) {
			rest = append(rest, k)
		}
	}
	for _, k := range s.rest {
		if o.rest[k] = without(o.rest[k], []uint64{s.seid}); len(o.rest[k]) == 0 {
			delete(o.rest, k)
		}
	}
	for _, k := range rest {
		o.rest[k] = append(o.rest[k], s.seid)
	}
	s.rest = rest
}

// cover has packets to keys that a session is to have go to the CPU, if a route in the target
// would take them. The session is held.
//
// Errors: the target's, or [datapath.ErrFull].
func (o *offload) cover(ctx context.Context, s *session, keys []datapath.Key) error {
	a := newArena()
	defer a.free()
	o.mu.Lock()
	if len(s.rest) > 0 {
		keys = append(slices.Clone(s.rest), keys...)
	}
	o.register(s, keys)
	var updates []*p4rt.Update
	var made []datapath.Key
	for _, k := range s.rest {
		if o.keys[k] == nil && o.covered(k) {
			made = append(made, k)
			updates = append(updates, o.cpuEntry(a, p4rt.Update_INSERT, k))
		}
	}
	o.mu.Unlock()
	if len(updates) == 0 {
		return nil
	}
	refused, err := o.target.write(ctx, updates)
	if err != nil {
		o.lose(err)
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for i, k := range made {
		if refused[i] != nil {
			errs = append(errs, refused[i])
			continue
		}
		o.written(updates[i])
		o.keyOf(k, s.seid).there = true
		s.keys, s.cpu = append(s.keys, k), true
	}
	o.register(s, s.rest)
	return errors.Join(errs...)
}

// cpuEntry is an update that sends packets of a key to the CPU.
func (o *offload) cpuEntry(a *arena, kind p4rt.Update_Type, k datapath.Key) *p4rt.Update {
	return o.keyUpdate(a, kind, k, actionDetectCPU, uint64(datapath.PassChanging))
}

// planCovered plans entries that say "cpu" for keys that the session has in the engine and not in
// the target, if a route there would take their packets. mu is held.
func (o *offload) planCovered(p *plan) (all []planned) {
	for _, k := range p.own {
		if !o.covered(k) || !p.failed && slices.Contains(p.bound, k) {
			continue
		}
		ks, kind := o.keys[k], p4rt.Update_INSERT
		switch {
		case ks != nil && ks.owner != p.s.seid:
			continue // it says "cpu" for the one who had the key before
		case ks != nil && ks.there:
			kind = p4rt.Update_MODIFY
		}
		all = append(all, planned{plan: p, update: o.cpuEntry(p.arena, kind, k), done: func() {
			o.keyOf(k, p.s.seid).there = true
			p.covered = append(p.covered, k)
		}})
	}
	return all
}

// handOver gives entries that sessions do not need any more to those who have the keys now, and
// are not in the target yet: they say "cpu", and a route would take the packets. mu is held.
func (o *offload) handOver(plans []*plan) {
	for _, p := range plans {
		for _, k := range p.freed() {
			ks := o.keys[k]
			if ks == nil || ks.owner != p.s.seid || !ks.there || slices.Contains(p.own, k) || !o.covered(k) {
				continue
			}
			if other := o.wants(k, p.s.seid); other != 0 {
				ks.owner = other
			}
		}
	}
}
