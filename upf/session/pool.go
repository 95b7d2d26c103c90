package session

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"
)

// errPool: every address of the pools is taken.
var errPool = fmt.Errorf("no free UE address: %w", ErrFull)

// maxPoolPlaces is how many addresses of one prefix are used at most.
const maxPoolPlaces = 1 << 24

// prefixPool hands out the addresses of one prefix: IPv4 addresses, or IPv6
// prefixes of 64 bits. One that is given back is used again as late as can be.
type prefixPool struct {
	kind  resourceKind // resourceUEIPv4 or resourceUEIPv6
	first uint64       // the number of the first address, or the first prefix's 64 bits

	mu     sync.RWMutex
	places places
}

// newPrefixPool leaves out the first and the last address of an IPv4 prefix, as
// many hosts take them for those of the network, and for broadcast.
func newPrefixPool(p netip.Prefix) (*prefixPool, error) {
	p = p.Masked()
	switch a := p.Addr(); {
	case !p.IsValid():
		return nil, fmt.Errorf("prefix %v is not valid", p)
	case a.Is4():
		pool := &prefixPool{kind: resourceUEIPv4, first: ipv4Number(a.As4())}
		n := uint64(1) << (32 - p.Bits())
		if n > 2 {
			pool.first, n = pool.first+1, n-2
		}
		pool.places = newPlaces(uint32(min(n, maxPoolPlaces)))
		return pool, nil
	case p.Bits() > 64:
		return nil, fmt.Errorf("prefix %v is longer than 64 bits", p)
	default:
		octets := a.As16()
		n := uint64(maxPoolPlaces)
		if p.Bits() > 0 {
			n = min(n, 1<<(64-p.Bits()))
		}
		return &prefixPool{
			kind: resourceUEIPv6, first: binary.BigEndian.Uint64(octets[:8]), places: newPlaces(uint32(n)),
		}, nil
	}
}

// has reports whether the address is one that this pool hands out.
func (p *prefixPool) has(r resource) bool {
	return r.kind == p.kind && r.value-p.first < uint64(p.places.size)
}

func (p *prefixPool) allocate(holder uint32) (resource, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.places.take(holder)
	return resource{kind: p.kind, value: p.first + uint64(i)}, ok
}

// take gives an address that the CP function chose to holder, and returns who
// holds it.
func (p *prefixPool) take(r resource, holder uint32) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := uint32(r.value - p.first)
	if p.places.occupy(i, holder) {
		return holder
	}
	return p.places.at(i).holder
}

func (p *prefixPool) free(r resource) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places.free(uint32(r.value - p.first))
}

func (p *prefixPool) holder(r resource) uint32 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if pl := p.places.peek(uint32(r.value - p.first)); pl != nil {
		return pl.holder
	}
	return 0
}

// pools are all UE addresses that are handed out here.
type pools struct {
	list   []*prefixPool
	byName map[string][]*prefixPool
}

func newPools(config []Pool) (*pools, error) {
	p := &pools{byName: make(map[string][]*prefixPool)}
	var all []netip.Prefix
	for _, c := range config {
		if _, twice := p.byName[c.Name]; twice {
			return nil, fmt.Errorf("pool %q: there are two of that name", c.Name)
		}
		p.byName[c.Name] = nil
		for _, prefix := range c.Prefixes {
			pool, err := newPrefixPool(prefix)
			if err != nil {
				return nil, fmt.Errorf("pool %q: %w", c.Name, err)
			}
			if i := slices.IndexFunc(all, prefix.Overlaps); i >= 0 {
				return nil, fmt.Errorf("pool %q: prefix %v overlaps %v", c.Name, prefix, all[i])
			}
			all = append(all, prefix)
			p.list = append(p.list, pool)
			p.byName[c.Name] = append(p.byName[c.Name], pool)
		}
	}
	return p, nil
}

// of returns the pool that hands out an address, or nil.
func (p *pools) of(r resource) *prefixPool {
	for _, pool := range p.list {
		if pool.has(r) {
			return pool
		}
	}
	return nil
}

// allocate takes an address of that kind out of the named pools, in their order;
// no names: out of any. Errors: errPool, [ErrUnsupported] if none of them has that
// kind.
func (p *pools) allocate(kind resourceKind, names []string, holder uint32) (resource, error) {
	if !p.offer(kind, names) {
		return resource{}, fmt.Errorf("%v of the pools %q: %w", kind, names, ErrUnsupported)
	}
	if len(names) == 0 {
		if r, ok := allocateFrom(p.list, kind, holder); ok {
			return r, nil
		}
		return resource{}, fmt.Errorf("%v of any pool: %w", kind, errPool)
	}
	for _, name := range names {
		if r, ok := allocateFrom(p.byName[name], kind, holder); ok {
			return r, nil
		}
	}
	return resource{}, fmt.Errorf("%v of the pools %q: %w", kind, names, errPool)
}

func allocateFrom(list []*prefixPool, kind resourceKind, holder uint32) (resource, bool) {
	for _, pool := range list {
		if pool.kind != kind {
			continue
		}
		if r, ok := pool.allocate(holder); ok {
			return r, true
		}
	}
	return resource{}, false
}

// offer reports whether one of the named pools has that kind of address.
func (p *pools) offer(kind resourceKind, names []string) bool {
	has := func(pool *prefixPool) bool { return pool.kind == kind }
	if len(names) == 0 {
		return slices.ContainsFunc(p.list, has)
	}
	return slices.ContainsFunc(names, func(name string) bool { return slices.ContainsFunc(p.byName[name], has) })
}
