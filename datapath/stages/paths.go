package stages

import (
	"net/netip"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/gtpu"
)

// How often an Echo Request is sent again, and after how long.
// Source: TS 29.281 V18.1.0, 12 (T3-RESPONSE, N3-REQUESTS), which leaves the values.
const (
	EchoT3 = 5 * time.Second
	echoN3 = 3
)

// Paths asks GTP-U peers in use whether they are there. K is what a driver knows a
// peer by. Its methods may be called by several goroutines at once.
//
// Source: TS 29.281 V18.1.0, 7.2.1; TS 23.527 V18, 4.3.
type Paths[K comparable] struct {
	Interval time.Duration         // between the requests to a peer that answers
	Peer     func(K) netip.Addr    // its address
	Ask      func(k K, seq uint16) // sends an Echo Request
	Tell     func(k K, up bool)    // that a path has broken, or works again

	mu    sync.Mutex
	peers map[K]*path
	seq   uint16
}

// path is a peer that is asked.
type path struct {
	due  time.Time // when to send next
	seq  uint16    // of the request that waits for its response
	left int       // how often it is sent again; 0: none waits
	down bool
}

// Answered notes an Echo Response: of a peer that was asked, with the number of
// the request, which a stranger does not know.
func (p *Paths[K]) Answered(m Datagram) {
	h, err := gtpu.Parse(m.Payload)
	if err != nil {
		return
	}
	seq, ok := h.Sequence()
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, peer := range p.peers {
		if ok && p.Peer(key) == m.From.Addr() && peer.left > 0 && peer.seq == seq {
			peer.left = 0
			peer.due = time.Time{}
		}
	}
}

// Round sends what is due to the peers in use, and tells of those that went and came
// back.
func (p *Paths[K]) Round(inUse map[K]bool, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.peers == nil {
		p.peers = map[K]*path{}
	}
	for key := range p.peers {
		if !inUse[key] {
			delete(p.peers, key)
		}
	}
	for key := range inUse {
		peer := p.peers[key]
		if peer == nil {
			peer = &path{}
			p.peers[key] = peer
		}
		p.step(key, peer, now)
	}
}

// step does what is due for one peer.
func (p *Paths[K]) step(key K, peer *path, now time.Time) {
	waits := peer.left > 0
	if !waits && peer.seq != 0 && peer.due.IsZero() { // it has answered
		if peer.down {
			peer.down = false
			p.Tell(key, true)
		}
		peer.due = now.Add(p.Interval)
	}
	if now.Before(peer.due) {
		return
	}
	switch {
	case !waits:
		p.seq = max(p.seq+1, 1)
		peer.seq, peer.left = p.seq, echoN3
	case peer.left == 1:
		peer.left = 0
		if !peer.down {
			peer.down = true
			p.Tell(key, false)
		}
		peer.due = now.Add(p.Interval)
		return
	default:
		peer.left--
	}
	peer.due = now.Add(EchoT3)
	p.Ask(key, peer.seq)
}

// EchoRequest makes the one with this number.
func EchoRequest(from, to netip.Addr, seq uint16) Datagram {
	return Datagram{
		From: netip.AddrPortFrom(from, gtpu.Port), To: netip.AddrPortFrom(to, gtpu.Port),
		Payload: gtpu.AppendEchoRequest(nil, seq),
	}
}
