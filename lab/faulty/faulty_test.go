package faulty

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/traffic"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// measure sends a load in a direction through a UPF with faults.
func measure(t *testing.T, kind dut.Kind, d generator.Direction, l system.Load, quiet func(report.Trial) bool) report.Trial {
	t.Helper()
	s, err := system.New(t.Context(), system.Config{Run: "plt-faulty", Name: "faulty", Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if s.DUT().Err() == nil {
			_ = s.DUT().Kill() // it knows no other end
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.Establish(t.Context(), 10, system.Rules{}); err != nil {
		t.Fatal(err)
	}
	p, err := traffic.Simple("128", generator.Uniform, d)
	if err == nil {
		err = s.Open(p, system.NewRun())
	}
	if err != nil {
		t.Fatal(err)
	}
	const tries = 5
	for try := 1; ; try++ { // a busy machine makes frames late
		trials, err := s.Trial(t.Context(), l)
		if err != nil {
			t.Fatalf("%v\n%s", err, s.DUT().Log())
		}
		if try == tries || quiet == nil || quiet(trials[0]) {
			return trials[0]
		}
	}
}

// TestCounts wants exactly the frames that were harmed, in each direction.
func TestCounts(t *testing.T) {
	const frames, every, harmed = 2000, 20, 100
	for _, tc := range []struct {
		fault                                        Fault
		downlinkOnly                                 bool
		lost, duplicated, reordered, wrong, atTheEnd uint64
		kind                                         string // of what is wrong
		known                                        bool   // that it makes no PDU Session Container
		unenforced                                   uint64
	}{
		{fault: Nothing},
		{fault: Loss, lost: harmed},
		{fault: Duplicate, duplicated: harmed},
		{fault: Reorder, reordered: harmed, atTheEnd: 1}, // the last frame may wait for one behind it
		{fault: UE, wrong: harmed, kind: "ue"},
		{fault: Server, wrong: harmed, kind: "server"},
		{fault: Payload, wrong: harmed, kind: "payload"},
		{fault: Checksum, wrong: harmed, kind: "checksum"},
		{fault: TEID, wrong: harmed, kind: "teid", downlinkOnly: true},
		{fault: QFI, wrong: harmed, kind: "qfi", downlinkOnly: true},
		{fault: NoQFI, wrong: harmed, kind: "no_qfi", downlinkOnly: true},
		{fault: NoQFI, known: true, unenforced: harmed, kind: "no_qfi", downlinkOnly: true},
		{fault: QFI, known: true, wrong: harmed, kind: "qfi", downlinkOnly: true},
		{fault: TEID, known: true, wrong: harmed, kind: "teid", downlinkOnly: true},
	} {
		for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
			if tc.downlinkOnly && d == generator.Uplink {
				continue
			}
			name := string(tc.fault) + " " + d.String()
			if tc.known {
				name += ", known without QFI"
			}
			t.Run(name, func(t *testing.T) {
				l := system.Load{Rate: 5000, Frames: frames, Duration: 30 * time.Second}
				kind := Kind(Faults{Fault: tc.fault, Every: every})
				if tc.known {
					kind.Unenforced = []meter.Kind{meter.NoQFI}
				}
				r := measure(t, kind, d, l, nil)
				lost := r.OfferedFrames - r.ReceivedFrames
				waits := lost - tc.lost
				if r.OfferedFrames != frames || waits > tc.atTheEnd || r.Duplicated != tc.duplicated || r.Reordered+waits != tc.reordered || r.Misdelivered != tc.wrong {
					t.Errorf("offered %d, lost %d, duplicated %d, reordered %d, misdelivered %d, want %d, %+v",
						r.OfferedFrames, lost, r.Duplicated, r.Reordered, r.Misdelivered, frames, tc)
				}
				if r.MisdeliveredBy[tc.kind] != tc.wrong || len(r.MisdeliveredBy) > 1 {
					t.Errorf("misdelivered by kind: got %v, want %d %s", r.MisdeliveredBy, tc.wrong, tc.kind)
				}
				if r.UnenforcedBy[tc.kind] != tc.unenforced || len(r.UnenforcedBy) > 1 {
					t.Errorf("unenforced by kind: got %v, want %d %s", r.UnenforcedBy, tc.unenforced, tc.kind)
				}
			})
		}
	}
}

// TestDelay wants every frame to be late by what the UPF adds, and the least latency to
// be that within 1 %.
func TestDelay(t *testing.T) {
	const delay = 100 * time.Millisecond
	within := func(r report.Trial) bool { return math.Abs(float64(r.LatencyNS.Min)/float64(delay)-1) < 0.01 }
	r := measure(t, Kind(Faults{DelayNS: delay.Nanoseconds()}), generator.Downlink, system.At(1000, time.Second), within)
	if !within(r) || r.ReceivedFrames != r.OfferedFrames {
		t.Errorf("latency %+v, %d of %d frames, want %v at least", r.LatencyNS, r.ReceivedFrames, r.OfferedFrames, delay)
	}
}

// TestRate wants what a UPF with a rate limit forwards to be measured within 1 %. A busy
// machine may let less through, never more.
func TestRate(t *testing.T) {
	const pps, duration, late = 1000, 2 * time.Second, 0.05
	within := func(r report.Trial) bool { return math.Abs(r.ReceivedPPS/pps-1) < 0.01 }
	r := measure(t, Kind(Faults{PPS: pps}), generator.Downlink, system.At(4000, duration), within)
	if r.ReceivedPPS > pps*(1+late/duration.Seconds())*1.01 || r.ReceivedPPS == 0 {
		t.Errorf("%g frames/s received of %g, want %d", r.ReceivedPPS, r.OfferedPPS, pps)
	}
	if !within(r) {
		t.Logf("%g frames/s received, want %d within 1 %%: the machine was never quiet", r.ReceivedPPS, pps)
	}
}
