package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMisdeliveredIsSaid: how many frames, and what was wrong with them in all trials.
func TestMisdeliveredIsSaid(t *testing.T) {
	r := trialList{
		{ReceivedFrames: 5000, Misdelivered: 1204, MisdeliveredBy: map[string]uint64{"ue": 4, "teid": 1200}},
		{ReceivedFrames: 5000, Misdelivered: 4, MisdeliveredBy: map[string]uint64{"qfi": 4}},
	}
	want := "1,208 misdelivered (1,200 teid, 4 qfi, 4 ue), 0 duplicated, 0 reordered of 10,000 frames"
	if got := r.correctness(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// oldResults are files of before plumb bench was a part of plumb lab.
var oldResults = []string{"testdata/result_1.json", "testdata/comparison_1.json"}

// TestReadOld: the figures of old files are those of the Lab as which they are read, and it can be
// shown.
func TestReadOld(t *testing.T) {
	for i, want := range []map[string]float64{
		{"share plumbline xdp 1 received": 2.86e6 * 0.82, "share bed 3 received": 2.94e6, "latency plumbline xdp 1 latency p99": 2400},
		{},
	} {
		l, err := ReadLabFile(oldResults[i])
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, turn := range l.Turns {
			c := l.Plan.Cells[turn.Cell]
			for _, f := range turn.Figures {
				if c.Direction != Downlink {
					got[fmt.Sprintf("%s %s %d %s", c.Method, turn.System, turn.Repeat, f.Name)] = f.Value
				}
			}
		}
		for name, value := range want {
			if math.Abs(got[name]-value) > 1e-6*value {
				t.Errorf("%s: %s: got %v, want %v", oldResults[i], name, got[name], value)
			}
		}
		var b bytes.Buffer
		if err := errors.Join(LabTable(&b, l), LabHTML(io.Discard, l)); err != nil {
			t.Error(err)
		}
		t.Log(b.String())
	}
}

// FuzzReadOld: what is accepted of old files can be written, read again and shown.
func FuzzReadOld(f *testing.F) {
	for _, name := range oldResults {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		l, err := ReadLab(bytes.NewReader(in))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := WriteLab(&out, l); err != nil {
			t.Fatalf("write of what was accepted: %v", err)
		}
		if _, err := ReadLab(&out); err != nil {
			t.Fatalf("read of what was written: %v", err)
		}
		if err := errors.Join(LabTable(io.Discard, l), LabHTML(io.Discard, l)); err != nil {
			t.Error(err)
		}
	})
}

// TestReadAny: a result of each kind is read and shown, and what its kind has not is refused.
func TestReadAny(t *testing.T) {
	write := func(w func(io.Writer) error) string {
		t.Helper()
		name := filepath.Join(t.TempDir(), "result.json")
		var b bytes.Buffer
		if err := errors.Join(w(&b), os.WriteFile(name, b.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, tc := range []struct {
		name, file string
		html, svg  bool
	}{
		{"lab", write(func(w io.Writer) error { return WriteLab(w, sampleLab(t)) }), true, true},
		{"result of before", oldResults[0], true, true},
		{"probe", write(func(w io.Writer) error { return WriteProbe(w, sampleProbe(t, 3)) }), true, true},
		{"slices", write(func(w io.Writer) error { return WriteSlices(w, sampleSlices(t, "a")) }), true, true},
	} {
		a, err := ReadAny(tc.file)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var table, page bytes.Buffer
		if err := errors.Join(AnyTable(&table, a), AnyHTML(&page, a), AnySVG(io.Discard, a)); err != nil || table.Len() == 0 || page.Len() == 0 {
			t.Errorf("%s: table of %d octets, page of %d, %v", tc.name, table.Len(), page.Len(), err)
		}
		if err := a.Refuse(map[string]string{"--html": "x", "--svg": "y", "--csv": ""}); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if err := a.Refuse(map[string]string{"--csv": "x"}); err == nil || !strings.Contains(err.Error(), "--csv: a result of "+a.Schema) {
			t.Errorf("%s: --csv: got %v", tc.name, err)
		}
	}
	for _, text := range []string{"", "{", `{"schema": "plumbline.moon/1"}`, `{"schema": "plumbline.slices/1"}`, `{"schema": "plumbline.n4/1"}`, `{"schema": "plumbline.correctness/1"}`} {
		name := write(func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
		if a, err := ReadAny(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: got %v, %v", text, a, err)
		}
	}
}
