package nexthop

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// Waiting counts packets that are lost because the neighbour of their peer does not answer. A
// datapath calls it before it passes a packet to the kernel, which queues packets that wait for a
// neighbour, and drops them when resolution fails. It is safe for concurrent use.
//
// The accuracy depends on timely notifications of the [PeerWatcher]: a packet that leaves while a
// neighbour fails may be counted with those before it. Packets to a neighbour that has just
// disappeared are lost on the link, and not counted. Packets waiting when the last peer of an
// unresolved neighbour is removed are counted as lost, although they may still be sent.
type Waiting struct {
	lost func(packets uint64)
	size atomic.Int64 // of peers

	mu         sync.RWMutex
	peers      map[Peer]*Queue // only those whose neighbour is not resolved
	neighbours map[neighbour]*Queue
}

// Queue is what waits for a neighbour; nil: nothing, it is resolved.
type Queue struct {
	packets atomic.Int64
	octets  atomic.Int64 // of the kernel's memory
	failed  atomic.Bool
	tried   atomic.Int64 // when a packet was last let through since it failed, ns

	at    neighbour
	peers int // that are reached by it
}

// Limit of packets passed to the kernel for an unresolved neighbour: below the kernel's queue
// (unres_qlen_bytes, 212,992 octets), so that it drops none by itself.
const (
	waitingPackets = 64
	waitingOctets  = 160 << 10
)

// tryAgain is the interval at which a packet is passed to it once the neighbour has failed, so that
// it is resolved again.
const tryAgain = time.Second

// NewWaiting returns one that tells of packets that the kernel has thrown away.
func NewWaiting(lost func(packets uint64)) *Waiting {
	return &Waiting{lost: lost, peers: map[Peer]*Queue{}, neighbours: map[neighbour]*Queue{}}
}

// Any reports whether there are peers whose packets wait.
func (w *Waiting) Any() bool { return w.size.Load() > 0 }

// Of returns what waits with the packets of a peer.
func (w *Waiting) Of(p Peer) *Queue {
	if !w.Any() {
		return nil
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.peers[p]
}

// Admit reports whether a packet of this length may be passed to the kernel. Otherwise it must be
// dropped: its next hop cannot be resolved.
func (q *Queue) Admit(octets int) bool {
	if q == nil {
		return true
	}
	if q.failed.Load() {
		now, tried := time.Now().UnixNano(), q.tried.Load()
		if now-tried < int64(tryAgain) || !q.tried.CompareAndSwap(tried, now) {
			return false
		}
	}
	packets, memory := q.packets.Add(1), q.octets.Add(memoryOf(octets))
	if packets > waitingPackets || memory > waitingOctets {
		q.Return(octets)
		return false
	}
	return true
}

// Return takes an [Queue.Admit] back: the kernel did not take the packet.
func (q *Queue) Return(octets int) {
	if q != nil {
		q.packets.Add(-1)
		q.octets.Add(-memoryOf(octets))
	}
}

// memoryOf is about how much memory the kernel counts for a packet (truesize): a power of two for
// the octets and their overhead, and struct sk_buff.
func memoryOf(octets int) int64 {
	const around, skb = 640, 256
	return 1<<bits.Len(uint(octets+around-1)) + skb
}

// empty returns how many packets waited.
func (q *Queue) empty() uint64 {
	q.octets.Store(0)
	return uint64(max(q.packets.Swap(0), 0))
}

// Tell takes what a [PeerWatcher] tells; one goroutine at a time calls it.
func (w *Waiting) Tell(ways map[Peer]Way) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, way := range ways {
		n := neighbour{way.Device, way.Via}
		if way.State == Resolved {
			if q := w.neighbours[n]; q != nil {
				q.empty() // they are sent
			}
			w.leave(p)
			continue
		}
		if q := w.join(p, n); way.State == Failed {
			q.tried.CompareAndSwap(0, time.Now().UnixNano())
			q.failed.Store(true)
			w.tell(q)
		}
	}
}

// tell counts what waited as lost.
func (w *Waiting) tell(q *Queue) {
	if n := q.empty(); n > 0 {
		w.lost(n)
	}
}

// join returns the queue of a neighbour, with which a peer's packets wait from now on.
func (w *Waiting) join(p Peer, n neighbour) *Queue {
	if q := w.peers[p]; q != nil && q.at == n {
		return q
	}
	w.leave(p)
	q := w.neighbours[n]
	if q == nil {
		q = &Queue{at: n}
		w.neighbours[n] = q
	}
	q.peers++
	w.peers[p] = q
	w.size.Store(int64(len(w.peers)))
	return q
}

// leave ends that a peer's packets wait.
func (w *Waiting) leave(p Peer) {
	q := w.peers[p]
	if q == nil {
		return
	}
	delete(w.peers, p)
	w.size.Store(int64(len(w.peers)))
	if q.peers--; q.peers == 0 {
		delete(w.neighbours, q.at)
		w.tell(q)
	}
}

// Forget ends what is known of a peer: no rule sends there.
func (w *Waiting) Forget(p Peer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leave(p)
}
