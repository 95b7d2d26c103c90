package stages

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// idle is stages with so many sessions that buffer, found by UE address.
type idle struct {
	Stages
	rules  []*Rule
	events int
	drops  map[datapath.Reason]int
}

// idleTables finds the sessions: their UE addresses are dense.
type idleTables struct{ *idle }

// Towards implements [Tables].
func (b idleTables) Towards(gtpu.Tunnel) []*Rule { return nil }

// Candidates implements [Tables].
func (b idleTables) Candidates(k datapath.Key) []*Rule {
	i := int(k.IPv4 - 0x0a000000)
	if i < 0 || i >= len(b.rules) {
		return nil
	}
	return b.rules[i : i+1]
}

func newIdle(sessions int, limits BufferLimits) *idle {
	b := &idle{drops: map[datapath.Reason]int{}}
	now := func() uint64 { return 1 }
	b.Stages = Stages{
		Tables: idleTables{b}, Now: now, Post: func(*api.Event) { b.events++ },
		Buffer: NewBuffer(limits, now, func(r datapath.Reason) { b.drops[r]++ }),
	}
	b.rules = make([]*Rule, sessions)
	for i := range b.rules {
		b.rules[i] = &Rule{SEID: uint64(i) + 1, PDRID: 2, Action: api.Action_BUFF, Notify: true, Counters: &Counters{}}
	}
	return b
}

// packetTo is a packet of so many octets to a session.
func (b *idle) packetTo(p []byte, session int) []byte {
	copy(p, []byte{0x45, 0, byte(len(p) >> 8), byte(len(p)), 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1})
	binary.BigEndian.PutUint32(p[16:], 0x0a000000+uint32(session))
	return p
}

// forward releases a session, and returns how many packets left.
func (b *idle) forward(session int) (n int) {
	r := *b.rules[session]
	r.Action = api.Action_FORW
	r.Outer = &Outer{TEID: 1, Peer: netip.AddrFrom4([4]byte{10, 3, 0, 2}), Local: netip.AddrFrom4([4]byte{10, 3, 0, 1}), DSCP: -1}
	b.Release(r.SEID, []*Rule{&r}, false, func(Out) { n++ })
	return n
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestStorm floods 100 000 idle sessions: one packet each, then as many as fit.
// What is held stays within the configured total, each session raises one event,
// and when all have been released the memory is there again.
func TestStorm(t *testing.T) {
	const sessions, most = 100_000, 64 << 20
	limits := DefaultBufferLimits
	limits.TotalOctets = most
	b := newIdle(sessions, limits)
	before := heapInUse()
	p := make([]byte, 100)
	for i := range sessions {
		if o := b.Bare(0, b.packetTo(p, i)); o.Reason != datapath.PassBuffer {
			t.Fatalf("session %d: %v", i, o.Reason)
		}
	}
	one := heapInUse() - before
	full, in := 0, sessions
	for round := 0; full == 0; round++ {
		for i := range sessions {
			switch o := b.Bare(0, b.packetTo(p, i)); o.Reason {
			case datapath.PassBuffer:
				in++
			case datapath.DropBufferTotal:
				full++
			default:
				t.Fatalf("session %d: %v", i, o.Reason)
			}
		}
	}
	all := heapInUse() - before
	_, packets, octets := b.Buffer.Held()
	t.Logf("one packet of 100 octets each: %d octets of heap a session; full: %d packets, %d octets of %d allowed, %d of heap, %.0f a packet",
		one/sessions, packets, octets, most, all, float64(all)/float64(packets))
	// Growing maps and slices have more than they need for a while.
	if octets > most || packets != in || all > most*5/4 {
		t.Errorf("%d packets of %d, %d octets, %d of heap; want no more than %d", packets, in, octets, all, most)
	}
	if b.events != sessions {
		t.Errorf("%d events, want one for each of %d sessions", b.events, sessions)
	}
	left := 0
	for i := range sessions {
		left += b.forward(i)
	}
	after := int64(heapInUse()) - int64(before)
	if s, n, o := b.Buffer.Held(); left != in || s != 0 || n != 0 || o != 0 || after > 1<<20 {
		t.Errorf("%d of %d packets released; %d sessions, %d packets, %d octets held, %d of heap more than before", left, in, s, n, o, after)
	}
	runtime.KeepAlive(b)
}

// BenchmarkBuffer puts packets into the buffer, of 1000 sessions in turn, and
// releases them when each has 100.
func BenchmarkBuffer(b *testing.B) {
	for _, bc := range []struct {
		name   string
		octets int
	}{{"100B", 100}, {"1400B", 1400}} {
		limits := BufferLimits{Packets: 1 << 20, Octets: 1 << 30, TotalPackets: 1 << 30, TotalOctets: 1 << 30, Age: time.Hour}
		b.Run("in/"+bc.name, func(b *testing.B) {
			s, p := newIdle(1000, limits), make([]byte, bc.octets)
			b.ReportAllocs()
			for i := range b.N {
				if i%100_000 == 0 && i > 0 {
					b.StopTimer()
					for j := range s.rules {
						s.forward(j)
					}
					b.StartTimer()
				}
				s.Bare(0, s.packetTo(p, i%1000))
			}
		})
		b.Run("out/"+bc.name, func(b *testing.B) {
			s, p := newIdle(1000, limits), make([]byte, bc.octets)
			b.ReportAllocs()
			for i := 0; i < b.N; {
				b.StopTimer()
				for j := range 100_000 {
					s.Bare(0, s.packetTo(p, j%1000))
				}
				b.StartTimer()
				for j := 0; j < 1000 && i < b.N; j++ {
					i += s.forward(j)
				}
			}
		})
	}
}
