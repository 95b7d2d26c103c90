package conformance

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// listenFrames is how many frames a VNF is watched for: SSB and PRACH, of which any VNF
// asks for, come every 20 ms or so.
const listenFrames = 20

// watch has slots go by as a script has them, and returns what came; nil: as they should.
func (b *vnfBench) watch(script func(n slot.Number) [][]byte) []asked {
	b.requests(1)
	b.air.play(script)
	defer b.air.play(nil)
	b.air.forget()
	from := b.air.slots()
	b.check(b.awaitFor(b.config.Patience, func() bool {
		return b.air.slots() >= from+listenFrames*b.cell.Numerology.PerFrame()
	}), "slots that go by", "they do not")
	b.awaitFor(b.config.Patience, func() bool { return b.air.requests() > 0 }) // of one that was kept from running
	b.pause()
	if err := b.link.lost(); err != nil {
		b.fatal("a connection that stays", err)
	}
	return b.air.came()
}

func (b *vnfBench) pause() { time.Sleep(30 * time.Millisecond) }

// tickCases are about SLOT.indications. Source: SCF 225, 2.2 and SCF 222.10.02, 2.2.1
// (slot procedure), as OpenAirInterface develop 2025-09 has them.
func tickCases() []vnfCase {
	return []vnfCase{
		{Case{"tick/requests", "requests come for slots that were announced, of the right phy_id, each type at most once for a slot"}, true, func(b *vnfBench) {
			b.orderly(b.watch(nil))
		}},
		{Case{"tick/lead", "requests come before their slot begins: 9 of 10 at least"}, true, func(b *vnfBench) { b.leads(b.watch(nil)) }},
		{Case{"tick/sequence", "the sequence number of P7 goes up by one with each message"}, true, func(b *vnfBench) { b.sequences(b.watch(nil)) }},
		{Case{"tick/time-stamp", "time stamps are below 10,240,000"}, true, func(b *vnfBench) {
			for _, a := range b.watch(nil) {
				b.onlyBad(a.timestamp < cycle, "a time stamp below 10240000", fmt.Sprint(a.timestamp))
			}
			b.require(true, "time stamps below 10240000", "all are")
		}},
		{Case{"tick/pair", "DL_TTI with a PDSCH and TX_DATA come both or not at all"}, true, func(b *vnfBench) { b.pairs(b.watch(nil)) }},
	}
}

// lostTickCases are about SLOT.indications that a network loses, doubles or reorders.
func lostTickCases() []vnfCase {
	return []vnfCase{
		{Case{"tick/lost", "lost SLOT.indications, one or several in a row, do not stop a VNF"}, true, func(b *vnfBench) {
			chance := b.random()
			lose := 0
			b.orderly(b.watch(func(n slot.Number) [][]byte {
				if lose > 0 {
					lose--
					return nil
				}
				if chance.IntN(8) == 0 {
					lose = chance.IntN(4)
					return nil
				}
				return b.air.tick(n)
			}))
			b.requests(2)
		}},
		{Case{"tick/duplicate", "a SLOT.indication that comes twice has nothing asked for twice"}, true, func(b *vnfBench) {
			b.orderly(b.watch(func(n slot.Number) [][]byte { return append(b.air.tick(n), b.air.tick(n)...) }))
			b.requests(2)
		}},
		{Case{"tick/out-of-order", "SLOT.indications that come in another order have nothing asked for twice"}, true, func(b *vnfBench) {
			var held [][]byte
			b.orderly(b.watch(func(n slot.Number) [][]byte {
				if n%5 == 3 {
					held = b.air.tick(n)
					return nil
				}
				all := append(b.air.tick(n), held...)
				held = nil
				return all
			}))
			b.requests(2)
		}},
	}
}

// clockCases are about what time it is.
func clockCases() []vnfCase {
	return []vnfCase{
		{Case{"tick/wrap", "SFN 1023 is followed by SFN 0: requests go on, for the slots that were announced"}, false, func(b *vnfBench) { b.wrap() }},
		{Case{"tick/jump", "a PNF whose clock was set, half a cycle on, is followed"}, true, func(b *vnfBench) {
			b.requests(1)
			mu := b.cell.Numerology
			b.air.mu.Lock()
			to := mu.Add(b.air.at, mu.PerCycle()/2+7)
			b.air.mu.Unlock()
			b.air.jump(to)
			b.did("SLOT.indications from %s on", mu.String(to))
			b.check(b.awaitFor(b.config.Patience, func() bool {
				return slices.ContainsFunc(b.air.came(), func(a asked) bool { d := mu.Distance(a.slot, to); return a.known && d > 0 && d < mu.PerCycle()/4 })
			}), "requests for the slots announced since", "none")
		}},
		{Case{"tick/no-such-slot", "SLOT.indications of SFN 1024, or a slot that a frame has not, have nothing asked for"}, true, func(b *vnfBench) {
			b.orderly(b.watch(func(n slot.Number) [][]byte {
				all := b.air.messages(&nfapi.SlotIndication{SFN: 1024}, &nfapi.SlotIndication{SFN: 3, Slot: 999}, &nfapi.SlotIndication{SFN: 0xffff, Slot: 0xffff})
				return append(all, b.air.tick(n)...)
			}))
			b.requests(2)
		}},
		{Case{"tick/checksum", "a SLOT.indication with a wrong checksum has nothing asked for; one without checksum has"}, true, func(b *vnfBench) { b.checksums() }},
		{Case{"sync/node-sync", "DL_NODE_SYNC has a T1 within the SFN cycle; answers that are wrong do not stop a VNF"}, true, func(b *vnfBench) { b.nodeSync() }},
	}
}

// wrap goes across the end of the SFN cycle; across the next, if the VNF had asked for
// nothing before it came: it, or this machine, may be slow to start.
func (b *vnfBench) wrap() {
	b.follow(b.dial(), nfapi.MsgStartRequest)
	mu := b.cell.Numerology
	const frames = 30
	b.run(slot.Number(mu.PerCycle() - frames*mu.PerFrame()))
	b.requests(1)
	if before, _ := b.air.sides(); before < 0 {
		b.did("waited for the next end of the cycle")
		b.awaitFor(2*slot.Cycle, func() bool { return b.air.slots() > mu.PerCycle() })
		b.air.forget()
	}
	b.check(b.awaitFor(b.config.Patience, func() bool { _, after := b.air.sides(); return after >= 0 }),
		"requests for SFN 0 to 49", fmt.Sprintf("%d others", len(b.air.came())))
	b.pause()
	list := b.air.came()
	b.orderly(list)
	_, after := b.air.sides()
	late := slices.IndexFunc(list[after:], func(a asked) bool { return int(a.slot) > mu.PerCycle()/2 })
	b.require(late < 0, "no request for SFN 1023 any more", "one")
}

// orderly checks requests: for slots that were announced, each type once for each.
func (b *vnfBench) orderly(list []asked) {
	type key struct {
		id nfapi.MessageID
		n  slot.Number
	}
	seen := map[key]bool{}
	mu := b.cell.Numerology
	for _, a := range list {
		b.onlyBad(a.phy == b.phy || b.link.Profile() == nfapi.Aerial, fmt.Sprintf("phy_id %d", b.phy), fmt.Sprint(a.phy))
		b.onlyBad(a.valid && a.known, "a request for a slot that was announced", fmt.Sprintf("%v of slot %s", a.id, mu.String(a.slot)))
		k := key{a.id, a.slot}
		b.onlyBad(!seen[k], "each type of request once for a slot", fmt.Sprintf("%v of slot %s again", a.id, mu.String(a.slot)))
		seen[k] = true
	}
	b.check(len(list) > 0, "requests for slots that were announced, each once", fmt.Sprintf("%d requests", len(list)))
}

// onlyBad notes a step if it is not as expected.
func (b *vnfBench) onlyBad(ok bool, expected, came string) {
	if !ok {
		b.check(ok, expected, came)
	}
}

func (b *vnfBench) leads(list []asked) {
	var leads []time.Duration
	late := 0
	for _, a := range list {
		if a.known {
			leads = append(leads, a.lead)
			if a.lead <= 0 {
				late++
			}
		}
	}
	b.require(len(leads) > 0, "requests", "none")
	if 10*late > len(leads) && b.air.slow() {
		b.skip("%d of %d requests were late, but so were SLOT.indications: this machine is too slow", late, len(leads))
	}
	slices.Sort(leads)
	b.check(10*late <= len(leads), fmt.Sprintf("at most a tenth of %d requests late", len(leads)),
		fmt.Sprintf("%d; leads from %v to %v, median %v", late, leads[0], leads[len(leads)-1], leads[len(leads)/2]))
}

func (b *vnfBench) sequences(list []asked) {
	if b.link.Profile() == nfapi.Aerial {
		b.skip("the profile's header has no sequence number")
	}
	gaps := 0
	for i := 1; i < len(list); i++ {
		// DL_NODE_SYNC, which is not listed, has a number as well.
		if d := list[i].sequence - list[i-1].sequence; d == 0 || d > 8 {
			gaps++
		}
	}
	b.check(10*gaps <= len(list), "sequence numbers that go up", fmt.Sprintf("%d of %d do not", gaps, len(list)))
}

// pairs looks for halves. The first and the last slot are cut off by the watching.
func (b *vnfBench) pairs(list []asked) {
	pdsch, data := map[slot.Number]bool{}, map[slot.Number]bool{}
	for _, a := range list {
		if a.id == nfapi.MsgDLTTIRequest && a.pdsch {
			pdsch[a.slot] = true
		}
		if a.id == nfapi.MsgTXDataRequest {
			data[a.slot] = true
		}
	}
	if len(pdsch)+len(data) == 0 {
		b.skip("the VNF sends nothing: there is no PDSCH to be seen")
	}
	halves := 0
	for n := range pdsch {
		if !data[n] {
			halves++
		}
	}
	for n := range data {
		if !pdsch[n] {
			halves++
		}
	}
	b.check(halves <= 2, "DL_TTI with a PDSCH and TX_DATA for the same slots", fmt.Sprintf("%d halves of %d", halves, len(pdsch)))
}

// checksums has every other SLOT.indication be of a slot far off, with a wrong checksum.
func (b *vnfBench) checksums() {
	if b.link.Profile() == nfapi.Aerial {
		b.skip("the profile's header has no checksum")
	}
	mu := b.cell.Numerology
	sealed := func(n slot.Number, sum checksum) [][]byte {
		sfn, s := mu.Split(n)
		all, err := b.p7.datagrams(b.phy, &nfapi.SlotIndication{SFN: sfn, Slot: s}, whole, sum, 0)
		if err != nil {
			return nil
		}
		return all
	}
	b.orderly(b.watch(func(n slot.Number) [][]byte {
		return append(sealed(mu.Add(n, 50), checksumWrong), sealed(n, checksumAbsent)...)
	}))
}

// nodeSync answers node sync: first rightly, then not.
func (b *vnfBench) nodeSync() {
	b.requests(1)
	had := len(b.air.nodeSyncs())
	if !b.awaitFor(time.Second, func() bool { return len(b.air.nodeSyncs()) > had }) {
		b.skip("the VNF does not ask for node sync")
	}
	for _, s := range b.air.nodeSyncs() {
		b.onlyBad(s.T1 < cycle, "T1 below 10240000", fmt.Sprint(s.T1))
	}
	var answered atomic.Int64
	chance := b.random()
	before := had
	list := b.watch(func(n slot.Number) [][]byte {
		all := b.air.tick(n)
		if syncs := b.air.nodeSyncs(); len(syncs) > before {
			before = len(syncs)
			t1 := syncs[before-1].T1
			answered.Add(1)
			wrong := []nfapi.Message{
				&nfapi.ULNodeSync{T1: t1, T2: 0xffffffff, T3: 0}, &nfapi.ULNodeSync{T1: t1 ^ 1, T2: 1, T3: 2},
				&nfapi.ULNodeSync{T1: t1, T2: chance.Uint32(), T3: chance.Uint32()}, &nfapi.ULNodeSync{T1: t1, T2: 5_000_000, T3: 1},
			}
			all = append(all, b.air.messages(wrong...)...)
		}
		return all
	})
	b.did("%d wrong UL_NODE_SYNCs", answered.Load())
	b.orderly(list)
	b.requests(2)
}
