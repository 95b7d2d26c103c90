package method

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/internal/stats"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/search"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// BackToBack looks for the longest burst of frames, sent as fast as possible, of which
// none is lost. The mean of several searches, and the throughput that an earlier turn at
// the same point of the axes has found, say how long buffers hold frames.
//
// Source: RFC 9004.
type BackToBack struct {
	Tests int           // searches in a turn
	Most  time.Duration // of the longest burst that is tried, at the highest rate
	Step  uint64        // frames: how close a search comes
}

// NameBackToBack is the name of [BackToBack].
const NameBackToBack = "backtoback"

// burstKind is that of its trials.
const burstKind report.Kind = "burst"

const (
	burstRetries = 2               // of a burst that lost frames, which a busy machine may have lost
	burstTime    = 2 * time.Second // at most, beyond that of the highest rate
)

// Name is "backtoback".
func (BackToBack) Name() string { return NameBackToBack }

// Cells is the point itself.
func (m BackToBack) Cells(point report.LabCell) []report.LabCell {
	point.Method = m.Name()
	return []report.LabCell{point}
}

// Options are those of the search.
func (m BackToBack) Options() map[string]string {
	return map[string]string{
		"bursts": fmt.Sprintf("up to %v, to %d frames, %d times again before a loss is believed; %d searches", m.Most, m.Step, burstRetries, m.Tests),
	}
}

// Expected is for a dozen bursts of a search.
func (m BackToBack) Expected(report.LabCell) time.Duration {
	return m.Most + time.Duration(m.Tests)*12*system.At(0, m.Most/2).Time()
}

// Measure makes the searches.
func (m BackToBack) Measure(ctx context.Context, t *Turn) error {
	if t.directions() > 1 {
		return errors.New("bursts are of one direction")
	}
	most, err := t.most(ctx, m.Most)
	if err != nil {
		return err
	}
	longest := uint64(receivedPPS(&most[0]) * m.Most.Seconds())
	b := search.Burst{Min: 1, Max: max(longest, m.Step), Step: m.Step, Retries: burstRetries}
	var lengths, rates []float64
	note := ""
	for i := range m.Tests {
		r, err := b.Search(ctx, func(ctx context.Context, frames uint64) (search.Outcome, error) {
			return m.burst(ctx, t, frames, &rates)
		})
		if err != nil {
			return err
		}
		lengths = append(lengths, float64(r.Longest))
		note = string(r.Irregular)
		t.Say("search %d: %d frames", i+1, r.Longest)
	}
	m.figures(t, average(lengths), stats.Median(rates), note)
	return nil
}

// burst sends so many frames, and notes how fast they were sent.
func (m BackToBack) burst(ctx context.Context, t *Turn, frames uint64, rates *[]float64) (search.Outcome, error) {
	l := system.Load{Frames: frames, Duration: m.Most + burstTime, Realtime: true}
	trials, err := t.Trial(ctx, burstKind, l)
	if err != nil && !errors.Is(err, system.ErrNothing) || len(trials) == 0 {
		return search.Outcome{}, err
	}
	*rates = append(*rates, trials[0].OfferedPPS)
	return search.Outcome{
		Intended: frames, Sent: trials[0].OfferedFrames, Received: trials[0].ReceivedFrames, Held: time.Duration(trials[0].HeldNS),
	}, nil
}

func average(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total / float64(len(values))
}

// figures are the mean length, and the times that follow from it.
func (m BackToBack) figures(t *Turn, frames, rate float64, note string) {
	t.Figure(report.Figure{Name: "longest burst", Unit: "frames", Better: report.Higher, Value: frames, Note: note})
	t.Figure(report.Figure{Name: "rate of bursts", Unit: "pps", Value: rate})
	if rate == 0 {
		return
	}
	throughput := t.throughput(t.System.Name()) // 0: none was searched
	implied, corrected := search.BufferTimes(frames, rate, throughput)
	t.Figure(report.Figure{Name: "buffer time, implied", Unit: "ns", Better: report.Higher, Value: float64(implied), Note: note})
	if throughput > 0 {
		t.Figure(report.Figure{Name: "buffer time, corrected", Unit: "ns", Better: report.Higher, Value: float64(corrected), Note: note})
	}
}
