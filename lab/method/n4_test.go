package method

import (
	"context"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// fakeN4 is a fake whose N4 has a limit that a search finds.
type fakeN4 struct{ *fake }

func (fakeN4) Bed() string { return "" }

func (f fakeN4) N4(_ context.Context, cell report.LabCell, c n4load.Campaign) (*n4load.CampaignResult, error) {
	c.OnStep(report.Step{Name: "load 1 of 1"})
	phase := report.N4Phase{Name: "load", Operation: "modify", Rate: c.Loads[0].Rate, Held: cell.Sessions}
	phase.Total = report.N4Count{Intended: 10, Sent: 10, Accepted: 9, LatencyNS: report.N4Latency{P50: 1000, P99: 2000, P999: 3000}}
	return &n4load.CampaignResult{N4Result: &report.N4Result{
		Phases:  []report.N4Phase{{Name: report.N4Fill, Operation: "establish"}, phase, {Name: report.N4Drain, Operation: "delete"}},
		Figures: []report.Figure{{Name: "requests/s at p99 ≤ 5ms", Unit: "1/s", Better: report.Higher, Value: 7}},
	}}, nil
}

// TestN4 keeps loads and figures of a campaign, without sessions or frames of the run.
func TestN4(t *testing.T) {
	d := &diary{}
	m := N4{Operation: "modify", Campaign: n4load.Campaign{Loads: []n4load.Load{{Rate: 100, Duration: time.Second}}}}
	c := Config{
		Methods: []Method{m}, Repeats: 2, Host: report.Host{}, Systems: []System{fakeN4{&fake{name: "upf", diary: d}}},
		Axes: Axes{Sessions: []int{20}, Frames: []string{""}, Directions: []report.Direction{""}, Access: "uniform"},
	}
	lab, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if cell := lab.Plan.Cells[0]; cell != (report.LabCell{Method: NameN4, Sessions: 20, Load: "modify"}) {
		t.Errorf("cell %+v", cell)
	}
	for _, turn := range lab.Turns {
		found, p99, failed := turn.Figure("requests/s at p99 ≤ 5ms"), turn.Figure("p99 at 100/s"), turn.Figure("not accepted at 100/s")
		if len(turn.N4) != 1 || turn.N4[0].Name != "100/s" || found == nil || found.Value != 7 || p99 == nil || p99.Value != 2000 ||
			failed == nil || failed.Value < 0.099 || failed.Value > 0.101 {
			t.Errorf("turn %+v", turn)
		}
	}
	if len(lab.Turns) != 2 {
		t.Errorf("%d turns, want 2", len(lab.Turns))
	}
	for _, line := range d.lines {
		if line == "upf: establish 20" {
			t.Error("sessions of the run were established")
		}
	}
}
