package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

// full keeps both queues of each UE full for so many slots, and returns the octets of
// packets that were received in that time in each direction.
func full(a *air, to *core, slots int) (down, up int) {
	const size = 1500
	p := packet(1, size)
	for _, u := range a.ues {
		u.received = nil
	}
	clear(to.received)
	for range slots {
		for _, u := range a.ues {
			// As much as is received in a few slots is always there, and no more.
			for u.bearer.Buffered() < 1_000_000 && u.bearer.Send(1, p) {
			}
			for a.mac.Buffered(u.index) < 1_000_000 && a.mac.Downlink(u.index, 1, p) {
			}
		}
		a.tick()
	}
	for i, u := range a.ues {
		down += len(u.received) * size
		up += len(to.received[i]) * size
	}
	return down, up
}

// TestRate: with queues that are never empty, nearly all that the grid can carry is
// carried, in both directions at once.
func TestRate(t *testing.T) {
	wide := config("DDDDDDDSUU", 1)
	wide.PRBs, wide.Layers, wide.MCSTable, wide.MCS = 273, 4, 1, 27
	for name, c := range map[string]radio.Config{
		"40 MHz, 1 UE": config("DDDDDDDSUU", 1), "40 MHz, 3 UEs": config("DDDDDDDSUU", 3), "40 MHz, DDDSU": config("DDDSU", 1),
		"100 MHz, 4 layers, 256QAM": wide,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := &core{received: make([][]uint32, len(c.UEs))}
			a, err := newAir(c, 6, 1, to)
			if err != nil {
				t.Fatal(err)
			}
			attach(t, a)
			full(a, to, 200)
			const slots = 2000
			down, up := full(a, to, slots)
			seconds := slots * c.Numerology.Duration().Seconds()
			boundDown, boundUp := a.rrc.Bound()
			gotDown, gotUp := float64(8*down)/seconds, float64(8*up)/seconds
			if a.problem != nil {
				t.Error(a.problem)
			}
			if gotDown < 0.97*boundDown || gotUp < 0.97*boundUp || gotDown > 1.02*boundDown || gotUp > 1.02*boundUp {
				t.Errorf("%.4g bit/s down, %.4g up, the grid has %.4g and %.4g", gotDown, gotUp, boundDown, boundUp)
			}
		})
	}
}

// TestFair: UEs whose queues are never empty get the same.
func TestFair(t *testing.T) {
	c := config("DDDDDDDSUU", 12)
	to := &core{received: make([][]uint32, len(c.UEs))}
	a, err := newAir(c, 6, 1, to)
	if err != nil {
		t.Fatal(err)
	}
	attach(t, a)
	full(a, to, 500)
	full(a, to, 2000)
	if a.problem != nil {
		t.Error(a.problem)
	}
	for i, u := range a.ues {
		if down, most := len(u.received), len(a.ues[0].received); down < most*9/10 || down > most*11/10 || down == 0 {
			t.Errorf("ue %d received %d packets, ue 0 %d", i, down, most)
		}
		if up, most := len(to.received[i]), len(to.received[0]); up < most*8/10 || up > most*12/10 || up == 0 {
			t.Errorf("%d packets came from ue %d, %d from ue 0", up, i, most)
		}
	}
}

// TestNoAllocation: a slot with everything in it allocates nothing.
func TestNoAllocation(t *testing.T) {
	c := config("DDDDDDDSUU", 2)
	to := &core{received: make([][]uint32, len(c.UEs))}
	a, err := newAir(c, 2, 1, to)
	if err != nil {
		t.Fatal(err)
	}
	attach(t, a)
	full(a, to, 100)
	var requests fapi.Requests
	n, p := a.rrc.Numerology.Add(a.now, 1), packet(1, 1500)
	slots := func() {
		for range 20 {
			n = c.Numerology.Add(n, 1)
			for i := range c.UEs {
				a.mac.Downlink(i, 1, p)
			}
			requests.Reset(c.Numerology, n)
			a.mac.Schedule(&requests)
		}
	}
	slots()
	if got := testing.AllocsPerRun(20, slots); got != 0 {
		t.Errorf("20 slots allocate %v times", got)
	}
}

// BenchmarkSchedule is a slot of a downlink that is never empty, acknowledged by a UE
// without a radio.
func BenchmarkSchedule(b *testing.B) {
	for _, ues := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("%d UEs", ues), func(b *testing.B) {
			c := config("DDDDDDDSUU", ues)
			c.RLC = "um" // AM waits for its peer
			a, err := newAir(c, 6, 1, &core{received: make([][]uint32, ues)})
			if err != nil {
				b.Fatal(err)
			}
			for range 4000 {
				a.tick()
			}
			n, p := a.now, packet(1, 1500)
			var requests fapi.Requests
			var heard fapi.Indications
			b.ReportAllocs()
			for b.Loop() {
				for i := range ues {
					for a.mac.Buffered(i) < 50_000 && a.mac.Downlink(i, 1, p) {
					}
				}
				requests.Reset(c.Numerology, n)
				a.mac.Schedule(&requests)
				acknowledge(a, &requests, &heard)
				n = c.Numerology.Add(n, 1)
			}
		})
	}
}

// acknowledge answers all feedback that a slot asks for.
func acknowledge(a *air, r *fapi.Requests, heard *fapi.Indications) {
	heard.Reset(a.rrc.Numerology, r.At)
	for i := range r.ULTTI.PDUs {
		p := &r.ULTTI.PDUs[i]
		if p.Type != 2 || p.PUCCH.BitLenHARQ == 0 {
			continue
		}
		m := growUCI(heard)
		m.Type = 2
		m.Format234.PDUBitmap, m.Format234.RNTI, m.Format234.HARQ.BitLen = 2, p.PUCCH.RNTI, p.PUCCH.BitLenHARQ
		m.Format234.HARQ.Payload = allGood[:]
		heard.Have |= fapi.UCI
	}
	if heard.Have != 0 {
		a.mac.Indicate(heard)
	}
}

var allGood = [2]byte{0xff, 0xff}

func growUCI(i *fapi.Indications) *nfapi.UCI {
	if n := len(i.UCI.UCIs); n < cap(i.UCI.UCIs) {
		i.UCI.UCIs = i.UCI.UCIs[:n+1]
	} else {
		i.UCI.UCIs = append(i.UCI.UCIs, nfapi.UCI{})
	}
	return &i.UCI.UCIs[len(i.UCI.UCIs)-1]
}

// TestAfterIdle: a UE that was silent for most of an SFN cycle sends as fast as ever.
func TestAfterIdle(t *testing.T) {
	for _, idle := range []int{10, 6000, 11_000, 16_000, 20_480} {
		c := config("DDDDDDDSUU", 1)
		to := &core{received: make([][]uint32, 1)}
		a, err := newAir(c, 6, 1, to)
		if err != nil {
			t.Fatal(err)
		}
		attach(t, a)
		const packets = 120 // they have room in the queue
		for burst := range 2 {
			clear(to.received)
			for i := range packets {
				a.ues[0].bearer.Send(1, packet(uint32(i), 1400))
			}
			took := 0
			for ; len(to.received[0]) < packets && took < 1000; took++ {
				a.tick()
			}
			// 168 kB are 16 transport blocks, 2 in each 10 slots.
			if took > 120 {
				t.Errorf("burst %d, %d slots after the one before, took %d slots", burst, idle, took)
			}
			for range idle {
				a.tick()
			}
		}
	}
}
