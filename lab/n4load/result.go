package n4load

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// Phase puts what a bulk call of a [Population] came to into the form of the
// result. held is how many sessions there were at its start.
func (r *Report) Phase(name, operation string, window, held int) report.N4Phase {
	return report.N4Phase{Name: name, Operation: operation, Window: window, Held: held, Total: r.count()}
}

// Phases puts what a load came to into the form of the result: a phase, or one for each
// part of a ramp, at the rate in the middle of it.
func (r *LoadReport) Phases(name string) []report.N4Phase {
	if len(r.Ramp) == 0 {
		return []report.N4Phase{r.Phase(name)}
	}
	var list []report.N4Phase
	for i, part := range r.Ramp {
		p := r.Phase(name)
		at := (float64(i) + 0.5) / float64(len(r.Ramp))
		p.Rate, p.Operations, p.Total = r.Load.Rate+(r.Load.RateTo-r.Load.Rate)*at, nil, part.count()
		if i > 0 {
			p.WarmUpNS = 0
		}
		list = append(list, p)
	}
	return list
}

// Phase puts what a load came to into the form of the result, as a whole.
func (r *LoadReport) Phase(name string) report.N4Phase {
	l := &r.Load
	p := report.N4Phase{
		Name: name, Rate: l.Rate, Window: l.Window, WarmUpNS: l.WarmUp.Nanoseconds(), Held: r.Held, Total: r.Total.count(),
	}
	if l.Rate > 0 {
		p.Window, p.Arrival = 0, l.Arrival.String()
		if l.Arrival == Burst {
			p.Burst = l.Burst
		}
	}
	used := 0
	var shares []string
	for op, share := range l.Shares {
		shares = append(shares, strconv.FormatFloat(share, 'g', -1, 64))
		if share > 0 {
			used++
			p.Operation = OperationNames[op]
		}
	}
	if used == 1 {
		return p
	}
	p.Operation = strings.Join(shares, ":")
	p.Operations = map[string]report.N4Count{}
	for op, o := range r.Operations {
		if l.Shares[op] > 0 {
			p.Operations[OperationNames[op]] = o.count()
		}
	}
	return p
}

func (r *Report) count() report.N4Count {
	c := report.N4Count{
		DurationNS: r.Duration.Nanoseconds(),
		Intended:   r.Intended, Sent: r.Sent, Accepted: r.Accepted, Lost: r.Lost, Repeated: r.Repeated, Duplicates: r.Duplicates,
		Late: r.Late, Unexpected: r.Unexpected, Malformed: r.Malformed, SendErrors: r.SendErrors, Unsent: r.Unsent,
		AcceptedPerSec: r.Rate(), LatencyNS: report.LatencyOf(r.Latency), SendDelayNS: report.LatencyOf(r.SendDelay),
		LatencyCurve: report.Curve(r.Latency),
	}
	for cause, n := range r.Refused {
		if c.Refused == nil {
			c.Refused = map[string]int{}
		}
		c.Refused[fmt.Sprintf("%s (%d)", cause, uint8(cause))] = n
	}
	return c
}
