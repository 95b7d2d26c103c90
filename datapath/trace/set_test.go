package trace

import (
	"errors"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
)

func filter(change func(f *datapath.TraceFilter)) datapath.TraceFilter {
	f := datapath.TraceFilter{Sample: 1, Rate: 1000, Snap: 4}
	change(&f)
	return f
}

// offer gives a packet to the traces that want it.
func offer(s *Set, a *About) int {
	chosen := s.Choose(nil, a)
	Deliver(chosen, &datapath.TracePacket{Reason: a.Reason, TEID: a.TEID, Arrived: datapath.TraceFrame{Octets: 6, Data: []byte{1, 2, 3, 4, 5, 6}}})
	return len(chosen)
}

// TestSelect: what filters select.
func TestSelect(t *testing.T) {
	ue4, ue6 := netip.MustParseAddr("10.45.0.2"), netip.MustParseAddr("2001:db8::1")
	none := About{Reason: datapath.ReasonNone}
	for _, tc := range []struct {
		name   string
		filter datapath.TraceFilter
		about  About
		want   bool
	}{
		{"all", filter(func(f *datapath.TraceFilter) { f.All = true }), none, true},
		{"all, but the host's", filter(func(f *datapath.TraceFilter) { f.All = true }), About{Reason: datapath.PassHost}, false},
		{"reason", filter(func(f *datapath.TraceFilter) { f.Reasons = []datapath.Reason{datapath.DropMBR} }), About{Reason: datapath.DropMBR}, true},
		{"another reason", filter(func(f *datapath.TraceFilter) { f.Reasons = []datapath.Reason{datapath.DropMBR} }), About{Reason: datapath.DropGate}, false},
		{"TEID", filter(func(f *datapath.TraceFilter) { f.TEIDs = []uint32{7} }), About{TEID: 7}, true},
		{"no TEID", filter(func(f *datapath.TraceFilter) { f.TEIDs = []uint32{0} }), none, false},
		{"source", filter(func(f *datapath.TraceFilter) { f.UEs = []netip.Addr{ue4} }), About{Ends: [2]netip.Addr{ue4, ue6}}, true},
		{"destination", filter(func(f *datapath.TraceFilter) { f.UEs = []netip.Addr{ue4} }), About{Ends: [2]netip.Addr{ue6, ue4}}, true},
		{"IPv6 prefix", filter(func(f *datapath.TraceFilter) { f.UEs = []netip.Addr{ue6} }), About{Ends: [2]netip.Addr{netip.MustParseAddr("2001:db8::2"), ue4}}, true},
		{"no address", filter(func(f *datapath.TraceFilter) { f.UEs = []netip.Addr{ue4} }), none, false},
	} {
		if got := Wants(&tc.filter, &tc.about); got != tc.want {
			t.Errorf("%s: %t, want %t", tc.name, got, tc.want)
		}
	}
	for _, bad := range []datapath.TraceFilter{
		{}, filter(func(f *datapath.TraceFilter) { f.Snap = datapath.MaxTraceSnap + 1 }),
		filter(func(f *datapath.TraceFilter) { f.TEIDs = make([]uint32, datapath.MaxTraceKeys+1) }),
		filter(func(f *datapath.TraceFilter) { f.UEs = []netip.Addr{{}} }),
	} {
		if err := Check(&bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// TestBounds: traces are four, a rate and a queue hold, and what is not shown is counted.
func TestBounds(t *testing.T) {
	var s Set
	now := uint64(1e9)
	clock := func() uint64 { return now }
	all := filter(func(f *datapath.TraceFilter) { f.All, f.Rate = true, 10 })
	if s.On() {
		t.Error("on without a trace")
	}
	var traces []*Trace
	for range datapath.MaxTraces {
		x, err := s.Start(all, clock)
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, x)
	}
	if _, err := s.Start(all, clock); !errors.Is(err, datapath.ErrTraces) {
		t.Errorf("one more: %v", err)
	}
	const packets = 100
	for range packets {
		offer(&s, &About{})
	}
	x := traces[0]
	if c := x.Counts(); c.Wanted != packets || c.Limited < packets/2 || c.Lost != 0 || int(c.Limited)+len(x.Packets()) != packets {
		t.Errorf("at its rate: %+v, %d packets", c, len(x.Packets()))
	}
	if p := <-x.Packets(); len(p.Arrived.Data) != 4 || p.Arrived.Octets != 6 {
		t.Errorf("%+v, want 4 octets", p)
	}
	for range 2 * Queue {
		now += 1e9
		offer(&s, &About{})
	}
	if c := x.Counts(); int(c.Wanted) != packets+2*Queue || c.Lost == 0 || len(x.Packets()) != Queue {
		t.Errorf("nobody reads: %+v, %d packets", c, len(x.Packets()))
	}
	s.Close()
	if s.On() || offer(&s, &About{}) != 0 {
		t.Error("on without a trace")
	}
	for range x.Packets() { // ends
	}
	if err := x.Retarget(datapath.TraceTargets{}); !errors.Is(err, datapath.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := s.Start(all, clock); !errors.Is(err, datapath.ErrClosed) {
		t.Errorf("a trace of a datapath that is closed: %v", err)
	}
}

// TestRace: traces come and go while several workers offer packets.
func TestRace(t *testing.T) {
	var s Set
	var workers sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		workers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if s.On() {
						offer(&s, &About{TEID: 1})
					}
					runtime.Gosched()
				}
			}
		})
	}
	for range 50 {
		x, err := s.Start(filter(func(f *datapath.TraceFilter) { f.TEIDs = []uint32{1} }), func() uint64 { return 1 })
		if err != nil {
			t.Fatal(err)
		}
		<-x.Packets()
		if err := x.Retarget(datapath.TraceTargets{}); err != nil {
			t.Error(err)
		}
		x.Close()
	}
	close(stop)
	workers.Wait()
}
