package n4

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// transactions are our own requests that wait for their responses.
type transactions struct {
	mu      sync.Mutex
	waiting map[transactionKey]waiter
	last    map[netip.AddrPort]uint32 // sequence number that was last used, by peer
}

// waiter is who waits for a response.
type waiter struct {
	answer chan<- []byte
	heard  func(body []byte) // nil: nothing is to be done before what comes behind it
}

type transactionKey struct {
	peer     netip.AddrPort
	sequence uint32
	response pfcp.MessageType
}

func (t *transactions) init() {
	t.waiting = make(map[transactionKey]waiter)
	t.last = make(map[netip.AddrPort]uint32)
}

// begin takes the next sequence number of a peer. The first one is random, so
// that nobody who does not see our requests can answer them.
func (t *transactions) begin(peer netip.AddrPort, response pfcp.MessageType, heard func([]byte)) (transactionKey, <-chan []byte) {
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
	t.waiting[k] = waiter{answer, heard}
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
	w, ok := t.waiting[k]
	delete(t.waiting, k) // a second response is one too many
	t.mu.Unlock()
	if !ok {
		return false
	}
	if w.heard != nil {
		w.heard(body)
	}
	w.answer <- append([]byte(nil), body...)
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
// its response. seid is the one in its header: the CP function's, or 0 in a
// node message. The response's header is not looked at but for type and
// sequence number. Errors: errNoResponse, or that of the context.
// Source: TS 29.244 V18.6.0, 6.4.
func (e *Endpoint) request(ctx context.Context, peer netip.AddrPort, seid uint64, m pfcp.Message, response pfcp.MessageType) ([]byte, error) {
	return e.requestHeard(ctx, peer, seid, m, response, nil)
}

// requestHeard is request. heard is called with the response's body before any message
// is looked at that has come behind it.
func (e *Endpoint) requestHeard(ctx context.Context, peer netip.AddrPort, seid uint64, m pfcp.Message, response pfcp.MessageType, heard func([]byte)) ([]byte, error) {
	k, answer := e.pending.begin(peer, response, heard)
	defer e.pending.end(k)
	datagram, err := pfcp.Append(nil, pfcp.Header{SEID: seid, Sequence: k.sequence}, m)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(e.config.T1)
	defer timer.Stop()
	for i := range e.config.N1 {
		if i > 0 {
			e.counters.Retransmissions.Add(1)
			timer.Reset(e.config.T1)
		}
		e.transmit(peer, datagram)
		select {
		case body := <-answer:
			return body, nil
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, errNoResponse
}
