package n4load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plumbline/pfcp"
)

// Report is what a bulk call came to. Counts are of requests.
type Report struct {
	Intended   int
	Sent       int // at least once
	Accepted   int
	Refused    map[pfcp.Cause]int
	Lost       int           // given up after N1 transmissions
	Repeated   int           // transmissions after the first
	Unexpected int           // responses that nothing waited for: duplicates
	Duration   time.Duration // from the call to the last response

	// Latency has the time from a request's first transmission to its
	// response, in nanoseconds. The client is a closed loop: a slow UP function
	// slows the requests too, so these are response times at a given window,
	// not at a given load.
	Latency *hdrhistogram.Histogram
}

// Range and precision of Latency.
const (
	minLatency        = time.Microsecond
	maxLatency        = time.Minute
	significantDigits = 3
)

func newReport(n int) *Report {
	return &Report{
		Intended: n,
		Refused:  map[pfcp.Cause]int{},
		Latency:  hdrhistogram.New(minLatency.Nanoseconds(), maxLatency.Nanoseconds(), significantDigits),
	}
}

// Rate returns accepted requests per second.
func (r *Report) Rate() float64 {
	if r.Duration <= 0 {
		return 0
	}
	return float64(r.Accepted) / r.Duration.Seconds()
}

func (r *Report) record(d time.Duration) {
	// In range by the clamp, so there is no error.
	_ = r.Latency.RecordValue(min(max(d, minLatency), maxLatency).Nanoseconds())
}
