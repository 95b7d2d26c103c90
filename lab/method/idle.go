package method

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// N4Idle has all sessions of a UPF go idle and come back: the release of the access
// network, downlink data, Downlink Data Report, service request. Data comes at given rates,
// one after the other, a frame for each session. Then it sends a frame of each session in
// each direction: all must be forwarded.
//
// Source: TS 23.502, 4.2.6 and 4.2.3.3.
type N4Idle struct {
	Rates []uint64 // sessions called back per second
}

// IdleActive is the load of its cell.
const IdleActive = "idle-active"

// Idler is a [System] whose sessions can be made idle.
type Idler interface {
	// Idle does it with as many sessions and such rules as the cell says.
	Idle(ctx context.Context, cell report.LabCell, rate uint64) (*system.Idled, error)
}

// Name is "n4".
func (N4Idle) Name() string { return NameN4 }

// Cells is the point: the method has frames of its own.
func (m N4Idle) Cells(point report.LabCell) []report.LabCell {
	return N4{Operation: IdleActive}.Cells(point)
}

// Options say how fast sessions are called back.
func (m N4Idle) Options() map[string]string {
	var words []string
	for _, rate := range m.Rates {
		words = append(words, fmt.Sprintf("%d/s", rate))
	}
	return map[string]string{"n4 loads": IdleActive + " at " + strings.Join(words, ", ")}
}

// Expected is the sessions, and the frames.
func (m N4Idle) Expected(cell report.LabCell) time.Duration {
	return time.Duration(1+len(m.Rates))*installTime(cell.Sessions) + m.Calls(cell.Sessions)
}

// Calls is how long so many sessions are called back, at all rates.
func (m N4Idle) Calls(sessions int) time.Duration {
	sum := time.Duration(0)
	for _, rate := range m.Rates {
		sum += time.Duration(float64(sessions) / float64(rate) * float64(time.Second))
	}
	return sum
}

// Measure makes the sessions idle, and calls them back, at each rate.
func (m N4Idle) Measure(ctx context.Context, t *Turn) error {
	s, ok := t.System.(Idler)
	if !ok {
		return fmt.Errorf("%s has no N4: %w", t.System.Name(), errors.ErrUnsupported)
	}
	for i, rate := range m.Rates {
		t.Say("%d of %d: %d sessions are called back, %d in a second", i+1, len(m.Rates), t.Cell.Sessions, rate)
		idled, err := s.Idle(ctx, t.Cell, rate)
		if err != nil {
			return err
		}
		at := fmt.Sprintf(" at %d/s", rate)
		for _, f := range idleFigures(idled) {
			f.Name += at
			t.Figure(f)
		}
		t.Result.N4 = append(t.Result.N4, idled.Release.Phase("AN release before"+strings.TrimPrefix(at, " at"), "modify", 0, idled.Sessions))
		service := idled.Service.Phase("service request"+at, "modify", 0, idled.Sessions)
		service.Rate, service.Arrival = float64(rate), n4load.Constant.String()
		t.Result.N4 = append(t.Result.N4, service)
	}
	return nil
}

// idleFigures are what became of the sessions, delays first.
func idleFigures(x *system.Idled) []report.Figure {
	var list []report.Figure
	for _, p := range []struct {
		name string
		of   float64
	}{{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"max", 100}} {
		if x.Reported > 0 {
			list = append(list, report.Figure{Name: "report delay " + p.name, Unit: "ns", Better: report.Lower, Value: float64(x.Report.ValueAtPercentile(p.of))})
		}
	}
	for _, p := range []struct {
		name string
		ns   int64
	}{
		{"service request p50", x.Service.Latency.ValueAtPercentile(50)}, {"service request p99", x.Service.Latency.ValueAtPercentile(99)},
		{"data delay p50", x.Frames.P50}, {"data delay p99", x.Frames.P99},
	} {
		if p.ns > 0 {
			list = append(list, report.Figure{Name: p.name, Unit: "ns", Better: report.Lower, Value: float64(p.ns)})
		}
	}
	lost := x.Offered - min(x.Offered, x.Received)
	for _, c := range []struct {
		name, unit string
		n          int
	}{
		{"idle, but not reported", "sessions", x.Sessions - x.Reported},
		{"service requests not accepted", "requests", x.Reported - x.Service.Accepted},
		{"data lost", "frames", int(lost)},
		{"data forwarded wrongly", "frames", int(x.Wrong)},
	} {
		list = append(list, report.Figure{Name: c.name, Unit: c.unit, Better: report.Lower, Value: float64(c.n)})
	}
	return append(list, x.Figures...)
}

// Idle has the rules of the cell.
func (c *contender) Idle(ctx context.Context, cell report.LabCell, rate uint64) (*system.Idled, error) {
	return c.system.Idle(ctx, cell.Sessions, c.roster.Rules[cell.Rules], rate)
}
