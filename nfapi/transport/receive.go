package transport

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/nfapi"
)

// Limits of reassembly.
const (
	maxPartial  = 16 // messages of which segments are here, of all senders
	rememberEnd = 64 // messages that are complete, by which repeated segments are known
)

// receiver is the receiving half of a [P7]: used by its goroutine only, unless documented.
type receiver struct {
	*P7
	changed  atomic.Bool // admitted is new
	batch    *mmsg.Receiver
	buffers  [][]byte
	admit    []netip.AddrPort // a copy of admitted
	senders  []*sender
	last     *sender
	partials []*partial
	ended    [rememberEnd]ended
	nextEnd  int
	datagram Datagram

	spoken []spoken // under mu: the generations of senders
}

// spoken is the generation of a sender's headers.
type spoken struct {
	peer       netip.AddrPort
	generation nfapi.Generation
}

// sender is a peer.
type sender struct {
	from  netip.AddrPort
	at    time.Time // of its last datagram
	known bool      // its generation is
}

// key names a message of which segments come.
type key struct {
	from     netip.AddrPort
	phy      uint16
	sequence uint8
	id       nfapi.MessageID
}

// partial is a message of which segments are here.
type partial struct {
	key
	begun time.Time
	parts *nfapi.Reassembly
	told  nfapi.ReassemblyStats // what has been counted
}

// ended is a message that is complete.
type ended struct {
	key
	at time.Time
}

func (r *receiver) init(p *P7) error {
	r.P7 = p
	all := make([]byte, receiveBatch*mmsg.MaxMessage)
	for i := range receiveBatch {
		r.buffers = append(r.buffers, all[i*mmsg.MaxMessage:][:mmsg.MaxMessage:mmsg.MaxMessage])
	}
	r.batch = mmsg.NewReceiver(p.socket, r.buffers)
	r.senders = make([]*sender, 0, p.config.Senders)
	r.partials = append(r.partials, &partial{parts: nfapi.NewReassembly(0)}) // others when they are needed
	return r.batch.StampArrivals()
}

// Receive calls f for each message, in the order in which they are complete, until
// Close: then it returns nil. What has a wrong checksum, no header, or comes from a
// stranger is counted and dropped.
//
// It runs on the calling goroutine, which is locked to its thread meanwhile and sleeps
// in poll(2): a thread with a real-time priority keeps it.
func (p *P7) Receive(f func(*Datagram)) error {
	p.mu.Lock()
	if p.closed || p.receiving {
		defer p.mu.Unlock()
		if p.closed {
			return nil
		}
		return errors.New("transport: p7: somebody receives already")
	}
	p.receiving = true
	p.mu.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.receiver.run(f)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.receiving = false
	if p.closed {
		return p.socket.Close()
	}
	return err
}

func (r *receiver) run(f func(*Datagram)) error {
	var w waiting
	for {
		n, err := r.batch.Next()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("transport: p7: %w", err)
		}
		at := time.Now()
		if r.changed.Swap(false) {
			r.takeAdmitted()
		}
		for i := range n {
			r.one(r.batch.Source(i), r.buffers[i][:r.batch.Size(i)], at, w.of(r.batch.Arrival(i), at), f)
			if r.socket.Stopped() {
				return nil
			}
		}
		w.taken(at, n < len(r.buffers))
	}
}

// takeAdmitted copies the list of admitted peers, forgets the others, and forgets the generation of
// those that stay: they may have restarted.
func (r *receiver) takeAdmitted() {
	r.mu.Lock()
	r.admit = slices.Clone(r.admitted)
	r.mu.Unlock()
	r.last = nil
	r.senders = slices.DeleteFunc(r.senders, func(s *sender) bool { return !r.admits(s.from) })
	for _, s := range r.senders {
		s.known = false
	}
	for _, p := range r.partials {
		if p.parts.Active() && !r.admits(p.from) {
			r.giveUp(p)
		}
	}
}

func (r *receiver) admits(from netip.AddrPort) bool {
	if len(r.admit) == 0 {
		return true
	}
	for _, a := range r.admit {
		if a == from || a.Port() == 0 && a.Addr() == from.Addr() {
			return true
		}
	}
	return false
}

// one takes a datagram.
func (r *receiver) one(from netip.AddrPort, b []byte, at time.Time, waited time.Duration, f func(*Datagram)) {
	r.stats.datagrams.Add(1)
	r.stats.octets.Add(uint64(len(b)))
	if (r.last == nil || r.last.from != from) && !r.admits(from) {
		r.stats.strangers.Add(1)
		return
	}
	ours := r.config.Profile
	h, body, err := ours.ParseP7(b)
	if err != nil || !speakable(ours, h.Generation) {
		r.stats.malformed.Add(1)
		return
	}
	if state, _ := ours.Verify(&h, b); state == nfapi.ChecksumWrong {
		r.stats.wrongChecksum.Add(1)
		return
	}
	// Later headers of another generation are understood, but not answered in: else two
	// ends that each follow the other would change places for ever.
	if s := r.sender(from, at); !s.known {
		s.known = true
		r.speaks(from, h.Generation)
	}
	if !h.Whole() {
		if body = r.segment(&h, from, body, at); body == nil {
			return
		}
	}
	r.stats.messages.Add(1)
	r.datagram = Datagram{Header: h, Profile: profileOf(ours, h.Generation), Body: body, From: from, At: at, Waited: waited}
	f(&r.datagram)
}

// sender finds a peer; a new one takes the place of the longest silent if there are as
// many as there may be.
func (r *receiver) sender(from netip.AddrPort, at time.Time) *sender {
	if r.last != nil && r.last.from == from {
		r.last.at = at
		return r.last
	}
	var silent *sender
	for _, s := range r.senders {
		if s.from == from {
			s.at, r.last = at, s
			return s
		}
		if silent == nil || s.at.Before(silent.at) {
			silent = s
		}
	}
	if len(r.senders) < cap(r.senders) {
		silent = &sender{}
		r.senders = append(r.senders, silent)
	} else {
		r.stats.replaced.Add(1)
	}
	*silent = sender{from: from, at: at}
	r.last = silent
	return silent
}

// heard takes note of a sender's generation; mu is held.
func (r *receiver) heard(peer netip.AddrPort, g nfapi.Generation) {
	for i := range r.spoken {
		if r.spoken[i].peer == peer {
			r.spoken[i].generation = g
			return
		}
	}
	if len(r.spoken) == maxTargets {
		r.spoken = slices.Delete(r.spoken, 0, 1)
	}
	r.spoken = append(r.spoken, spoken{peer, g})
}

// generationOf is the generation recorded by heard; mu is held.
func (r *receiver) generationOf(peer netip.AddrPort) (nfapi.Generation, bool) {
	for i := range r.spoken {
		if r.spoken[i].peer == peer {
			return r.spoken[i].generation, true
		}
	}
	return 0, false
}

// segment takes a segment and returns the body of its message if it is complete with it.
func (r *receiver) segment(h *nfapi.Header, from netip.AddrPort, body []byte, at time.Time) []byte {
	r.stats.segments.Add(1)
	k := key{from, h.PhyID, h.Sequence(), h.MessageID}
	p := r.partial(k, at)
	if p == nil {
		r.stats.repeated.Add(1)
		return nil
	}
	whole := p.parts.Add(h, body)
	r.count(p)
	if whole != nil {
		h.Segment = uint16(h.Sequence())
		r.ended[r.nextEnd] = ended{k, at}
		r.nextEnd = (r.nextEnd + 1) % rememberEnd
	}
	return whole
}

// partial finds the message that a segment is of, or begins it; nil: it is complete
// already.
func (r *receiver) partial(k key, at time.Time) *partial {
	var free, oldest *partial
	for _, p := range r.partials {
		switch {
		case p.parts.Active() && at.Sub(p.begun) > r.config.Timeout:
			r.giveUp(p)
			free = p
		case !p.parts.Active():
			free = p
		case p.key == k:
			return p
		case oldest == nil || p.begun.Before(oldest.begun):
			oldest = p
		}
	}
	for i := range r.ended {
		if r.ended[i].key == k && at.Sub(r.ended[i].at) <= r.config.Timeout {
			return nil
		}
	}
	switch {
	case free == nil && len(r.partials) < maxPartial:
		free = &partial{parts: nfapi.NewReassembly(0)}
		r.partials = append(r.partials, free)
	case free == nil:
		r.giveUp(oldest)
		free = oldest
	}
	free.key, free.begun = k, at
	free.parts.Forget()
	return free
}

// giveUp drops what is there of a message.
func (r *receiver) giveUp(p *partial) {
	p.parts.Forget()
	r.count(p)
}

// count adds what has happened to a partial message to the statistics.
func (r *receiver) count(p *partial) {
	now := p.parts.Stats
	r.stats.repeated.Add(now.Duplicates - p.told.Duplicates)
	r.stats.incomplete.Add(now.Dropped - p.told.Dropped)
	r.stats.contradictory.Add(now.Bad - p.told.Bad)
	p.told = now
}
