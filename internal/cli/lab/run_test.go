package labcmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// TestLabFinish wants what was measured to be shown after an error too, and no files of
// nothing.
func TestLabFinish(t *testing.T) {
	broken := errors.New("broken")
	lab := func(turns int) *report.Lab {
		return &report.Lab{
			Schema: report.LabSchema, Started: time.Now(), Host: report.Host{CPUs: 1}, Systems: []report.System{{Name: "a"}},
			Plan:  report.LabPlan{Methods: []string{"loss"}, Repeats: 1, DurationNS: 1e9, Cells: []report.LabCell{{Method: "loss", Sessions: 1}}},
			Turns: []report.Turn{{System: "a", Repeat: 1, Started: time.Now(), Figures: []report.Figure{{Name: "loss at 100 %", Unit: "ratio", Value: 0.25}}}}[:turns],
		}
	}
	for name, tc := range map[string]struct {
		lab   *report.Lab
		err   error
		json  string
		shown string // a part of it; empty: nothing
	}{
		"done":          {lab: lab(1), shown: "loss at 100 %"},
		"broken":        {lab: lab(1), err: broken, shown: "loss at 100 %"},
		"broken, JSON":  {lab: lab(1), err: broken, json: "-", shown: report.LabSchema},
		"without turns": {lab: lab(0), err: broken},
		"not begun":     {err: broken},
	} {
		page := filepath.Join(t.TempDir(), "r.html")
		c := &labRun{JSON: tc.json, labOutputs: labOutputs{HTML: page}}
		files, err := c.open()
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := c.finish(&out, tc.lab, files, tc.err); !errors.Is(err, tc.err) {
			t.Errorf("%s: got %v, want %v", name, err, tc.err)
		}
		if got := out.String(); !strings.Contains(got, tc.shown) || tc.shown == "" && got != "" {
			t.Errorf("%s: got %q, want %q in it", name, got, tc.shown)
		}
		if _, err := os.Stat(page); (err == nil) != (tc.shown != "") {
			t.Errorf("%s: the page: %v", name, err)
		}
	}
}

// TestOwnVersion wants results to say which version of our own UPF was measured.
func TestOwnVersion(t *testing.T) {
	kinds, err := kindsOf([]string{"xdp", "tun"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		if p, err := k.Find(); err != nil || p.Version == "" {
			t.Errorf("%s: got version %q, %v", k.Name, p.Version, err)
		}
	}
}

// TestUnmeasured wants the UPFs that are named and have no figure, and none that "all" found.
func TestUnmeasured(t *testing.T) {
	lab := &report.Lab{
		Systems: []report.System{{Name: "plumbline xdp"}, {Name: "eupf", Missing: "a log\nthe UPF ended\n"}, {Name: "free5gc", Missing: "refused with some rules"}},
		Turns: []report.Turn{
			{System: "plumbline xdp", Figures: []report.Figure{{}}}, {System: "eupf", Failed: "the UPF ended"}, {System: "free5gc", Figures: []report.Figure{{}}},
		},
	}
	for names, want := range map[string]string{
		"xdp":              "",
		"all":              "",
		"xdp,free5gc":      "",
		"all,eupf":         "eupf was not measured: the UPF ended",
		"xdp,eupf=/x/eupf": "eupf was not measured: the UPF ended",
	} {
		got := ""
		if err := unmeasured(strings.Split(names, ","), lab); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", names, got, want)
		}
	}
}

// TestQuickKeeps wants --quick to change what is not given, and nothing else.
func TestQuickKeeps(t *testing.T) {
	for _, quick := range []bool{false, true} {
		soak, bursts := soakCommand{labRun: labRun{Quick: quick}}, backToBackCommand{labRun: labRun{Quick: quick}}
		wantTime, wantTests := 10*time.Minute, 10
		if quick {
			wantTime, wantTests = 3*time.Second, 2
		}
		if got := *soak.usualTime(); got != wantTime {
			t.Errorf("quick %v: soak of %v, want %v", quick, got, wantTime)
		}
		if got := *bursts.usualTests(); got != wantTests {
			t.Errorf("quick %v: %d tests, want %d", quick, got, wantTests)
		}
	}
	given, tests := 6*time.Second, 0
	soak := soakCommand{labRun: labRun{Quick: true}, Time: &given}
	bursts := backToBackCommand{labRun: labRun{Quick: true}, Tests: &tests, Step: 1}
	interval := 7 * time.Second // more than the time: refused with what was given
	soak.Duration, bursts.Duration = &interval, &given
	for what, err := range map[string]error{
		"--time 6s: want 7s to 720h0m0s, and 2000 intervals (--duration) at most": soak.Run(t.Context(), nil),
		"--tests 0: want 1 to 1000": bursts.Run(t.Context(), nil),
	} {
		if err == nil || err.Error() != what {
			t.Errorf("got %v, want %s", err, what)
		}
	}
}
