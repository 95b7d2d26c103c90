package pnf

import (
	"fmt"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// TestLeftOut: the PHY is told about each slot that a stalled clock leaves out, without
// requests; those that were there are lost and reported.
func TestLeftOut(t *testing.T) {
	const mu = slot.Numerology(1)
	b := newBed(t, mu, 0)
	stall := 0
	b.layer.working = func(n slot.Number) {
		if n == 0 && stall > 0 {
			b.time.Jump(time.Duration(stall) * mu.Duration())
		}
	}
	b.start()
	b.slots(2)
	b.layer.slots = nil
	for n := range slot.Number(5) {
		b.request(ulTTI(mu, n+3))
	}
	stall = bedWindow + 4
	b.slots(1)
	b.slots(2)
	if got := b.layer.slots; len(got) != stall+3 {
		t.Errorf("%d slots, want %d", len(got), stall+3)
	}
	for i, r := range b.layer.slots {
		if r.n != slot.Number(i) || r.have != 0 {
			t.Errorf("slot %d is %d and has %b, want none", i, r.n, r.have)
		}
	}
	if got := b.phy.counts.missed.Load(); got != 5 {
		t.Errorf("%d are lost, want 5", got)
	}
	reports := b.reported()
	if len(reports) != 5 || reports[0] != (errorReport{phy: bedID, slot: 3, message: nfapi.MsgULTTIRequest, code: codeSlotError}) {
		t.Errorf("reported %+v", reports)
	}
	if got := b.phy.watch.Snapshot("").Clock.Skipped; got != uint64(stall) {
		t.Errorf("the stopwatch has %d slots left out, want %d", got, stall)
	}
}

// TestStall: whatever part of an SFN cycle a clock stands still, or however many cycles,
// no request of before is carried out, and those that come then are.
func TestStall(t *testing.T) {
	const mu = slot.Numerology(1)
	cycle := mu.PerCycle()
	for _, stall := range []int{bedWindow + 4, cycle/2 - 1, cycle / 2, cycle/2 + 1, cycle - 2, cycle, cycle + 2, cycle + 5, 3*cycle + 4} {
		t.Run(fmt.Sprint(stall), func(t *testing.T) {
			b := newBed(t, mu, 0)
			b.layer.working = func(n slot.Number) {
				if n == 0 {
					b.layer.working = nil
					b.time.Jump(time.Duration(stall) * mu.Duration())
				}
			}
			b.start()
			b.slots(2)
			for n := range slot.Number(bedWindow - 1) {
				b.request(ulTTI(mu, n+1))
			}
			b.layer.slots = nil
			b.slots(1) // the stall
			b.slots(1) // the first slot behind it
			now, _ := b.phy.running.Load().line.Slot(b.time.Now())
			b.request(ulTTI(mu, mu.Add(now, 3)))
			over := len(b.layer.slots)
			b.slots(2 * bedWindow)
			for i, r := range b.layer.slots {
				var want fapi.Have
				if i >= over && r.n == mu.Add(now, 3) {
					want = fapi.ULTTI
				}
				if r.have != want {
					t.Errorf("slot %d has %b, want %b", r.n, r.have, want)
				}
			}
			if got := b.phy.counts.requests[stopwatch.OnTime].Load(); got != bedWindow {
				t.Errorf("%d requests on time, want %d", got, bedWindow)
			}
		})
	}
}

// TestCatchUp: a stall within the window costs no slot, and no request of it.
func TestCatchUp(t *testing.T) {
	const mu = slot.Numerology(1)
	b := newBed(t, mu, 0)
	stall := 0
	b.layer.working = func(n slot.Number) {
		if n == 0 && stall > 0 {
			b.time.Jump(time.Duration(stall) * mu.Duration())
		}
	}
	b.start()
	b.slots(2)
	b.layer.slots = nil
	for n := range slot.Number(6) {
		b.request(ulTTI(mu, n))
	}
	stall = 5
	b.slots(1)
	b.slots(2)
	if got := len(b.layer.slots); got != 8 {
		t.Errorf("%d slots, want 8", got)
	}
	for i, r := range b.layer.slots {
		want := fapi.ULTTI
		if i > 5 {
			want = 0
		}
		if r.n != slot.Number(i) || r.have != want {
			t.Errorf("slot %d is %d and has %b, want %b", i, r.n, r.have, want)
		}
	}
}
