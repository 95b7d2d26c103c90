package labcmd

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// liveRun is a run in the middle of a trial of both directions.
func liveRun() (*liveScreen, time.Time) {
	s, start := &liveScreen{name: "lab throughput"}, time.Unix(1000, 0)
	s.begin(report.Step{Name: "bed", Expected: time.Second, Total: 8 * time.Second}, start)
	s.sample("bed", system.Sample{Direction: report.Uplink, ReceivedPPS: 3e6})
	s.turn(report.LabCell{}, report.Turn{System: "bed", Figures: []report.Figure{
		{Name: "maximum receive rate", Unit: "pps", Better: report.Higher, Value: 3e6},
		{Name: "throughput at loss 0", Unit: "pps", Better: report.Higher, Value: 2_812_100},
	}})
	s.begin(report.Step{Name: "throughput: plumbline tun 1/3", Expected: 4 * time.Second, Before: 2 * time.Second, Total: 8 * time.Second}, start)
	s.detail = "trial 7, 812 kpps"
	for _, pps := range []float64{0, 100e3, 400e3, 811.9e3} {
		s.sample("plumbline tun", system.Sample{
			Direction: report.Downlink, OfferedPPS: 812e3, ReceivedPPS: pps, LossRatio: 0.00012, P50NS: 21_300, P99NS: 105_200,
			CPU: report.CPU{DUTPercent: 97, SoftirqPercent: 61}, Drops: map[string]uint64{"mbr": 3, "gate": 3, "no_pdr": 12},
		})
	}
	s.note("eupf", "is out: the UPF ended with signal: killed")
	return s, start.Add(2 * time.Second)
}

func TestLiveScreen(t *testing.T) {
	s, now := liveRun()
	want := []string{
		"plumb lab throughput  [==============              ]  50 %  4s left",
		"throughput: plumbline tun 1/3: trial 7, 812 kpps",
		"",
		"  plumbline tun       offered    received    loss      p50      p99  UPF softirq",
		"  downlink         812.0 kpps  811.9 kpps 0.00012  21.3 µs 105.2 µs  97%     61%",
		"                  ▁▁▄█  received, up to 811.9 kpps",
		"                  drops: no_pdr 12, gate 3, mbr 3",
		"",
		"  bed   throughput at loss 0: 2812.1 kpps",
		"  eupf  is out: the UPF ended with signal: killed",
	}
	if diff := cmp.Diff(want, s.render(now, 120, 40)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLiveScreenNarrow: 80 columns are enough for all figures of a trial, and for the end
// of its curve.
func TestLiveScreenNarrow(t *testing.T) {
	s, now := liveRun()
	for range 2 * liveSamples {
		s.sample("plumbline afxdp", system.Sample{
			Direction: report.Uplink, OfferedPPS: 9_999_900, ReceivedPPS: 9_999_900, LossRatio: 1.23e-5, P50NS: 999_940, P99NS: 999_940_000,
			CPU: report.CPU{DUTPercent: 197, SoftirqPercent: 161},
		})
	}
	want := []string{
		"  plumbline afxdp     offered    received    loss      p50      p99  UPF softirq",
		"  uplink          9999.9 kpps 9999.9 kpps 1.2e-05 999.9 µs 999.9 ms 197%    161%",
		"                  " + strings.Repeat("█", 32) + "  received, up to 9999.9 kpps",
	}
	if diff := cmp.Diff(want, s.render(now, 80, 24)[3:6]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLiveTime: no time takes more than eight characters.
func TestLiveTime(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "", 900: "0.9 µs", 105_200: "105.2 µs", 999_949: "999.9 µs", 999_950: "1.0 ms", 12_845_300: "12.8 ms", 999_949_999: "999.9 ms", 999_950_000: "1.0 s",
	} {
		if got := liveTime(ns); got != want {
			t.Errorf("%d ns: got %q, want %q", ns, got, want)
		}
	}
}

// TestLiveScreenFits: whatever is shown, no line is broken by the terminal, none moves
// the cursor, and all fit.
func TestLiveScreenFits(t *testing.T) {
	s, now := liveRun()
	s.note("a\x1b[2Jb\r\n", strings.Repeat("länger ", 100))
	for _, size := range [][2]int{{120, 40}, {80, 24}, {20, 5}, {1, 1}, {0, 0}} {
		lines := s.render(now, size[0], size[1])
		if len(lines) > max(size[1], 1) {
			t.Errorf("%v: got %d lines", size, len(lines))
		}
		for _, line := range lines {
			if n := len([]rune(line)); n > max(size[0], 1) {
				t.Errorf("%v: got %d columns: %q", size, n, line)
			}
			if strings.ContainsAny(line, "\x1b\r\n") {
				t.Errorf("%v: got a control character: %q", size, line)
			}
		}
	}
}

// TestLiveViewDraws wants each drawing to begin where the one before began, and nothing
// left at the end.
func TestLiveViewDraws(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	v := &liveView{Painter: term.Painter{Out: out}, stop: make(chan struct{}), liveScreen: liveScreen{name: "lab loss"}}
	v.Step(report.Step{Name: "one", Total: time.Second})
	v.draw(80, 24)
	v.Left("eupf", "no\nreason")
	v.draw(80, 24)
	v.close()
	got, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	bar := "\x1b[Kplumb lab loss  [" + strings.Repeat(" ", 28) + "]   0 %  1s left\n\x1b[Kone\n"
	want := "\r" + bar + "\x1b[J" + "\r\x1b[2A" + bar + "\x1b[K\n\x1b[K  eupf  is out: no\n\x1b[J" + "\r\x1b[4A\x1b[J"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
