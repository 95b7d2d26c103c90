package vector

import (
	"math/bits"
	"net/netip"
	"unsafe"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// record is what a packet finds by its key: two cache lines, of which the first one
// says which PDR it is, and the second what to do.
type record struct {
	key   uint64 // 0: the place is free
	rules []rule // in Precedence order: one, or those of more
	one   [1]rule
	more  *several // nil: one rule
	_     [8]byte
}

// several are the PDRs of a key that has more than one.
type several struct {
	rules  []rule
	models []*stages.Rule
}

// candidates returns the same rules for the model.
func (r *record) candidates() []*stages.Rule {
	if r.more != nil {
		return r.more.models
	}
	return r.one[0].model[:]
}

// table finds records. It is direct-mapped: a record stands where the low bits of its
// key say, or, if another one is there, among the guests. TEIDs that we allocate have
// a dense number there, and addresses of a pool are dense of themselves. Places are
// made by pages, when there is something to put there.
type table struct {
	pages  []*page
	used   []uint16 // records of each page
	mask   uint64
	guests map[uint64]*record
}

// pageRecords make a page of 32 KiB: the runtime gives it memory of its own, which
// begins with a cache line.
const pageRecords = 256

type page [pageRecords]record

// newTable returns a table of at least so many places.
func newTable(places int) table {
	n := max(1<<bits.Len(uint(places-1)), pageRecords)
	return table{pages: make([]*page, n/pageRecords), used: make([]uint16, n/pageRecords), mask: uint64(n - 1), guests: map[uint64]*record{}}
}

// home returns the place of a key, whosever it is; nil: it is not made.
func (t *table) home(key uint64) *record {
	place := key & t.mask
	p := t.pages[place/pageRecords]
	if p == nil {
		return nil
	}
	return &p[place%pageRecords]
}

// find returns the record of a key, or nil. Nobody has key 0.
func (t *table) find(key uint64) *record {
	if key == 0 {
		return nil
	}
	if r := t.home(key); r != nil && r.key == key {
		return r
	}
	return t.guests[key]
}

// put returns a record for a key that has none.
func (t *table) put(key uint64) *record {
	at := key & t.mask / pageRecords
	if t.pages[at] == nil {
		t.pages[at] = &page{}
	}
	r := t.home(key)
	if r.key == 0 {
		t.used[at]++
	} else {
		r = &record{}
		t.guests[key] = r
	}
	r.key = key
	return r
}

// remove takes the record of a key away, if there is one.
func (t *table) remove(key uint64) {
	r := t.home(key)
	if r == nil || r.key != key {
		delete(t.guests, key)
		return
	}
	*r = record{}
	at := key & t.mask / pageRecords
	if t.used[at]--; t.used[at] == 0 {
		t.pages[at] = nil
	}
}

// tables are those of an engine: its [stages.Index].
type tables struct {
	teids, v4, v6 table
	routes        map[netip.Prefix]*record
	routeBits     [2]uint64 // bit n: there may be a route of n bits; IPv4, IPv6
	compile       func(r *stages.Rule) rule
}

// newTables returns those of so many sessions.
func newTables(sessions int, compile func(r *stages.Rule) rule) *tables {
	n := 2 * sessions
	return &tables{newTable(n), newTable(n), newTable(n), map[netip.Prefix]*record{}, [2]uint64{}, compile}
}

// of returns the table of a key, and the key there; nil: it is a framed route.
func (t *tables) of(k datapath.Key) (*table, uint64) {
	switch {
	case k.TEID != 0:
		return &t.teids, k.FTEID()
	case k.IPv4 != 0:
		return &t.v4, uint64(k.IPv4)
	case k.IPv6 != 0:
		return &t.v6, k.IPv6
	}
	return nil, 0
}

// Candidates implements [stages.Index].
func (t *tables) Candidates(k datapath.Key) []*stages.Rule {
	if tab, key := t.of(k); tab != nil {
		if r := tab.find(key); r != nil {
			return r.candidates()
		}
		return nil
	}
	if r := t.route(k.Route); r != nil {
		return r.candidates()
	}
	return nil
}

// route returns the record of a framed route, or nil.
func (t *tables) route(p netip.Prefix) *record {
	if len(t.routes) == 0 || !p.IsValid() {
		return nil
	}
	if version, bit := routeBit(p); t.routeBits[version]&bit == 0 {
		return nil
	}
	return t.routes[p]
}

// longest returns the record of the longest framed route that contains an address, or
// nil: none does.
func (t *tables) longest(a netip.Addr) *record {
	version, most := 0, 31
	if a.Is6() {
		version, most = 1, 63
	}
	for set := t.routeBits[version] & (1<<(most+1) - 1); set != 0; {
		n := bits.Len64(set) - 1
		set &^= 1 << n
		if p, err := a.Prefix(n); err == nil && t.routes[p] != nil {
			return t.routes[p]
		}
	}
	return nil
}

func routeBit(p netip.Prefix) (version int, bit uint64) {
	if p.Addr().Is6() {
		version = 1
	}
	return version, 1 << (p.Bits() & 63)
}

// Bind implements [stages.Index].
func (t *tables) Bind(k datapath.Key, rules []*stages.Rule) {
	tab, key := t.of(k)
	if tab != nil {
		t.fill(tab.put(key), rules)
		return
	}
	version, bit := routeBit(k.Route)
	t.routeBits[version] |= bit
	r := &record{}
	t.fill(r, rules)
	t.routes[k.Route] = r
}

// fill makes the rules those of a record.
func (t *tables) fill(r *record, rules []*stages.Rule) {
	if len(rules) == 1 {
		r.one[0] = t.compile(rules[0])
		r.rules = r.one[:]
		return
	}
	r.more = &several{models: rules}
	for _, m := range rules {
		r.more.rules = append(r.more.rules, t.compile(m))
	}
	r.rules = r.more.rules
}

// Unbind implements [stages.Index].
func (t *tables) Unbind(k datapath.Key) {
	if tab, key := t.of(k); tab != nil {
		tab.remove(key)
		return
	}
	delete(t.routes, k.Route)
	if len(t.routes) == 0 {
		t.routeBits = [2]uint64{}
	}
}

// octets is how much memory the records take, rules that share a key aside.
func (t *table) octets() uint64 {
	n := len(t.pages)*int(2+unsafe.Sizeof(t.pages[0])) + len(t.guests)*int(unsafe.Sizeof(record{}))
	for _, p := range t.pages {
		if p != nil {
			n += int(unsafe.Sizeof(*p))
		}
	}
	return uint64(n)
}

// MemoryOctets is how much memory the records take by which packets find their rules.
func (e *Engine) MemoryOctets() uint64 {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.tables.teids.octets() + e.tables.v4.octets() + e.tables.v6.octets()
}
