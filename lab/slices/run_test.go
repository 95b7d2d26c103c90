package slices

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/apps"
	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/host"
	unmodified "github.com/plumbline-upf/plumbline/lab/programs"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestRun makes the experiment with our own UPF: three over TUN, and one over XDP that
// has all slices. Every packet must be accounted for, and every program served.
func TestRun(t *testing.T) {
	if err := apps.Needs(); err != nil {
		t.Skip(err)
	}
	binary := unmodified.BuildPlumb(t)
	for _, tc := range []struct {
		datapath string
		one      bool
		upfs     int
	}{{upf.DatapathTUN, false, numSlices}, {upf.DatapathXDP, true, 1}} {
		t.Run(tc.datapath, func(t *testing.T) {
			kind := dut.Plumbline(tc.datapath, nil)
			kind.Path = binary
			samples := map[string]int{}
			c := Config{
				Name: "plt-slices", Kinds: []dut.Kind{kind}, One: tc.one, Loads: named[:1], Repeats: 1, Duration: 2 * time.Second,
				Timeout: 500 * time.Millisecond, Uplink: true, Downlink: true, ModifyRate: 50, DownloadBPS: 40e6,
				SampleEvery: 1, Sample: func(s report.SliceSample) error {
					samples[s.Slice+" "+s.Direction]++
					if s.Out < s.In || s.UPF == "" {
						t.Errorf("sample %+v", s)
					}
					return nil
				},
				Host: host.Describe("test", "", ""), File: filepath.Join(t.TempDir(), "r.json"),
			}
			got, err := Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Cells) != 1 || got.Cells[0].Failed != "" || got.Systems[0].Missing != "" {
				t.Fatalf("got %+v, %+v", got.Systems, got.Cells)
			}
			cell := &got.Cells[0]
			checkDelays(t, cell, samples)
			checkN4(t, cell, tc.upfs, c.ModifyRate*c.Duration.Seconds())
			checkPrograms(t, cell)
			if err := got.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
	left, err := filepath.Glob(fmt.Sprintf("/run/netns/plt-slices*-%d-*", os.Getpid()))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// checkDelays wants packets of every slice both ways, all of them accounted for, and a
// sample of each that matched.
func checkDelays(t *testing.T, cell *report.SlicesCell, samples map[string]int) {
	t.Helper()
	seen := map[string]bool{}
	for i := range cell.Delays {
		d := &cell.Delays[i]
		name := d.Slice + " " + string(d.Direction)
		if !d.Balanced() || d.InFlight != 0 || d.Evicted != 0 {
			t.Errorf("%s of %s: %+v does not balance, or something is still in flight", name, d.UPF, d)
		}
		if d.Slice == "" {
			continue // what the kernel itself sends
		}
		seen[name] = true
		// How many packets there are depends on how fast the machine is.
		if d.Matched < 20 || d.Lost > d.In/10 || d.Ambiguous > d.In/10 || d.DelayNS.P50 < 100 || d.DelayNS.Max < d.DelayNS.P99 {
			t.Errorf("%s: in %d, matched %d, lost %d, ambiguous %d, %+v", name, d.In, d.Matched, d.Lost, d.Ambiguous, d.DelayNS)
		}
		// A look at all counters takes a moment, in which packets come.
		if off := math.Abs(float64(samples[name]) - float64(d.Matched)); off > 50+0.05*float64(d.Matched) {
			t.Errorf("%s: %d samples of %d packets that matched", name, samples[name], d.Matched)
		}
	}
	if want := 2 * numSlices; len(seen) != want {
		t.Errorf("got series %v, want %d", seen, want)
	}
}

// checkN4 looks at modifications: how many Heartbeats there are depends on how long the
// machine takes.
func checkN4(t *testing.T, cell *report.SlicesCell, upfs int, requests float64) {
	t.Helper()
	seen := map[string]bool{}
	for _, n := range cell.N4 {
		if n.Message != modification {
			continue
		}
		seen[n.UPF] = true
		if float64(n.Count) < requests/2 || n.Refused+n.Lost != 0 || n.DelayNS.P50 <= 0 {
			t.Errorf("modifications of %s: %+v, want about %g", n.UPF, n, requests)
		}
	}
	if len(seen) != upfs {
		t.Errorf("got modifications of %d UPFs, want %d", len(seen), upfs)
	}
}

func checkPrograms(t *testing.T, cell *report.SlicesCell) {
	t.Helper()
	got := map[string]float64{}
	for _, p := range cell.Programs {
		for _, f := range p.Figures {
			got[p.Program+" "+f.Name] = f.Value
		}
	}
	for name, least := range map[string]float64{
		"iperf3 received uplink": 3e6, "iperf3 received downlink": 3e6, "SIPp calls made": 2, "curl files": 1,
	} {
		if got[name] < least {
			t.Errorf("%s: got %g, want %g at least", name, got[name], least)
		}
	}
	if got["SIPp calls failed"]+got["curl failed"] != 0 {
		t.Errorf("calls or downloads failed: %v", got)
	}
}

// TestRunSaysWhy: a UPF that ends is left out with what it said, and nothing is left.
func TestRunSaysWhy(t *testing.T) {
	kind := dut.Plumbline(upf.DatapathTUN, nil)
	kind.Path = filepath.Join(t.TempDir(), "upf")
	if err := os.WriteFile(kind.Path, []byte("#!/bin/sh\necho no such device >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := Config{Name: "plt-slicesfail", Kinds: []dut.Kind{kind}, Loads: named[:2], Repeats: 1, Duration: time.Second, Timeout: time.Second, Uplink: true}
	got, err := Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "no such device") {
		t.Errorf("got %v, want why", err)
	}
	if got == nil || !strings.Contains(got.Systems[0].Missing, "no such device") || len(got.Cells) != 1 {
		t.Errorf("got %+v, want it to be left out after the first cell", got)
	}
	left, err := filepath.Glob(fmt.Sprintf("/run/netns/plt-slicesfail*-%d-*", os.Getpid()))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
