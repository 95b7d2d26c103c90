package stages

import (
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// TestMeterManyCPUs: several at once take no more than one would.
func TestMeterManyCPUs(t *testing.T) {
	const bps, octets, now = 1_000_000_000, 1500, 1_000_000_000
	var m Meter
	m.SetRate(bps, 10*time.Millisecond, now)
	var (
		all    sync.WaitGroup
		passed [4]int
	)
	for i := range passed {
		all.Go(func() {
			for range 10_000 {
				if _, ok := m.take(now, octets); ok {
					passed[i]++
				}
			}
		})
	}
	all.Wait()
	total := passed[0] + passed[1] + passed[2] + passed[3]
	// At one point of time: 10 ms of the rate, and the packet that exceeds it.
	most := bps/8/100/octets + 1
	if total > most+1 || total < most*9/10 {
		t.Errorf("%d packets passed, want %d", total, most)
	}
}

// TestPacketRate: all packets of a time may come at once; then one each time that
// the rate has for one.
func TestPacketRate(t *testing.T) {
	for _, r := range []*api.PacketRate{
		{Packets: 1, TimeMs: 1}, {Packets: 1, TimeMs: 7 * 24 * 3600 * 1000}, {Packets: 3, TimeMs: 1000}, {Packets: 1 << 31, TimeMs: 60_000},
	} {
		var m Meter
		m.setPacketRate(r, 1e9)
		now, passed := uint64(1e9), uint32(0)
		for passed < min(r.Packets, 1000) {
			if _, ok := m.take(now, OnePacket); !ok {
				break
			}
			passed++
		}
		if r.Packets > 1000 {
			continue
		}
		if _, ok := m.take(now, OnePacket); ok || passed != r.Packets {
			t.Errorf("%v: %d at once, and one more: %v", r, passed, ok)
		}
		each := uint64(r.TimeMs) * 1_000_000 / uint64(r.Packets)
		if _, ok := m.take(now+each-2, OnePacket); ok {
			t.Errorf("%v: one before its time", r)
		}
		if _, ok := m.take(now+each+1, OnePacket); !ok {
			t.Errorf("%v: none in its time", r)
		}
	}
}

// TestMeterClock: a meter that was not used for years, or whose clock has gone
// round, is idle.
func TestMeterClock(t *testing.T) {
	for _, last := range []uint64{1e9, 1<<56 - 1e9, 1 << 55} {
		var m Meter
		m.SetRate(1000, 0, 1e9)
		for range 4 {
			m.take(last, 1500)
		}
		if _, ok := m.take(last, 1500); ok {
			t.Fatalf("at %d: a fifth packet in the burst of three", last)
		}
		for _, later := range []uint64{60e9, 1 << 54, 1 << 55} {
			if _, ok := m.take(last+later, 1500); !ok {
				t.Errorf("at %d: not idle %d ns later", last, later)
			}
			m.giveBack(m.cost(1500))
		}
	}
}

// TestForce: what does not fit is charged no further than what fits could be, and
// what is given back is as if it had never been.
func TestForce(t *testing.T) {
	const now = 1e9
	var m Meter
	m.SetRate(1000, 0, now)
	for range 4 {
		m.take(now, 1500)
	}
	before := m.tat
	if n := m.force(now, 1500); n != 0 || m.tat != before {
		t.Errorf("beyond the last packet that fits %d were charged", n)
	}
	charged := m.force(now+1e9, 1500) // a second later there is room for 125 octets more
	if want := uint64(1e9) << meterFraction; charged != want {
		t.Errorf("charged %d, want %d", charged, want)
	}
	m.giveBack(charged)
	if m.tat != before {
		t.Errorf("after giving back tat is %d, want %d", m.tat, before)
	}
}
