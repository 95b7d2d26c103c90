package main

import (
	"fmt"
	"os"
	"testing"
)

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
	v.Close()
	if got, err := os.ReadFile(out.Name()); err != nil || string(got) != "a line\n" {
		t.Errorf("got %q, %v", got, err)
	}
}
