package slices

import (
	"context"
	"errors"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/internal/histogram"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// modification is the name of the requests sent to the UPFs meanwhile.
const modification = "Session Modification"

// modify has sessions of every UPF modified at a rate for some time. What was asked and
// answered comes by the function that is returned, which waits for the end.
func (s system) modify(ctx context.Context, rate float64, d time.Duration) (wait func() ([]report.SliceN4, error)) {
	if rate == 0 {
		return func() ([]report.SliceN4, error) { return nil, nil }
	}
	load := n4load.Load{Rate: rate, Duration: d, Arrival: n4load.Poisson, Seed: 1}
	load.Shares[n4load.OpModify] = 1
	type answer struct {
		report *n4load.LoadReport
		err    error
	}
	answers := make([]chan answer, len(s))
	for i, b := range s {
		answers[i] = make(chan answer, 1)
		go func() {
			r, err := b.others.Run(ctx, load, nil)
			answers[i] <- answer{r, err}
		}()
	}
	return func() ([]report.SliceN4, error) {
		var list []report.SliceN4
		var errs []error
		for i, b := range s {
			a := <-answers[i]
			if a.err != nil {
				errs = append(errs, a.err)
				continue
			}
			list = append(list, n4Of(b.name, a.report.Operations[n4load.OpModify]))
		}
		return list, errors.Join(errs...)
	}
}

// n4Of is what a CP function saw.
func n4Of(upf string, r *n4load.Report) report.SliceN4 {
	return report.SliceN4{
		UPF: upf, Seen: report.SeenByCP, Message: modification, Count: uint64(r.Accepted), Refused: uint64(r.RefusedTotal()), Lost: uint64(r.Lost),
		Repeats: uint64(r.Repeated), DelayNS: report.LatencyOf(r.Latency), MeanNS: r.Latency.Mean(), Histogram: encode(r.Latency),
	}
}

// encode writes a histogram for a result; one that could not be is left out.
func encode(h *hdrhistogram.Histogram) string {
	text, err := histogram.Encode(h)
	if err != nil {
		return ""
	}
	return text
}
