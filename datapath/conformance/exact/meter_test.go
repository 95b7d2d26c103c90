package exact

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// TestMeter holds the oracle itself against numbers that anybody can follow.
func TestMeter(t *testing.T) {
	atOnce := func(m *Meter, octets int) (n int) {
		for {
			ok, sure := m.Conforms()
			if !ok && sure {
				return n
			}
			m.Take(octets)
			n++
		}
	}
	m := NewMBR(8_000_000, 10*time.Millisecond) // an octet in a microsecond, 10000 at once
	if n := atOnce(m, 999); n != 11 {           // the last one from 9990 on
		t.Errorf("%d packets at once, want 11", n)
	}
	m.Pass(988 * time.Microsecond) // 10989 octets less 988: one above the burst
	if ok, sure := m.Conforms(); ok || !sure {
		t.Errorf("above the burst: %v, for certain %v", ok, sure)
	}
	m.Pass(2 * time.Microsecond)
	if ok, sure := m.Conforms(); !ok || !sure {
		t.Errorf("below the burst: %v, for certain %v", ok, sure)
	}
	m.Become(NewMBR(16_000_000, 10*time.Millisecond)) // nearly all of 20000 octets is in use
	if n := atOnce(m, 1500); n != 1 {
		t.Errorf("%d packets at once of twice the rate, want 1", n)
	}
	m.Pass(time.Hour)
	m.Become(NewMBR(8_000, 0)) // three packets
	if n := atOnce(m, 1500); n != 4 {
		t.Errorf("%d packets at once of a low rate, want 4: three, and what begins at the burst", n)
	}
	p := NewPacketRate(&api.PacketRate{Packets: 3, TimeMs: 30})
	if n := atOnce(p, 1); n != 3 {
		t.Errorf("%d packets at once, want 3", n)
	}
	p.Pass(9 * time.Millisecond)
	if n := atOnce(p, 1); n != 0 {
		t.Errorf("%d packets in 9 ms, want none", n)
	}
	p.Pass(2 * time.Millisecond)
	if n := atOnce(p, 1); n != 1 {
		t.Errorf("%d packets in 11 ms, want 1", n)
	}
}
