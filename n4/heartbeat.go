package n4

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"plumbline/pfcp"
)

// transactions are our own requests that wait for their responses.
type transactions struct {
	mu      sync.Mutex
	waiting map[transactionKey]chan<- []byte
	last    map[netip.AddrPort]uint32 // sequence number that was last used, by peer
}

type transactionKey struct {
	peer     netip.AddrPort
	sequence uint32
	response pfcp.MessageType
}

func (t *transactions) init() {
	t.waiting = make(map[transactionKey]chan<- []byte)
	t.last = make(map[netip.AddrPort]uint32)
}

// begin takes the next sequence number of a peer. The first one is random, so
// that nobody who does not see our requests can answer them.
func (t *transactions) begin(peer netip.AddrPort, response pfcp.MessageType) (transactionKey, <-chan []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.last[peer]
	if !ok {
		n = rand.Uint32()
	}
	n = (n + 1) & 0xffffff
	t.last[peer] = n
	k := transactionKey{peer, n, response}
	answer := make(chan []byte, 1)
	t.waiting[k] = answer
	return k, answer
}

func (t *transactions) end(k transactionKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, k)
}

// forget is called when no more requests go to a peer.
func (t *transactions) forget(peer netip.AddrPort) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, peer)
}

// deliver gives a response's body, whose memory it copies, to who waits for it.
// It reports false if nobody does.
func (t *transactions) deliver(k transactionKey, body []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	answer, ok := t.waiting[k]
	if !ok {
		return false
	}
	delete(t.waiting, k) // a second response is one too many
	answer <- append([]byte(nil), body...)
	return true
}

// response takes a response to one of our requests.
func (e *Endpoint) response(src netip.AddrPort, h pfcp.Header, body []byte) {
	if !e.pending.deliver(transactionKey{src, h.Sequence, h.Type}, body) {
		e.counters.drop(DropUnexpected)
	}
}

// errNoResponse is why a request failed.
var errNoResponse = errors.New("no response")

// request sends a request up to N1 times, T1 apart, and returns the body of
// its response. Errors: errNoResponse, or that of the context.
// Source: TS 29.244 V18.6.0, 6.4.
func (e *Endpoint) request(ctx context.Context, peer netip.AddrPort, m pfcp.Message, response pfcp.MessageType) ([]byte, error) {
	k, answer := e.pending.begin(peer, response)
	defer e.pending.end(k)
	datagram, err := pfcp.Append(nil, pfcp.Header{Sequence: k.sequence}, m)
	if err != nil {
		return nil, err
	}
	for i := range e.config.N1 {
		if i > 0 {
			e.counters.Retransmissions.Add(1)
		}
		e.transmit(peer, datagram)
		select {
		case body := <-answer:
			return body, nil
		case <-time.After(e.config.T1):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, errNoResponse
}

// monitor sends heartbeats to a peer until its association ends.
// Source: TS 29.244 V18.6.0, 6.2.2; TS 23.527 V18, 4.2 and 4.4.
func (e *Endpoint) monitor(ctx context.Context, a *association) {
	peer := netip.AddrPortFrom(a.addr, e.config.PeerPort)
	if peer == e.addr {
		return // we would ask ourselves
	}
	e.background.Go(func() {
		defer e.pending.forget(peer)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(e.config.HeartbeatInterval):
			}
			body, err := e.request(ctx, peer, &pfcp.HeartbeatRequest{RecoveryTimeStamp: e.recovery}, pfcp.MsgHeartbeatResponse)
			if ctx.Err() != nil {
				return
			}
			if e.heard(a, body, err) {
				return
			}
		}
	})
}

// heard takes the outcome of a heartbeat. It reports whether the association
// ends, as the peer has restarted.
func (e *Endpoint) heard(a *association, body []byte, err error) (ended bool) {
	if err != nil {
		if !a.pathDown.Swap(true) {
			e.counters.PathFailures.Add(1)
			e.log.event(kindAssociation, slog.LevelWarn, "n4: peer does not answer heartbeats, its sessions are kept",
				"node", a.node, "addr", a.addr, "error", err)
		}
		return false
	}
	var m pfcp.HeartbeatResponse
	if err := m.Decode(body); err != nil {
		e.counters.drop(DropMalformed)
		return false
	}
	if a.pathDown.Swap(false) {
		e.log.event(kindAssociation, slog.LevelInfo, "n4: peer answers heartbeats again", "node", a.node, "addr", a.addr)
	}
	if !newer(m.RecoveryTimeStamp, pfcp.TimeStamp(a.recovery.Load())) || !a.end() {
		return false
	}
	e.counters.PeerRestarts.Add(1)
	e.log.event(kindAssociation, slog.LevelWarn, "n4: peer has restarted, its association and sessions are deleted",
		"node", a.node, "addr", a.addr, "recovery", m.RecoveryTimeStamp.Time())
	e.clear(a)
	return true
}

// newer reports whether a is later than b; time stamps wrap around in 2036.
func newer(a, b pfcp.TimeStamp) bool { return int32(a-b) > 0 }
