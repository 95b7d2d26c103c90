package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumbline/upf"
)

// TestJSONPlain: what is printed as JSON has < and > as they are, and every command prints it
// in one way.
func TestJSONPlain(t *testing.T) {
	var out strings.Builder
	if err := writeJSON(&out, map[string]string{"way": "N3 -> N6 & back"}); err != nil || !strings.Contains(out.String(), "N3 -> N6 & back") {
		t.Errorf("%q, %v", out.String(), err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if f != "json.go" && f != "json_test.go" && strings.Contains(string(b), "json.NewEncoder(") {
			t.Errorf("%s has an encoder of its own: want jsonLines or writeJSON", f)
		}
	}
}

// TestMovedJSON: durations are numbers whose unit is in the name.
func TestMovedJSON(t *testing.T) {
	var out strings.Builder
	if err := writeJSON(&out, &upf.Moved{Gap: 1500, Took: 2500}); err != nil {
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
