package correctness

import (
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/stats"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// What steps are expected to take.
const (
	startTime  = 2 * time.Second
	usageTime  = time.Second // of each usage measurement, beside the traffic
	changeTime = 300 * time.Millisecond
)

// step tells that a step begins.
func (b *bed) step(name string, expected time.Duration) {
	if b.OnStep != nil {
		b.OnStep(report.Step{Name: name, Expected: expected, Before: b.spent, Total: b.expected()})
	}
	b.spent += expected
}

// expected is the sum over all steps.
func (b *bed) expected() time.Duration {
	sum := startTime
	directions := time.Duration(len(b.Directions))
	for _, p := range b.Parts {
		switch p {
		case Rates:
			for _, r := range b.Kbps {
				sum += directions * b.rateTime(r)
			}
		case TCP:
			sum += time.Duration(len(b.TCPKbps)) * directions * b.tcpTime()
		case Usage:
			sum += directions * time.Duration(len(usageRates)+len(limitRates)) * (b.Duration + usageTime)
		case Effects:
			sum += time.Duration(len(effectKinds)*b.Repeats) * changeTime
		case Buffers:
			sum += time.Duration(b.Repeats) * changeTime
		case Restarts:
			sum += restartTimes * restartTime
		}
	}
	return sum
}

// median returns that of values and the highest; 0 if there are none.
func median(values []int64) (mid, highest int64) {
	if len(values) == 0 {
		return 0, 0
	}
	return stats.Middle(values), slices.Max(values)
}
