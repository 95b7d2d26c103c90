package scheduler_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

func config(pattern string, ues int) radio.Config {
	c := radio.Config{
		Numerology: 1, PRBs: 106, Layers: 1, MCS: 28, Pattern: pattern, SpecialDL: 6, SpecialUL: 4,
		K1: 2, K2: 6, SRPeriod: len(pattern), SROffset: strings.IndexByte(pattern, 'U'), RLC: "am",
	}
	for i := range ues {
		c.UEs = append(c.UEs, radio.UE{RNTI: uint16(0x4601 + i), Preamble: uint8(i), QFI: 1})
	}
	return c
}

// core is a data network that writes down what came.
type core struct {
	received [][]uint32 // numbers of packets, by UE
	flushed  int
	held     int
}

func (c *core) Uplink(ue int, _ uint8, packet []byte) {
	c.received[ue] = append(c.received[ue], number(packet))
	c.held++
}

func (c *core) Flush() { c.flushed, c.held = c.flushed+1, 0 }

// packet has a number, and octets that follow from it.
func packet(n uint32, size int) []byte {
	p := make([]byte, max(size, 4))
	binary.BigEndian.PutUint32(p, n)
	for i := 4; i < len(p); i++ {
		p[i] = byte(n) + byte(i)
	}
	return p
}

const damaged = ^uint32(0)

// number is that of a packet; damaged if its octets do not follow from it.
func number(p []byte) uint32 {
	n := binary.BigEndian.Uint32(p)
	for i := 4; i < len(p); i++ {
		if p[i] != byte(n)+byte(i) {
			return damaged
		}
	}
	return n
}

func count(n int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = uint32(i)
	}
	return list
}

// faults are how likely each message is lost, and each transmission.
type faults struct {
	message, tick, crc float64
}

func (a *air) set(f faults) {
	for _, h := range []fapi.Have{fapi.DLTTI, fapi.TXData, fapi.ULTTI, fapi.ULDCI, fapi.UCI, fapi.CRC, fapi.RXData, fapi.RACH} {
		a.loss[h] = f.message
	}
	a.tickLoss, a.crcFailure = f.tick, [2]float64{f.crc, f.crc}
}

// attach lets slots pass until each UE is known at both ends.
func attach(t *testing.T, a *air) {
	t.Helper()
	for range 100_000 {
		a.tick()
		known := 0
		for _, u := range a.ues {
			if u.known() {
				known++
			}
		}
		if known == len(a.ues) && a.mac.Stats().UEs == int64(known) {
			return
		}
	}
	t.Fatalf("the UEs are not known after 100000 slots: %+v", a.mac.Stats())
}

// traffic sends packets both ways while slots pass, and then lets everything arrive.
// It returns how many each UE was sent, and how many it sent.
func traffic(a *air, f faults, slots int) (down, up []int) {
	down, up = make([]int, len(a.ues)), make([]int, len(a.ues))
	a.set(f)
	for range slots {
		for i, u := range a.ues {
			if a.random.IntN(4) == 0 && a.mac.Downlink(i, 1, packet(uint32(down[i]), 4+a.random.IntN(1500))) {
				down[i]++
			}
			if a.random.IntN(8) == 0 && u.bearer.Send(1, packet(uint32(up[i]), 4+a.random.IntN(1500))) {
				up[i]++
			}
		}
		a.tick()
	}
	a.set(faults{})
	for range 4000 { // of more than a second
		a.tick()
	}
	return down, up
}

// TestNothingSticks is the property that the bookkeeping of HARQ has to keep, whatever
// is lost: with RLC AM all that was sent arrives once and in order, and in the end no
// process is taken.
func TestNothingSticks(t *testing.T) {
	slots := 6_000
	if testing.Short() {
		slots = 2_000
	}
	for _, f := range []faults{
		{}, {crc: 0.1}, {crc: 0.3}, {message: 0.01}, {message: 0.1, crc: 0.1}, {message: 0.3, tick: 0.05, crc: 0.1}, {tick: 0.2},
	} {
		for i, pattern := range []string{"DDDDDDDSUU", "DDDSU", "SU"} {
			t.Run(fmt.Sprintf("%s/messages %v ticks %v blocks %v", pattern, f.message, f.tick, f.crc), func(t *testing.T) {
				t.Parallel()
				nothingSticks(t, config(pattern, 3), f, 2+2*i, slots)
			})
		}
	}
}

func nothingSticks(t *testing.T, c radio.Config, f faults, ahead, slots int) {
	to := &core{received: make([][]uint32, len(c.UEs))}
	a, err := newAir(c, ahead, uint64(ahead), to)
	if err != nil {
		t.Fatal(err)
	}
	a.now = slot.Number(c.Numerology.PerCycle() - 5000) // SFNs come round
	attach(t, a)
	clear(to.received)
	for _, u := range a.ues {
		u.received = nil
	}
	down, up := traffic(a, f, slots)
	stats := a.mac.Stats()
	if a.problem != nil {
		t.Error(a.problem)
	}
	for i, u := range a.ues {
		if want := count(down[i]); !slices.Equal(u.received, want) {
			t.Errorf("ue %d received %d packets, want 0 to %d in order: %s", i, len(u.received), len(want)-1, firstDifference(u.received, want))
		}
		if want := count(up[i]); !slices.Equal(to.received[i], want) {
			t.Errorf("core received %d packets of ue %d, want 0 to %d in order: %s", len(to.received[i]), i, len(want)-1, firstDifference(to.received[i], want))
		}
	}
	if stats.Downlink.Busy != 0 || stats.Uplink.Busy != 0 || to.held != 0 {
		t.Errorf("in the end %d and %d HARQ processes are taken, %d packets held back", stats.Downlink.Busy, stats.Uplink.Busy, to.held)
	}
	if stats.Malformed != 0 || stats.Unknown != 0 {
		t.Errorf("%d transport blocks are malformed, %d indications of unknown UEs", stats.Malformed, stats.Unknown)
	}
	if f == (faults{}) && (stats.Downlink.Again != 0 || stats.Uplink.Again != 0 || stats.Stale != 0) {
		t.Errorf("without faults %d and %d transmissions were repeated, %d indications stale", stats.Downlink.Again, stats.Uplink.Again, stats.Stale)
	}
	if f.crc > 0 && (stats.Downlink.Again == 0 || stats.Uplink.Again == 0) {
		t.Error("nothing was sent again: the faults did not happen")
	}
	for _, kind := range []string{"SSB", "PDCCH", "PDSCH", "PRACH", "PUSCH", "PUCCH", "grant"} {
		if a.seen[kind] == 0 {
			t.Errorf("there was no %s", kind)
		}
	}
}

func firstDifference(got, want []uint32) string {
	for i := range got {
		if i >= len(want) || got[i] != want[i] {
			return fmt.Sprintf("at %d it is %d", i, got[i])
		}
	}
	return "the end is missing"
}

// TestNumerologies: slots of every length are scheduled alike.
func TestNumerologies(t *testing.T) {
	for mu := range slot.MaxNumerology + 1 {
		t.Run(fmt.Sprint("mu ", mu), func(t *testing.T) {
			t.Parallel()
			c := config("DDDSU", 2)
			c.Numerology = mu
			nothingSticks(t, c, faults{message: 0.02, crc: 0.1}, 4, 2000)
		})
	}
}

// TestUnacknowledged: with RLC UM what arrives is in order and whole, and what does not
// is counted, packet by packet.
func TestUnacknowledged(t *testing.T) {
	c := config("DDDDDDDSUU", 2)
	c.RLC = "um"
	to := &core{received: make([][]uint32, len(c.UEs))}
	a, err := newAir(c, 6, 1, to)
	if err != nil {
		t.Fatal(err)
	}
	attach(t, a)
	down, up := traffic(a, faults{message: 0.2, crc: 0.3}, 10_000)
	for i, u := range a.ues { // numbers are missing only when higher ones have come
		a.mac.Downlink(i, 1, packet(uint32(down[i]), 100))
		u.bearer.Send(1, packet(uint32(up[i]), 100))
	}
	for range 1000 {
		a.tick()
	}
	arrived, sent := 0, 0
	for i, u := range a.ues {
		arrived += len(to.received[i])
		sent += up[i] + 1
		if lost := u.bearer.Stats().PDCP.Lost; uint64(len(u.received))+lost != uint64(down[i]+1) || lost == 0 {
			t.Errorf("ue %d received %d packets, %d are missing, of %d", i, len(u.received), lost, down[i]+1)
		}
		for _, list := range [][]uint32{u.received, to.received[i]} {
			if !slices.IsSorted(list) || slices.Contains(list, damaged) || len(slices.Compact(slices.Clone(list))) != len(list) {
				t.Errorf("ue %d: packets are damaged, twice there, or not in order", i)
			}
		}
	}
	stats := a.mac.Stats()
	if stats.Uplink.Missing != uint64(sent-arrived) || stats.Uplink.Missing == 0 {
		t.Errorf("%d packets are missing in uplink, %d of %d did not arrive", stats.Uplink.Missing, sent-arrived, sent)
	}
	if stats.Downlink.Busy != 0 || stats.Uplink.Busy != 0 || a.problem != nil {
		t.Errorf("in the end %d and %d HARQ processes are taken, %v", stats.Downlink.Busy, stats.Uplink.Busy, a.problem)
	}
}

// TestBackAgain: a UE that lost everything and sends its preamble anew is served anew,
// from the first packet on.
func TestBackAgain(t *testing.T) {
	c := config("DDDDDDDSUU", 2)
	to := &core{received: make([][]uint32, len(c.UEs))}
	a, err := newAir(c, 4, 1, to)
	if err != nil {
		t.Fatal(err)
	}
	attach(t, a)
	for life := range 3 {
		for _, u := range a.ues {
			u.received = nil
		}
		clear(to.received)
		down, up := traffic(a, faults{crc: 0.1}, 300)
		for i, u := range a.ues {
			if !slices.Equal(u.received, count(down[i])) || !slices.Equal(to.received[i], count(up[i])) || down[i] == 0 || up[i] == 0 {
				t.Errorf("life %d: ue %d received %d of %d packets, %d of %d came from it", life, i, len(u.received), down[i], len(to.received[i]), up[i])
			}
		}
		u := a.ues[0]
		if err := a.begin(u, &c); err != nil {
			t.Fatal(err)
		}
		u.fresh, u.sentAt = true, a.rrc.Numerology.Add(a.now, -a.rrc.Numerology.PerCycle()/4)
		if life == 1 { // the other one's is kept: its packets go on
			a.mac.Stop()
			if a.mac.Downlink(1, 1, packet(0, 100)) {
				t.Error("a packet is taken for a UE that is not known")
			}
			a.mac.Start()
			o := a.ues[1]
			if err := a.begin(o, &c); err != nil {
				t.Fatal(err)
			}
			o.fresh, o.sentAt = true, u.sentAt
		}
		attach(t, a)
		for range 100 {
			a.tick()
		}
	}
	if a.problem != nil {
		t.Error(a.problem)
	}
	if got := a.mac.Stats().Preambles; got < 6 {
		t.Errorf("%d preambles, want 2 of each UE's beginnings", got)
	}
}

// TestAttachWithLoss: a preamble, or the grant that answers it, may be lost; the UE sends
// another. What the core sends meanwhile is refused, or arrives.
func TestAttachWithLoss(t *testing.T) {
	for seed := range uint64(8) {
		c := config("DDDSU", 3)
		to := &core{received: make([][]uint32, len(c.UEs))}
		a, err := newAir(c, 4, seed, to)
		if err != nil {
			t.Fatal(err)
		}
		down, up := traffic(a, faults{message: 0.5, tick: 0.1, crc: 0.5}, 4000)
		for i, u := range a.ues {
			if !slices.Equal(u.received, count(down[i])) || !slices.Equal(to.received[i], count(up[i])) {
				t.Errorf("seed %d: ue %d received %d of %d packets, %d of %d came from it", seed, i, len(u.received), down[i], len(to.received[i]), up[i])
			}
		}
		if a.problem != nil {
			t.Errorf("seed %d: %v", seed, a.problem)
		}
	}
}

// TestRepeatedIndications: a network may deliver a datagram twice, the second time much
// later. What has been told already changes nothing: above all the preamble of a UE that
// has been heard of since, whose bearer at the other end goes on.
func TestRepeatedIndications(t *testing.T) {
	for seed := range uint64(4) {
		c := config("DDDDDDDSUU", 3)
		to := &core{received: make([][]uint32, len(c.UEs))}
		a, err := newAir(c, 6, seed, to)
		if err != nil {
			t.Fatal(err)
		}
		a.repetition = 1
		down, up := traffic(a, faults{crc: 0.1}, 3000)
		for i, u := range a.ues {
			if !slices.Equal(u.received, count(down[i])) || !slices.Equal(to.received[i], count(up[i])) || down[i] == 0 || up[i] == 0 {
				t.Errorf("seed %d: ue %d received %d of %d packets, %d of %d came from it", seed, i, len(u.received), down[i], len(to.received[i]), up[i])
			}
		}
		stats := a.mac.Stats()
		if stats.Stale == 0 || stats.Preambles != uint64(len(a.ues)) || a.problem != nil {
			t.Errorf("seed %d: %d indications stale, want some; %d preambles, want 1 of each UE; %v", seed, stats.Stale, stats.Preambles, a.problem)
		}
	}
}
