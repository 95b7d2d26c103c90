package term

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestLiveLog: while something is shown no line of the log stands between, and none is
// lost: they are written in the end.
func TestLiveLog(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	v := &LiveLog{out: out, painter: Painter{Out: out}, open: true}
	written := func() string {
		b, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for i := range 5 {
		if _, err := fmt.Fprintf(v, "line %d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	if got := written(); got != "" {
		t.Errorf("got %q while something is shown", got)
	}
	v.Close()
	v.Close()
	if _, err := fmt.Fprintln(v, "after"); err != nil {
		t.Fatal(err)
	}
	if got, want := written(), "line 0\nline 1\nline 2\nline 3\nline 4\nafter\n"; !strings.HasSuffix(got, want) || strings.Count(got, "line") != 5 {
		t.Errorf("got %q, want it to end with %q", got, want)
	}
}

func TestProgressLine(t *testing.T) {
	s := Step{Name: "uplink", Expected: 4 * time.Second, Before: 2 * time.Second, Total: 8 * time.Second}
	for _, tc := range []struct {
		name    string
		step    Step
		elapsed time.Duration
		want    string
	}{
		{"at its start", s, 0, "[=======                     ]  25 %  6s left  uplink"},
		{"in the middle", s, 2 * time.Second, "[==============              ]  50 %  4s left  uplink"},
		{"longer than expected", s, time.Minute, "[=====================       ]  75 %  2s left  uplink"},
		{"before the first", Step{}, 0, ""},
	} {
		if got := progressLine(tc.step, tc.elapsed); got != tc.want {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want)
		}
	}
}
