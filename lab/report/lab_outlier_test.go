package report

import (
	"bytes"
	"strings"
	"testing"
)

// TestOutlierNotes: a repeat that stands apart is named, and stays in the figures.
func TestOutlierNotes(t *testing.T) {
	lab := sampleLab(t)
	lab.Plan.Repeats, lab.Turns = 6, nil
	for repeat, pps := range []float64{1e6, 1.01e6, 0.99e6, 1.005e6, 0.4e6, 0.995e6} {
		lab.Turns = append(lab.Turns, Turn{System: lab.Systems[1].Name, Repeat: repeat + 1, Figures: []Figure{
			{Name: "throughput at loss 0", Unit: "pps", Better: Higher, Value: pps},
		}})
	}
	var table bytes.Buffer
	if err := LabTable(&table, lab); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(table.String()), " ")
	if want := "repeat 5 has a throughput at loss 0 of 400.0 kpps"; strings.Count(text, "outlier") != 1 || !strings.Contains(text, want) {
		t.Errorf("want one outlier: %q, got\n%s", want, table.String())
	}
}
