package vnf

import (
	"math/rand/v2"
	"testing"
	"testing/quick"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// exchangeSync is one question and answer with a PNF of a clock.
func exchangeSync(s *nodeSync, pnf clock.Timeline, at time.Time, there, inside, back time.Duration) bool {
	var ask nfapi.DLNodeSync
	s.ask(&ask, at)
	answer := nfapi.ULNodeSync{T1: ask.T1, T2: pnf.Micros(at.Add(there)), T3: pnf.Micros(at.Add(there + inside))}
	return s.answer(&answer, at.Add(there+inside+back))
}

// TestNodeSync: whatever the PNF's clock is, and wherever the cycle ends, the slot that
// it is at the PNF is found.
func TestNodeSync(t *testing.T) {
	epoch := time.Unix(1_000_000, 0)
	find := func(m uint8, offset uint32, delay uint16) bool {
		mu := slot.Numerology(m % 4)
		pnf := clock.Timeline{Numerology: mu, Epoch: epoch.Add(-time.Duration(offset) * time.Microsecond)}
		one := time.Duration(delay%5000) * time.Microsecond
		var s nodeSync
		s.reset(mu, epoch)
		for i := range 20 {
			at := epoch.Add(time.Duration(i) * 777 * time.Millisecond)
			if s.ok() != (i >= syncEnough) {
				return false
			}
			if !exchangeSync(&s, pnf, at, one, 30*time.Microsecond, one) {
				return false
			}
		}
		at := epoch.Add(17 * time.Second)
		n, into := pnf.Slot(at)
		m2, into2 := s.clock().Slot(at.Add(2 * time.Microsecond)) // us are cut off in the messages
		d := time.Duration(mu.Distance(m2, n))*mu.Duration() + into2 - into
		return d.Abs() < 10*time.Microsecond && (s.delay-one).Abs() < 5*time.Microsecond
	}
	if err := quick.Check(find, nil); err != nil {
		t.Error(err)
	}
}

// TestNodeSyncJitter: answers that waited do not move the clock.
func TestNodeSyncJitter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	epoch := time.Unix(1_000_000, 0)
	pnf := clock.Timeline{Numerology: 1, Epoch: epoch.Add(-5 * time.Second)}
	var s nodeSync
	s.reset(1, epoch)
	const least = 100 * time.Microsecond
	for i := range 200 {
		there, back := least+time.Duration(r.Int64N(int64(3*time.Millisecond))), least+time.Duration(r.Int64N(int64(3*time.Millisecond)))
		if r.IntN(3) == 0 {
			there, back = least, least
		}
		exchangeSync(&s, pnf, epoch.Add(time.Duration(i)*50*time.Millisecond), there, 0, back)
	}
	if d := modular(s.offset - 5*time.Second).Abs(); d > 100*time.Microsecond {
		t.Errorf("the offset is %v off", d)
	}
}

// TestNodeSyncRefuses: what is no answer, or cannot be one, changes nothing.
func TestNodeSyncRefuses(t *testing.T) {
	epoch := time.Unix(1_000_000, 0)
	var s nodeSync
	s.reset(1, epoch)
	for range syncEnough {
		if !exchangeSync(&s, s.own, epoch.Add(time.Second), time.Millisecond, 0, time.Millisecond) {
			t.Fatal("a good answer is refused")
		}
	}
	before := s.clock()
	var ask nfapi.DLNodeSync
	for name, answer := range map[string]func(t1 uint32) nfapi.ULNodeSync{
		"another question's": func(t1 uint32) nfapi.ULNodeSync { return nfapi.ULNodeSync{T1: t1 + 1, T2: 1, T3: 1} },
		"beyond the cycle":   func(t1 uint32) nfapi.ULNodeSync { return nfapi.ULNodeSync{T1: t1, T2: 10_240_000, T3: 1} },
		"longer there than it took": func(t1 uint32) nfapi.ULNodeSync {
			return nfapi.ULNodeSync{T1: t1, T2: 1000, T3: 1_000_000}
		},
		"sent before it came": func(t1 uint32) nfapi.ULNodeSync { return nfapi.ULNodeSync{T1: t1, T2: 5_000_000, T3: 1000} },
	} {
		at := epoch.Add(2 * time.Second)
		s.ask(&ask, at)
		m := answer(ask.T1)
		if s.answer(&m, at.Add(time.Millisecond)) {
			t.Errorf("%s: taken", name)
		}
	}
	s.ask(&ask, epoch)
	good := nfapi.ULNodeSync{T1: ask.T1, T2: ask.T1, T3: ask.T1}
	if !s.answer(&good, epoch) || s.answer(&good, epoch) {
		t.Error("an answer counts once, and once only")
	}
	if got := s.clock(); modular(got.Epoch.Sub(before.Epoch)).Abs() > 300*time.Microsecond {
		t.Errorf("the clock has moved by %v", got.Epoch.Sub(before.Epoch))
	}
}

// TestNodeSyncSet: a clock that was set is followed, one odd answer is not.
func TestNodeSyncSet(t *testing.T) {
	epoch := time.Unix(1_000_000, 0)
	var s nodeSync
	s.reset(1, epoch)
	pnf := s.own
	far := clock.Timeline{Numerology: 1, Epoch: epoch.Add(-3 * time.Second)}
	ask := func(c clock.Timeline) {
		exchangeSync(&s, c, epoch.Add(time.Second), time.Millisecond, 0, time.Millisecond)
	}
	for range 10 {
		ask(pnf)
	}
	ask(far)
	if !s.ok() || s.offset != 0 {
		t.Fatalf("one odd answer: offset %v, ok %v", s.offset, s.ok())
	}
	for range syncOdd + syncEnough {
		ask(far)
	}
	if !s.ok() || s.offset != 3*time.Second {
		t.Errorf("offset %v, ok %v, want 3s", s.offset, s.ok())
	}
}

func TestModular(t *testing.T) {
	for in, want := range map[time.Duration]time.Duration{
		0: 0, 1: 1, -1: -1, slot.Cycle: 0, slot.Cycle/2 - 1: slot.Cycle/2 - 1, slot.Cycle / 2: -slot.Cycle / 2, -slot.Cycle / 2: -slot.Cycle / 2,
		3*slot.Cycle + 5: 5, -3*slot.Cycle - 5: -5,
	} {
		if got := modular(in); got != want {
			t.Errorf("modular(%v) = %v, want %v", in, got, want)
		}
	}
}
