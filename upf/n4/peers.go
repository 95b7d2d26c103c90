package n4

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// peers is the table of associations. Reading it takes no lock: a change makes
// a new table.
type peers struct {
	mu        sync.Mutex // held to change the table
	lastOwner uint32
	table     atomic.Pointer[peerTable]
}

type peerTable struct {
	byNode  map[nodeKey]*association
	byOwner map[uint32]*association
	byAddr  map[netip.Addr]*peer
}

// peer is an address from which CP functions speak that are associated.
type peer struct {
	*peerState
	own  int            // associations that were set up from here
	list []*association // that may be spoken for from here
}

// peerState is what is remembered of a peer from table to table.
type peerState struct {
	rate bucket
	load loadSent
}

func (p *peers) init() {
	p.table.Store(&peerTable{
		byNode: map[nodeKey]*association{}, byOwner: map[uint32]*association{}, byAddr: map[netip.Addr]*peer{},
	})
}

// node returns the association of a Node ID, or nil.
func (p *peers) node(id pfcp.NodeID) *association {
	t := p.table.Load()
	if id.Addr.IsValid() {
		return t.byNode[nodeKey{addr: id.Addr.Unmap()}]
	}
	return t.byNode[nodeKey{fqdn: string(id.FQDN)}] // without allocation
}

// spokenFor returns the association of a Node ID if its CP function speaks from
// addr, else nil.
func (p *peers) spokenFor(id pfcp.NodeID, addr netip.Addr) *association {
	if a := p.node(id); a != nil && p.at(addr).speaksFor(a) {
		return a
	}
	return nil
}

// owner returns the association that owns sessions by that number, or nil.
func (p *peers) owner(n uint32) *association { return p.table.Load().byOwner[n] }

// at returns the peer at an address, or nil.
func (p *peers) at(addr netip.Addr) *peer { return p.table.Load().byAddr[addr] }

// knows reports whether there is an association from that address.
func (p *peers) knows(addr netip.Addr) bool { return p.at(addr) != nil }

// speaksFor reports whether a's CP function may be at p, which may be nil.
func (p *peer) speaksFor(a *association) bool { return p != nil && slices.Contains(p.list, a) }

// list returns all associations.
func (p *peers) list() []*association {
	return slices.Collect(maps.Values(p.table.Load().byNode))
}

// change makes a new table out of the present one, by a change that is about a alone.
func (p *peers) change(a *association, f func(t *peerTable)) {
	old := p.table.Load()
	t := &peerTable{byNode: maps.Clone(old.byNode), byOwner: maps.Clone(old.byOwner), byAddr: maps.Clone(old.byAddr)}
	touched := append([]netip.Addr{a.addr}, a.others...)
	f(t)
	there := t.byNode[a.node] == a
	for _, addr := range append(touched, a.others...) {
		t.place(addr, a, there && (addr == a.addr || slices.Contains(a.others, addr)))
	}
	p.table.Store(t)
}

// place notes whether a may be spoken for from addr. It keeps what the table knew of that
// address.
func (t *peerTable) place(addr netip.Addr, a *association, speaks bool) {
	at := &peer{peerState: new(peerState)}
	if old := t.byAddr[addr]; old != nil {
		at.peerState = old.peerState
		at.list = slices.DeleteFunc(slices.Clone(old.list), func(o *association) bool { return o == a })
	}
	if speaks {
		at.list = append(at.list, a)
	}
	if len(at.list) == 0 {
		delete(t.byAddr, addr)
		return
	}
	for _, o := range at.list {
		if o.addr == addr {
			at.own++
		}
	}
	t.byAddr[addr] = at
}

// own is how many associations were set up from addr.
func (t *peerTable) own(addr netip.Addr) int {
	if at := t.byAddr[addr]; at != nil {
		return at.own
	}
	return 0
}

// add puts a into the table and gives it its owner number, unless it has one
// from before a restart. Errors: errLimit, errAssociated.
func (p *peers) add(a *association, limit, perAddress int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.table.Load()
	if n := t.own(a.addr); len(t.byNode) >= limit || n >= perAddress {
		return fmt.Errorf("%d associations, %d of them from %s: %w", len(t.byNode), n, a.addr, errLimit)
	}
	if t.byNode[a.node] != nil {
		return fmt.Errorf("node %s: %w", a.node, errAssociated)
	}
	if a.owner == 0 {
		a.owner = p.lastOwner + 1
	}
	p.lastOwner = max(p.lastOwner, a.owner)
	p.change(a, func(t *peerTable) { t.byNode[a.node], t.byOwner[a.owner] = a, a })
	return nil
}

// reserve makes owner numbers up to n not be given to associations to come.
func (p *peers) reserve(n uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastOwner = max(p.lastOwner, n)
}

// take takes an owner number that no association is given any more.
func (p *peers) take() uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastOwner++
	return p.lastOwner
}

// move changes from where a's CP function speaks.
func (p *peers) move(a *association, others []netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.table.Load().byNode[a.node] == a {
		p.change(a, func(*peerTable) { a.others = others })
	}
}

// extend adds to where a's CP function speaks from. It reports false if there is no room for
// more, or a has ended.
func (p *peers) extend(a *association, addr netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.table.Load().byNode[a.node] != a || len(a.others) >= maxOthers {
		return false
	}
	if !slices.Contains(a.others, addr) {
		others := append(slices.Clone(a.others), addr)
		p.change(a, func(*peerTable) { a.others = others })
	}
	return true
}

// others lists the Alternative SMF IP Addresses of a.
func (p *peers) others(a *association) []netip.Addr {
	p.mu.Lock()
	defer p.mu.Unlock()
	return a.others // never changed in place
}

// givesWay returns the association that gives way to a new one from addr, or nil: of
// those whose CP function has never been heard the oldest, at first of addresses that
// have more than their share of them. If there is none, it is one that nobody would
// miss: its peer does not answer heartbeats, and it has no sessions. If there are too
// many from addr, it is one from there.
func (p *peers) givesWay(addr netip.Addr, perAddress int) *association {
	t := p.table.Load()
	own := t.own(addr) >= perAddress
	unproven := make(map[netip.Addr]int)
	for _, a := range t.byNode {
		if !a.proven.Load() {
			unproven[a.addr]++
		}
	}
	best, rank := (*association)(nil), 0
	for _, a := range t.byNode {
		n := 0
		switch {
		case own && a.addr != addr, a.ending.Load():
		case unproven[a.addr] > unprovenShare(perAddress) && !a.proven.Load():
			n = 3
		case !a.proven.Load():
			n = 2
		case a.pathDown.Load() && a.sessions.Load() == 0:
			n = 1
		}
		if n > rank || n > 0 && n == rank && a.owner < best.owner {
			best, rank = a, n
		}
	}
	return best
}

// unprovenShare is how many associations of an address may be such that nobody there has
// been heard, before others have to give way.
func unprovenShare(perAddress int) int { return max(1, perAddress/4) }

// remove takes a out of the table, if it is there.
func (p *peers) remove(a *association) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.table.Load().byNode[a.node] != a {
		return
	}
	p.change(a, func(t *peerTable) {
		delete(t.byNode, a.node)
		delete(t.byOwner, a.owner)
	})
}
