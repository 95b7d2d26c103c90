package conformance

import (
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// p7Case is a case with a running PHY and a known clock.
func p7Case(name, says string, run func(b *pnfBench)) pnfCase {
	return pnfCase{Case{name, says}, phyRunning, func(b *pnfBench) {
		b.synchronise()
		run(b)
	}}
}

// windowCases test the arrival time of a request. Source: SCF 225, 2.2 (API message order and
// timing window). The window of OpenAirInterface develop 2025-09 has edges that it should not have.
func windowCases() []pnfCase {
	return []pnfCase{
		p7Case("window/one-ahead", "a request that comes in the slot before its own is carried out", func(b *pnfBench) { b.served(1, b.one) }),
		p7Case("window/last", "a request that comes a whole timing window before its slot is carried out", func(b *pnfBench) {
			b.served(int(b.cell.TimingWindow), b.one)
		}),
		p7Case("window/beyond", "a request for the slot behind the timing window is not carried out", func(b *pnfBench) {
			b.refused(int(b.cell.TimingWindow)+1, b.one)
		}),
		p7Case("window/slot-begun", "a request for the slot that has begun is too late, and not carried out", func(b *pnfBench) { b.refused(0, b.one) }),
		p7Case("window/late-by-one", "a request for the slot before is too late, and not carried out", func(b *pnfBench) { b.refused(-1, b.one) }),
		p7Case("window/far-ahead", "a request half a cycle of the SFN ahead, or behind, is not carried out", func(b *pnfBench) {
			half := b.cell.Numerology.PerCycle() / 2
			for _, d := range []int{half - 100, half - 1, -half, -half + 100} {
				b.refused(d, b.one)
			}
			b.alive()
		}),
		p7Case("window/frame-apart", "requests for slots that are a frame apart, both within the window, are carried out both: their places in memory are not the same", func(b *pnfBench) { b.frameApart() }),
		p7Case("window/no-such-slot", "a request for SFN 1024, or a slot that a frame has not, changes nothing, and is reported with error code 6", func(b *pnfBench) {
			for _, at := range [][2]uint16{{1024, 0}, {0, uint16(b.cell.Numerology.PerFrame())}, {0xffff, 0xffff}} {
				m := &nfapi.ULTTIRequest{SFN: at[0], Slot: at[1]}
				b.did("UL_TTI.request of %d.%d", at[0], at[1])
				b.put(b.message(m))
				b.reportedAt(at[0], at[1], nfapi.MsgULTTIRequest, codeInvalidSFN)
			}
			b.alive()
		}),
		p7Case("window/wrap", "SFN 1023 is followed by SFN 0: SLOT.indications go on, requests from both sides of it are carried out, and one for before it is late", func(b *pnfBench) { b.wrap() }),
		p7Case("report/late", "a request that is late is reported: ERROR.indication with error code 3", func(b *pnfBench) {
			s := b.refused(-1, b.one)
			b.did("UL_TTI.request a slot late")
			b.reported(s.slot, nfapi.MsgULTTIRequest, codeOutOfSync)
		}),
		p7Case("report/early", "a request beyond the timing window is reported: ERROR.indication with error code 6", func(b *pnfBench) {
			s := b.refused(int(b.cell.TimingWindow)+1, b.one)
			b.did("UL_TTI.request a slot beyond the window")
			b.reported(s.slot, nfapi.MsgULTTIRequest, codeInvalidSFN)
		}),
		p7Case("report/each-type", "DL_TTI, UL_DCI and TX_DATA that are late are reported with error code 3 as UL_TTI is", func(b *pnfBench) { b.lateTypes() }),
		{Case{"report/not-running", "a request while the PHY is not RUNNING is reported: ERROR.indication with error code 1"}, phyRunning, func(b *pnfBench) {
			b.synchronise()
			b.stopped(phyID, nfapi.MsgStopRequest)
			b.did("UL_TTI.request of 5.0")
			b.put(b.message(&nfapi.ULTTIRequest{SFN: 5}))
			b.reportedAt(5, 0, nfapi.MsgULTTIRequest, codeInvalidState)
			b.start()
		}},
	}
}

// frameApart sends requests for an uplink slot and the one a frame later.
func (b *pnfBench) frameApart() {
	mu := b.cell.Numerology
	if int(b.cell.TimingWindow) <= mu.PerFrame()+1 {
		b.skip("a window of %d slots has no two that are a frame of %d apart", b.cell.TimingWindow, mu.PerFrame())
	}
	const other = 0x40000000
	for range shots {
		s := b.shoot(2, func(n slot.Number, handle uint32) [][]byte {
			later := mu.Add(n, mu.PerFrame())
			return [][]byte{b.message(b.pusch(n, handle)), b.message(b.pusch(later, handle|other))}
		})
		b.passed(mu.Add(s.slot, mu.PerFrame()))
		b.did("UL_TTI.requests for slots %s and %s", mu.String(s.slot), mu.String(mu.Add(s.slot, mu.PerFrame())))
		if len(b.seen.crc(s.handle)) == 1 && len(b.seen.crc(s.handle|other)) == 1 {
			b.require(true, "a CRC.indication for each", "both")
			return
		}
	}
	b.require(false, "a CRC.indication for each", "not both")
}

// wrap waits for the end of the SFN cycle; again, if this machine slept through it.
func (b *pnfBench) wrap() {
	const cycles = 3
	for range cycles {
		if b.across() {
			return
		}
	}
	b.skip("in %d cycles no request could be sent in SFN 1023 for SFN 0: the network or this machine is too slow", cycles)
}

// across goes across one wrap.
func (b *pnfBench) across() bool {
	mu := b.cell.Numerology
	last := slot.Number(mu.PerCycle() - 1)
	begin := b.line.Begin(0, time.Now())
	for time.Until(begin) < 300*time.Millisecond {
		begin = begin.Add(slot.Cycle)
	}
	b.awaitFor(time.Until(begin)-200*time.Millisecond, func() bool { return false })
	b.synchronise()
	slow := awake()
	defer slow()
	b.seen.forget()
	var all []shot
	var final shot
	for time.Now().Before(begin) {
		s, ok := b.attempt(min(int(b.cell.TimingWindow), mu.PerFrame()), b.one)
		if ok {
			all = append(all, s)
		}
		if ok && s.at > last/2 && s.slot < last/2 {
			final = s
		}
	}
	if final.handle == 0 {
		return false
	}
	b.passed(final.slot)
	served := 0
	for _, s := range all {
		served += len(b.seen.crc(s.handle))
	}
	b.did("%d UL_TTI.requests from SFN 1003 on, one in %s for %s", len(all), mu.String(final.at), mu.String(final.slot))
	b.atPace(len(b.seen.crc(final.handle)) == 1 && 2*served > len(all), slow, "CRC.indications for it and most of the others", fmt.Sprintf("%d for it, %d in all", len(b.seen.crc(final.handle)), served))
	b.inOrder(b.seen.recent(), slow)
	for d := -mu.PerFrame(); ; d-- { // of SFN 1023
		now, _ := b.line.Slot(time.Now())
		if mu.Add(now, d+mu.PerFrame()/2) > last/2 {
			b.refused(d, b.one)
			break
		}
	}
	b.alive()
	return true
}

// inOrder checks that SLOT.indications are of slots that follow each other: some may be
// missing, none comes again or goes back.
func (b *pnfBench) inOrder(list []tick, slow func() bool) {
	mu := b.cell.Numerology
	missing := 0
	for i, k := range list {
		n, ok := mu.Number(k.sfn, k.slot)
		b.onlyBad(ok, "a slot that there is", fmt.Sprintf("SLOT.indication of %d.%d", k.sfn, k.slot))
		if i == 0 {
			continue
		}
		before, _ := mu.Number(list[i-1].sfn, list[i-1].slot)
		d := mu.Distance(n, before)
		b.onlyBad(d > 0, "SLOT.indication of a slot behind "+mu.String(before), mu.String(n))
		if d > 100<<mu {
			b.atPace(false, slow, "SLOT.indication of a slot soon behind "+mu.String(before), mu.String(n))
		}
		missing += d - 1
	}
	b.atPace(missing*20 <= len(list), slow, "at most 5 % of SLOT.indications missing", fmt.Sprintf("%d of %d", missing, len(list)+missing))
}

// onlyBad notes a step if it is not as expected.
func (b *pnfBench) onlyBad(ok bool, expected, came string) {
	if !ok {
		b.check(ok, expected, came)
	}
}

// lateTypes sends each type of request a slot late.
func (b *pnfBench) lateTypes() {
	for _, id := range []nfapi.MessageID{nfapi.MsgDLTTIRequest, nfapi.MsgULDCIRequest, nfapi.MsgTXDataRequest} {
		s := b.shoot(-3, func(n slot.Number, _ uint32) [][]byte {
			sfn, at := b.cell.Numerology.Split(n)
			var m nfapi.Message
			switch id {
			case nfapi.MsgDLTTIRequest:
				m = &nfapi.DLTTIRequest{SFN: sfn, Slot: at}
			case nfapi.MsgULDCIRequest:
				m = &nfapi.ULDCIRequest{SFN: sfn, Slot: at}
			default:
				m = &nfapi.TXDataRequest{SFN: sfn, Slot: at}
			}
			return [][]byte{b.message(m)}
		})
		b.did("%v three slots late", id)
		b.reported(s.slot, id, codeOutOfSync)
	}
}
