package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"plumbline/verifier"
)

// TestStack finds the deepest chain of calls in each program: by the frames of Linux 6.1,
// which are the largest, it has to fit.
func TestStack(t *testing.T) {
	for _, o := range objects() {
		spec, err := o.Load()
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range spec.Programs {
			chain, err := verifier.Stack(p)
			if err != nil {
				t.Fatalf("%s: %s: %v", o.Name, name, err)
			}
			t.Logf("%s: %s: %d octets: %s", o.Name, name, chain.Octets, strings.Join(chain.Calls, ", "))
			if chain.Octets > verifier.MaxStack || len(chain.Calls) > verifier.MaxCalls {
				t.Errorf("%s: %s: %d octets of stack in %d frames, want at most %d in %d: %s",
					o.Name, name, chain.Octets, len(chain.Calls), verifier.MaxStack, verifier.MaxCalls, strings.Join(chain.Calls, ", "))
			}
		}
	}
}

// costFile is what programs cost the verifier, by kernel (major and minor) and program.
const costFile = "testdata/verifier.json"

// TestPrograms loads every program and compares what it costs the verifier with what is
// written down: more than a tenth more fails. Kernels count otherwise, so only the
// record of this one is compared. PLUMBLINE_RECORD=1 writes it anew.
func TestPrograms(t *testing.T) {
	record := readCosts(t)
	kernel := majorMinor(verifier.KernelRelease())
	got := map[string]verifier.Cost{}
	for _, o := range objects() {
		tried, err := o.Try()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range tried {
			switch {
			case p.Refused != "":
				t.Errorf("%s: %s: Linux %s: %s", o.Name, p.Name, kernel, p.Refused)
			case p.Instructions == 0:
				t.Errorf("%s: %s: a log without figures: %s", o.Name, p.Name, strings.Join(p.Log, "; "))
			}
			got[o.Name+"/"+p.Name] = p.Cost
		}
	}
	for name, c := range got {
		if want, ok := record[kernel][name]; ok && c.Instructions > want.Instructions*11/10 {
			t.Errorf("%s: %d instructions processed, was %d", name, c.Instructions, want.Instructions)
		}
	}
	if os.Getenv("PLUMBLINE_RECORD") != "" {
		record[kernel] = got
		writeCosts(t, record)
	}
}

// majorMinor of a release: "6.18" of "6.18.15+deb13-cloud-amd64".
func majorMinor(release string) string {
	parts := strings.SplitN(release, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

func readCosts(t *testing.T) map[string]map[string]verifier.Cost {
	t.Helper()
	record := map[string]map[string]verifier.Cost{}
	b, err := os.ReadFile(costFile)
	if errors.Is(err, os.ErrNotExist) {
		return record
	}
	if err == nil {
		err = json.Unmarshal(b, &record)
	}
	if err != nil {
		t.Fatal(err)
	}
	return maps.Clone(record)
}

func writeCosts(t *testing.T, record map[string]map[string]verifier.Cost) {
	t.Helper()
	b, err := json.MarshalIndent(record, "", "  ")
	if err == nil {
		err = os.WriteFile(costFile, append(b, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
