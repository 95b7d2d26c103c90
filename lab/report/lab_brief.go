package report

import (
	"io"
	"slices"
)

// briefFigures are those of each method that say the most. Figures of methods that are not here
// are all shown.
var briefFigures = map[string][]string{
	"share":      {FigureReceived, FigureLoss, FigureAdded, "BPF program, a run", "latency p50", "latency p99"},
	"throughput": {FigureMost, "CPU of the process per frame", "CPU of softirq per frame"},
	"latency":    {"latency p50", "latency p99", "latency p50 less bed", "latency p99 less bed", FigureLoss},
}

// LabBrief is [LabTable] with the figures that say the most.
func LabBrief(w io.Writer, l *Lab) error {
	short, hidden := *l, false
	short.Turns = slices.Clone(l.Turns)
	for i := range short.Turns {
		t := &short.Turns[i]
		method := l.Plan.Cells[t.Cell].Method
		names, ok := briefFigures[method]
		if !ok {
			continue
		}
		t.Figures = slices.DeleteFunc(slices.Clone(t.Figures), func(f Figure) bool {
			return !slices.Contains(names, f.Name) && !(method == "throughput" && f.Better == Higher)
		})
		hidden = hidden || len(t.Figures) < len(l.Turns[i].Figures)
	}
	if hidden {
		short.Plan.Options = cloneWith(l.Plan.Options, "more figures", "plumb lab report FILE, of the file of --json")
	}
	return LabTable(w, &short)
}

func cloneWith(options map[string]string, name, text string) map[string]string {
	all := map[string]string{name: text}
	for k, v := range options {
		all[k] = v
	}
	return all
}
