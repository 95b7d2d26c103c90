package probecmd

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/export"
)

// probeInTheMiddle is a probe of two UPFs that runs.
func probeInTheMiddle(t *testing.T) *screen {
	t.Helper()
	delays := hdrhistogram.New(1, 1<<36-1, 2)
	for i := range int64(1000) {
		if err := delays.RecordValue(1000 * (i + 1)); err != nil {
			t.Fatal(err)
		}
	}
	return &screen{
		elapsed: 64 * time.Second, total: 2 * time.Minute,
		upfs: []export.UPF{{Name: "upf1", Command: "plumb", PID: 812, Datapath: "xdp"}, {Name: "upf2", Missing: "no devices\nat all"}},
		live: []export.Live{
			{Key: export.Key{UPF: "upf1", Slice: "embb"}, PPS: 12_345, BPS: 98.7e6, Recent: delays, Past: []float64{1, 5, 10},
				Account: probe.Account{In: 1015, Matched: 1000, Lost: 12, InFlight: 3}},
			{Key: export.Key{UPF: "upf1", Direction: probe.Downlink}, Account: probe.Account{In: 1, Ambiguous: 1}},
			{Key: export.Key{UPF: "upf2", Slice: "urllc"}},
		},
		n4: &export.N4{Messages: []export.N4Messages{{UPF: "upf1", Asked: "CP", Message: "Heartbeat Request", Answered: 7, Delays: delays}},
			Points: []export.N4Point{{UPF: "upf1", Fragments: 3}, {UPF: "upf2"}}},
		samples: export.Samples{Written: 9, Lost: 1},
		notes:   []string{"a line of the log"},
	}
}

func TestProbeScreen(t *testing.T) {
	want := []string{
		"plumb probe  1m4s of 2m0s  2 UPFs  1016 packets, all accounted for",
		"",
		"  upf1  plumb, PID 812, xdp",
		"  slice      way    kpps  Mbit/s  p50 µs     p90     p99   p99.9     max   lost inside ambig.",
		"  embb       UL    12.35   98.70   501.8   901.1   991.2   999.4    1004     12      3      0",
		"  -          DL     0.00    0.00       -       -       -       -       -      0      0      1",
		"  N4 request               answered  p50 µs     p90     p99   p99.9     max rejected no answer",
		"  CP Heartbeat                    7   501.8   901.1   991.2   999.4    1004        0         0",
		"  N4: 3 in IP fragments, of which the first alone is seen",
		"",
		"  upf2  missing: no devices",
		"  slice      way    kpps  Mbit/s  p50 µs     p90     p99   p99.9     max   lost inside ambig.",
		"  urllc      UL     0.00    0.00       -       -       -       -       -      0      0      0",
		"",
		"  samples: 9 written, 1 lost",
		"",
		"  a line of the log",
	}
	if diff := cmp.Diff(want, probeInTheMiddle(t).render(100, 40)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestProbeScreenNarrow: in a narrow terminal less is shown, and that whole.
func TestProbeScreenNarrow(t *testing.T) {
	s := probeInTheMiddle(t)
	for i, want := range map[int]string{
		3: "  slice      way    kpps  p50 µs     p99   p99.9     max   lost inside ambig.",
		4: "  embb       UL    12.35   501.8   991.2   999.4    1004     12      3      0",
		6: "  N4 request               answered  p50 µs     p99     max rejected no answer",
	} {
		if got := s.render(80, 24)[i]; got != want {
			t.Errorf("line %d:\n got %q\nwant %q", i, got, want)
		}
	}
}

// TestProbeScreenFits: whatever is shown, no line is broken by the terminal, none moves
// the cursor, and all fit.
func TestProbeScreenFits(t *testing.T) {
	s := probeInTheMiddle(t)
	s.live[0].Slice = "a\x1b[2Jb\r\n" + strings.Repeat("länger", 30)
	s.live[1].In = 7 // not balanced
	for _, size := range [][2]int{{200, 60}, {80, 24}, {20, 5}, {1, 1}, {0, 0}} {
		lines := s.render(size[0], size[1])
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
	if head := s.render(200, 60)[0]; !strings.Contains(head, "NOT all accounted for") {
		t.Errorf("got %q, want it to say that packets are missing", head)
	}
}

// TestProbeScreenTimed says what is of a part of the packets.
func TestProbeScreenTimed(t *testing.T) {
	s := probeInTheMiddle(t)
	s.live[0].In, s.live[0].Untimed = s.live[0].In+15_000, 15_000
	want := "plumb probe  1m4s of 2m0s  2 UPFs  16016 packets, 1016 of them timed, all accounted for"
	if got := s.render(100, 40)[0]; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestProbeTimedFlag: parts need all packets, and what is no part is refused.
func TestProbeTimedFlag(t *testing.T) {
	valid := func(timed cli.OneIn, parts bool) error {
		c := runCommand{Timed: &timed, Parts: parts, Interval: time.Second, Timeout: time.Second, InFlight: 1}
		return c.validate()
	}
	if err := errors.Join(valid(1, true), valid(16, false)); err != nil {
		t.Error(err)
	}
	for _, err := range []error{valid(16, true), valid(1<<21, false)} {
		if cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("got %v, want a usage error", err)
		}
	}
}

// TestProbeNothingShown: where there is no terminal, or --plain, the log is written as it
// comes and nothing else.
func TestProbeNothingShown(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	v := newLiveView(out, &runCommand{})
	v.show(nil)
	if _, err := fmt.Fprintln(v, "a line"); err != nil {
		t.Fatal(err)
	}
	v.Close()
	if got, err := os.ReadFile(out.Name()); err != nil || string(got) != "a line\n" {
		t.Errorf("got %q, %v", got, err)
	}
}
