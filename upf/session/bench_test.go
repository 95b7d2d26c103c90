package session

import (
	"context"
	"runtime"
	"testing"
)

// nowhere is a datapath that costs nothing.
type nowhere struct{}

func (nowhere) Install(context.Context, *Change) error      { return nil }
func (nowhere) Remove(context.Context, uint64) error        { return nil }
func (nowhere) Usage(context.Context, uint64, *Usage) error { return nil }

func benchManager(b testing.TB, n int) *Manager {
	b.Helper()
	m, err := NewManager(Config{MaxSessions: n, Endpoints: []Endpoint{{IPv4: n3}}}, nowhere{})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func ueAddress(i int) IPv4 { return IPv4{10, byte(i >> 16), byte(i >> 8), byte(i)} }

// usual is a session of the usual shape with a URR, as measured everywhere: 2 PDRs,
// 2 FARs, 1 QER, 1 URR.
func usual() *Establishment {
	req := establishment(IPv4{})
	req.SNSSAI, req.DNN = Some(SNSSAI{SST: 1, SD: NoSD}), "internet"
	req.CreateURRs = []URR{{
		ID: 1, Method: MeasureVolume, Triggers: ReportVOLTH | ReportVOLQU,
		VolumeThreshold: Volume{HasTotal: true, Total: 100e6}, VolumeQuota: Volume{HasTotal: true, Total: 1e9},
	}}
	for i := range req.CreatePDRs {
		req.CreatePDRs[i].URRIDs = []uint32{1}
	}
	return req
}

func setUE(req *Establishment, i int) {
	req.CreatePDRs[0].PDI.UEAddress.IPv4 = ueAddress(i)
	req.CreatePDRs[1].PDI.UEAddress.IPv4 = ueAddress(i)
}

// maxOctetsPerSession is what a session of the usual shape may take in memory,
// all indexes and the F-TEID allocator included.
const maxOctetsPerSession = 500

// TestMemory measures the memory of many sessions of the usual shape.
func TestMemory(t *testing.T) {
	const n = 30_000
	for name, first := range map[string]uint32{"F-TEIDs chosen here": 0, "F-TEIDs of the CP function": 1} {
		t.Run(name, func(t *testing.T) {
			req, r := usual(), new(Result)
			before := heap()
			m := benchManager(t, n)
			for i := range n {
				setUE(req, i)
				if first != 0 {
					req.CreatePDRs[1].PDI.Choose, req.CreatePDRs[1].PDI.FTEID = Choose{}, FTEID{TEID: first + uint32(i), IPv4: n3}
				}
				if err := m.Establish(t.Context(), req, r); err != nil {
					t.Fatal(err)
				}
			}
			record := len(m.table.at(slotOf(r.Session.SEID)).record)
			per := (heap() - before) / n
			runtime.KeepAlive(m)
			t.Logf("%d octets per session, %d of them its record; %d sessions", per, record, n)
			if per > maxOctetsPerSession {
				t.Errorf("%d octets per session, want at most %d", per, maxOctetsPerSession)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// pathSwitch is the modification of a handover.
func pathSwitch() *Modification {
	return &Modification{Owner: 1, UpdateFARs: []UpdateFAR{{
		ID: 1, HasForwarding: true, OuterHeaderCreation: Some(OuterHeaderCreation{TEID: 7, IPv4: IPv4{10, 3, 0, 3}}),
	}}}
}

// TestAllocations: a path switch allocates nothing, however long it goes on, and an
// establishment its record, what the indexes grow by, and little else.
func TestAllocations(t *testing.T) {
	m := benchManager(t, 1<<16)
	req, r := usual(), new(Result)
	setUE(req, 0)
	if err := m.Establish(t.Context(), req, r); err != nil {
		t.Fatal(err)
	}
	mod := pathSwitch()
	mod.SEID = r.Session.SEID
	ctx := t.Context()
	if got := testing.AllocsPerRun(1000, func() {
		if err := m.Modify(ctx, mod, r); err != nil {
			t.Error(err)
		}
	}); got >= 1 {
		t.Errorf("a path switch allocates %v times, want 0", got)
	}
	i := 1
	if got := testing.AllocsPerRun(1000, func() {
		setUE(req, i)
		i++
		if err := m.Establish(ctx, req, r); err != nil {
			t.Error(err)
		}
	}); got >= 3 {
		t.Errorf("an establishment allocates %v times, want fewer than 3", got)
	}
}

// BenchmarkSession is each procedure by itself, of a session of the usual shape.
func BenchmarkSession(b *testing.B) {
	b.Run("establish", func(b *testing.B) {
		m, req, r := benchManager(b, 1<<20), usual(), new(Result)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%(1<<19) == 1<<19-1 {
				b.StopTimer()
				m = benchManager(b, 1<<20)
				b.StartTimer()
			}
			setUE(req, i)
			if err := m.Establish(b.Context(), req, r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("modify", func(b *testing.B) {
		m, req, r := benchManager(b, 1<<20), usual(), new(Result)
		const n = 1 << 14
		seids := make([]uint64, n)
		for i := range seids {
			setUE(req, i)
			if err := m.Establish(b.Context(), req, r); err != nil {
				b.Fatal(err)
			}
			seids[i] = r.Session.SEID
		}
		mod := pathSwitch()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			mod.SEID = seids[i%n]
			if err := m.Modify(b.Context(), mod, r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("establish and delete", func(b *testing.B) {
		m, req, r := benchManager(b, 1<<20), usual(), new(Result)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			setUE(req, i)
			if err := m.Establish(b.Context(), req, r); err != nil {
				b.Fatal(err)
			}
			if err := m.Delete(b.Context(), r.Session.SEID, 1, r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
