package method

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plumbline/lab/generator"
	"plumbline/lab/report"
	"plumbline/lab/system"
	"plumbline/lab/traffic"
)

// Isolation overloads one slice and says what becomes of the others: throughput, loss and
// latency before, during and after. Slices are parts of the sessions, each with a QFI of
// its own where the rules say so ([system.Rules.Slices]); all send the same at first,
// together a part of the throughput, and then the first one as much more as is needed
// for more than the system carries.
type Isolation struct {
	Slices   int
	Base     float64 // percent of the throughput that all slices send together before and after
	Overload float64 // percent of the throughput that they send together while one is overloaded
	Duration time.Duration
}

// NameIsolation is the name of [Isolation].
const NameIsolation = "isolation"

// phases are the trials of a turn.
var phases = []string{"before", "during", "after"}

// Name is "isolation".
func (Isolation) Name() string { return NameIsolation }

// Cells is the point itself.
func (m Isolation) Cells(point report.LabCell) []report.LabCell {
	point.Method = m.Name()
	return []report.LabCell{point}
}

// Options say what the slices send.
func (m Isolation) Options() map[string]string {
	return map[string]string{"slices": fmt.Sprintf(
		"%d, together %g %% of the throughput, %g %% while the first is overloaded, %v each", m.Slices, m.Base, m.Overload, m.Duration)}
}

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
	case t.Cell.Sessions < m.Slices:
		return fmt.Errorf("%d slices of %d sessions", m.Slices, t.Cell.Sessions)
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
		l.AsProfile = true
		trials, err := t.Trial(ctx, report.Paced, l)
		if err != nil {
			return err
		}
		for i := range trials {
			m.figures(t, phase, &trials[i])
		}
	}
	return nil
}

// profile is what the slices send.
func (m Isolation) profile(cell report.LabCell, throughput float64, overloaded bool) (*traffic.Profile, error) {
	octets, err := traffic.ParseFrames(cell.Frames)
	if err != nil {
		return nil, err
	}
	access, err := generator.ParseAccess(cell.Access)
	if err != nil {
		return nil, err
	}
	each := throughput * m.Base / 100 / float64(m.Slices)
	first := each
	if overloaded {
		first = throughput*m.Overload/100 - each*float64(m.Slices-1)
	}
	p := &traffic.Profile{Name: "slices"}
	for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
		if cell.Direction != "" && d.String() != string(cell.Direction) {
			continue
		}
		for i := range m.Slices {
			rate := each
			if i == 0 {
				rate = first
			}
			from, end := system.Rules{Slices: m.Slices}.Slice(i, cell.Sessions)
			p.Streams = append(p.Streams, traffic.Stream{
				Name: fmt.Sprintf("%v slice %d", d, i+1), Direction: d, Octets: octets, First: from, Sessions: end - from, Access: access,
				Rate: traffic.Rate{PPS: max(1, rate)},
			})
		}
	}
	return p, nil
}

// figures tell the slice that is overloaded from the others, of which the worst counts.
func (m Isolation) figures(t *Turn, phase string, trial *report.Trial) {
	prefix := t.prefix(trial.Direction)
	slices := []struct {
		name    string
		streams []report.StreamTrial
		better  [2]report.Better // of throughput, of loss and latency
	}{
		{"overloaded slice", trial.Streams[:1], [2]report.Better{}},
		{"other slices", trial.Streams[1:], [2]report.Better{report.Higher, report.Lower}},
	}
	for _, s := range slices {
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
}
