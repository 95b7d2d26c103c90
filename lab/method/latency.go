package method

import (
	"context"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/stats"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// Latency measures one-way latency at given loads, from the intended send time of each
// frame. Percentages are of a system's own throughput, as an earlier turn at the same
// point of the axes has found it.
//
// The bed has its turn with the rates of all systems. So what a system adds is known at
// its own rate: figures "less bed".
//
// Source: RFC 2544, 26.2; RFC 8219, 7.3 (delay variation).
type Latency struct {
	Loads    []Level
	Duration time.Duration
}

// NameLatency is the name of [Latency].
const NameLatency = "latency"

// Name is "latency".
func (Latency) Name() string { return NameLatency }

// Cells are the point at each load.
func (m Latency) Cells(point report.LabCell) []report.LabCell {
	return cells(point, m.Name(), m.Loads)
}

// Options say how long trials are.
func (m Latency) Options() map[string]string {
	return map[string]string{m.Name(): "trials of " + m.Duration.String()}
}

// Expected is the trial, with its warm-up and the time in which queues run empty.
func (m Latency) Expected(report.LabCell) time.Duration { return system.At(0, m.Duration).Time() }

// Measure makes the trial; of the bed one at the rate of each system.
func (m Latency) Measure(ctx context.Context, t *Turn) error {
	level := levelOf(t.Cell, m.Loads)
	pps, ok := level.rate(t, t.System.Name())
	if !ok {
		return t.noThroughput()
	}
	trials, err := t.Trial(ctx, report.Paced, m.load(level, pps))
	if err != nil {
		return err
	}
	for i := range trials {
		t.latency(&trials[i])
	}
	made := map[uint64]bool{pps: true}
	for _, name := range t.comparedWith() {
		if pps, ok := level.rate(t, name); ok && !made[pps] {
			made[pps] = true
			if _, err := t.Trial(ctx, report.Paced, m.load(level, pps)); err != nil {
				return err
			}
		}
	}
	return nil
}

// load is that of a trial, with time stamps where the systems have any.
func (m Latency) load(level Level, pps uint64) system.Load {
	l := level.paced(pps, m.Duration)
	l.TimeStamps = true
	return l
}

// quantity is one thing that a latency is measured by.
type quantity struct {
	name    string
	of      func(report.Latency) int64
	lessBed bool
}

const averageVariation = "average variation"

var quantities = []quantity{
	{"latency min", func(l report.Latency) int64 { return l.Min }, true},
	{"latency mean", func(l report.Latency) int64 { return l.Mean }, true},
	{"latency p50", func(l report.Latency) int64 { return l.P50 }, true},
	{"latency p90", func(l report.Latency) int64 { return l.P90 }, true},
	{"latency p99", func(l report.Latency) int64 { return l.P99 }, true},
	{"latency p99.9", func(l report.Latency) int64 { return l.P999 }, true},
	{"latency p99.99", func(l report.Latency) int64 { return l.P9999 }, true},
	{"latency max", func(l report.Latency) int64 { return l.Max }, true},
	{"PDV", func(l report.Latency) int64 { return l.PDV }, false},
	{averageVariation, func(l report.Latency) int64 { return l.Variation }, false},
}

// latency keeps the figures of a trial, and what the bed's trial at the same rate leaves
// of them.
func (t *Turn) latency(trial *report.Trial) {
	prefix := t.prefix(trial.Direction)
	bed := t.bedTrial(trial)
	var bedLatency *report.Latency
	if bed != nil {
		bedLatency = &bed.LatencyNS
	}
	t.quantities(prefix, &trial.LatencyNS, bedLatency)
	t.stamped(prefix+"stamped ", trial, bed)
	t.Figure(report.Figure{Name: prefix + "loss", Unit: "ratio", Better: report.Lower, Value: trial.LossRatio})
}

// quantities are the figures of a latency, and what that of the bed leaves of them.
func (t *Turn) quantities(prefix string, l, bed *report.Latency) {
	for _, q := range quantities {
		ns := q.of(*l)
		if l.Variation == 0 && q.name == averageVariation {
			continue // a sample has none
		}
		t.Figure(report.Figure{Name: prefix + q.name, Unit: "ns", Better: report.Lower, Value: float64(ns)})
		if q.lessBed && bed != nil {
			t.Figure(report.Figure{Name: prefix + q.name + " less bed", Unit: "ns", Better: report.Lower, Value: float64(ns - q.of(*bed))})
		}
	}
}

// stamped keeps the figures of time stamps, if frames had any.
func (t *Turn) stamped(prefix string, trial, bed *report.Trial) {
	switch {
	case trial.Stamped == nil || trial.Stamped.Frames == 0:
	case bed == nil || bed.Stamped == nil || bed.Stamped.Frames == 0:
		t.quantities(prefix, &trial.Stamped.LatencyNS, nil)
	default:
		t.quantities(prefix, &trial.Stamped.LatencyNS, &bed.Stamped.LatencyNS)
	}
}

// prefix is before names of figures of one direction where there are several.
func (t *Turn) prefix(d report.Direction) string {
	if t.Cell.Direction != "" {
		return ""
	}
	return string(d) + " "
}

// comparedWith are the systems that are compared with this one: none unless it is a bed.
func (t *Turn) comparedWith() []string {
	var names []string
	for _, e := range t.run.entrants {
		if e.Bed() == t.System.Name() && e.Name() != e.Bed() && !t.run.out[e.Name()] {
			names = append(names, e.Name())
		}
	}
	return names
}

// bedTrial is that of the bed in the same cell and repeat, in the same direction and
// at the same rate; nil: there is none, or it is the bed's turn.
func (t *Turn) bedTrial(of *report.Trial) *report.Trial {
	for _, turn := range t.run.lab.Turns {
		if turn.System != t.System.Bed() || turn.Cell != t.Result.Cell || turn.Repeat != t.Result.Repeat {
			continue
		}
		for i := range turn.Trials {
			if b := &turn.Trials[i]; b.Direction == of.Direction && b.IntendedPPS == of.IntendedPPS && b.ReceivedFrames > 0 {
				return b
			}
		}
	}
	return nil
}

// throughput is what a system's throughput came to at this point of the axes, in frames
// per second and direction: the median of the repeats, by the goal that allows the most
// loss, or what was received of as much as possible ([Share]); 0: it has none.
func (t *Turn) throughput(system string) float64 {
	var all []float64
	for _, turn := range t.Earlier(NameThroughput, system) {
		value := 0.0
		for _, f := range turn.Figures {
			if strings.HasPrefix(f.Name, figureThroughput) {
				value = f.Value
			}
		}
		all = append(all, value/float64(t.directions()))
	}
	if all == nil {
		for _, turn := range t.Earlier(NameShare, system) {
			if f := turn.Figure(report.FigureReceived); f != nil {
				all = append(all, f.Value/float64(t.directions()))
			}
		}
	}
	if all == nil {
		return 0
	}
	return stats.Median(all)
}

// noThroughput ends a turn that is at a part of what was not found. The system stays: it
// may have a throughput in other cells, and the next system here.
func (t *Turn) noThroughput() error {
	t.Result.Failed = "no throughput was found, so no part of it"
	return nil
}
