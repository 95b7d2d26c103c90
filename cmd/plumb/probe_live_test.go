package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestLiveLog: while something is shown no line of the log stands between, and none is
// lost: they are written in the end.
func TestLiveLog(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	v := &liveLog{out: out, painter: painter{out: out}, open: true}
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
	v.close()
	v.close()
	if _, err := fmt.Fprintln(v, "after"); err != nil {
		t.Fatal(err)
	}
	if got, want := written(), "line 0\nline 1\nline 2\nline 3\nline 4\nafter\n"; !strings.HasSuffix(got, want) || strings.Count(got, "line") != 5 {
		t.Errorf("got %q, want it to end with %q", got, want)
	}
}

// TestProbeNothingShown: where there is no terminal, or --plain, the log is written as it
// comes and nothing else.
func TestProbeNothingShown(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	v := newProbeLive(out, &probeRunCommand{})
	v.show(nil)
	if _, err := fmt.Fprintln(v, "a line"); err != nil {
		t.Fatal(err)
	}
	v.close()
	if got, err := os.ReadFile(out.Name()); err != nil || string(got) != "a line\n" {
		t.Errorf("got %q, %v", got, err)
	}
}
