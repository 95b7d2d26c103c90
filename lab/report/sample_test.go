package report

import "time"

// sample is a result with everything in it: two directions, three repeats, a
// paced trial each, drops and the cost of the program. Its figures are made up.
func sample() *Result {
	r := &Result{
		Schema:  Schema,
		Started: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		Host: Host{
			OS: "Debian GNU/Linux 12 (bookworm)", Kernel: "6.18.5", Arch: "amd64", CPUModel: "Example CPU", CPUs: 2,
			MemoryOctets: 24 << 30, BPFJIT: "on, hardening off", SpectreV2: "Mitigation: Automatic IBRS",
			GoVersion: "go1.26.0", Version: "v0.1.0", Commit: "0123456789ab", CommandLine: "plumb bench --sessions 100000",
		},
		Setup: Setup{
			Arrangement: "one CPU does generator, path and meter in turn", Configuration: "node_id: 10.4.0.1\n",
			DurationNS: 5e9, Repeats: 3, PayloadOctets: 1400,
		},
		Install: Install{
			Sessions: 100_000, DurationNS: 3_214_000_000, SessionsPerSec: 31_113,
			LatencyNS:       Latency{Min: 100_000, P50: 900_000, P90: 1_200_000, P99: 2_500_000, P999: 8_000_000, Max: 12_000_000},
			DUTMemoryOctets: 143 << 20, DUTMemoryBeforeOctets: 40 << 20, MapMemoryOctets: 96 << 20,
		},
		Program: []Program{{Name: "upf_n3", Direction: Uplink, Sessions: 100_000, Runs: 2_000_000, RunNS: 81.25}},
	}
	r.Bed.Uplink = sampleBed(1486, 2.9e6)
	r.Bed.Downlink = sampleBed(1442, 2.8e6)
	for _, d := range Directions {
		for repeat := 1; repeat <= 3; repeat++ {
			r.Trials = append(r.Trials, sampleTrial(d, repeat, r.Bed.Limit(d)))
		}
		r.Trials = append(r.Trials, samplePaced(d, r.Bed.Limit(d)))
	}
	return r
}

func sampleBed(octets int, pps float64) *BedLimit {
	b := &BedLimit{FrameOctets: octets, ReceivedPPS: pps, ReceivedBPS: pps * float64(octets) * 8}
	for repeat := 1; repeat <= 3; repeat++ {
		p := pps + float64(repeat-2)*4e4
		b.Repeats = append(b.Repeats, BedTrial{
			Sessions: 100_000, Repeat: repeat, OfferedPPS: p, ReceivedPPS: p, ReceivedBPS: p * float64(octets) * 8,
			LatencyNS: Latency{Min: 900, P50: 1500, P90: 1800, P99: 2500, P999: 9000, Max: 70_000},
			CPU:       CPU{SoftirqPercent: 55.5, SystemPercent: 44.5, BusyPercent: 101.25},
		})
	}
	return b
}

func sampleTrial(d Direction, repeat int, bed *BedLimit) Trial {
	pps := bed.Repeats[repeat-1].ReceivedPPS * (0.80 + 0.02*float64(repeat))
	cost := 1e9/pps - 1e9/bed.Repeats[repeat-1].ReceivedPPS
	outer := map[Direction]int{Uplink: -44, Downlink: 44}[d]
	return Trial{
		DUT: "plumbline", Datapath: "xdp", XDPMode: "native", Direction: d, Sessions: 100_000, Access: "uniform",
		FrameOctets: bed.FrameOctets, OfferedPPS: pps, ReceivedPPS: pps,
		ReceivedBPS: pps * float64(bed.FrameOctets+outer) * 8, OfferedBPS: pps * float64(bed.FrameOctets) * 8,
		BedRatio:  pps / bed.Repeats[repeat-1].ReceivedPPS,
		LatencyNS: Latency{Min: 1000, P50: 1700, P90: 2000, P99: 3100, P999: 12_000, Max: 90_000},
		CPU:       CPU{DUTPercent: 0.25, SoftirqPercent: 60, SystemPercent: 40, BusyPercent: 101},
		Kind:      Throughput, Repeat: repeat, DurationNS: 5e9, CostNS: &cost,
		OfferedFrames: uint64(5 * pps), ReceivedFrames: uint64(5 * pps),
	}
}

func samplePaced(d Direction, bed *BedLimit) Trial {
	t := sampleTrial(d, 1, bed)
	t.Kind, t.CostNS = Paced, nil
	t.IntendedPPS = 1.2e6
	t.OfferedPPS, t.ReceivedPPS, t.LossRatio = 1.2e6, 1.1988e6, 0.001
	t.OfferedFrames, t.ReceivedFrames = 6_000_000, 5_994_000
	t.BedRatio = t.ReceivedPPS / bed.ReceivedPPS
	t.Drops = map[string]uint64{"no_pdr": 6000}
	scale := int64(1)
	if d == Downlink {
		scale = 2
	}
	t.LatencyNS = Latency{Min: 800 * scale, P50: 1300 * scale, P90: 1500 * scale, P99: 2400 * scale, P999: 8000 * scale, Max: 60_000 * scale}
	t.LatencyCurve = []Percentile{
		{0, 800 * scale}, {50, 1300 * scale}, {90, 1500 * scale}, {99, 2400 * scale}, {99.9, 8000 * scale},
		{99.99, 20_000 * scale}, {99.999, 45_000 * scale}, {100, 60_000 * scale},
	}
	return t
}
