package session

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/plumbline-upf/plumbline/internal/endpoint"
)

// resource is what only one session can have: an F-TEID, or a UE address to which
// packets come that are in no tunnel. Two F-TEIDs with one TEID are different if they
// have no address in common.
//
// A framed route is a prefix, and another session may have one inside it, or an
// address: the longest prefix wins, as with all routes. Only the same prefix
// twice is a clash.
type resource struct {
	kind  resourceKind
	bits  uint8  // length of a framed route; else 0
	value uint64 // of IPv6 the upper half
	low   uint64 // the lower half of a framed IPv6 route; locals of an F-TEID
}

type resourceKind uint8

const (
	resourceFTEID resourceKind = iota
	resourceUEIPv4
	resourceUEIPv6
	resourceFramedIPv4
	resourceFramedIPv6
)

// String names the kind.
func (k resourceKind) String() string {
	return [...]string{"F-TEID", "UE IPv4 address", "UE IPv6 prefix", "framed IPv4 route", "framed IPv6 route"}[k]
}

// String names the resource and its value.
func (r resource) String() string {
	switch r.kind {
	case resourceFTEID:
		return fmt.Sprintf("F-TEID %#x", r.value)
	case resourceUEIPv4:
		return fmt.Sprintf("UE IP Address %v", r.prefix().Addr())
	case resourceFramedIPv4, resourceFramedIPv6:
		return fmt.Sprintf("framed route %v", r.prefix())
	default:
		return fmt.Sprintf("UE IPv6 prefix %016x/64", r.value)
	}
}

// add appends r unless the list, which is short, has it.
func add(list []resource, r resource) []resource {
	if slices.Contains(list, r) {
		return list
	}
	return append(list, r)
}

// locals stands for the addresses of an F-TEID: the tag of IPv4 in the upper half, that of
// IPv6 in the lower ([endpoint.Tag]); 0 where there is none.
type locals uint64

func (f FTEID) locals() locals {
	var a locals
	if f.IPv4 != (IPv4{}) {
		a = locals(endpoint.Tag(netip.AddrFrom4(f.IPv4))) << 32
	}
	if f.IPv6 != (IPv6{}) {
		a |= locals(endpoint.Tag(netip.AddrFrom16(f.IPv6)))
	}
	return a
}

// meets reports whether the two have an address in common.
func (a locals) meets(b locals) bool {
	return a>>32 != 0 && a>>32 == b>>32 || uint32(a) != 0 && uint32(a) == uint32(b)
}

func (f FTEID) resource() resource {
	return resource{kind: resourceFTEID, value: uint64(f.TEID), low: uint64(f.locals())}
}

// resources appends those of a, each once.
func (a UEAddress) resources(list []resource) []resource {
	if a.IPv4 != (IPv4{}) {
		list = add(list, resource{kind: resourceUEIPv4, value: ipv4Number(a.IPv4)})
	}
	if a.IPv6Prefix != (IPv6Prefix{}) {
		list = add(list, resource{kind: resourceUEIPv6, value: binary.BigEndian.Uint64(a.IPv6Prefix[:])})
	}
	return list
}

// resources appends what the PDI needs so that packets are matched: the TEID, or
// without a tunnel the UE's addresses; and addresses that were allocated here,
// wherever they stand.
func (d *PDI) resources(list []resource) []resource {
	if d.FTEID.TEID != 0 {
		list = add(list, d.FTEID.resource())
	} else {
		list = framedResources(d.UEAddress.resources(list), d.Framed)
	}
	return d.ChooseUE.chosen(d.UEAddress).resources(list)
}

// chosen is that part of a that was allocated here.
func (c ChooseUE) chosen(a UEAddress) UEAddress {
	if !c.V4 {
		a.IPv4 = IPv4{}
	}
	if !c.V6 {
		a.IPv6Prefix = IPv6Prefix{}
	}
	return a
}

// resources appends what the session needs, each once.
func (s *Session) resources(list []resource) []resource {
	for i := range s.PDRs {
		d := &s.PDRs[i].PDI
		list = d.resources(list)
		for _, id := range d.MoreEndpoints {
			if e := s.Endpoint(id); e != nil && e.FTEID.TEID == 0 {
				list = framedResources(e.UEAddress.resources(list), e.Framed)
			}
		}
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if e.FTEID.TEID != 0 {
			list = add(list, e.FTEID.resource())
		}
		list = e.ChooseUE.chosen(e.UEAddress).resources(list)
	}
	return list
}

// claims knows which session holds each resource.
type claims struct {
	teids  *teids
	pools  *pools
	shards [64]claimShard
}

// claimShard has those UE addresses that no pool hands out.
type claimShard struct {
	mu   sync.RWMutex
	ipv4 map[uint32]uint32 // holders
	ipv6 map[uint64]uint32
	// framed routes, nil if there is none
	framed map[resource]uint32
	_      [16]byte // so that two shards do not share a cache line
}

func newClaims(t *teids, p *pools) *claims {
	c := &claims{teids: t, pools: p}
	for i := range c.shards {
		c.shards[i].ipv4, c.shards[i].ipv6 = make(map[uint32]uint32), make(map[uint64]uint32)
	}
	return c
}

// shard spreads neighbouring addresses over all shards.
func (c *claims) shard(r resource) *claimShard {
	return &c.shards[r.value*0x9e3779b97f4a7c15>>58]
}

// take makes holder the holder of r, which it did not allocate, and returns who
// it is: another one if r was not free.
func (c *claims) take(r resource, holder uint32) uint32 {
	if r.kind == resourceFTEID {
		return c.teids.reserve(uint32(r.value), locals(r.low), holder)
	}
	if p := c.pools.of(r); p != nil {
		return p.take(r, holder)
	}
	s := c.shard(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.find(r); h != 0 {
		return h
	}
	switch r.kind {
	case resourceUEIPv4:
		s.ipv4[uint32(r.value)] = holder
	case resourceUEIPv6:
		s.ipv6[r.value] = holder
	default:
		if s.framed == nil {
			s.framed = make(map[resource]uint32)
		}
		s.framed[r] = holder
	}
	return holder
}

// release gives resources back.
func (c *claims) release(list []resource) {
	for _, r := range list {
		if r.kind == resourceFTEID {
			c.teids.free(uint32(r.value), locals(r.low))
		} else if p := c.pools.of(r); p != nil {
			p.free(r)
		} else {
			c.shard(r).drop(r)
		}
	}
}

// holder returns who holds r; 0: nobody.
func (c *claims) holder(r resource) uint32 {
	if r.kind == resourceFTEID {
		return c.teids.holder(uint32(r.value), locals(r.low))
	}
	if p := c.pools.of(r); p != nil {
		return p.holder(r)
	}
	s := c.shard(r)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.find(r)
}

func (s *claimShard) find(r resource) uint32 {
	switch r.kind {
	case resourceUEIPv4:
		return s.ipv4[uint32(r.value)]
	case resourceUEIPv6:
		return s.ipv6[r.value]
	}
	return s.framed[r]
}

func (s *claimShard) drop(r resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.kind {
	case resourceUEIPv4:
		delete(s.ipv4, uint32(r.value))
	case resourceUEIPv6:
		delete(s.ipv6, r.value)
	default:
		delete(s.framed, r)
	}
}
