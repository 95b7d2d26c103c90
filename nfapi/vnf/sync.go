package vnf

import (
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// nodeSync determines the PNF's time:
//
//	VNF  t1 ──────────────────────── t4     delay  = ((t4 - t1) - (t3 - t2)) / 2
//	         ╲ DL_NODE_SYNC        ╱         offset = t2 - t1 - delay
//	PNF       t2 ─────────────── t3  UL_NODE_SYNC
//
// All times are of the SFN cycle of 10.24 s, and so are the differences. Of the last answers the
// one with the shortest round trip is used, because it waited the least; its result is smoothed.
//
// Source: SCF 225, as implemented by OpenAirInterface develop 2025-09; the filter is not from there.
type nodeSync struct {
	own clock.Timeline // the VNF's clock: slot 0 at some time of its own

	asked   bool // t1 waits for its answer
	t1      uint32
	samples [syncSamples]syncSample
	count   int // of all samples
	odd     int // in a row that contradict the offset

	offset time.Duration // the PNF's clock less the VNF's, within half a cycle
	delay  time.Duration // one way
}

type syncSample struct{ offset, delay time.Duration }

// The filter of node sync.
const (
	syncSamples = 8
	// syncEnough is how many answers there have to be for the clock to be relied upon.
	syncEnough = 4
	// syncFar is a difference that no delay explains: if it stays, the clock was set.
	syncFar = 20 * time.Millisecond
	// syncOdd is how many such answers in a row are believed.
	syncOdd = 3
	// syncWeight is by which part of the difference the offset follows.
	syncWeight = 8
	// syncDelay is the longest delay that an answer may have had.
	syncDelay = time.Second
)

// reset forgets what was found.
func (s *nodeSync) reset(mu slot.Numerology, now time.Time) {
	*s = nodeSync{own: clock.Timeline{Numerology: mu, Epoch: now}}
}

// ok reports whether the PNF's clock is known.
func (s *nodeSync) ok() bool { return s.count >= syncEnough }

// ask makes a DL_NODE_SYNC that is sent now. An answer to one of before does not count
// any more.
func (s *nodeSync) ask(m *nfapi.DLNodeSync, now time.Time) {
	s.asked, s.t1 = true, s.own.Micros(now)
	m.T1, m.DeltaSFNSlot, m.Trailing = s.t1, 0, nil
}

// answer takes an UL_NODE_SYNC that came at a time; false: it is no answer to what was
// asked last, or contradicts itself.
func (s *nodeSync) answer(m *nfapi.ULNodeSync, at time.Time) bool {
	const cycle = uint32(slot.Cycle / time.Microsecond)
	if !s.asked || m.T1 != s.t1 || m.T2 >= cycle || m.T3 >= cycle {
		return false
	}
	s.asked = false
	there, t4 := stopwatch.Transit(m.T1, m.T2), s.own.Micros(at)
	delay := (stopwatch.Transit(m.T1, t4) - stopwatch.Transit(m.T2, m.T3)) / 2
	if delay < -syncFar || delay > syncDelay {
		return false
	}
	delay = max(delay, 0) // us that were cut off
	s.add(syncSample{offset: modular(there - delay), delay: delay})
	return true
}

// add puts a sample through the filter.
func (s *nodeSync) add(x syncSample) {
	if s.count > 0 && modular(x.offset-s.offset).Abs() > syncFar {
		if s.odd++; s.odd < syncOdd {
			return
		}
		s.count = 0 // the clock was set
	}
	s.odd = 0
	s.samples[s.count%syncSamples] = x
	s.count++
	best := x
	for _, y := range s.samples[:min(s.count, syncSamples)] {
		if y.delay < best.delay {
			best = y
		}
	}
	s.delay = best.delay
	if s.count <= syncEnough {
		s.offset = best.offset
		return
	}
	s.offset = modular(s.offset + modular(best.offset-s.offset)/syncWeight)
}

// clock is the PNF's slot clock, as far as it is known.
func (s *nodeSync) clock() clock.Timeline {
	t := s.own
	t.Epoch = t.Epoch.Add(-s.offset)
	return t
}

// modular is a difference of times within the SFN cycle, from -half to half a cycle.
func modular(d time.Duration) time.Duration {
	return ((d+slot.Cycle/2)%slot.Cycle+slot.Cycle)%slot.Cycle - slot.Cycle/2
}
