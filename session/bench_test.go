package session

import (
	"context"
	"runtime"
	"testing"
)

// nowhere is a datapath that costs nothing.
type nowhere struct{}

func (nowhere) Install(context.Context, *Session) error { return nil }
func (nowhere) Remove(context.Context, *Session) error  { return nil }

func benchManager(b testing.TB, n int) *Manager {
	b.Helper()
	m, err := NewManager(Config{MaxSessions: n, N3: []IPv4{n3}}, nowhere{})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func ueAddress(i int) IPv4 { return IPv4{10, byte(i >> 16), byte(i >> 8), byte(i)} }

// maxOctetsPerSession is what a session of the usual shape may take in memory,
// all indexes and the F-TEID allocator included.
const maxOctetsPerSession = 1024

// TestMemory measures the memory of many sessions of the usual shape.
func TestMemory(t *testing.T) {
	const n = 100_000
	req := establishment(IPv4{})
	before := heap()
	m := benchManager(t, n)
	for i := range n {
		req.CreatePDRs[0].PDI.UEAddress.IPv4 = ueAddress(i)
		req.CreatePDRs[1].PDI.UEAddress.IPv4 = ueAddress(i)
		if _, err := m.Establish(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	per := (heap() - before) / n
	runtime.KeepAlive(m)
	t.Logf("%d octets per session, %d sessions", per, n)
	if per > maxOctetsPerSession {
		t.Errorf("%d octets per session, want at most %d", per, maxOctetsPerSession)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// BenchmarkSession is one establishment, one path switch and one deletion.
func BenchmarkSession(b *testing.B) {
	m := benchManager(b, 1<<20)
	req := establishment(IPv4{})
	tunnel := OuterHeaderCreation{TEID: 7, IPv4: IPv4{10, 3, 0, 3}}
	mod := Modification{Owner: 1, UpdateFARs: []UpdateFAR{{ID: 1, HasForwarding: true, OuterHeaderCreation: &tunnel}}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		req.CreatePDRs[0].PDI.UEAddress.IPv4 = ueAddress(i)
		req.CreatePDRs[1].PDI.UEAddress.IPv4 = ueAddress(i)
		s, err := m.Establish(b.Context(), req)
		if err != nil {
			b.Fatal(err)
		}
		mod.SEID = s.SEID
		if _, err := m.Modify(b.Context(), &mod); err != nil {
			b.Fatal(err)
		}
		if err := m.Delete(b.Context(), s.SEID, 1); err != nil {
			b.Fatal(err)
		}
	}
}
