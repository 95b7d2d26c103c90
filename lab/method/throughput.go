package method

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/search"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// Throughput looks for the highest rates that lose no more than its goals allow, all
// of them in one search (MLRsearch). First it offers as much as possible, which says
// where to look.
//
// Source: RFC 9971; RFC 2544, 26.1.
type Throughput struct {
	Goals  []search.Goal // their loss ratios ascend
	Most   time.Duration // of the trial with as much as possible
	Budget time.Duration // of a search; 0: until it is done
	// Binary has the first goal searched as RFC 2544 does it, believing each trial.
	Binary bool
}

// NameThroughput is the name of [Throughput].
const NameThroughput = "throughput"

// figureMax is what is received while as much as possible is sent. RFC 9971 leaves it
// out; CSIT calls it the maximum receive rate.
const figureMax = report.FigureMost

// leastPPS is the lowest rate that is tried: less is no throughput.
const leastPPS = 1000

// Name is "throughput".
func (Throughput) Name() string { return NameThroughput }

// Cells is the point itself.
func (m Throughput) Cells(point report.LabCell) []report.LabCell {
	point.Method = m.Name()
	return []report.LabCell{point}
}

// Options are the goals.
func (m Throughput) Options() map[string]string {
	var goals []string
	for _, g := range m.Goals {
		goals = append(goals, g.String())
	}
	options := map[string]string{"goals": strings.Join(goals, "; "), "search": "MLRsearch, RFC 9971"}
	if m.Binary {
		options["search"] = "binary, RFC 2544"
	}
	if m.Budget > 0 {
		options["search time"] = m.Budget.String()
	}
	return options
}

// FigureThroughput is the name of the throughput that loses no more than a part of the
// frames.
func FigureThroughput(lossRatio float64) string {
	return figureThroughput + lossText(lossRatio)
}

const figureThroughput = "throughput at loss "

// lossText is a loss ratio as people say it: 0, 1e-05, 0.5 %.
func lossText(ratio float64) string {
	if ratio == 0 || ratio < 1e-4 {
		return fmt.Sprintf("%.3g", ratio)
	}
	return fmt.Sprintf("%.3g %%", 100*ratio)
}

// Measure makes the search.
func (m Throughput) Measure(ctx context.Context, t *Turn) error {
	most, err := t.most(ctx, m.Most)
	if err != nil {
		return err
	}
	t.Figure(report.Figure{Name: figureMax, Unit: "pps", Better: report.Higher, Value: sum(most, receivedPPS)})
	result, err := m.search(ctx, t, most)
	if err != nil {
		return err
	}
	for _, g := range result.Goals {
		if g.Irregular == search.OutOfTime && g.Lower == 0 {
			t.Result.Failed = fmt.Sprintf("%s: the time was up before any rate had passed", FigureThroughput(g.LossRatio))
			continue // which is not the same as none
		}
		t.Figure(goalFigure(g, float64(len(most))))
	}
	if trial := t.carried(result.Goals[0].Lower); trial != nil {
		t.cost(trial)
	}
	return nil
}

// most offers as much as possible, again if something else had the sender's CPU
// meanwhile, and returns the trials of which most arrived.
func (t *Turn) most(ctx context.Context, d time.Duration) (best []report.Trial, err error) {
	const tries, bearable = 3, 0.02
	for range tries {
		trials, err := t.Trial(ctx, report.Saturated, system.At(0, d))
		if err != nil {
			return nil, err
		}
		if best == nil || sum(trials, receivedPPS) > sum(best, receivedPPS) {
			best = trials
		}
		if held := sum(trials, func(t *report.Trial) float64 { return float64(t.HeldNS) }); held <= bearable*float64(d) {
			break
		}
	}
	return best, nil
}

// search finds the goals, given the result of the saturated trial.
func (m Throughput) search(ctx context.Context, t *Turn, most []report.Trial) (search.Result, error) {
	highest, start := t.loads(most)
	if m.Binary {
		g := m.Goals[0]
		s := search.Binary{
			Min: leastPPS, Max: highest, LossRatio: g.LossRatio, Width: g.Width, Duration: g.FinalDuration, Tolerated: search.Tolerated,
		}
		return s.Search(ctx, t.outcome)
	}
	s := search.MLR{Goals: m.Goals, Min: leastPPS, Max: highest, Start: start, Budget: m.Budget, Tolerated: search.Tolerated}
	return s.Search(ctx, t.outcome)
}

// bounds are the highest rate to try, and that where to begin, in frames per second of
// the direction that is slower. The highest one is beyond what a sender does that paces
// itself, so that it is not the result.
func bounds(most []report.Trial) (highest, start uint64) {
	const above = 4
	highest = max(leastPPS, uint64(above*lowest(most, offeredPPS)))
	return highest, min(max(leastPPS, uint64(lowest(most, receivedPPS))), highest)
}

// outcome makes a trial of a search. That nothing arrives is an answer, too.
func (t *Turn) outcome(ctx context.Context, trial search.Trial) (search.Outcome, error) {
	began := time.Now()
	trials, err := t.Trial(ctx, report.Search, steady(trial.Load, trial.Duration))
	if err != nil && !errors.Is(err, system.ErrNothing) {
		return search.Outcome{}, err
	}
	o := search.Outcome{Took: time.Since(began)}
	for i := range trials {
		o.Intended += trials[i].IntendedFrames
		o.Sent += trials[i].OfferedFrames
		o.Received += trials[i].ReceivedFrames
		o.Held = max(o.Held, time.Duration(trials[i].HeldNS))
	}
	if len(trials) == 0 {
		return o, err
	}
	t.Say("trial %d: %s for %v, loss %s", len(t.Result.Trials), rateText(trial.Load), trial.Duration, lossText(o.LossRatio(search.Tolerated)))
	return o, nil
}

// rateText is a rate as people say it.
func rateText(pps uint64) string { return fmt.Sprintf("%.1f kpps", float64(pps)/1e3) }

// goalFigure is what a goal came to, for all directions together.
func goalFigure(g search.GoalResult, directions float64) report.Figure {
	f := report.Figure{
		Name: FigureThroughput(g.LossRatio), Unit: "pps", Better: report.Higher,
		Value: directions * g.Throughput, Low: directions * g.Throughput, High: directions * float64(g.Upper), Note: string(g.Irregular),
	}
	if g.Upper == 0 {
		f.Low, f.High = 0, 0
	}
	return f
}

// carried is the last full trial at a rate, of one direction; nil: there is none.
func (t *Turn) carried(rate uint64) []report.Trial {
	var found []report.Trial
	for i := len(t.Result.Trials) - 1; i >= 0; i-- {
		trial := &t.Result.Trials[i]
		if trial.Kind == report.Search && trial.IntendedPPS == float64(rate) {
			found = append(found, *trial)
			if len(found) == t.directions() {
				return found
			}
		}
	}
	return nil
}

// directions is how many trials there are of a load.
func (t *Turn) directions() int {
	if t.Cell.Direction == "" {
		return len(report.Directions)
	}
	return 1
}

// cost keeps what a frame costs of the CPU.
func (t *Turn) cost(trials []report.Trial) {
	received := sum(trials, receivedPPS)
	if received == 0 {
		return
	}
	cpu := trials[0].CPU // of all directions
	t.Figure(report.Figure{Name: "CPU of the process per frame", Unit: "ns", Better: report.Lower, Value: cpu.DUTPercent / 100 * 1e9 / received})
	t.Figure(report.Figure{Name: "CPU of softirq per frame", Unit: "ns", Better: report.Lower, Value: cpu.SoftirqPercent / 100 * 1e9 / received})
}

// Expected is for 8 trials to each goal, which half of them have to themselves.
func (m Throughput) Expected(report.LabCell) time.Duration {
	trials, d := time.Duration(4+4*len(m.Goals)), m.Goals[0].FinalDuration
	if m.Binary {
		trials, d = 10, 2*d
	}
	expected := m.Most + trials*system.At(0, d/2).Time()
	if m.Budget > 0 {
		expected = min(expected, m.Most+m.Budget)
	}
	return expected
}

func sum(trials []report.Trial, of func(*report.Trial) float64) float64 {
	total := 0.0
	for i := range trials {
		total += of(&trials[i])
	}
	return total
}

// lowest is that of the direction that is the slowest.
func lowest(trials []report.Trial, of func(*report.Trial) float64) float64 {
	least := of(&trials[0])
	for i := range trials {
		least = min(least, of(&trials[i]))
	}
	return least
}

func receivedPPS(t *report.Trial) float64 { return t.ReceivedPPS }
func offeredPPS(t *report.Trial) float64  { return t.OfferedPPS }
