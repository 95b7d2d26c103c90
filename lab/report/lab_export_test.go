package report

import (
	"bufio"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// TestExportTables: CSV and Parquet have the same rows as the result, read back by
// other readers than they were written by.
func TestExportTables(t *testing.T) {
	l := smallLab(t)
	l.Turns[0].Trials[0].Stamped = &Stamped{By: "hardware", AskedFrames: 9, SentFrames: 8, ReceivedFrames: 7, BackwardFrames: 1, Frames: 6,
		LatencyNS: Latency{Min: 1, Mean: 2, P50: 3, P90: 4, P99: 5, P999: 6, P9999: 7, Max: 8}}
	directory := filepath.Join(t.TempDir(), "new")
	if err := LabCSV(directory, l); err != nil {
		t.Fatal(err)
	}
	if err := LabParquet(directory, l); err != nil {
		t.Fatal(err)
	}
	trials := l.trialRows()
	if diff := cmp.Diff(stampedColumns{"hardware", 9, 8, 7, 1, 6, 1, 2, 3, 4, 5, 6, 7, 8}, trials[0].stampedColumns); diff != "" {
		t.Errorf("stamped (-want +got):\n%s", diff)
	}
	got, err := parquet.ReadFile[trialRow](filepath.Join(directory, "trials.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(trials, got, cmp.AllowUnexported(trialRow{})); diff != "" {
		t.Errorf("trials.parquet (-want +got):\n%s", diff)
	}
	for table, want := range map[string]int{"trials": len(trials), "figures": len(l.figureRows()), "n4": len(l.n4Rows()), "streams": len(l.streamRows()), "histograms": bucketsOf(t, l)} {
		lines := readCSV(t, filepath.Join(directory, table+".csv"))
		if len(lines) != want+1 || want == 0 {
			t.Errorf("%s.csv: got %d lines, want names and %d rows", table, len(lines), want)
		}
		f, err := os.Open(filepath.Join(directory, table+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		file, err := parquet.OpenFile(f, info.Size())
		if err != nil {
			t.Fatal(err)
		}
		if file.NumRows() != int64(want) {
			t.Errorf("%s.parquet: got %d rows, want %d", table, file.NumRows(), want)
		}
		var names []string
		for _, column := range file.Schema().Columns() {
			names = append(names, strings.Join(column, "."))
		}
		if diff := cmp.Diff(lines[0], names); diff != "" {
			t.Errorf("%s: columns of CSV and Parquet (-csv +parquet):\n%s", table, diff)
		}
	}
	compareTrials(t, readCSV(t, filepath.Join(directory, "trials.csv")), trials)
	if left, _ := filepath.Glob(filepath.Join(directory, "*.part")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	l.Turns = nil
	if err := errors.Join(LabCSV(directory, l), LabParquet(directory, l)); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(directory, "*")); len(left) > 0 {
		t.Errorf("tables of another result: %v", left)
	}
}

// compareTrials compares lines of CSV with rows, by the names of the columns.
func compareTrials(t *testing.T, lines [][]string, rows []trialRow) {
	t.Helper()
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	for i, row := range rows {
		line := lines[i+1]
		for name, want := range map[string]any{
			"system": row.System, "offered_pps": row.OfferedPPS, "received_frames": row.ReceivedFrames, "latency_p99_ns": row.LatencyP99,
			"loss_ratio": row.LossRatio, "started": row.Started, "kind": row.Kind,
		} {
			if got := line[column[name]]; got != csvValue(reflect.ValueOf(want)) {
				t.Errorf("line %d, %s: got %s, want %v", i+2, name, got, want)
			}
		}
	}
}

func bucketsOf(t *testing.T, l *Lab) int {
	t.Helper()
	n := 0
	if err := l.histogramRows(func(rows []histogramRow) error { n += len(rows); return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

func readCSV(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestCSVFormulas: no cell of a hostile result is a formula for a spreadsheet.
func TestCSVFormulas(t *testing.T) {
	l := smallLab(t)
	l.Systems[0].Version = `=HYPERLINK("x")`
	directory := t.TempDir()
	if err := LabCSV(directory, l); err != nil {
		t.Fatal(err)
	}
	for _, line := range readCSV(t, filepath.Join(directory, "trials.csv")) {
		for _, cell := range line {
			if strings.HasPrefix(cell, "=") {
				t.Errorf("got %q, want an apostrophe before it", cell)
			}
		}
	}
}

// TestLabHgrm reads the log back with HdrHistogram's own reader, and compares a
// distribution with the trials that it is of.
func TestLabHgrm(t *testing.T) {
	l := sampleLab(t)
	l.Systems[4].Name = "../sample, upf"
	for i := range l.Turns {
		if l.Turns[i].System == "sample upf" {
			l.Turns[i].System = l.Systems[4].Name
		}
	}
	directory := t.TempDir()
	if err := LabHgrm(directory, l); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(directory, LogName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reader := hdrhistogram.NewHistogramLogReader(bufio.NewReader(f))
	var got []int64
	for {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		got = append(got, h.TotalCount(), h.Max())
	}
	var want []int64
	names := map[string]bool{}
	err = l.eachHistogram(func(turn *Turn, trial int, h *hdrhistogram.Histogram) error {
		want = append(want, h.TotalCount(), h.Max())
		if tr := &turn.Trials[trial]; tr.Kind == Paced {
			names[l.distributionName(turn, tr.Direction)+".hgrm"] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	files, err := filepath.Glob(filepath.Join(directory, "*.hgrm"))
	if err != nil || len(files) != len(names) || len(files) == 0 {
		t.Errorf("got %d distributions, %v, want %d", len(files), err, len(names))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !names[filepath.Base(file)] || !strings.Contains(string(text), "Total count    =         9000]") {
			t.Errorf("%s: %v, want the 9000 frames of three repeats:\n%s", file, err, text)
		}
	}
}
