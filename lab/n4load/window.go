package n4load

import "time"

// maxSequence is the greatest sequence number; after it comes 0.
const maxSequence = 1<<24 - 1

// state is what became of a request.
type state uint8

const (
	unused   state = iota
	waiting        // for its response
	answered       // what comes now is a duplicate
	lost           // given up after N1 transmissions: what comes now is late
)

// pending is a request: in flight, or the last one that was in this slot.
type pending struct {
	state    state
	sent     uint8 // transmissions
	op       uint8 // operation of the call
	answer   byte  // message type of the response
	sequence uint32
	index    int           // in the call's source
	intended time.Duration // when it should have been sent, by the group's clock
	report   *Report       // of the operation
	octets   []byte        // the message; nil unless waiting
}

// window holds a client's requests, each at its sequence number modulo the
// size. It is larger than the number of requests in flight, so that one which
// has to be repeated seldom stands in the way of others, and so that duplicate
// and late responses are known as such for a while.
type window struct {
	slots    []pending
	inFlight int
	limit    int
	spare    [][]byte // messages' memory to use again, the last used first
	timeouts timeouts
}

func newWindow(limit int) window {
	size := 1
	for size < 4*limit {
		size *= 2
	}
	return window{slots: make([]pending, size), limit: limit}
}

// at returns the slot of a sequence number.
func (w *window) at(sequence uint32) *pending { return &w.slots[int(sequence)&(len(w.slots)-1)] }

// room returns the first sequence number from the given one on whose slot is
// free. ok is false if there are as many requests in flight as there may be.
func (w *window) room(sequence uint32) (_ uint32, ok bool) {
	if w.inFlight >= w.limit {
		return sequence, false
	}
	for w.at(sequence).state == waiting { // there are more slots than requests in flight
		sequence = (sequence + 1) & maxSequence
	}
	return sequence, true
}

// take occupies the slot of a sequence number. Its message has memory, but no
// octets yet.
func (w *window) take(sequence uint32) *pending {
	p := w.at(sequence)
	*p = pending{state: waiting, sequence: sequence, sent: 1}
	if n := len(w.spare); n > 0 {
		p.octets, w.spare = w.spare[n-1][:0], w.spare[:n-1]
	}
	w.inFlight++
	return p
}

// find returns the request with that sequence number, or nil.
func (w *window) find(sequence uint32) *pending {
	if p := w.at(sequence); p.state != unused && p.sequence == sequence {
		return p
	}
	return nil
}

// free ends a request, which must not be on its way out.
func (w *window) free(p *pending, s state) {
	p.state = s
	w.spare = append(w.spare, p.octets)
	p.octets = nil
	w.inFlight--
}

// clear ends all requests.
func (w *window) clear() {
	for i := range w.slots {
		if p := &w.slots[i]; p.state == waiting {
			w.free(p, lost)
		}
		w.slots[i].report = nil
	}
}

// timeout is a transmission whose T1 ends.
type timeout struct {
	at       time.Duration
	sequence uint32
	sent     uint8
}

// timeouts are a queue: T1 is the same for all, so the first one sent is the
// first one due. Those of answered requests stay until their turn.
type timeouts struct {
	ring        []timeout // its length is a power of two, or 0
	first, size int
}

func (t *timeouts) push(x timeout) {
	if t.size == len(t.ring) {
		grown := make([]timeout, max(2*len(t.ring), batchSize))
		n := copy(grown, t.ring[t.first:])
		copy(grown[n:], t.ring[:t.first])
		t.ring, t.first = grown, 0
	}
	t.ring[(t.first+t.size)&(len(t.ring)-1)] = x
	t.size++
}

// head returns the first one, or nil.
func (t *timeouts) head() *timeout {
	if t.size == 0 {
		return nil
	}
	return &t.ring[t.first]
}

func (t *timeouts) pop() {
	t.first = (t.first + 1) & (len(t.ring) - 1)
	t.size--
}
