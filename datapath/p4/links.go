package p4

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"net/netip"
	"slices"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
)

// links keeps in the target what it has to know of ports, addresses, neighbours and routes: made
// anew when the host's change, and compared with what the target has. It is for one goroutine.
type links struct {
	schema *schema
	own    func() []netip.Addr
	ports  func() []afxdp.Port
	exits  func() map[nexthop.Peer]afxdp.Exit
	routes func() []afxdp.Route
	n6     *datapath.N6
	// number is that of a device's port in the pipeline.
	number func(device int) uint64
	peers  func() map[nexthop.Peer]uint32 // numbers of those in use
	shares func() map[uint32]share

	has  map[string]*p4rt.TableEntry
	hops numbers[afxdp.Exit]
}

// pool hands out the numbers 1 to most.
type pool struct {
	most, next uint32
	free       []uint32 // the one that was given back first is handed out first
}

// take returns a number that is not in use; 0: all are.
func (p *pool) take() uint32 {
	switch {
	case p.next < p.most:
		p.next++
		return p.next
	case len(p.free) > 0:
		n := p.free[0]
		p.free = p.free[1:]
		return n
	}
	return 0
}

func (p *pool) give(n uint32) { p.free = append(p.free, n) }

func (p *pool) clear() { *p = pool{most: p.most} }

func (p *pool) used() int { return int(p.next) - len(p.free) }

// numbers hands out a number for each key.
type numbers[K comparable] struct {
	pool
	of map[K]uint32
}

func newNumbers[K comparable](most uint32) numbers[K] {
	return numbers[K]{pool{most: most}, map[K]uint32{}}
}

// take returns the number of k; 0: all are in use.
func (n *numbers[K]) take(k K) uint32 {
	if number := n.of[k]; number != 0 {
		return number
	}
	number := n.pool.take()
	if number != 0 {
		n.of[k] = number
	}
	return number
}

func (n *numbers[K]) clear() { *n = newNumbers[K](n.most) }

func (n *numbers[K]) give(k K) {
	if number := n.of[k]; number != 0 {
		delete(n.of, k)
		n.pool.give(number)
	}
}

// clear is for a target that has no entries.
func (l *links) clear() {
	l.has = map[string]*p4rt.TableEntry{}
	l.hops.clear()
}

// sync makes the target's entries what the host's state asks for. It reports whether anything
// was written.
//
// Errors: the target's; what it refuses is left to the CPU, and is tried again the next time.
func (l *links) sync(ctx context.Context, c writer) error {
	want, exits := l.wanted()
	var first, then, last, gone []*p4rt.Update
	add := func(kind p4rt.Update_Type, e *p4rt.TableEntry) {
		u := update(kind, e)
		switch hop := e.GetTableId() == l.schema.tables[tableHops].id; {
		case kind == p4rt.Update_DELETE && hop:
			gone = append(gone, u)
		case kind == p4rt.Update_DELETE:
			last = append(last, u)
		case hop:
			first = append(first, u)
		default:
			then = append(then, u)
		}
	}
	for k, e := range want {
		switch had := l.has[k]; {
		case had == nil:
			add(p4rt.Update_INSERT, e)
		case !proto.Equal(had, e):
			add(p4rt.Update_MODIFY, e)
		}
	}
	for k, e := range l.has {
		if want[k] == nil {
			add(p4rt.Update_DELETE, &p4rt.TableEntry{TableId: e.TableId, Match: e.Match, Priority: e.Priority})
		}
	}
	var errs []error
	for _, updates := range [...][]*p4rt.Update{first, then, last, gone} {
		refused, err := c.write(ctx, updates)
		if err != nil {
			return err
		}
		for i, u := range updates {
			k := l.key(u.GetEntity().GetTableEntry())
			switch {
			case refused[i] != nil:
				errs = append(errs, refused[i])
			case u.GetType() == p4rt.Update_DELETE:
				delete(l.has, k)
			default:
				l.has[k] = want[k]
			}
		}
	}
	for e := range maps.Clone(l.hops.of) {
		if !exits[e] && l.has[l.hopKey(e)] == nil {
			l.hops.give(e)
		}
	}
	return errors.Join(errs...)
}

// halt has the target hand to the CPU all that comes in.
//
// Errors: the target's; what it has not got need not be taken from it.
func (l *links) halt(ctx context.Context, c writer) error {
	var gone []*p4rt.Update
	for k, e := range l.has {
		if e.GetTableId() == l.schema.tables[tablePorts].id {
			gone = append(gone, update(p4rt.Update_DELETE, &p4rt.TableEntry{TableId: e.TableId, Match: e.Match}))
			delete(l.has, k)
		}
	}
	_, err := c.write(ctx, gone)
	return err
}

func (l *links) key(e *p4rt.TableEntry) string {
	b := binary.BigEndian.AppendUint32(nil, e.GetTableId())
	for _, m := range e.GetMatch() {
		b, _ = proto.MarshalOptions{Deterministic: true}.MarshalAppend(b, m) // it has no fields that could fail
	}
	return string(b)
}

func (l *links) hopKey(e afxdp.Exit) string {
	return l.key(l.schema.entry(tableHops, []match{exact(uint64(l.hops.of[e]))}, 0, ""))
}

// wanted returns all entries, and the exits among them.
func (l *links) wanted() (all map[string]*p4rt.TableEntry, exits map[afxdp.Exit]bool) {
	all, exits = map[string]*p4rt.TableEntry{}, map[afxdp.Exit]bool{}
	put := func(e *p4rt.TableEntry) { all[l.key(e)] = e }
	ports := l.ports()
	macs := map[int][6]byte{}
	endpoint := uint64(0)
	for _, p := range ports {
		macs[p.Number] = p.MAC
		if p.Ethernet {
			continue
		}
		n3, network := uint64(0), uint64(p.Network)
		if len(p.Locals) > 0 {
			n3 = 1
		}
		if network != 0 && !whole(&l.n6.Networks[network-1]) {
			network = 0
		}
		put(l.schema.entry(tablePorts, []match{exact(l.number(p.Number)), exact(0), exact(0), exact(macNumber(p.MAC))}, 0, actionFromPort, n3, network))
	}
	for _, a := range endpoints(ports) {
		endpoint++
		put(l.address(tableLocals4, tableLocals6, a, actionLocal, endpoint))
	}
	for _, a := range l.own() {
		put(l.address(tableOwn4, tableOwn6, a, actionOwn))
	}
	hop := func(e afxdp.Exit) uint64 {
		n := l.hops.take(e)
		if n == 0 {
			return 0
		}
		exits[e] = true
		put(l.schema.entry(tableHops, []match{exact(uint64(n))}, 0, actionByPort, l.number(e.Device), 0, 0, macNumber(macs[e.Device]), macNumber(e.MAC), uint64(e.MTU)))
		return uint64(n)
	}
	reached := l.exits()
	for p, n := range l.peers() {
		if e, ok := reached[p]; ok {
			if h := hop(e); h != 0 {
				put(l.peer(n, p, h))
			}
		}
	}
	for n, s := range l.shares() {
		put(l.schema.entry(tableSlices, []match{exact(uint64(n)), exact(bit(s.uplink))}, 0, actionRate, s.unit, s.tolerance))
	}
	for _, r := range l.routes() {
		h := uint64(0)
		if r.Exit != nil {
			h = hop(*r.Exit)
		}
		put(l.route(r, h))
	}
	return all, exits
}

// whole reports whether the pipeline does with IP packets of a data network all that there is
// to do: it has no NAT, and does not look at the MSS.
func whole(n *datapath.DataNetwork) bool { return n.NAT == nil && n.MSSClamp == 0 && !n.Ethernet }

// endpoints returns the addresses at which tunnels end, in a fixed order: the number of one is
// its place, from 1 on.
func endpoints(ports []afxdp.Port) []netip.Addr {
	var all []netip.Addr
	for _, p := range ports {
		for _, a := range p.Locals {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all
}

func (l *links) address(table4, table6 string, a netip.Addr, act string, params ...uint64) *p4rt.TableEntry {
	if a = a.Unmap(); a.Is4() {
		return l.schema.entry(table4, []match{exact(word4(a))}, 0, act, params...)
	}
	hi, lo := words6(a)
	return l.schema.entry(table6, []match{exact(hi), exact(lo)}, 0, act, params...)
}

func (l *links) peer(number uint32, p nexthop.Peer, hop uint64) *p4rt.TableEntry {
	key := []match{exact(uint64(number))}
	if p.Addr.Is4() {
		return l.schema.entry(tablePeers, key, 0, actionPeer4, word4(p.Local), word4(p.Addr), hop)
	}
	fromHi, fromLo := words6(p.Local)
	toHi, toLo := words6(p.Addr)
	return l.schema.entry(tablePeers, key, 0, actionPeer6, fromHi, fromLo, toHi, toLo, hop)
}

func (l *links) route(r afxdp.Route, hop uint64) *p4rt.TableEntry {
	a := r.Prefix.Masked().Addr()
	name := tableRoutes6
	if a.Is4() {
		name = tableRoutes4
	}
	key := []match{exact(uint64(r.Way)), {value: canonical(a.AsSlice()), bits: r.Prefix.Bits()}}
	if hop == 0 {
		return l.schema.entry(name, key, 0, actionForwardCPU, uint64(datapath.PassUnresolved))
	}
	return l.schema.entry(name, key, 0, actionByHop, hop)
}

func update(kind p4rt.Update_Type, e *p4rt.TableEntry) *p4rt.Update {
	return &p4rt.Update{Type: kind, Entity: &p4rt.Entity{Entity: &p4rt.Entity_TableEntry{TableEntry: e}}}
}

func word4(a netip.Addr) uint64 {
	b := a.As4()
	return uint64(binary.BigEndian.Uint32(b[:]))
}

func words6(a netip.Addr) (hi, lo uint64) {
	b := a.As16()
	return binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])
}

func macNumber(mac [6]byte) uint64 {
	var b [8]byte
	copy(b[2:], mac[:])
	return binary.BigEndian.Uint64(b[:])
}

// writer is what takes updates: see [client.write].
type writer interface {
	write(ctx context.Context, updates []*p4rt.Update) (refused map[int]error, err error)
}
