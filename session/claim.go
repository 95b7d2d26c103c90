package session

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
)

// resource is what only one session can have: a TEID or a UE address. The TEID
// counts alone: the datapaths have one space of TEIDs for all N3 addresses.
type resource struct {
	kind  resourceKind
	value uint64
}

type resourceKind uint8

const (
	resourceTEID resourceKind = iota
	resourceUEIPv4
	resourceUEIPv6
)

// String names the resource and its value.
func (r resource) String() string {
	switch r.kind {
	case resourceTEID:
		return fmt.Sprintf("F-TEID %#x", r.value)
	case resourceUEIPv4:
		b := binary.BigEndian.AppendUint32(nil, uint32(r.value))
		return fmt.Sprintf("UE IP Address %d.%d.%d.%d", b[0], b[1], b[2], b[3])
	default:
		return fmt.Sprintf("UE IPv6 prefix %016x/64", r.value)
	}
}

// resources appends what the PDR needs to be matched.
func (d *PDI) resources(list []resource) []resource {
	if d.FTEID.TEID != 0 {
		list = append(list, resource{resourceTEID, uint64(d.FTEID.TEID)})
	}
	if a := d.UEAddress.IPv4; a != (IPv4{}) {
		list = append(list, resource{resourceUEIPv4, uint64(binary.BigEndian.Uint32(a[:]))})
	}
	if a := d.UEAddress.IPv6Prefix; a != (IPv6Prefix{}) {
		list = append(list, resource{resourceUEIPv6, binary.BigEndian.Uint64(a[:])})
	}
	return list
}

// resources appends what the session's PDRs need, each once.
func (s *Session) resources(list []resource) []resource {
	if s == nil {
		return list
	}
	for i := range s.PDRs {
		n := len(list)
		list = s.PDRs[i].PDI.resources(list)
		for j := n; j < len(list); {
			if slices.Contains(list[:j], list[j]) {
				list = slices.Delete(list, j, j+1)
			} else {
				j++
			}
		}
	}
	return list
}

// without removes from list all that is in other.
func without(list, other []resource) []resource {
	return slices.DeleteFunc(list, func(r resource) bool { return slices.Contains(other, r) })
}

// claims knows which session holds each resource.
type claims struct {
	seed   maphash.Seed
	shards [64]claimShard
}

type claimShard struct {
	mu     sync.RWMutex
	holder map[resource]uint64 // SEID
	_      [32]byte            // so that two shards do not share a cache line
}

func newClaims() *claims {
	c := &claims{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].holder = make(map[resource]uint64)
	}
	return c
}

func (c *claims) shard(r resource) *claimShard {
	return &c.shards[maphash.Comparable(c.seed, r)%uint64(len(c.shards))]
}

// take makes seid the holder of r. It reports false if another session is.
func (c *claims) take(r resource, seid uint64) bool {
	s := c.shard(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if holder, ok := s.holder[r]; ok && holder != seid {
		return false
	}
	s.holder[r] = seid
	return true
}

// drop makes r free.
func (c *claims) drop(r resource) {
	s := c.shard(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holder, r)
}

// holder returns the SEID of the session that holds r, or 0.
func (c *claims) holder(r resource) uint64 {
	s := c.shard(r)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.holder[r]
}

// acquire takes all that the planned session needs and does not have yet: it
// allocates F-TEIDs, and claims these, those that the CP function chose, and
// the UE addresses. On an error nothing is taken.
func (m *Manager) acquire(p *plan) error {
	var buf [8]resource
	taken := buf[:0]
	err := m.allocate(p, &taken)
	if err == nil {
		err = checkDetectable(p.next)
	}
	if err == nil {
		err = m.claim(p, &taken)
	}
	if err != nil {
		m.release(taken)
	}
	return err
}

// allocate gives an F-TEID to each PDR of the planned session that wants one
// chosen, and appends those to taken. PDRs with the same CHOOSE ID get the same
// one: "several PDRs to be created within one single" request, so a CHOOSE ID
// of an earlier request means nothing.
// Source: TS 29.244 V18.6.0, 5.5.3.
func (m *Manager) allocate(p *plan, taken *[]resource) error {
	var buf [4]PDI
	chosen := buf[:0] // by CHOOSE ID, in this request
	for i := range p.next.PDRs {
		r := &p.next.PDRs[i]
		if !r.PDI.Choose.CH || r.PDI.FTEID.TEID != 0 {
			continue
		}
		same := func(d PDI) bool { return d.Choose.CHID && d.Choose == r.PDI.Choose }
		if j := slices.IndexFunc(chosen, same); j >= 0 {
			r.PDI.FTEID = chosen[j].FTEID
			continue
		}
		teid, err := m.teids.allocate()
		if err != nil {
			return &Error{Cause: CauseNoResources, Err: fmt.Errorf("PDR %d: %w: %w", r.ID, err, ErrFull)}
		}
		r.PDI.FTEID = FTEID{TEID: teid, IPv4: p.n3[0]}
		res := resource{resourceTEID, uint64(teid)}
		*taken = append(*taken, res)
		if !m.claims.take(res, p.next.SEID) {
			// A slot has one user, so this cannot be; if it is, refuse.
			return pdrError(r.ID, ErrHeld, "%v, just allocated", res)
		}
		chosen = append(chosen, r.PDI)
	}
	return nil
}

// claim takes what the planned session needs and neither the old one holds nor
// allocate took, and appends it to taken.
func (m *Manager) claim(p *plan, taken *[]resource) error {
	var buf [8]resource
	held := p.old.resources(buf[:0])
	for i := range p.next.PDRs {
		r := &p.next.PDRs[i]
		var buf [3]resource
		for _, res := range r.PDI.resources(buf[:0]) {
			if slices.Contains(held, res) || slices.Contains(*taken, res) {
				continue
			}
			if res.kind == resourceTEID && m.teids.reserve(uint32(res.value)) != nil {
				return pdrError(r.ID, ErrHeld, "%v", res)
			}
			if !m.claims.take(res, p.next.SEID) {
				if res.kind == resourceTEID {
					m.teids.free(uint32(res.value))
				}
				return pdrError(r.ID, ErrHeld, "%v", res)
			}
			*taken = append(*taken, res)
		}
	}
	return nil
}

// release gives resources back.
func (m *Manager) release(list []resource) {
	for _, r := range list {
		m.claims.drop(r)
		if r.kind == resourceTEID {
			m.teids.free(uint32(r.value))
		}
	}
}
