package labcmd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// TestCorrectnessFailure: what a run measured before it failed is shown and written, as that
// of a run which has not finished. One that measured nothing leaves the files as they were.
func TestCorrectnessFailure(t *testing.T) {
	failed := errors.New("eupf: it has ended")
	result := aCorrectness()
	for name, tc := range map[string]struct {
		results []*report.Correctness
		failed  error
		written bool
	}{
		"after one part": {[]*report.Correctness{result}, failed, true},
		"at once":        {nil, failed, false},
		"never":          {[]*report.Correctness{result}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := correctnessCommand{JSON: filepath.Join(dir, "lab.json"), Details: filepath.Join(dir, "details.json")}
			c.HTML = filepath.Join(dir, "page.html")
			for _, file := range []string{c.JSON, c.Details, c.HTML} {
				if err := os.WriteFile(file, []byte("an earlier run"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			files, err := c.openAll()
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := c.finish(&out, files, tc.results, tc.failed); !errors.Is(err, tc.failed) || (err == nil) != (tc.failed == nil) {
				t.Errorf("got error %v, want %v", err, tc.failed)
			}
			if got := strings.Contains(out.String(), "eUPF"); got != tc.written {
				t.Errorf("the figure is shown: %t, want %t:\n%s", got, tc.written, &out)
			}
			for file, want := range map[string]string{c.JSON: report.LabSchema, c.Details: report.CorrectnessSchema, c.HTML: "<html"} {
				text, err := os.ReadFile(file)
				if got := strings.Contains(string(text), want); err != nil || got != tc.written || got == strings.Contains(string(text), "an earlier run") {
					t.Errorf("%s: written %t, want %t: %v", filepath.Base(file), got, tc.written, err)
				}
				if got := strings.Contains(string(text), `"finished"`); file == c.JSON && got != (tc.failed == nil) {
					t.Errorf("the run has finished: %t", got)
				}
			}
			if left, err := filepath.Glob(filepath.Join(dir, "*.part")); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func aCorrectness() *report.Correctness {
	return &report.Correctness{
		Schema: report.CorrectnessSchema, Started: time.Now().UTC().Truncate(time.Second), Host: host.Describe("v0", "", "plumb lab correctness"), System: "eUPF",
		Rates: []report.RateFigure{{Direction: report.Uplink, Protocol: "UDP", AskedBPS: 1e6, PassedBPS: 9e5, ErrorPercent: -10}},
	}
}
