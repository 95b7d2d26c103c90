package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/upf"
)

// withoutTAP is a plumb whose UPF has no datapath tap.
func withoutTAP(t *testing.T) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "plumb")
	text := "#!/bin/sh\nif grep -q '^datapath: tap' \"$3\"; then echo 'plumb: no tap here' >&2; exit 3; fi\nexec " + plumb + " \"$@\"\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return script
}

// TestCompare measures two datapaths shortly, and a third that is missing. It wants
// turns that alternate, and frames that are right; how fast depends on the machine.
func TestCompare(t *testing.T) {
	c := CompareConfig{
		Config: Config{
			Binary: withoutTAP(t), XDPMode: upf.ModeAuto, Directions: []report.Direction{report.Uplink}, Sessions: []int{20, 1},
			Access: generator.Uniform, Duration: 100 * time.Millisecond, Repeats: 2,
		},
		Datapaths: compared, Payloads: []string{report.PayloadIMIX}, Loads: []int{50}, LossGoal: 0.01,
	}
	var steps []report.Step
	c.OnStep = func(s report.Step) { steps = append(steps, s) }
	result, err := Compare(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob("/run/netns/" + runName + "-*-" + strconv.Itoa(os.Getpid()) + "-*")
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	assertTurns(t, result)
	assertRight(t, result)
	for _, s := range steps {
		if s.Total < s.Before+s.Expected {
			t.Errorf("step %q ends after the whole: %+v", s.Name, s)
		}
	}
}

// compared are two datapaths, and the one that withoutTAP has not.
var compared = []string{upf.DatapathXDP, upf.DatapathTUN, upf.DatapathTAP}

func assertTurns(t *testing.T, result *report.Comparison) {
	t.Helper()
	var turns, want []string
	for _, trial := range result.Trials {
		if trial.Kind == report.Saturated {
			turns = append(turns, trial.Datapath)
		}
	}
	for range len(result.Setup.Sessions) * result.Setup.Repeats {
		want = append(append(want, report.PathBed, report.PathBedTC), compared[:len(compared)-1]...) // tun is metered on socket buffers
	}
	if !slices.Equal(turns, want) {
		t.Errorf("turns: got %v, want %v", turns, want)
	}
	if !slices.Equal(result.Setup.Sessions, []int{1, 20}) {
		t.Errorf("sessions: got %v, want them ascending", result.Setup.Sessions)
	}
	if got := result.Path(upf.DatapathTAP).Missing; !strings.Contains(got, "no tap here") {
		t.Errorf("tap is missing: got %q, want it to say why", got)
	}
}

func assertRight(t *testing.T, result *report.Comparison) {
	t.Helper()
	for _, trial := range result.Trials {
		if trial.Misdelivered+trial.Duplicated > 0 || trial.Reordered > 0 && trial.Sessions == 1 {
			t.Errorf("%s, %d sessions: %d misdelivered, %d duplicated, %d reordered, want none", trial.Datapath, trial.Sessions,
				trial.Misdelivered, trial.Duplicated, trial.Reordered)
		}
		if mean := 336 + 86; trial.Kind == report.Saturated && (trial.FrameOctets < mean-1 || trial.FrameOctets > mean+1) {
			t.Errorf("%s: frames of %d octets in the mean, want %d", trial.Datapath, trial.FrameOctets, mean)
		}
	}
	for _, name := range compared[:len(compared)-1] {
		path := result.Path(name)
		if path.Missing != "" || len(path.Memory) != 2 || path.Memory[1].ResidentOctets == 0 {
			t.Errorf("%s: missing %q, memory %+v, want that of 1 and 20 sessions", name, path.Missing, path.Memory)
		}
	}
	for _, cell := range result.Cells() {
		for _, name := range append([]string{report.PathBed}, compared[:len(compared)-1]...) {
			if row := result.Row(cell, name); row == nil || len(row.Saturated) != 2 {
				t.Errorf("%s, %+v: got %+v, want two repeats", name, cell, row)
			}
		}
	}
}

// TestCompareTCP wants a rate, each way.
func TestCompareTCP(t *testing.T) {
	result, err := Compare(context.Background(), CompareConfig{
		Config: Config{
			Binary: plumb, XDPMode: upf.ModeAuto, Directions: report.Directions, Sessions: []int{1}, Duration: 100 * time.Millisecond, Repeats: 1,
		},
		Datapaths: []string{upf.DatapathTUN}, Payloads: []string{"64"}, LossGoal: 1, TCP: time.Second, // nothing to search
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range report.Directions {
		if rates := result.TCPRates(upf.DatapathTUN, d); len(rates) != 1 || result.TCPMissing != "" {
			t.Errorf("%s: got %v, missing %q %q, want one rate", d, rates, result.TCPMissing, result.Path(upf.DatapathTUN).Missing)
		}
	}
}

// TestCompareIsInterrupted wants nothing to be left, whichever step it is.
func TestCompareIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := CompareConfig{
		Config:    Config{Binary: plumb, XDPMode: upf.ModeAuto, Directions: report.Directions, Sessions: []int{1}, Duration: time.Minute, Repeats: 1},
		Datapaths: compared[:1], Payloads: []string{"64"},
	}
	c.OnStep = func(s report.Step) {
		if strings.Contains(s.Name, "bed: payload") {
			time.AfterFunc(100*time.Millisecond, cancel)
		}
	}
	if _, err := Compare(ctx, c); err == nil || err.Error() != "interrupted" {
		t.Errorf("got %v, want interrupted", err)
	}
	if left, _ := filepath.Glob("/run/netns/" + runName + "-*-" + strconv.Itoa(os.Getpid()) + "-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCompareConfig(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*CompareConfig)
		want   string
	}{
		{"fine", func(*CompareConfig) {}, ""},
		{"datapath twice", func(c *CompareConfig) { c.Datapaths = []string{"xdp", "tun", "xdp"} }, "xdp is given twice"},
		{"payload twice", func(c *CompareConfig) { c.Payloads = []string{"64", "64"} }, "64 is given twice"},
		{"load", func(c *CompareConfig) { c.Loads = []int{101} }, "load of 101 %: want 0 to 100"},
		{"loss", func(c *CompareConfig) { c.LossGoal = 0.6 }, "loss of 60 %: want 0 to 50"},
		{"TCP", func(c *CompareConfig) { c.TCP = 1500 * time.Millisecond }, "TCP for 1.5s: want whole seconds, 10m0s at most"},
	} {
		c := CompareConfig{Datapaths: []string{"xdp", "tun"}, Payloads: []string{"64", "imix"}, Loads: []int{0, 50}, LossGoal: 0.001, TCP: time.Second}
		tc.change(&c)
		got := ""
		if err := c.Validate(); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestParsePayload(t *testing.T) {
	for in, want := range map[string][]int{
		"48": {48}, "1400": {1400}, "3200": {3200}, "imix": generator.IMIX, "47": nil, "3201": nil, "": nil, "-64": nil, "IMIX": nil, "64 ": nil,
	} {
		got, err := ParsePayload(in)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: got %v, %v, want %v", in, got, err, want)
		}
	}
}

// TestLeave wants that the end of a UPF is no error of all, but that of the bed is.
func TestLeave(t *testing.T) {
	broken := errors.New("broken")
	fails := func(context.Context) error { return broken }
	upfOut := &contestant{path: report.Path{Name: "tun"}}
	bed := &contestant{path: report.Path{Name: report.PathBed}}
	r := &comparison{contestants: []*contestant{bed, upfOut}}
	if err := r.attempt(context.Background(), upfOut, fails); err != nil || !upfOut.out || upfOut.path.Missing != "broken" {
		t.Errorf("got %v, %+v, want it out and to say why", err, upfOut.path)
	}
	if err := r.attempt(context.Background(), upfOut, func(context.Context) error { t.Error("tried again"); return nil }); err != nil {
		t.Error(err)
	}
	if err := r.attempt(context.Background(), bed, fails); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
