package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/internal/histogram"
)

// madeUp is a system of [sampleLab]: what it can carry and how long that takes are
// invented, and say nothing about any program of a like name.
type madeUp struct {
	name, version, mode string
	capacity            map[Direction]float64 // pps of short frames, one session
	latencyNS           float64               // idle, median
	tail                float64               // sigma of its logarithm
}

var madeUpSystems = []madeUp{
	{SystemBed, "v0.0.0-sample", "redirect", map[Direction]float64{Uplink: 3.1e6, Downlink: 2.9e6}, 1500, 0.25},
	{"plumbline xdp", "v0.0.0-sample", "native XDP", map[Direction]float64{Uplink: 2.4e6, Downlink: 2.2e6}, 1900, 0.3},
	{"plumbline tc", "v0.0.0-sample", "tcx", map[Direction]float64{Uplink: 1.1e6, Downlink: 1.06e6}, 3800, 0.4},
	{"plumbline tun", "v0.0.0-sample", "TUN", map[Direction]float64{Uplink: 0.42e6, Downlink: 0.40e6}, 21_000, 0.6},
	{"sample upf", "1.2.3-sample", "AF_PACKET", map[Direction]float64{Uplink: 0.43e6, Downlink: 0.39e6}, 24_000, 0.9},
}

// sampler makes a [Lab] up, the same one for the same seed.
type sampler struct {
	t      testing.TB
	random *rand.Rand
	lab    *Lab
	now    time.Time
}

// sampleLab is a result with everything in it. Nothing of it was measured: its
// versions and machine say so. Every caller has one of its own.
func sampleLab(t testing.TB) *Lab {
	t.Helper()
	sampleOnce.Do(func() {
		var err error
		if sampleJSON, err = json.Marshal(makeSample(t)); err != nil {
			t.Fatal(err)
		}
	})
	var l Lab
	if err := json.Unmarshal(sampleJSON, &l); err != nil {
		t.Fatal(err)
	}
	return &l
}

var (
	sampleOnce sync.Once
	sampleJSON []byte // making it takes longer than reading it
)

func makeSample(t testing.TB) *Lab {
	s := &sampler{t: t, random: rand.New(rand.NewPCG(1, 2)), now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	s.lab = &Lab{
		Schema: LabSchema, Started: s.now,
		Host: Host{
			OS: "made up for a test", Kernel: "0.0.0", Arch: "amd64", CPUModel: "no CPU: figures made up for a test", CPUs: 2,
			MemoryOctets: 24 << 30, GoVersion: "go1.26.0", Version: "v0.0.0-sample", CommandLine: "plumb lab throughput --dut all",
		},
		Plan: LabPlan{
			Repeats: 3, DurationNS: 1e9, WarmUpNS: 2e8, Arrangement: "made up for a test: no frame was sent",
			Options: map[string]string{"goals": "0, 0.5 %"},
		},
	}
	for _, m := range madeUpSystems {
		s.lab.Systems = append(s.lab.Systems, System{Name: m.name, Version: m.version, Mode: m.mode, Configuration: configurationOf(m.name)})
	}
	s.lab.Systems = append(s.lab.Systems, System{Name: "absent upf", Missing: "absentd: not installed: its project says `apt install absentd`"})
	s.throughput()
	s.latency()
	s.loss()
	s.n4()
	finished := s.now
	s.lab.Finished = &finished
	s.lab.References = []Reference{{
		System: "sample upf", Version: "1.0.0", Source: "made up for a test", Conditions: "a machine that does not exist",
		Cell:    LabCell{Method: "throughput", Direction: Uplink, Sessions: 1, Frames: "64"},
		Figures: []Figure{{Name: "throughput at loss 0", Unit: "pps", Better: Higher, Value: 93_650}},
	}}
	return s.lab
}

func configurationOf(system string) string {
	if system == SystemBed {
		return ""
	}
	return "# made up for a test\nname: " + system + "\n"
}

// cells calls turn for each system and repeat in each cell, as a run would.
func (s *sampler) cells(method string, cells []LabCell, turn func(*Turn, LabCell, madeUp)) {
	s.lab.Plan.Methods = append(s.lab.Plan.Methods, method)
	for _, c := range cells {
		c.Method = method
		index := len(s.lab.Plan.Cells)
		s.lab.Plan.Cells = append(s.lab.Plan.Cells, c)
		for repeat := 1; repeat <= s.lab.Plan.Repeats; repeat++ {
			for _, m := range madeUpSystems {
				t := Turn{Cell: index, System: m.name, Repeat: repeat, Started: s.now, Figures: []Figure{}}
				turn(&t, c, m)
				s.now = s.now.Add(time.Minute)
				s.lab.Turns = append(s.lab.Turns, t)
			}
		}
	}
}

// axes are all combinations, sessions fastest.
func axes(directions []Direction, frames []string, sessions ...int) []LabCell {
	var cells []LabCell
	for _, d := range directions {
		for _, f := range frames {
			for _, n := range sessions {
				cells = append(cells, LabCell{Direction: d, Frames: f, Sessions: n, Access: "uniform"})
			}
		}
	}
	return cells
}

// capacity is less with many sessions and with long frames, and never twice the same.
func (s *sampler) capacity(m madeUp, c LabCell) float64 {
	pps := m.capacity[c.Direction] * (1 - 0.04*math.Log10(float64(c.Sessions)))
	if c.Frames == "1518" {
		pps *= 0.7
	}
	return pps * (1 + 0.015*s.random.NormFloat64())
}

func (s *sampler) throughput() {
	s.cells("throughput", axes(Directions, []string{"64", "1518"}, 1, 1000, 100_000), func(t *Turn, c LabCell, m madeUp) {
		if m.name == "plumbline tun" && c.Sessions == 100_000 && c.Frames == "1518" {
			t.Failed = "establish 100000 sessions: request 4097: Cause 75 (No resources available)"
			return
		}
		capacity := s.capacity(m, c)
		for _, goal := range []struct {
			name  string
			share float64
		}{{"throughput at loss 0", 0.93}, {"throughput at loss 0.5 %", 1}} {
			pps := capacity * goal.share
			t.Figures = append(t.Figures, Figure{Name: goal.name, Unit: "pps", Better: Higher, Value: pps, Low: pps * 0.99, High: pps * 1.01})
		}
		cost := Figure{Name: "CPU per frame", Unit: "ns", Better: Lower, Value: 1e9 / capacity}
		t.Figures = append(t.Figures, cost)
		for _, share := range []float64{0.5, 0.8, 0.93, 1, 1.2} {
			t.Trials = append(t.Trials, s.trial(m, c, Search, capacity, capacity*share))
		}
	})
}

func (s *sampler) latency() {
	var cells []LabCell
	for _, load := range []string{"idle", "10 %", "50 %", "90 %"} {
		for _, c := range axes(Directions, []string{"64"}, 20_000) {
			c.Load = load
			cells = append(cells, c)
		}
	}
	shares := map[string]float64{"10 %": 0.1, "50 %": 0.5, "90 %": 0.9}
	s.cells("latency", cells, func(t *Turn, c LabCell, m madeUp) {
		capacity := s.capacity(m, c)
		rate := capacity * shares[c.Load]
		if c.Load == "idle" {
			rate = 1000
		}
		trial := s.trial(m, c, Paced, capacity, rate)
		l := trial.LatencyNS
		for _, f := range []struct {
			name string
			ns   int64
		}{
			{"min", l.Min}, {"average", l.Mean}, {"max", l.Max}, {"average variation", l.Variation}, {"PDV", l.PDV},
			{"p50", l.P50}, {"p90", l.P90}, {"p99", l.P99}, {"p99.9", l.P999}, {"p99.99", l.P9999},
		} {
			t.Figures = append(t.Figures, Figure{Name: f.name, Unit: "ns", Better: Lower, Value: float64(f.ns)})
		}
		t.Trials = []Trial{trial}
	})
}

func (s *sampler) loss() {
	s.cells("loss", axes([]Direction{Uplink}, []string{"64"}, 1000), func(t *Turn, c LabCell, m madeUp) {
		capacity := s.capacity(m, c)
		for percent := 100.0; percent >= 30; percent -= 10 {
			trial := s.trial(m, c, "loss", capacity, 2.4e6*percent/100)
			trial.Streams = []StreamTrial{{Name: "one", OfferedFrames: 1}, {Name: "two", ReceivedPPS: 2, LatencyNS: trial.LatencyNS}}
			t.Trials = append(t.Trials, trial)
			t.Figures = append(t.Figures, Figure{Name: fmt.Sprintf("loss at %.0f %%", percent), Unit: "ratio", Better: Lower, Value: trial.LossRatio})
		}
	})
}

func (s *sampler) n4() {
	s.cells("n4", []LabCell{{Sessions: 10_000, Load: "establish"}}, func(t *Turn, _ LabCell, m madeUp) {
		if m.name == SystemBed {
			t.Failed = "the bed has no N4"
			return
		}
		for _, rate := range []float64{1000, 5000, 10_000, 20_000} {
			h := s.histogram(80_000*(1+rate/25_000), 0.5, int(rate))
			l := latencyOfHistogram(h)
			n := int(rate)
			t.N4 = append(t.N4, N4Phase{
				Name: fmt.Sprintf("%.0f/s", rate), Operation: "establish", Rate: rate, Arrival: "poisson",
				Total: N4Count{
					DurationNS: 1e9, Intended: n, Sent: n, Accepted: n, AcceptedPerSec: rate,
					LatencyNS: N4Latency{l.Min, l.P50, l.P90, l.P99, l.P999, l.P9999, l.Max}, LatencyCurve: Curve(h),
				},
			})
			t.Figures = append(t.Figures, Figure{Name: fmt.Sprintf("p99 at %.0f/s", rate), Unit: "ns", Better: Lower, Value: float64(l.P99)})
		}
	})
}

// trial offers a rate to a system of some capacity.
func (s *sampler) trial(m madeUp, c LabCell, kind Kind, capacity, rate float64) Trial {
	octets, outer := 60, 44
	if c.Frames == "1518" {
		octets = 1514
	}
	if c.Direction == Uplink {
		octets, outer = octets+outer, -outer
	}
	offered := uint64(rate)
	received := uint64(min(rate, capacity))
	load := min(rate/capacity, 0.99)
	h := s.histogram(m.latencyNS/(1-load*0.9), m.tail, 3000)
	encoded, err := histogram.Encode(h)
	if err != nil {
		s.t.Fatal(err)
	}
	return Trial{
		DUT: m.name, Datapath: m.mode, Direction: c.Direction, Sessions: c.Sessions, Access: "uniform", FrameOctets: octets,
		IntendedPPS: rate, OfferedPPS: rate, ReceivedPPS: float64(received), LossRatio: float64(offered-received) / float64(offered),
		ReceivedBPS: float64(received) * float64(octets+outer) * 8, OfferedBPS: rate * float64(octets) * 8,
		LatencyNS: latencyOfHistogram(h), LatencyCurve: Curve(h), LatencyHistogram: encoded,
		CPU:  CPU{DUTPercent: 100 * load, SoftirqPercent: 50 * load, SystemPercent: 40, BusyPercent: 90 + 100*load},
		Kind: kind, Repeat: 1, Started: s.now, DurationNS: 1e9,
		IntendedFrames: offered, OfferedFrames: offered, SentFrames: offered, ReceivedFrames: received,
	}
}

// histogram has n latencies around a median, log-normal.
func (s *sampler) histogram(medianNS, sigma float64, n int) *hdrhistogram.Histogram {
	h := hdrhistogram.New(1, 1<<36-1, 2)
	for range n {
		ns := medianNS * math.Exp(sigma*s.random.NormFloat64())
		if err := h.RecordValue(int64(min(ns, 60e9))); err != nil {
			s.t.Fatal(err)
		}
	}
	return h
}

func latencyOfHistogram(h *hdrhistogram.Histogram) Latency {
	l := Latency{
		Min: h.Min(), P50: h.ValueAtPercentile(50), P90: h.ValueAtPercentile(90), P99: h.ValueAtPercentile(99),
		P999: h.ValueAtPercentile(99.9), P9999: h.ValueAtPercentile(99.99), Max: h.Max(), Mean: int64(h.Mean()),
	}
	l.PDV, l.Variation = l.P999-l.Min, (l.P50-l.Min)/2
	return l
}

// sampleHost is a machine that is made up.
func sampleHost() Host {
	return Host{
		OS: "Debian GNU/Linux 12 (bookworm)", Kernel: "6.18.5", Arch: "amd64", CPUModel: "Example CPU", CPUs: 2,
		MemoryOctets: 24 << 30, BPFJIT: "on, hardening off", SpectreV2: "Mitigation: Automatic IBRS",
		GoVersion: "go1.26.0", Version: "v0.1.0", Commit: "0123456789ab", CommandLine: "plumb bench --sessions 100000",
	}
}
