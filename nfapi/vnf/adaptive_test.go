package vnf

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// air is a PNF in simulated time: what it gets when, and what it says about that.
type air struct {
	*rig
	pnf   clock.Timeline
	delay func() time.Duration // one way
	mute  bool                 // SLOT.indications are lost

	events []event
	timing nfapi.TimingInfo
	late   int
	leads  []time.Duration
}

type event struct {
	at time.Time
	do func()
}

// after has something done after a time.
func (a *air) after(d time.Duration, do func()) {
	a.events = append(a.events, event{a.time.Add(d), do})
}

// collect puts what the VNF has sent on its way.
func (a *air) collect() {
	for _, m := range a.carrier.sent {
		var ask nfapi.DLNodeSync
		if m.id == nfapi.MsgDLNodeSync {
			if err := ask.DecodeBody(nfapi.OAI2025, m.body); err != nil {
				a.TB.Fatal(err)
			}
			a.after(a.delay(), func() {
				now := a.pnf.Micros(a.time)
				a.after(a.delay(), func() { a.get(&nfapi.ULNodeSync{T1: ask.T1, T2: now, T3: now}, 0) })
			})
			continue
		}
		sfn, s, _ := nfapi.OAI2025.PeekSlot(m.id, m.body)
		n, _ := a.mac.cell.Numerology.Number(sfn, s)
		a.after(a.delay(), func() { a.arrived(n) })
	}
	a.carrier.sent = nil
}

// arrived is a request at the PNF.
func (a *air) arrived(n slot.Number) {
	lead := a.pnf.Begin(n, a.time).Sub(a.time)
	a.leads = append(a.leads, lead)
	after := int32(-lead / time.Microsecond)
	if a.timing.DLTTIEarliestArrival == 0 || after > a.timing.DLTTILatestDelay {
		a.timing.DLTTILatestDelay = after
	}
	if after < a.timing.DLTTIEarliestArrival {
		a.timing.DLTTIEarliestArrival = after
	}
	if lead <= 0 {
		a.late++
		a.after(a.delay(), func() {
			a.complained(&nfapi.ErrorIndication{Message: 0x80, ErrorCode: codeInvalidSFN}, a.time)
		})
	}
}

// slot is the PNF's tick n.
func (a *air) slot(n slot.Number) {
	mu := a.mac.cell.Numerology
	if !a.mute {
		a.after(a.delay(), func() { a.tick(mu.Add(n, 6)) })
	}
	if n%32 == 0 {
		m := a.timing
		a.timing = nfapi.TimingInfo{}
		a.after(a.delay(), func() { a.get(&m, 0) })
	}
	next := mu.Add(n, 1)
	a.events = append(a.events, event{a.pnf.Begin(next, a.time), func() { a.slot(next) }})
}

// run lets time pass.
func (a *air) run(d time.Duration) {
	end := a.time.Add(d)
	for {
		first := 0
		for i := range a.events {
			if a.events[i].at.Before(a.events[first].at) {
				first = i
			}
		}
		own, ok := a.next(a.time)
		if ok && own.Before(a.events[first].at) {
			if own.After(end) {
				return
			}
			if own.After(a.time) {
				a.time = own
			}
			a.due(a.time)
			a.collect()
			continue
		}
		e := a.events[first]
		if e.at.After(end) {
			return
		}
		a.events = slices.Delete(a.events, first, first+1)
		a.time = e.at
		e.do()
		a.collect()
	}
}

// TestAdaptive: delay management finds how late a slot may be scheduled, gives way when
// the network becomes slower, and comes back.
func TestAdaptive(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	r := newRig(t, 1, SlotAhead{Mode: AheadAdaptive, Calm: 200 * time.Millisecond})
	r.mac.have = fapi.DLTTI
	fast := func() time.Duration { return 50*time.Microsecond + time.Duration(random.IntN(50))*time.Microsecond }
	slow := func() time.Duration {
		return 1500*time.Microsecond + time.Duration(random.IntN(1000))*time.Microsecond
	}
	a := &air{rig: r, pnf: clock.Timeline{Numerology: 1, Epoch: r.time.Add(-10200 * time.Millisecond)}, delay: fast} // the SFN comes round after 40 ms
	n, _ := a.pnf.Slot(r.time)
	a.slot(n)
	a.run(20 * time.Second)

	check := func(what string, least, most time.Duration) {
		t.Helper()
		a.late, a.leads, r.mac.scheduled = 0, nil, nil
		a.run(5 * time.Second)
		a.mute = true // the VNF's own clock goes on
		a.run(150 * time.Millisecond)
		a.mute = false
		a.run(6850 * time.Millisecond) // all in all more than a cycle
		if a.late != 0 || r.lead.now < least || r.lead.now > most {
			t.Errorf("%s: %d late, lead %v, want 0 and within %v to %v", what, a.late, r.lead.now, least, most)
		}
		if got := len(r.mac.scheduled); got < 23_900 || got > 24_100 {
			t.Errorf("%s: %d slots were scheduled in 12 s, want 24000", what, got)
		}
		for i := 1; i < len(r.mac.scheduled); i++ {
			if r.mac.cell.Numerology.Distance(r.mac.scheduled[i], r.mac.scheduled[i-1]) != 1 {
				t.Fatalf("%s: slot %d is scheduled after %d", what, r.mac.scheduled[i], r.mac.scheduled[i-1])
			}
		}
	}
	check("fast", 150*time.Microsecond, 450*time.Microsecond)
	a.delay = slow
	a.run(5 * time.Second)
	check("slow", 2500*time.Microsecond, 3500*time.Microsecond)
	a.delay = fast
	a.run(20 * time.Second)
	check("fast again", 150*time.Microsecond, 450*time.Microsecond)
	if r.count.Jumps != 0 {
		t.Errorf("got %+v", r.count)
	}
}
