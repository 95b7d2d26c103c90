package method

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/stats"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// Soak sends a load for a long time, trial after trial, and says what was lost and how
// latency went, interval by interval.
type Soak struct {
	Loads    []Level
	Time     time.Duration // of all intervals
	Interval time.Duration // of each trial
}

// NameSoak is the name of [Soak].
const NameSoak = "soak"

// Name is "soak".
func (Soak) Name() string { return NameSoak }

// Cells are the point at each load.
func (m Soak) Cells(point report.LabCell) []report.LabCell { return cells(point, m.Name(), m.Loads) }

// Options say how long it is.
func (m Soak) Options() map[string]string {
	return map[string]string{"soak": fmt.Sprintf("%v in intervals of %v", m.Time, m.Interval)}
}

// Intervals is how many trials there are.
func (m Soak) Intervals() int { return max(1, int(m.Time/m.Interval)) }

// Expected is all intervals, with what is between them.
func (m Soak) Expected(report.LabCell) time.Duration {
	return time.Duration(m.Intervals()) * system.At(0, m.Interval).Time()
}

// Weigher is a [System] whose UPF's memory can be looked at.
type Weigher interface {
	// Memory is what the UPF's processes occupy now; nil: there are none.
	Memory() (*report.Memory, error)
}

// Measure makes the trials. One in which nothing arrives counts as a loss of all.
func (m Soak) Measure(ctx context.Context, t *Turn) error {
	level := levelOf(t.Cell, m.Loads)
	pps, ok := level.rate(t, t.System.Name())
	if !ok {
		return t.noThroughput()
	}
	of := map[report.Direction]*history{}
	var memory weights
	began := time.Now()
	for i := range m.Intervals() {
		trials, err := t.Trial(ctx, level.kind(), level.load(pps, m.Interval))
		if err != nil && !(errors.Is(err, system.ErrNothing) && len(trials) > 0) {
			return err
		}
		at := time.Since(began)
		if err := memory.add(at, t, len(trials)); err != nil {
			return err
		}
		for j := range trials {
			d := trials[j].Direction
			if of[d] == nil {
				of[d] = &history{}
			}
			of[d].add(at, &trials[j])
		}
		t.Say("interval %d of %d: loss %s, p99 %v%s", i+1, m.Intervals(), lossText(lossOf(trials)), time.Duration(trials[0].LatencyNS.P99), memory.text())
	}
	for _, d := range report.Directions {
		if h := of[d]; h != nil {
			h.figures(t, t.prefix(d))
		}
	}
	memory.figures(t)
	return nil
}

// history is what all intervals were like.
type history struct {
	hours             []float64 // since the beginning
	loss, p50, p99    []float64
	offered, received float64
}

func (h *history) add(at time.Duration, t *report.Trial) {
	h.hours = append(h.hours, at.Hours())
	h.loss = append(h.loss, t.LossRatio)
	h.p50, h.p99 = append(h.p50, float64(t.LatencyNS.P50)), append(h.p99, float64(t.LatencyNS.P99))
	h.offered, h.received = h.offered+float64(t.OfferedFrames), h.received+float64(t.ReceivedFrames)
}

// figures are those of the whole time, of the worst interval, and by how much latency
// drifts.
func (h *history) figures(t *Turn, prefix string) {
	lossy := 0.0
	for _, l := range h.loss {
		if l > 0 {
			lossy++
		}
	}
	for _, f := range []report.Figure{
		{Name: "loss", Unit: "ratio", Value: 1 - h.received/max(h.offered, 1)},
		{Name: "loss of the worst interval", Unit: "ratio", Value: slices.Max(h.loss)},
		{Name: "intervals with loss", Unit: "ratio", Value: lossy / float64(len(h.loss))},
		{Name: "latency p50, median of the intervals", Unit: "ns", Value: stats.Median(h.p50)},
		{Name: "latency p99, median of the intervals", Unit: "ns", Value: stats.Median(h.p99)},
		{Name: "latency p99 of the worst interval", Unit: "ns", Value: slices.Max(h.p99)},
	} {
		f.Name, f.Better = prefix+f.Name, report.Lower
		t.Figure(f)
	}
	t.drift(prefix+"drift of latency p50 in an hour", "ns", h.hours, h.p50)
	t.drift(prefix+"drift of loss in an hour", "ratio", h.hours, h.loss)
}

// drift adds by how much a quantity rises in an hour. Of one interval there is none.
func (t *Turn) drift(name, unit string, hours, values []float64) {
	if len(hours) > 1 {
		t.Figure(drift(name, unit, hours, values))
	}
}

// drift is by how much a quantity rises in an hour, with where that lies.
func drift(name, unit string, hours, values []float64) report.Figure {
	slope, in := stats.Slope(hours, values, stats.Usual)
	f := report.Figure{Name: name, Unit: unit, Better: report.Lower, Value: slope, Low: in.Low, High: in.High}
	if in.Confidence < stats.Usual {
		f.Note = fmt.Sprintf("of %d intervals: within its bounds with a confidence of %.0f %%", len(hours), 100*in.Confidence)
	}
	return f
}

// weights is the memory of the UPF after each interval.
type weights struct {
	hours, resident []float64
}

// add notes what the UPF occupies after an interval, with its last trials.
func (w *weights) add(at time.Duration, t *Turn, trials int) error {
	weigher, can := t.System.(Weigher)
	if !can {
		return nil
	}
	memory, err := weigher.Memory()
	if err != nil || memory == nil {
		return err
	}
	w.hours, w.resident = append(w.hours, at.Hours()), append(w.resident, float64(memory.ResidentOctets))
	last := t.Result.Trials[len(t.Result.Trials)-trials:]
	for i := range last {
		last[i].Memory = memory
	}
	return nil
}

// text is how much it is, after a comma; empty of a system without processes.
func (w *weights) text() string {
	if len(w.resident) == 0 {
		return ""
	}
	return fmt.Sprintf(", memory %.1f MiB", w.resident[len(w.resident)-1]/(1<<20))
}

func (w *weights) figures(t *Turn) {
	if len(w.resident) == 0 {
		return
	}
	t.Figure(report.Figure{Name: "memory after the first interval", Unit: "octets", Value: w.resident[0]})
	t.Figure(report.Figure{Name: "memory after the last interval", Unit: "octets", Better: report.Lower, Value: w.resident[len(w.resident)-1]})
	t.drift("drift of memory", "octets/h", w.hours, w.resident)
}
