// Package impair is a relay between a VNF and a PNF that does to their P7 what networks
// and clocks do: loss, duplication, other orders, delay, wrong bits, drift, and an SFN
// that comes round.
//
//	  PNF                                  VNF
//	   │  ▲                                ▲  │
//	   ▼  │                                │  ▼
//	as_vnf: socket ── to-vnf ──►  as_pnf: socket
//	       ◄── to-pnf ─────────────────────
//
// To each side it is the other one. [Box] decides, by a seeded chance for each datagram
// and direction, and keeps what is to be sent later; it has neither sockets nor a clock.
// [Relay] gives it both.
//
// A datagram goes this way: header, SFN and time stamp changed, loss, wrong bit, delay,
// repetition, other order. What was changed on purpose gets its checksum again, unless it
// had none or a wrong one; a wrong bit does not.
//
// Times are those since the beginning.
package impair

import (
	"math/rand/v2"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// Limits of what waits to be sent.
const (
	maxWaiting = 1 << 14
	maxOctets  = 64 << 20
)

// Other is what is counted for datagrams that are no message.
const Other nfapi.MessageID = 0xffff

// Box decides on the impairment of datagrams. It is not safe for concurrent use.
type Box struct {
	config  Config
	profile nfapi.Profile
	rules   []rule
	chance  [directions]*rand.Rand
	queue   queue
	octets  int               // that wait
	held    [directions]*item // waits for the next one to overtake it
	counts  map[class]*Count
	began   bool          // the first SLOT.indication was here
	tick    time.Duration // when
	offset  uint16        // by which SFNs are changed
}

// New makes a box.
//
// Errors: those of [Config.Validate].
func New(c Config) (*Box, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b := &Box{config: c, offset: c.SFNOffset, counts: map[class]*Count{}}
	if b.config.TickDriftMax == 0 {
		b.config.TickDriftMax = tickDriftDefault
	}
	b.profile, _ = c.profile() // it is valid
	for i := range c.Rules {
		r, err := c.Rules[i].compile()
		if err != nil {
			return nil, err
		}
		b.rules = append(b.rules, r)
	}
	for d := range b.chance {
		b.chance[d] = rand.New(rand.NewPCG(c.Seed, uint64(d)))
	}
	return b, nil
}

// Take takes a datagram, which is copied.
func (x *Box) Take(d Direction, datagram []byte, now time.Duration) {
	h, body, err := x.profile.ParseP7(datagram)
	known := err == nil && (h.Generation == nfapi.GenFAPI) == (x.profile == nfapi.Aerial)
	id := Other
	if known {
		id = h.MessageID
	}
	n := x.count(d, id)
	n.Received++
	if len(x.queue.list) >= maxWaiting || x.octets+len(datagram) > maxOctets {
		n.Overflow++
		return
	}
	if id == nfapi.MsgSlotIndication && d == ToVNF && !x.began {
		x.begin(body, now)
	}
	r, said := x.rule(d, id)
	switch {
	case said && x.happens(d, r.Loss):
		n.Lost++
		return
	case said && known && !h.Whole() && x.happens(d, r.SegmentLoss):
		n.SegmentsLost++
		return
	}
	i := x.queue.item(d, datagram)
	if known && x.rewrite(d, &h, i.octets, now) {
		n.Rewritten++
	}
	i.at, i.count = now, n
	if said {
		x.harm(i, &r.Rule, n, known, &h)
	}
	if id == nfapi.MsgSlotIndication && d == ToVNF {
		i.at += x.tickDelay(now)
	}
	if i.at > now {
		n.Delayed++
	}
	at := i.at
	x.put(i, said && x.happens(d, r.Reorder))
	if said && x.happens(d, r.Duplicate) {
		again := x.queue.item(d, i.octets)
		again.at, again.count = at, n
		n.Duplicated++
		x.octets += len(again.octets)
		x.queue.push(again) // it is not the next one, for which a datagram is held
	}
}

// rule is the first that is about a message.
func (x *Box) rule(d Direction, id nfapi.MessageID) (*rule, bool) {
	for i := range x.rules {
		if x.rules[i].about(d, id) {
			return &x.rules[i], true
		}
	}
	return nil, false
}

// happens is a chance of a direction.
func (x *Box) happens(d Direction, p float64) bool { return p > 0 && x.chance[d].Float64() < p }

// harm makes a bit wrong, and has the datagram wait.
func (x *Box) harm(i *item, r *Rule, n *Count, known bool, h *nfapi.Header) {
	if x.happens(i.direction, r.Flip) && len(i.octets) > 0 {
		at := x.chance[i.direction].IntN(len(i.octets))
		if first, size := stampOf(x.profile, known, h); size > 0 && at >= first && at < first+size {
			at = (first + size) % len(i.octets) // no checksum covers the time stamp
		}
		i.octets[at] ^= 1 << x.chance[i.direction].IntN(8)
		n.Flipped++
	}
	i.at += r.Delay
	if r.Jitter > 0 {
		i.at += time.Duration(x.chance[i.direction].Int64N(int64(r.Jitter) + 1))
	}
}

// put has a datagram wait. One that is held goes when the next of its direction has gone,
// or when that does not come.
func (x *Box) put(i *item, hold bool) {
	x.octets += len(i.octets)
	before := x.held[i.direction]
	if hold && before == nil {
		x.held[i.direction] = i
		i.due = i.at
		i.at += reorderTimeout
		x.queue.push(i)
		return
	}
	x.queue.push(i)
	if before != nil {
		x.held[i.direction] = nil
		before.count.Reordered++
		x.queue.move(before, max(before.due, i.at))
	}
}

// Next is when the next datagram is due; ok is false if none waits.
func (x *Box) Next() (at time.Duration, ok bool) {
	if len(x.queue.list) == 0 {
		return 0, false
	}
	return x.queue.list[0].at, true
}

// Due calls f for each datagram that is due, in the order in which they are. Its octets
// are valid until [Box.Release] is called.
func (x *Box) Due(now time.Duration, f func(d Direction, datagram []byte)) {
	for len(x.queue.list) > 0 && x.queue.list[0].at <= now {
		i := x.queue.pop()
		x.octets -= len(i.octets)
		if x.held[i.direction] == i {
			x.held[i.direction] = nil
		}
		i.count.Sent++
		f(i.direction, i.octets)
		x.queue.done = append(x.queue.done, i)
	}
}

// Release says that the datagrams that Due has given are no longer needed.
func (x *Box) Release() { x.queue.release() }
