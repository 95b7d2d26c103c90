package method

import (
	"context"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// fakeIdle is a fake that reports data for all but one session.
type fakeIdle struct{ *fake }

func (fakeIdle) Bed() string { return "" }

func (fakeIdle) Idle(_ context.Context, cell report.LabCell, rate uint64) (*system.Idled, error) {
	x := &system.Idled{
		Sessions: cell.Sessions, Reported: cell.Sessions - 1, Report: hdrhistogram.New(1, 1e9, 3), Frames: report.Latency{P50: 7, P99: 9},
		Offered: uint64(cell.Sessions), Received: uint64(cell.Sessions) - 2,
		Release: &n4load.Report{Latency: hdrhistogram.New(1, 1e9, 3), SendDelay: hdrhistogram.New(1, 1e9, 3)},
		Service: &n4load.Report{Accepted: cell.Sessions - 1, Latency: hdrhistogram.New(1, 1e9, 3), SendDelay: hdrhistogram.New(1, 1e9, 3)},
		Figures: []report.Figure{{Name: "standing, but not forwarded uplink", Unit: "sessions", Better: report.Lower}},
	}
	x.Service.Intended, x.Service.Sent = x.Service.Accepted, x.Service.Accepted
	return x, x.Report.RecordValue(int64(rate))
}

// TestN4Idle wants figures of each rate, in a result that can be written.
func TestN4Idle(t *testing.T) {
	lab, err := Run(t.Context(), Config{
		Methods: []Method{N4Idle{Rates: []uint64{100, 2000}}}, Repeats: 1, Host: report.Host{CPUs: 1}, Systems: []System{fakeIdle{&fake{name: "upf", diary: &diary{}}}},
		Axes: Axes{Sessions: []int{20}, Frames: []string{""}, Directions: []report.Direction{""}, Access: "uniform"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Validate(); err != nil {
		t.Error(err)
	}
	if cell := lab.Plan.Cells[0]; cell != (report.LabCell{Method: NameN4, Sessions: 20, Load: IdleActive}) || len(lab.Turns) != 1 {
		t.Fatalf("cell %+v, %d turns", cell, len(lab.Turns))
	}
	turn := &lab.Turns[0]
	for name, want := range map[string]float64{
		"report delay p99 at 100/s": 100, "report delay max at 2000/s": 2000, "idle, but not reported at 100/s": 1, "data lost at 2000/s": 2,
		"service requests not accepted at 100/s": 0, "data delay p99 at 100/s": 9, "standing, but not forwarded uplink at 2000/s": 0,
	} {
		if f := turn.Figure(name); f == nil || f.Value != want {
			t.Errorf("%s: got %+v, want %g", name, f, want)
		}
	}
	if len(turn.N4) != 4 || turn.N4[3].Rate != 2000 {
		t.Errorf("got phases %+v, want a release and service requests of each rate", turn.N4)
	}
}
