package method

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/system"
)

func TestSliceText(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want Slice
		says string // of the error; empty: none
	}{
		{"voice", Slice{Name: "voice"}, ""},
		{"video: share=3, frames=imix,qfi=5,dscp=34", Slice{Name: "video", Share: 3, Frames: "imix", QFI: 5, DSCP: 34}, ""},
		{"", Slice{}, "want a name"},
		{":share=3", Slice{}, "want a name"},
		{"a:share=-1", Slice{}, "share -1: want more than 0"},
		{"a:share=NaN", Slice{}, "share NaN: want more than 0"},
		{"a:share=x", Slice{}, `share "x": want a number`},
		{"a:qfi=64", Slice{}, `"64": want 0 to 63`},
		{"a:dscp=-1", Slice{}, `"-1": want 0 to 63`},
		{"a:frames=17", Slice{}, "frames"},
		{"a:rate=3", Slice{}, `"rate": want share, frames, qfi or dscp`},
		{strings.Repeat("a", 41), Slice{}, "1 to 40 characters"},
		{"a\x1b[2J", Slice{}, "want a name"},
	} {
		got, err := ParseSlice(tc.in)
		switch {
		case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
			t.Errorf("%q: got %v, want %q", tc.in, err, tc.says)
		case tc.says == "" && (err != nil || got != tc.want):
			t.Errorf("%q: got %+v, %v, want %+v", tc.in, got, err, tc.want)
		}
	}
}

func TestLoadSlices(t *testing.T) {
	for _, tc := range []struct{ name, in, says string }{
		{"two", "slices:\n  - name: video\n    share: 3\n    frames: 1518\n    qfi: 5\n  - {name: voice, dscp: 46}\n", ""},
		{"one", "slices: [{name: video}]\n", "1 slices: want 2 to 16"},
		{"none", "", "0 slices"},
		{"another key", "slices: [{name: a, rate: 1}, {name: b}]\n", "rate"},
		{"a QFI of seven bits", "slices: [{name: a, qfi: 64}, {name: b}]\n", "QFI 64"},
		{"two of a name", "slices: [{name: a}, {name: a}]\n", "two of this name"},
	} {
		file := filepath.Join(t.TempDir(), "slices.yaml")
		if err := os.WriteFile(file, []byte(tc.in), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := LoadSlices(file)
		want := []Slice{{Name: "video", Share: 3, Frames: "1518", QFI: 5}, {Name: "voice", DSCP: 46}}
		switch {
		case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.says)
		case tc.says == "" && (err != nil || !cmp.Equal(got, want)):
			t.Errorf("%s: got %+v, %v, want %+v", tc.name, got, err, want)
		}
	}
}

// TestIsolationProfiles wants each slice to send its share of its frames with its DSCP,
// and its sessions to have its QFI.
func TestIsolationProfiles(t *testing.T) {
	list := []Slice{{Name: "video", Share: 3, Frames: "1518", QFI: 5}, {Name: "voice", DSCP: 46}}
	systems, _ := bedAnd("a")
	a := systems[1].(*fake)
	a.capacity = 1e6
	lab := measured(t, systems, func(c *Config) { c.Axes.Sessions, c.Axes.Access, c.Axes.Frames = []int{8}, "uniform", []string{"128"} },
		testThroughput, Isolation{Slices: list, Base: 40, Overload: 150, Duration: time.Second})
	video, voice := a.profile.Streams[0], a.profile.Streams[1]
	if math.Abs(video.Rate.PPS-300_000) > 5000 || math.Abs(voice.Rate.PPS-100_000) > 5000 {
		t.Errorf("got %g and %g frames per second, want 300000 and 100000", video.Rate.PPS, voice.Rate.PPS)
	}
	if diff := cmp.Diff([][]int{{1518}, {128}}, [][]int{video.Octets, voice.Octets}); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	if len(video.DSCP) != 0 || !cmp.Equal(voice.DSCP, []generator.Weighted{{Value: 46, Weight: 1}}) {
		t.Errorf("got DSCP %v and %v, want none and 46", video.DSCP, voice.DSCP)
	}
	for name, want := range map[string]float64{
		"during, voice: loss": 1.0 / 3, "during, video: loss": 1.0 / 3, "overloaded slice during: throughput": 933_333, "other slices after: throughput": 100_000,
	} {
		if f := figure(t, lab, "a", "isolation", "", name); math.Abs(f.Value/want-1) > 0.02 {
			t.Errorf("%s: got %g, want %g", name, f.Value, want)
		}
	}
	const words = "video (share 3, frames 1518, QFI 5); voice (share 1, DSCP 46)"
	if got := lab.Plan.Options["profiles"]; got != words {
		t.Errorf("got %q, want %q", got, words)
	}
	if got := SliceRules(list, system.Rules{URR: true}).String(); got != "URR, 2 slices, QFI 5 10" {
		t.Errorf("got rules %q", got)
	}
}
