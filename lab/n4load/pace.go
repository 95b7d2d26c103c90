package n4load

import (
	"math/rand/v2"
	"time"
)

// never is a time that does not come.
const never = time.Duration(1<<63 - 1)

// A pacer says when the requests of a call are sent, and of which operation
// they are. Times are by the group's clock.
type pacer interface {
	// next takes the request that is due now, if there is one: ok. If not,
	// intended is when to ask again, never if that depends on responses.
	next(now time.Duration, inFlight int) (op int, intended time.Duration, ok bool)

	// over says whether there will be no more.
	over(now time.Duration) bool
}

// closed is a closed loop: as many requests in flight as the window has, until
// the end.
type closed struct {
	window int
	end    time.Duration // never: until the source has no more
	shares []float64     // of each operation; they add up to 1
	credit []float64
}

func newClosed(window int, end time.Duration, shares []float64) *closed {
	return &closed{window: window, end: end, shares: shares, credit: make([]float64, len(shares))}
}

func (c *closed) next(now time.Duration, inFlight int) (int, time.Duration, bool) {
	if inFlight >= c.window || now >= c.end {
		return 0, never, false
	}
	best := 0
	for op, share := range c.shares { // the one that is furthest behind its share
		if c.credit[op] += share; c.credit[op] > c.credit[best] {
			best = op
		}
	}
	c.credit[best]--
	return best, now, true
}

func (c *closed) over(now time.Duration) bool { return now >= c.end }

// Arrival says how the requests of an open loop follow each other.
type Arrival uint8

// The arrivals.
const (
	Constant Arrival = iota // at equal distances
	Poisson                 // at random, independently of each other
	Burst                   // several at once, the bursts at equal distances
)

// String returns the word of the command line.
func (a Arrival) String() string { return [...]string{"constant", "poisson", "burst"}[a] }

// open is an open loop: operations at rates of their own, until the end,
// whatever is answered.
type open struct {
	streams []stream
	end     time.Duration
	ramp    ramp
}

// ramp is rates that change evenly between two times, and stay as they are before and
// after. The zero value changes nothing.
type ramp struct {
	from, until time.Duration
	factor      float64 // of the rates at its end to those at its begin
}

// scale is the rate at a time, as a multiple of that at the begin.
func (r ramp) scale(at float64) float64 {
	if r.until <= r.from {
		return 1
	}
	part := (at - float64(r.from)) / float64(r.until-r.from)
	return 1 + (r.factor-1)*min(max(part, 0), 1)
}

// stream is the requests of one operation.
type stream struct {
	op      int
	arrival Arrival
	gap     float64 // ns, on average, between two requests, or bursts
	burst   int     // requests at once
	random  *rand.Rand
	at      float64 // ns: when the next ones are due; a sum of gaps needs more than a nanosecond's precision
	left    int     // of the burst that is due
}

func newOpen(start, end time.Duration, rates []float64, arrival Arrival, burst int, random *rand.Rand) *open {
	o := &open{end: end}
	for op, rate := range rates {
		if rate <= 0 {
			continue
		}
		s := stream{op: op, arrival: arrival, gap: 1e9 / rate, burst: 1, random: random}
		if arrival == Burst {
			s.burst = burst
			s.gap *= float64(burst)
		}
		s.left = s.burst
		s.at = float64(start) + random.Float64()*s.gap // operations, and threads, not in step
		o.streams = append(o.streams, s)
	}
	return o
}

func (o *open) next(now time.Duration, _ int) (int, time.Duration, bool) {
	first := 0
	for i := range o.streams {
		if o.streams[i].at < o.streams[first].at {
			first = i
		}
	}
	s := &o.streams[first]
	at := time.Duration(s.at)
	switch {
	case at >= o.end && now >= o.end:
		return 0, never, false
	case at > now || at >= o.end:
		return 0, min(at, o.end), false // at the end over is to be asked
	}
	if s.left--; s.left == 0 {
		s.left = s.burst
		s.at += s.distance() / o.ramp.scale(s.at)
	}
	return s.op, at, true
}

// distance returns the time to the next arrival, in nanoseconds, at the rate of the
// begin.
func (s *stream) distance() float64 {
	if s.arrival == Poisson {
		return s.random.ExpFloat64() * s.gap
	}
	return s.gap
}

func (o *open) over(now time.Duration) bool {
	if now >= o.end {
		for i := range o.streams {
			if o.streams[i].at < float64(o.end) {
				return false // behind: what was intended is sent
			}
		}
		return true
	}
	return false
}
