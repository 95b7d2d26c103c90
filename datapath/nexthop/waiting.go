package nexthop

import (
	"sync"
	"sync/atomic"
	"time"
)

// Waiting counts packets that are lost because the neighbour by which their peer is
// reached does not answer. A datapath asks it before it hands a packet to the kernel, which
// keeps those that wait for a neighbour, and throws them away when it gives up. It is for
// several goroutines.
//
// Exact is what a [PeerWatcher] tells in time: a packet that leaves while a neighbour
// fails may be counted with those before it. What is sent to a neighbour that was there a
// moment ago is lost on the link, and not counted.
type Waiting struct {
	lost func(packets uint64)
	size atomic.Int64 // of peers

	mu    sync.RWMutex
	peers map[Peer]*Queue // only those whose neighbour is not resolved
}

// Queue is what waits for the neighbour of one peer; nil: nothing, it is resolved.
type Queue struct {
	packets atomic.Int64
	failed  atomic.Bool
	tried   atomic.Int64 // when a packet was last let through since it failed, ns
}

// Of the packets to a peer whose neighbour is not resolved.
const (
	// waitingMost is how many are handed to the kernel: about as many as it keeps, so
	// that it throws none away by itself.
	waitingMost = 64
	// tryAgain is how often one is, once the neighbour has failed, so that it is asked
	// for again.
	tryAgain = time.Second
)

// NewWaiting returns one that tells of packets that the kernel has thrown away.
func NewWaiting(lost func(packets uint64)) *Waiting {
	return &Waiting{lost: lost, peers: map[Peer]*Queue{}}
}

// Any reports whether there are peers whose packets wait.
func (w *Waiting) Any() bool { return w.size.Load() > 0 }

// Of returns what waits for a peer.
func (w *Waiting) Of(p Peer) *Queue {
	if !w.Any() {
		return nil
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.peers[p]
}

// Admit reports whether a packet may be handed to the kernel. Else it is to be dropped:
// its next hop cannot be resolved.
func (q *Queue) Admit() bool {
	if q == nil {
		return true
	}
	if q.failed.Load() {
		now, tried := time.Now().UnixNano(), q.tried.Load()
		if now-tried < int64(tryAgain) || !q.tried.CompareAndSwap(tried, now) {
			return false
		}
	}
	if q.packets.Add(1) > waitingMost {
		q.packets.Add(-1)
		return false
	}
	return true
}

// Tell takes what a [PeerWatcher] tells; one goroutine at a time calls it.
func (w *Waiting) Tell(ways map[Peer]Way) {
	for p, way := range ways {
		if way.State == Resolved {
			w.Forget(p)
			continue
		}
		if q := w.queue(p); way.State == Failed {
			q.tried.CompareAndSwap(0, time.Now().UnixNano())
			q.failed.Store(true)
			if n := q.packets.Swap(0); n > 0 {
				w.lost(uint64(n))
			}
		}
	}
}

// queue returns that of a peer, which it makes if there is none.
func (w *Waiting) queue(p Peer) *Queue {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.peers[p] == nil {
		w.peers[p] = &Queue{}
		w.size.Store(int64(len(w.peers)))
	}
	return w.peers[p]
}

// Forget ends what is known of a peer: its packets leave, or no rule sends there.
func (w *Waiting) Forget(p Peer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.peers, p)
	w.size.Store(int64(len(w.peers)))
}
