package method

import (
	"context"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/search"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// Critical looks for long for the load of which a given part is lost on average, however
// the losses come (PLRsearch). First it offers as much as possible, which says where to
// look.
//
// Source: draft-vpolak-bmwg-plrsearch-03.
type Critical struct {
	LossRatio float64       // above 0
	Most      time.Duration // of the trial with as much as possible
	First     time.Duration // of the first trial of the search
	Budget    time.Duration // of the search
}

// NameCritical is the name of [Critical].
const NameCritical = "plrsearch"

// Name is "plrsearch".
func (Critical) Name() string { return NameCritical }

// Cells is the point itself.
func (m Critical) Cells(point report.LabCell) []report.LabCell {
	point.Method = m.Name()
	return []report.LabCell{point}
}

// Options say what is looked for, and how long.
func (m Critical) Options() map[string]string {
	return map[string]string{"plrsearch": fmt.Sprintf("loss ratio %g, %v, the first trial %v", m.LossRatio, m.Budget, m.First)}
}

// Expected is the time that the search may take.
func (m Critical) Expected(report.LabCell) time.Duration {
	return system.At(0, m.Most).Time() + m.Budget
}

// longer is the part of the first trial by which each one is longer than the one before,
// as in CSIT: 0.1 s of 5.1 s.
const longer = 50

// Measure makes the search.
func (m Critical) Measure(ctx context.Context, t *Turn) error {
	most, err := t.most(ctx, m.Most)
	if err != nil {
		return err
	}
	highest, _ := t.loads(most)
	s := search.Soak{
		Min: leastPPS, Max: highest, LossRatio: m.LossRatio, First: m.First, Longer: m.First / longer, Budget: m.Budget,
		Tolerated: search.Tolerated,
	}
	r, err := s.Search(ctx, t.outcome)
	if err != nil {
		return err
	}
	directions := float64(len(most))
	f := report.Figure{
		Name: "critical load at loss " + lossText(m.LossRatio), Unit: "pps", Better: report.Higher, Value: directions * r.Load.Mean,
		Low: directions * max(0, r.Load.Mean-r.Load.Deviation), High: directions * (r.Load.Mean + r.Load.Deviation),
	}
	t.Figure(f)
	for i, shape := range []string{"stretch", "erf"} {
		f.Name, f.Value = "critical load if the loss has the shape "+shape, directions*r.Fits[i].Mean
		f.Low, f.High = directions*max(0, r.Fits[i].Mean-r.Fits[i].Deviation), directions*(r.Fits[i].Mean+r.Fits[i].Deviation)
		f.Better = ""
		t.Figure(f)
	}
	return nil
}
