package main

import (
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestMovedJSON: durations are numbers whose unit is in the name.
func TestMovedJSON(t *testing.T) {
	var out strings.Builder
	if err := plainjson.Write(&out, &upf.Moved{Gap: 1500, Took: 2500}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"gap_ns": 1500,`, `"took_ns": 2500,`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: want %s in it", out.String(), want)
		}
	}
}

// TestDatapathLine: of a control plane alone nothing is said that it does not have.
func TestDatapathLine(t *testing.T) {
	if got, want := datapathLine(&upf.Datapath{Name: "redis"}), "datapath redis"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := datapathLine(&upf.Datapath{Name: "xdp", MaxSessions: 5}), "datapath xdp, 5 sessions at most, 0 octets of tables"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
