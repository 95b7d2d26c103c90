package xdp

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// routesKey returns the key in rule_by_ue of what is reached through the framed
// routes of a session.
func routesKey(seid uint64) uint64 { return ruleKeyRoutes | seid&(ruleKeyRoutes-1) }

// framedTable is framed_by_prefix: it leads from a framed route to the key of its
// session's.
type framedTable struct {
	trie     *ebpf.Map
	changed  func(routes int)     // told how many there are
	gone     func(p netip.Prefix) // told of one that a session had, and has not any more
	key      map[netip.Prefix]uint64
	prefixes map[uint64][]netip.Prefix // by key
	// orphans are those of a process before this one whose sessions have not been
	// applied yet: who asks for one gets it, as that session may be gone. displaced is
	// where they led to.
	orphans   map[netip.Prefix]bool
	displaced map[netip.Prefix]uint64
}

func newFramedTable(trie *ebpf.Map, changed func(routes int), gone func(netip.Prefix)) *framedTable {
	return &framedTable{trie: trie, changed: changed, gone: gone, key: map[netip.Prefix]uint64{}, prefixes: map[uint64][]netip.Prefix{}}
}

// framedKey is struct framed_key of bpf/rules.h.
func framedKey(p netip.Prefix) [20]byte {
	var k [20]byte
	bits := p.Bits()
	if p.Addr().Is4() {
		bits += 96
	}
	binary.NativeEndian.PutUint32(k[:], uint32(bits))
	addr := p.Addr().As16()
	copy(k[4:], addr[:])
	return k
}

func unframedKey(k [20]byte) netip.Prefix {
	addr, bits := netip.AddrFrom16([16]byte(k[4:])), int(binary.NativeEndian.Uint32(k[:]))
	if addr.Is4In6() && bits >= 96 {
		return netip.PrefixFrom(addr.Unmap(), bits-96)
	}
	return netip.PrefixFrom(addr, bits)
}

// add lets p lead to key, and reports whether it did not before.
//
// Errors: [datapath.ErrClash], [datapath.ErrFull].
func (t *framedTable) add(p netip.Prefix, key uint64) (fresh bool, err error) {
	had, ok := t.key[p]
	switch {
	case ok && had == key:
		delete(t.orphans, p)
		return false, nil
	case ok && !t.orphans[p]:
		return false, fmt.Errorf("xdp: framed route %v: %w", p, datapath.ErrClash)
	}
	if err := t.trie.Put(framedKey(p), key); err != nil {
		return false, fmt.Errorf("xdp: framed route %v: %w: %w", p, err, datapath.ErrFull)
	}
	if ok {
		t.forget(p, had)
		delete(t.orphans, p)
		t.displaced[p] = had
	}
	t.know(p, key)
	t.changed(len(t.key))
	return true, nil
}

// giveBack takes p away as it was added in vain: an orphan has it again.
func (t *framedTable) giveBack(p netip.Prefix) {
	had, ok := t.displaced[p]
	if !ok {
		t.remove(p)
		return
	}
	delete(t.displaced, p)
	t.forget(p, t.key[p])
	if err := t.trie.Put(framedKey(p), had); err != nil {
		return // there was room for it: it is there
	}
	t.know(p, had)
	t.orphans[p] = true
	t.changed(len(t.key))
}

func (t *framedTable) know(p netip.Prefix, key uint64) {
	t.key[p] = key
	t.prefixes[key] = append(t.prefixes[key], p)
}

// forget is the inverse of know.
func (t *framedTable) forget(p netip.Prefix, key uint64) {
	delete(t.key, p)
	t.prefixes[key] = slices.DeleteFunc(t.prefixes[key], func(o netip.Prefix) bool { return o == p })
	if len(t.prefixes[key]) == 0 {
		delete(t.prefixes, key)
	}
}

// remove takes p away.
func (t *framedTable) remove(p netip.Prefix) {
	t.forget(p, t.key[p])
	delete(t.orphans, p)
	delete(t.displaced, p)
	// A stale entry leads to a key that no rule has: harmless.
	_ = t.trie.Delete(framedKey(p))
	t.changed(len(t.key))
}

// keep removes all of the key's routes but those of want.
func (t *framedTable) keep(key uint64, want []netip.Prefix) {
	for _, p := range slices.Clone(t.prefixes[key]) {
		if !slices.Contains(want, p) {
			t.remove(p)
			t.gone(p)
		}
	}
}

// adopt finds the routes that a process before this one has left.
func (t *framedTable) adopt() {
	var (
		k   [20]byte
		key uint64
	)
	t.orphans, t.displaced = map[netip.Prefix]bool{}, map[netip.Prefix]uint64{}
	for all := t.trie.Iterate(); all.Next(&k, &key); {
		t.know(unframedKey(k), key)
		t.orphans[unframedKey(k)] = true
	}
	t.changed(len(t.key))
}

// settle removes the routes that lead to no rule.
func (t *framedTable) settle(ues *table) {
	t.orphans, t.displaced = nil, nil
	for _, key := range slices.Collect(maps.Keys(t.prefixes)) {
		if _, ok := ues.find(key); !ok {
			t.keep(key, nil)
		}
	}
}

// routesOf returns the framed routes of a session that are no UE addresses, each
// once.
func routesOf(s *api.Session) []netip.Prefix {
	var routes []netip.Prefix
	for _, r := range s.GetRules() {
		if len(r.GetDetect().GetFramedRoutes()) == 0 {
			continue
		}
		for _, k := range datapath.Keys(r) {
			if k.Route.IsValid() && !slices.Contains(routes, k.Route) {
				routes = append(routes, k.Route)
			}
		}
	}
	return routes
}

// placeRoutes enters the framed routes of the session, which lead nowhere yet.
func (c *change) placeRoutes() error {
	for _, p := range c.routes {
		fresh, err := c.d.framed.add(p, routesKey(c.in.GetSeid()))
		if err != nil {
			return c.routeError(p, err)
		}
		if fresh {
			c.fresh = append(c.fresh, p)
		}
	}
	return nil
}

// routeError names the first PDR that has the route.
func (c *change) routeError(p netip.Prefix, err error) error {
	for _, r := range c.in.GetRules() {
		if slices.Contains(datapath.Keys(r), datapath.Key{Route: p}) {
			return &datapath.RuleError{Type: api.RuleType_PDR_RULE, ID: r.GetPdrId(), Err: err}
		}
	}
	return err
}
