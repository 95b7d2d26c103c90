package report

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/export"
)

// sampleProbe is a run of so many seconds with two UPFs, three slices, both directions,
// and one series that is withheld. Its figures are made up.
func sampleProbe(t testing.TB, seconds int) *Probe {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 0))
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	kinds := []struct {
		upf, slice string
		direction  probe.Direction
		median     float64
		rate       int
	}{
		{"upf1", "embb", probe.Uplink, 30e3, 400}, {"upf1", "embb", probe.Downlink, 26e3, 500},
		{"upf1", "urllc", probe.Uplink, 22e3, 100}, {"upf1", "urllc", probe.Downlink, 19e3, 100},
		{"upf2", "mmtc", probe.Uplink, 41e3, 200}, {"upf2", "", probe.Uplink, 55e3, 20},
	}
	series := make([]probe.Series, len(kinds))
	for i, k := range kinds {
		series[i] = probe.Series{UPF: k.upf, Slice: k.slice, Direction: k.direction, Delay: hdrhistogram.New(1, 1<<36-1, 2)}
	}
	points := []probe.PointCount{
		{Point: probe.Point{Namespace: "/run/netns/upf", Device: "n3", Way: probe.In, Side: probe.N3}, Packets: 700, Unparsed: 3, Cost: probe.Cost{Alone: 71}},
		{Point: probe.Point{UPF: 1, Device: "ogstun", Way: probe.Out, Side: probe.N6}, Packets: 690, Unmatched: 2, Cost: probe.Cost{Alone: 52}},
	}
	at := func(second int) *probe.Snapshot {
		s := &probe.Snapshot{At: start.Add(time.Duration(second) * time.Second), Points: points}
		for _, one := range series {
			one.Delay = one.Delay.Clone()
			s.Series = append(s.Series, one)
		}
		return s
	}
	r := export.NewRecorder(at(0))
	for second := range seconds {
		for i, k := range kinds {
			for range k.rate {
				ns := k.median * (0.6 + random.ExpFloat64()*0.6)
				if random.IntN(200) == 0 {
					ns *= 20
				}
				if err := series[i].Delay.RecordValue(int64(ns)); err != nil {
					t.Fatal(err)
				}
			}
			a := &series[i].Account
			a.Matched, a.Octets = a.Matched+uint64(k.rate), a.Octets+uint64(900*k.rate)
			a.Lost += uint64(k.rate / 200)
			if k.slice == "" {
				a.Ambiguous += 10
			}
			a.In = a.Matched + a.Lost + a.Ambiguous
		}
		r.Add(at(second + 1))
	}
	result, err := r.Result(0.01)
	if err != nil {
		t.Fatal(err)
	}
	result.Host = export.Host{OS: "made up", Kernel: "6.18", CPUModel: "made up", CPUs: 2, MemoryOctets: 1 << 32, Version: "v0", CommandLine: "plumb probe --auto"}
	result.UPFs = []export.UPF{
		{Name: "upf1", PID: 812, Command: "plumb", Container: "docker upf-1", Datapath: "xdp", Why: "XDP programs on n3, n6"},
		{Name: "upf2", PID: 815, Command: "open5gs-upfd", Datapath: "tun", Why: "has ogstun", Missing: "N4: no such device"},
	}
	result.Points = export.NewPoints(points, []string{"upf1", "upf2"})
	responses := hdrhistogram.New(1, 1<<36-1, 2)
	for range 500 {
		_ = responses.RecordValue(int64(90e3 * (0.5 + random.ExpFloat64())))
	}
	result.N4 = &export.N4{Sessions: 40, Points: []export.N4Point{{UPF: "upf1", Device: "n4", Messages: 1040, Datagrams: 1040, Orphans: 1}},
		Messages: []export.N4Messages{{UPF: "upf1", Asked: "CP", Message: "Session Establishment Request", Requests: 502, Answered: 500,
			Unanswered: 2, Retransmissions: 5, Rejected: 1, Causes: map[string]uint64{"Request accepted (success)": 499, "No resources available": 1}, Delays: responses}}}
	if err := result.N4.Encode(); err != nil {
		t.Fatal(err)
	}
	result.Samples = &export.Samples{Written: 1200, Lost: 3}
	return &Probe{Result: *result}
}
