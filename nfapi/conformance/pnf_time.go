package conformance

import (
	"fmt"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// timeCases are about the PNF's clock. Source: SCF 225, 2.4 (node sync, TIMING_INFO), as
// OpenAirInterface develop 2025-09 has it.
func timeCases() []pnfCase {
	return []pnfCase{
		{Case{"time/slot-indication", "SLOT.indication comes once for each slot, in order, at the slot's pace"}, phyRunning, func(b *pnfBench) { b.pace() }},
		{Case{"time/node-sync", "UL_NODE_SYNC has the T1 of DL_NODE_SYNC, and T2 and T3 within the SFN cycle of 10.24 s, T3 not before T2; the way takes no negative time, and the PNF's clock runs as fast as ours"}, phyRunning, func(b *pnfBench) { b.nodeSync() }},
		{Case{"time/node-sync-edges", "T1 of 0, and at the end of the cycle, come back as they are; one beyond it does no harm"}, phyRunning, func(b *pnfBench) {
			for _, t1 := range []uint32{0, cycle - 1} {
				_, ok := b.sync(t1)
				b.did("DL_NODE_SYNC with T1 %d", t1)
				b.require(ok, "UL_NODE_SYNC with the same T1", "none")
			}
			b.put(b.message(&nfapi.DLNodeSync{T1: 0xffffffff, DeltaSFNSlot: -1 << 31}))
			b.synchronise()
			b.alive()
		}},
		p7Case("time/time-and-slots", "the slot that node sync says it is is the one that SLOT.indications follow from", func(b *pnfBench) { b.timeAndSlots() }),
		p7Case("time/timing-info", "TIMING_INFO comes each period with the slot that it is of, and how early the requests came", func(b *pnfBench) { b.timingInfo() }),
		p7Case("time/timing-info-late", "a late request has TIMING_INFO sent, with a latest delay above 0", func(b *pnfBench) { b.timingInfoLate() }),
	}
}

// awake monitors the scheduling of this machine until the returned function is called, which
// reports whether more than one millisecond in a hundred was lost. The machine is then unfit to
// judge the pace of a peer, which may run on it as well.
func awake() (slow func() bool) {
	const due = time.Millisecond
	stop, result := make(chan struct{}), make(chan bool, 1)
	go func() {
		var slept time.Duration
		began := time.Now()
		for last := began; ; {
			select {
			case <-stop:
				result <- 100*slept > time.Since(began)
				return
			case <-time.After(due):
			}
			now := time.Now()
			if late := now.Sub(last) - due; late >= due {
				slept += late
			}
			last = now
		}
	}()
	return sync.OnceValue(func() bool {
		close(stop)
		return <-result
	})
}

// atPace is check of what a machine that is too slow makes fail.
func (b *pnfBench) atPace(ok bool, slow func() bool, expected, came string) {
	if !ok && slow() {
		b.skip("%s, not %s: the network or this machine is too slow", came, expected)
	}
	b.check(ok, expected, came)
}

// pace counts SLOT.indications.
func (b *pnfBench) pace() {
	mu := b.cell.Numerology
	slow := awake()
	defer slow()
	want := 40 * mu.PerFrame()
	b.seen.forget()
	long := time.Duration(want) * mu.Duration()
	b.atPace(b.awaitFor(long+b.config.Timeout, func() bool { return len(b.seen.recent()) > want }), slow, fmt.Sprintf("%d SLOT.indications within %v", want, long+b.config.Timeout),
		fmt.Sprint(len(b.seen.recent())))
	list := b.seen.recent()
	b.inOrder(list, slow)
	first, last := list[0], list[len(list)-1]
	from, _ := mu.Number(first.sfn, first.slot)
	to, _ := mu.Number(last.sfn, last.slot)
	air := time.Duration(mu.Distance(to, from)) * mu.Duration()
	took := last.at.Sub(first.at)
	b.atPace((took-air).Abs() < air/4+50*time.Millisecond, slow, fmt.Sprintf("slots of %v", air), fmt.Sprintf("it took %v", took.Round(time.Millisecond)))
}

// nodeSync asks for node sync again and again.
func (b *pnfBench) nodeSync() {
	var first, last synced
	for i := range 20 {
		s, ok := b.sync(b.micros())
		b.did("DL_NODE_SYNC with T1 %d", s.t1)
		b.require(ok, "UL_NODE_SYNC with the same T1", "none")
		a := s.answer
		b.onlyBad(a.t2 < cycle && a.t3 < cycle, "T2 and T3 below 10240000", fmt.Sprintf("%d and %d", a.t2, a.t3))
		held := modular(int64(a.t3) - int64(a.t2))
		b.onlyBad(held >= 0, "T3 not before T2", fmt.Sprintf("%d and %d", a.t2, a.t3))
		b.onlyBad(s.delay() >= -2, "a way there and back that takes time", fmt.Sprintf("%d us: T3-T2 is %d us of %d", s.delay(), held, modular(int64(s.t4)-int64(s.t1))))
		if last = s; i == 0 {
			first = s
		}
		b.pause()
	}
	ours := modular(int64(last.t4) - int64(first.t4))
	theirs := modular(int64(last.answer.t3) - int64(first.answer.t3))
	room := first.delay() + last.delay() + 100
	b.check(theirs-ours <= room && ours-theirs <= room, fmt.Sprintf("%d us on the PNF's clock, to %d us", ours, room), fmt.Sprint(theirs))
}

// timeAndSlots compares SLOT.indications with node sync: each is the same number of slots
// ahead, unless it was late.
func (b *pnfBench) timeAndSlots() {
	mu := b.cell.Numerology
	slow := awake()
	defer slow()
	b.seen.forget()
	b.await(func() bool { return len(b.seen.recent()) >= 10*mu.PerFrame() })
	ahead := map[int]int{}
	for _, k := range b.seen.recent() {
		n, _ := mu.Number(k.sfn, k.slot)
		now, _ := b.line.Slot(k.at)
		ahead[mu.Distance(n, now)]++
	}
	usual, count, all := 0, 0, 0
	for d, n := range ahead {
		all += n
		if n > count {
			usual, count = d, n
		}
	}
	b.did("nothing; SLOT.indications by how many slots they were ahead: %v", ahead)
	b.atPace(usual >= 0 && usual <= int(b.cell.TimingWindow) && 2*count > all, slow, "most SLOT.indications the same number of slots ahead, within the window", fmt.Sprintf("%d of %d are %d ahead", count, all, usual))
}

// timingInfo sends requests with leads that are known, and looks for them in TIMING_INFO.
func (b *pnfBench) timingInfo() {
	mu := b.cell.Numerology
	b.seen.forget()
	b.check(b.awaitFor(b.config.Timeout+10*timingPeriod*mu.Duration(), func() bool { return len(b.seen.reports()) >= 4 }), "TIMING_INFO each 32 slots", fmt.Sprintf("%d", len(b.seen.reports())))
	reports := b.seen.reports()
	for i := range reports {
		r := &reports[i]
		n, ok := mu.Number(uint16(r.LastSFN), uint16(r.LastSlot))
		b.onlyBad(ok && r.LastSFN < slot.Frames, "a slot that there is", fmt.Sprintf("TIMING_INFO of %d.%d", r.LastSFN, r.LastSlot))
		now, _ := b.line.Slot(r.at)
		d := mu.Distance(now, n)
		b.onlyBad(d >= -1 && d <= 200<<mu, "TIMING_INFO of about now, "+mu.String(now), "of "+mu.String(n))
	}
	d := min(b.usual()+2, int(b.cell.TimingWindow))
	lead := int32(d) * int32(mu.Duration()/time.Microsecond)
	slotUs := int32(mu.Duration() / time.Microsecond)
	expected := fmt.Sprintf("UL_TTI latest and earliest between %d and %d us, the others 0", -lead, -lead+slotUs)
	came := "none"
	for i, valid := 0, 0; i < maxShots && valid < shots; i++ {
		b.seen.forget()
		if _, ok := b.attempt(d, b.one); !ok {
			before := len(b.seen.reports())
			b.await(func() bool { return len(b.seen.reports()) > before+1 })
			continue
		}
		valid++
		b.awaitFor(200*time.Millisecond+3*timingPeriod*mu.Duration(), func() bool {
			for _, r := range b.seen.reports() {
				if r.ULTTILatestDelay != 0 || r.ULTTIEarliestArrival != 0 {
					came = fmt.Sprintf("latest %d, earliest %d, DL_TTI %d", r.ULTTILatestDelay, r.ULTTIEarliestArrival, r.DLTTILatestDelay)
					return true
				}
			}
			return false
		})
		for _, r := range b.seen.reports() {
			in := func(v int32) bool { return v >= -lead && v <= -lead+slotUs }
			if in(r.ULTTILatestDelay) && in(r.ULTTIEarliestArrival) && r.DLTTILatestDelay == 0 && r.DLTTIEarliestArrival == 0 {
				b.did("UL_TTI.request %d slots ahead", d)
				b.check(true, expected, came)
				return
			}
		}
	}
	b.did("UL_TTI.request %d slots ahead", d)
	b.check(false, expected, came)
}

func (b *pnfBench) timingInfoLate() {
	b.seen.forget()
	s := b.refused(-1, b.one)
	late := int32(0)
	ok := b.await(func() bool {
		for _, r := range b.seen.reports() {
			late = max(late, r.ULTTILatestDelay)
		}
		return late > 0
	})
	b.did("UL_TTI.request for %s a slot late", b.cell.Numerology.String(s.slot))
	b.check(ok, "TIMING_INFO with a latest delay of UL_TTI above 0", fmt.Sprintf("at most %d us", late))
}
