package n4

import (
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// responseCache keeps responses so that a request that comes again gets the
// same answer, octet for octet, and is not executed again.
//
// A request comes again if source address and port, sequence number, type and
// all other octets are the same. TS 29.244 identifies it by the first three;
// the octets are compared too (by a keyed hash) because a CP function that
// restarts begins its sequence numbers anew, and its new requests are not
// repetitions of those it made in its former life. For the same reason what a
// peer was answered is forgotten when an association of it ends.
//
// There are two generations. The young one takes responses until it is old or
// full, then it becomes the old one, and the former old one is forgotten. So a
// response is kept for at least holdTime, unless there are too many of them.
//
// Source: TS 29.244 V18.6.0, 6.4.
type responseCache struct {
	seed maphash.Seed

	// epochs counts the associations that ended, by a hash of the address: of
	// those who share a number, one makes the others' responses be forgotten.
	epochs [256]atomic.Uint32

	shards [cacheShards]cacheShard // by the request's hash, so that workers seldom meet
}

const cacheShards = 16

type cacheShard struct {
	limit int // octets of one generation, which bounds the cache's memory

	mu         sync.Mutex
	young, old generation
	working    map[requestKey]struct{} // requests that are being worked on elsewhere
	_          [64]byte                // so that two shards do not share a cache line
}

// holdTime is how long a request may come again: T1 times N1 of the CP function
// with the values that are common, 3 s and 3.
const holdTime = 10 * time.Second

// requestKey identifies a request.
type requestKey struct {
	addr [16]byte
	// hash is of source and the whole message, sequence number and type
	// included. It stands for both: it is keyed, so nobody outside can make two
	// that are the same.
	hash uint64
}

// in is the key in the index of a generation.
func (k requestKey) in(epoch uint32) uint64 { return k.hash ^ uint64(epoch)*0x9e3779b97f4a7c15 }

// generation holds responses one after the other. There are no pointers in it
// for the garbage collector to follow.
type generation struct {
	born   time.Time
	octets []byte
	where  map[uint64]span // by requestKey.in
}

// span is where a response stands in a generation's octets.
type span struct {
	start uint32
	size  uint16
}

// lenEntry is what an entry costs besides the response's octets, about.
const lenEntry = 40

func newResponseCache(limit int) *responseCache {
	c := &responseCache{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].limit = limit / cacheShards / 2
		c.shards[i].working = make(map[requestKey]struct{})
	}
	return c
}

// lock returns the shard of a request, locked.
func (c *responseCache) lock(k requestKey) *cacheShard {
	s := &c.shards[k.hash%cacheShards]
	s.mu.Lock()
	return s
}

// key identifies a request by its source and all of its octets.
func (c *responseCache) key(src netip.AddrPort, message []byte) requestKey {
	var from [18]byte
	addr := src.Addr().As16()
	copy(from[:], addr[:])
	binary.BigEndian.PutUint16(from[16:], src.Port())
	// Multiplied, so that a message that is its source does not cancel it out.
	return requestKey{addr, maphash.Bytes(c.seed, from[:])*0x9e3779b97f4a7c15 + maphash.Bytes(c.seed, message)}
}

// hashAddr is a number for an address that nobody outside can foretell.
func (c *responseCache) hashAddr(addr [16]byte) uint64 { return maphash.Bytes(c.seed, addr[:]) }

// epoch is where the associations that ended at an address are counted.
func (c *responseCache) epoch(addr [16]byte) *atomic.Uint32 {
	return &c.epochs[c.hashAddr(addr)%uint64(len(c.epochs))]
}

// forget makes the cache not find what a peer was answered up to now.
func (c *responseCache) forget(addr netip.Addr) { c.epoch(addr.As16()).Add(1) }

// find appends the response to a request that has been answered before.
func (c *responseCache) find(b []byte, k requestKey, now time.Time) ([]byte, bool) {
	in := k.in(c.epoch(k.addr).Load())
	s := c.lock(k)
	defer s.mu.Unlock()
	for _, g := range [2]*generation{&s.young, &s.old} {
		if at, ok := g.where[in]; ok && now.Sub(g.born) <= 2*holdTime {
			return append(b, g.octets[at.start:int(at.start)+int(at.size)]...), true
		}
	}
	return b, false
}

// put keeps a response; the request is not being worked on any more.
func (c *responseCache) put(k requestKey, response []byte, now time.Time) {
	s := c.lock(k)
	defer s.mu.Unlock()
	delete(s.working, k)
	in := k.in(c.epoch(k.addr).Load())
	y := &s.young
	used := len(y.octets) + len(y.where)*lenEntry
	if y.where == nil || used+len(response) > s.limit || now.Sub(y.born) > holdTime {
		s.turn(now)
	}
	if _, ok := y.where[in]; ok {
		return
	}
	y.where[in] = span{uint32(len(y.octets)), uint16(len(response))}
	y.octets = append(y.octets, response...)
}

// replace keeps another response in place of the one that was.
func (c *responseCache) replace(k requestKey, response []byte, now time.Time) {
	in := k.in(c.epoch(k.addr).Load())
	s := c.lock(k)
	delete(s.young.where, in)
	delete(s.old.where, in)
	s.mu.Unlock()
	c.put(k, response, now)
}

// start notes that a request is being worked on. It reports false if it is
// already.
func (c *responseCache) start(k requestKey) bool {
	s := c.lock(k)
	defer s.mu.Unlock()
	if _, ok := s.working[k]; ok {
		return false
	}
	s.working[k] = struct{}{}
	return true
}

// end notes that a request is not being worked on any more.
func (c *responseCache) end(k requestKey) {
	s := c.lock(k)
	defer s.mu.Unlock()
	delete(s.working, k)
}

// turn makes the young generation the old one. It keeps the octets' memory, but
// not the index's: emptying a large map takes long.
func (s *cacheShard) turn(now time.Time) {
	room := s.old.octets[:0]
	s.old = s.young
	s.young = generation{born: now, octets: room, where: make(map[uint64]span, len(s.old.where))}
}
