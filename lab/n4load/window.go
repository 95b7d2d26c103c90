package n4load

import "time"

// maxSequence is the greatest sequence number; after it comes 0.
const maxSequence = 1<<24 - 1

// pending is a request in flight.
type pending struct {
	busy        bool
	sequence    uint32
	index       int // of the session
	first, last time.Time
	sent        int
	octets      []byte
	buffers     [1][]byte // octets, as the socket wants it
}

// window holds the requests in flight, each at its sequence number modulo the
// size. It is larger than the number of requests in flight, so that one which
// has to be repeated seldom holds up the others.
type window struct {
	slots    []pending
	inFlight int
	limit    int
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

// room reports whether a request with that sequence number can be sent.
func (w *window) room(sequence uint32) bool { return w.inFlight < w.limit && !w.at(sequence).busy }

// take occupies the slot of a sequence number for the request of session index.
func (w *window) take(sequence uint32, index int, now time.Time) *pending {
	p := w.at(sequence)
	*p = pending{busy: true, sequence: sequence, index: index, first: now, last: now, sent: 1, octets: p.octets[:0]}
	w.inFlight++
	return p
}

// find returns the request in flight of that sequence number, or nil.
func (w *window) find(sequence uint32) *pending {
	if p := w.at(sequence); p.busy && p.sequence == sequence {
		return p
	}
	return nil
}

// free ends a request. Its octets stay until the slot is taken again, as they
// may be on their way out.
func (w *window) free(p *pending) {
	p.busy = false
	w.inFlight--
}

// clear ends all requests.
func (w *window) clear() {
	for i := range w.slots {
		w.slots[i].busy = false
	}
	w.inFlight = 0
}
