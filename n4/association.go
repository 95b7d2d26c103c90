package n4

import (
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"plumbline/pfcp"
)

// association is a PFCP association with a CP function.
type association struct {
	node   nodeKey
	addr   netip.Addr // where it was set up from; everything else from elsewhere is not its
	owner  uint32     // of its sessions; never used again
	since  time.Time
	cancel func() // ends its heartbeats

	recovery atomic.Uint32 // the CP function's Recovery Time Stamp
	pathDown atomic.Bool   // it does not answer heartbeats
	ending   atomic.Bool   // no more session procedures may begin
	sessions atomic.Int64  // how many it has

	// mu is held for reading while one of its sessions is established,
	// modified or deleted.
	mu sync.RWMutex
}

// nodeKey is a Node ID as a key.
type nodeKey struct {
	addr netip.Addr
	fqdn string // if addr is not valid, as on the wire
}

func newNodeKey(id pfcp.NodeID) nodeKey {
	if id.Addr.IsValid() {
		return nodeKey{addr: id.Addr.Unmap()}
	}
	return nodeKey{fqdn: string(id.FQDN)}
}

// String is the Node ID as text.
func (k nodeKey) String() string {
	if k.addr.IsValid() {
		return k.addr.String()
	}
	return pfcp.Name(k.fqdn).String()
}

// open locks the association for one session procedure. It reports false if
// the association is ending. The caller has to call done after true.
func (a *association) open() bool {
	a.mu.RLock()
	if a.ending.Load() {
		a.mu.RUnlock()
		return false
	}
	return true
}

func (a *association) done() { a.mu.RUnlock() }

// end lets no more session procedures begin. It reports false if somebody else
// ends the association.
func (a *association) end() bool { return a.ending.CompareAndSwap(false, true) }

// drain waits, after end, for the session procedures that are under way.
func (a *association) drain() {
	a.mu.Lock() // those that come to lock it later see that it is ending
	defer a.mu.Unlock()
	a.cancel()
}

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
	count   map[netip.Addr]int // associations from each address
}

func (p *peers) init() {
	p.table.Store(&peerTable{
		byNode: map[nodeKey]*association{}, byOwner: map[uint32]*association{}, count: map[netip.Addr]int{},
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

// owner returns the association that owns sessions by that number, or nil.
func (p *peers) owner(n uint32) *association { return p.table.Load().byOwner[n] }

// knows reports whether there is an association from that address.
func (p *peers) knows(addr netip.Addr) bool { return p.table.Load().count[addr] > 0 }

// list returns all associations.
func (p *peers) list() []*association {
	t := p.table.Load()
	list := make([]*association, 0, len(t.byNode))
	for _, a := range t.byNode {
		list = append(list, a)
	}
	return list
}

// add puts a into the table and gives it its owner number. Errors: errLimit.
func (p *peers) add(a *association, limit, perAddress int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.copy()
	if len(t.byNode) >= limit || t.count[a.addr] >= perAddress {
		return fmt.Errorf("%d associations, %d of them from %s: %w", len(t.byNode), t.count[a.addr], a.addr, errLimit)
	}
	if t.byNode[a.node] != nil {
		return fmt.Errorf("node %s: %w", a.node, errAssociated)
	}
	p.lastOwner++
	a.owner = p.lastOwner
	t.byNode[a.node], t.byOwner[a.owner] = a, a
	t.count[a.addr]++
	p.table.Store(t)
	return nil
}

// idle returns an association that nobody would miss, or nil: its peer does
// not answer heartbeats, and it has no sessions. If there are too many from
// addr, it is one from there.
func (p *peers) idle(addr netip.Addr, perAddress int) *association {
	t := p.table.Load()
	for _, a := range t.byNode {
		if a.pathDown.Load() && a.sessions.Load() == 0 && (a.addr == addr || t.count[addr] < perAddress) {
			return a
		}
	}
	return nil
}

// remove takes a out of the table, if it is there.
func (p *peers) remove(a *association) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.copy()
	if t.byNode[a.node] != a {
		return
	}
	delete(t.byNode, a.node)
	delete(t.byOwner, a.owner)
	if t.count[a.addr]--; t.count[a.addr] == 0 {
		delete(t.count, a.addr)
	}
	p.table.Store(t)
}

func (p *peers) copy() *peerTable {
	t := p.table.Load()
	return &peerTable{byNode: maps.Clone(t.byNode), byOwner: maps.Clone(t.byOwner), count: maps.Clone(t.count)}
}
