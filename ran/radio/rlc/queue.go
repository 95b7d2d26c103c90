package rlc

import (
	"sync"
	"sync/atomic"
)

// Queue holds SDUs, in order, from when they are put until the RLC entity is done with
// them. Their octets lie in one ring: there is one copy in, and none until the
// transport block.
//
// Any goroutine may put; one takes. The two sides share no lock.
type Queue struct {
	octets uint64 // of the ring
	sdus   uint64 // of the table; a power of 2
	limit  uint64 // of octets that were not sent yet
	ring   []byte
	table  []sdu

	mu    sync.Mutex // of the producers
	tail  uint64     // where the next SDU begins, in octets ever put
	floor uint64     // where the ring was last empty
	base  uint64     // SDUs are numbered from here on, see reset

	put     atomic.Uint64 // SDUs ever put
	waiting atomic.Uint64 // octets ever put
	taken   atomic.Uint64 // octets ever sent completely
	freed   atomic.Uint64 // SDUs that are done with
	free    atomic.Uint64 // where the first SDU that is not begins
}

// sdu is an SDU in the ring.
type sdu struct {
	at     uint64 // in octets ever put
	length uint32

	// What follows belongs to the entity.
	sent     uint32 // octets that were sent once
	from, to uint32 // octets that are to be sent again
	retries  uint16
	acked    bool
	again    bool // it is in the list of those that are to be sent again
}

// NewQueue makes a queue for SDUs of together limit octets that wait, and unacknowledged
// octets that were sent and are not done with; sdus of both.
func NewQueue(limit, unacknowledged, sdus int) *Queue {
	size := uint64(1)
	for size < uint64(sdus) {
		size *= 2
	}
	octets := uint64(limit + unacknowledged + MaxSDU)
	return &Queue{octets: octets, sdus: size, limit: uint64(limit), ring: make([]byte, octets), table: make([]sdu, size)}
}

// MaxSDU is the most octets that an SDU has: what a segment offset of 16 bits reaches,
// and more than the SDUs of PDCP. Source: TS 38.323 V18, 4.3.1 (9000 octets).
const MaxSDU = 9216

// Put puts an SDU of n octets, which fill writes; count is how many were put before it.
// False: it does not fit, and fill is not called.
func (q *Queue) Put(n int, fill func(sdu []byte, count uint64)) bool {
	if n <= 0 || n > MaxSDU {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	count := q.put.Load()
	freed := q.freed.Load()
	if count-freed >= q.sdus || q.waiting.Load()+uint64(n)-q.taken.Load() > q.limit {
		return false
	}
	if count == freed {
		// The ring is empty: starting from its beginning reuses the cached part.
		q.tail += (q.octets - q.tail%q.octets) % q.octets
		q.floor = q.tail
	}
	at := q.tail
	if at%q.octets+uint64(n) > q.octets { // SDUs lie in one piece
		at += q.octets - at%q.octets
	}
	if at+uint64(n)-max(q.free.Load(), q.floor) > q.octets {
		return false
	}
	fill(q.ring[at%q.octets:][:n:n], count-q.base)
	q.table[count%q.sdus] = sdu{at: at, length: uint32(n)}
	q.tail = at + uint64(n)
	q.waiting.Add(uint64(n))
	q.put.Store(count + 1)
	return true
}

// Waiting is how many octets were put and not sent completely.
func (q *Queue) Waiting() int { return int(q.waiting.Load() - q.taken.Load()) }

// at is the SDU with a number; it has to be in the queue.
func (q *Queue) at(number uint64) *sdu { return &q.table[number%q.sdus] }

func (q *Queue) bytes(s *sdu) []byte { return q.ring[s.at%q.octets:][:s.length] }

// take says that an SDU was sent completely.
func (q *Queue) take(s *sdu) { q.taken.Add(uint64(s.length)) }

// release is done with all SDUs before number.
func (q *Queue) release(number uint64) {
	last := q.at(number - 1)
	q.free.Store(last.at + uint64(last.length))
	q.freed.Store(number)
}

// reset drops all SDUs; the next one has number 0 again. It is for the consumer.
func (q *Queue) reset() (base uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.base = q.put.Load()
	q.taken.Store(q.waiting.Load())
	q.free.Store(q.tail)
	q.freed.Store(q.base)
	return q.base
}
