package conformance

import (
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// cycle is that of node sync and time stamps.
const cycle = uint32(nfapi.SFNCycle)

// micros is our own free-running clock, for node sync; never the same twice.
func (b *pnfBench) micros() uint32 {
	t := uint32(time.Now().UnixMicro() % int64(cycle))
	for {
		if _, used := b.seen.sync(t); !used && t != b.lastT1 {
			b.lastT1 = t
			return t
		}
		t = (t + 1) % cycle
	}
}

// message makes a datagram that is right.
func (b *pnfBench) message(m nfapi.Message) []byte {
	all, err := b.p7.datagrams(phyID, m, whole, checksumRight, 0)
	if err != nil {
		b.fatal(fmt.Sprintf("%v that can be encoded", m.MessageID()), err)
	}
	return all[0]
}

// put sends datagrams as they are.
func (b *pnfBench) put(all ...[]byte) {
	if err := b.p7.send(all...); err != nil {
		b.fatal("a datagram that can be sent", err)
	}
}

// synced is a DL_NODE_SYNC with its answer.
type synced struct {
	t1, t4 uint32
	answer syncAnswer
}

// sync asks for node sync once.
func (b *pnfBench) sync(t1 uint32) (synced, bool) {
	b.put(b.message(&nfapi.DLNodeSync{T1: t1}))
	var s synced
	ok := b.await(func() (ok bool) {
		s.answer, ok = b.seen.sync(t1)
		return ok
	})
	s.t1, s.t4 = t1, uint32(s.answer.at.UnixMicro()%int64(cycle))
	return s, ok
}

// delay is the way there and back, less what the PNF took, in us.
func (s *synced) delay() int64 {
	return modular(int64(s.t4)-int64(s.t1)) - modular(int64(s.answer.t3)-int64(s.answer.t2))
}

// modular is a difference of us within the cycle, from -half to half a cycle.
func modular(d int64) int64 {
	const c = int64(cycle)
	return ((d+c/2)%c+c)%c - c/2
}

// syncs is the number of node syncs used to find the PNF's clock.
const syncs = 8

// synchronise finds the PNF's clock, and how far ahead its SLOT.indications are.
func (b *pnfBench) synchronise() {
	mu := b.cell.Numerology
	var best synced
	for i := range syncs {
		s, ok := b.sync(b.micros())
		b.did("DL_NODE_SYNC")
		b.require(ok, "UL_NODE_SYNC with the same T1", "none")
		if i == 0 || s.delay() < best.delay() {
			best = s
		}
	}
	there := time.Duration(best.answer.t3)*time.Microsecond + time.Duration(best.delay()/2)*time.Microsecond
	b.line = clock.Timeline{Numerology: mu, Epoch: best.answer.at.Add(-there)}
	if b.ahead != 0 {
		return
	}
	had := b.seen.ticks()
	b.require(b.await(func() bool { return b.seen.ticks() >= had+2*mu.PerFrame() }), "SLOT.indications", "none")
	for _, k := range b.seen.recent() {
		if n, ok := mu.Number(k.sfn, k.slot); ok {
			now, _ := b.line.Slot(k.at)
			b.ahead = max(b.ahead, mu.Distance(n, now))
		}
	}
}

// shot is a request that reached the PNF in a slot that is known.
type shot struct {
	at, slot slot.Number // arrival time, and target slot
	handle   uint32      // of its PUSCH
	sent     time.Time
}

// maxShots is how many attempts there are to get a request into the right slot, shots
// how often one that did is to have the expected effect.
const (
	maxShots = 100
	shots    = 12
)

// shoot gets datagrams to the PNF while it is d slots before an uplink slot n: they are sent
// between two node syncs, whose answers give the slot of arrival.
func (b *pnfBench) shoot(d int, load func(n slot.Number, handle uint32) [][]byte) shot {
	for range maxShots {
		if s, ok := b.attempt(d, load); ok {
			return s
		}
		if b.ctx.Err() != nil {
			b.fatal("an attempt that can be judged", errStopped)
		}
	}
	b.skip("in %d attempts no request came to the PNF in the slot that it was sent in: the network or this machine is too slow", maxShots)
	return shot{}
}

// attempt is one attempt to; ok is false if the datagrams came in another slot, or in two.
func (b *pnfBench) attempt(d int, load func(n slot.Number, handle uint32) [][]byte) (s shot, ok bool) {
	mu := b.cell.Numerology
	now, _ := b.line.Slot(time.Now())
	from := mu.Add(now, 2)
	for b.cell.TDD.UplinkSymbols(mu.Add(from, d)) != slot.Symbols {
		from = mu.Add(from, 1)
	}
	b.handle++
	s = shot{at: from, slot: mu.Add(from, d), handle: b.handle}
	first, second := b.micros(), b.micros()
	all := append([][]byte{b.message(&nfapi.DLNodeSync{T1: first})}, load(s.slot, s.handle)...)
	all = append(all, b.message(&nfapi.DLNodeSync{T1: second}))
	until(b.line.Begin(from, time.Now()).Add(mu.Duration() / 5))
	s.sent = time.Now()
	b.put(all...)
	return s, b.within(first, from) && b.within(second, from)
}

// spin is how long before a time it is not slept any more: a busy machine wakes one up
// later than a slot allows.
const spin = 1500 * time.Microsecond

// until waits for a time.
func until(at time.Time) {
	time.Sleep(time.Until(at) - spin)
	for time.Now().Before(at) {
	}
}

// within reports whether a node sync came in a slot.
func (b *pnfBench) within(t1 uint32, n slot.Number) bool {
	var a syncAnswer
	b.await(func() (ok bool) {
		a, ok = b.seen.sync(t1)
		return ok
	})
	mu := b.cell.Numerology
	return !a.at.IsZero() && slot.Number(uint64(a.t2)<<mu/1000) == n
}

// pusch is an UL_TTI.request with one PUSCH on which no UE sends: its CRC fails, and the PNF
// reports that.
func (b *pnfBench) pusch(n slot.Number, handle uint32) *nfapi.ULTTIRequest {
	sfn, s := b.cell.Numerology.Split(n)
	m := &nfapi.ULTTIRequest{SFN: sfn, Slot: s, NULSCH: 1, PDUs: []nfapi.ULTTIPDU{{Type: 1}}}
	m.PDUs[0].PUSCH = nfapi.PUSCHPDU{
		PDUBitmap: 1, RNTI: 0x7c01, Handle: handle, BWPSize: b.cell.Uplink.GridSize, SubcarrierSpacing: uint8(b.cell.Numerology),
		TargetCodeRate: 3080, QAMModOrder: 2, MCSIndex: 4, TransformPrecoding: 1, NrOfLayers: 1,
		ULDMRSSymbPos: 4, NumDMRSCDMGrpsNoData: 2, DMRSPorts: 1, ResourceAlloc: 1, RBSize: 5, NrOfSymbols: 13,
		Data: nfapi.PUSCHData{TBSize: 61, NewDataIndicator: 1},
	}
	return m
}

// one is a single datagram with a PUSCH.
func (b *pnfBench) one(n slot.Number, handle uint32) [][]byte {
	return [][]byte{b.message(b.pusch(n, handle))}
}

// passed waits until a slot is over: two SLOT.indications behind it have come. What the
// PNF says about the slot came before.
func (b *pnfBench) passed(n slot.Number) {
	mu := b.cell.Numerology
	ok := b.awaitFor(b.config.Timeout+mu.Duration()*time.Duration(b.cell.TimingWindow), func() bool {
		b.seen.mu.Lock()
		defer b.seen.mu.Unlock()
		if len(b.seen.list) == 0 {
			return false
		}
		last := b.seen.list[len(b.seen.list)-1]
		at, _ := mu.Number(last.sfn, last.slot)
		return mu.Distance(at, mu.Add(n, b.ahead+2)) >= 0
	})
	b.require(ok, "SLOT.indications that go on", "none")
}

// carriedOut reports whether the PNF acted on a shot: it reports about the PUSCH.
func (b *pnfBench) carriedOut(s shot) bool {
	end := s.slot
	if mu := b.cell.Numerology; mu.Distance(end, s.at) < 0 || mu.Distance(end, s.at) > 300 {
		end = s.at
	}
	b.passed(end)
	return len(b.seen.crc(s.handle)) > 0
}

// served has a request, d slots ahead, be carried out.
func (b *pnfBench) served(d int, load func(n slot.Number, handle uint32) [][]byte) shot {
	var s shot
	for range shots {
		if s = b.shoot(d, load); b.carriedOut(s) {
			break
		}
	}
	mu := b.cell.Numerology
	got := b.seen.crc(s.handle)
	b.did("UL_TTI.request for slot %s with a PUSCH, in slot %s", mu.String(s.slot), mu.String(s.at))
	b.check(len(got) == 1, "one CRC.indication with the PUSCH's handle", fmt.Sprintf("%d", len(got)))
	sfn, n := mu.Split(s.slot)
	b.check(got[0].sfn == sfn && got[0].slot == n, "CRC.indication of slot "+mu.String(s.slot), fmt.Sprintf("of %d.%d", got[0].sfn, got[0].slot))
	return s
}

// refused has a request, d slots ahead, not be carried out.
func (b *pnfBench) refused(d int, load func(n slot.Number, handle uint32) [][]byte) shot {
	var s shot
	for range shots {
		b.link.drain()
		if s = b.shoot(d, load); !b.carriedOut(s) {
			break
		}
	}
	mu := b.cell.Numerology
	b.did("UL_TTI.request for slot %s with a PUSCH, in slot %s", mu.String(s.slot), mu.String(s.at))
	b.require(len(b.seen.crc(s.handle)) == 0, "no CRC.indication", "CRC.indication with the PUSCH's handle")
	return s
}

// usual is how many slots ahead requests are sent that are not about the window.
func (b *pnfBench) usual() int { return min(max(b.ahead, 4), int(b.cell.TimingWindow)) }

// alive has the PNF carry out a request that is right.
func (b *pnfBench) alive() { b.served(b.usual(), b.one) }

// reported has ERROR.indication be sent about a slot.
func (b *pnfBench) reported(n slot.Number, id nfapi.MessageID, codes ...uint8) {
	sfn, s := b.cell.Numerology.Split(n)
	b.reportedAt(sfn, s, id, codes...)
}

func (b *pnfBench) reportedAt(sfn, s uint16, id nfapi.MessageID, codes ...uint8) {
	expected := fmt.Sprintf("ERROR.indication %s about %v of %d.%d", codeText(uint32(codes[0])), id, sfn, s)
	got, err := b.link.wait(b.trial, b.config.Timeout, func(m *incoming) bool {
		e, ok := m.m.(*nfapi.ErrorIndication)
		return ok && e.SFN == sfn && e.Slot == s && e.Message == uint8(id)
	})
	if err != nil {
		b.fatal(expected, err)
	}
	e := got.m.(*nfapi.ErrorIndication)
	ok := false
	for _, c := range codes {
		ok = ok || c == e.ErrorCode
	}
	b.check(ok, expected, got.String())
}

// text is what came, if something did.
func (m *incoming) text(came bool) string {
	if !came {
		return "none"
	}
	return m.String()
}
