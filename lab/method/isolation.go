package method

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/traffic"
)

// Isolation overloads one slice and measures the others: throughput, loss and
// latency before, during and after. Slices are parts of the sessions, each with a QFI of
// its own where the rules say so ([SliceRules]); each sends its share at first, together a
// part of the throughput, and then the first one as much more as is needed for more than
// the system carries.
type Isolation struct {
	Slices   []Slice
	Base     float64 // percent of the throughput that all slices send together before and after
	Overload float64 // percent of the throughput that they send together while one is overloaded
	Duration time.Duration
}

// NameIsolation is the name of [Isolation].
const NameIsolation = "isolation"

// phases are the trials of a turn.
var phases = []string{"before", "during", "after"}

const isolationSlots, isolationLeast = 40, 100 * time.Millisecond // of the series of a phase

// Name is "isolation".
func (Isolation) Name() string { return NameIsolation }

// Cells is the point itself.
func (m Isolation) Cells(point report.LabCell) []report.LabCell {
	point.Method = m.Name()
	return []report.LabCell{point}
}

// Options say what the slices send.
func (m Isolation) Options() map[string]string {
	options := map[string]string{"slices": fmt.Sprintf(
		"%d, together %g %% of the throughput, %g %% while the first is overloaded, %v each", len(m.Slices), m.Base, m.Overload, m.Duration)}
	if m.profiled() {
		var words []string
		for _, s := range m.Slices {
			words = append(words, s.String())
		}
		options["profiles"] = strings.Join(words, "; ")
	}
	return options
}

// profiled reports whether somebody has said what each slice is.
func (m Isolation) profiled() bool { return !slices.Equal(m.Slices, EqualSlices(len(m.Slices))) }

// Expected is three trials.
func (m Isolation) Expected(report.LabCell) time.Duration {
	return time.Duration(len(phases)) * system.At(0, m.Duration).Time()
}

// Opener is a [System] that can be given a traffic profile that is no cell's.
type Opener interface {
	OpenProfile(p *traffic.Profile, run uint32) error
}

// Measure makes the three trials. Then what the cell says is open again.
func (m Isolation) Measure(ctx context.Context, t *Turn) (err error) {
	opener, can := t.System.(Opener)
	throughput := t.throughput(t.System.Name())
	switch {
	case !can:
		return errors.New("takes no traffic profile")
	case throughput == 0:
		return t.noThroughput()
	case t.Cell.Sessions < len(m.Slices):
		return fmt.Errorf("%d slices of %d sessions", len(m.Slices), t.Cell.Sessions)
	}
	defer func() { err = errors.Join(err, t.System.Open(t.Cell, system.NewRun())) }()
	for _, phase := range phases {
		p, err := m.profile(t.Cell, throughput, phase == "during")
		if err != nil {
			return err
		}
		if err := opener.OpenProfile(p, system.NewRun()); err != nil {
			return err
		}
		l := steady(0, m.Duration)
		l.AsProfile, l.SampleEvery = true, slots(m.Duration, isolationSlots, isolationLeast)
		trials, err := t.Trial(ctx, report.Paced, l)
		if err != nil {
			return err
		}
		last := t.Result.Trials[len(t.Result.Trials)-len(trials):]
		for i := range last {
			last[i].Phase = phase
		}
		for i := range trials {
			m.figures(t, phase, &trials[i])
		}
	}
	return nil
}

// rates are what the slices send one way, in frames per second.
func (m Isolation) rates(throughput float64, overloaded bool) []float64 {
	shares := 0.0
	for i := range m.Slices {
		shares += m.Slices[i].share()
	}
	list, others := make([]float64, len(m.Slices)), 0.0
	for i := range m.Slices {
		list[i] = throughput * m.Base / 100 * m.Slices[i].share() / shares
		if i > 0 {
			others += list[i]
		}
	}
	if overloaded {
		list[0] = throughput*m.Overload/100 - others
	}
	return list
}

// profile is what the slices send.
func (m Isolation) profile(cell report.LabCell, throughput float64, overloaded bool) (*traffic.Profile, error) {
	access, err := generator.ParseAccess(cell.Access)
	if err != nil {
		return nil, err
	}
	rates := m.rates(throughput, overloaded)
	p := &traffic.Profile{Name: "slices"}
	for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
		if cell.Direction != "" && d.String() != string(cell.Direction) {
			continue
		}
		for i, slice := range m.Slices {
			octets, err := traffic.ParseFrames(cmp.Or(slice.Frames, cell.Frames))
			if err != nil {
				return nil, err
			}
			from, end := system.Rules{Slices: len(m.Slices)}.Slice(i, cell.Sessions)
			s := traffic.Stream{
				Name: fmt.Sprintf("%v %s", d, slice.Name), Direction: d, Octets: octets, First: from, Sessions: end - from, Access: access,
				Rate: traffic.Rate{PPS: max(1, rates[i])},
			}
			if slice.DSCP != 0 {
				s.DSCP = []generator.Weighted{{Value: slice.DSCP, Weight: 1}}
			}
			p.Streams = append(p.Streams, s)
		}
	}
	return p, nil
}

// figures tell the slice that is overloaded from the others, of which the worst counts.
func (m Isolation) figures(t *Turn, phase string, trial *report.Trial) {
	prefix := t.prefix(trial.Direction)
	parts := []struct {
		name    string
		streams []report.StreamTrial
		better  [2]report.Better // of throughput, of loss and latency
	}{
		{"overloaded slice", trial.Streams[:1], [2]report.Better{}},
		{"other slices", trial.Streams[1:], [2]report.Better{report.Higher, report.Lower}},
	}
	for _, s := range parts {
		received, loss, p50, p99 := 0.0, 0.0, int64(0), int64(0)
		for i := range s.streams {
			x := &s.streams[i]
			received += x.ReceivedPPS
			loss, p50, p99 = max(loss, x.LossRatio), max(p50, x.LatencyNS.P50), max(p99, x.LatencyNS.P99)
		}
		name := prefix + s.name + " " + phase + ": "
		t.Figure(report.Figure{Name: name + "throughput", Unit: "pps", Better: s.better[0], Value: received})
		t.Figure(report.Figure{Name: name + "loss", Unit: "ratio", Better: s.better[1], Value: loss})
		t.Figure(report.Figure{Name: name + "latency p50", Unit: "ns", Better: s.better[1], Value: float64(p50)})
		t.Figure(report.Figure{Name: name + "latency p99", Unit: "ns", Better: s.better[1], Value: float64(p99)})
	}
	if phase == "during" && m.profiled() {
		for i := range min(len(m.Slices), len(trial.Streams)) {
			x, name, better := &trial.Streams[i], prefix+"during, "+m.Slices[i].Name+": ", report.Lower
			if i == 0 {
				better = "" // it gets less than it asks for, as it should
			}
			t.Figure(report.Figure{Name: name + "loss", Unit: "ratio", Better: better, Value: x.LossRatio})
			t.Figure(report.Figure{Name: name + "latency p99", Unit: "ns", Better: better, Value: float64(x.LatencyNS.P99)})
		}
	}
}
