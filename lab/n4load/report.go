package n4load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Report is what the requests of one kind came to. Counts are of requests.
type Report struct {
	Intended   int
	Sent       int // at least once
	Accepted   int
	Refused    map[pfcp.Cause]int
	Lost       int           // given up after N1 transmissions
	Repeated   int           // transmissions after the first
	Duplicates int           // responses to what had been answered
	Late       int           // responses to what had been given up
	Unexpected int           // responses to nothing that was asked for, or of the wrong type
	Malformed  int           // responses that could not be read, or did not say what they must
	SendErrors int           // transmissions that the socket did not take; repeated by T1
	Unsent     int           // not sent because too many were in flight, or no session was left for them
	Duration   time.Duration // of a bulk call: to the last response; of a load: what was measured

	// Latency has the time to the response, in nanoseconds. In an open loop it
	// counts from the intended send time. In a closed loop from the first
	// transmission: a slow UP function slows the requests too, so these are
	// response times at a given window, not at a given load.
	Latency *hdrhistogram.Histogram
	// SendDelay has the time from the intended send time to the call that
	// sends, in nanoseconds: what the generator itself adds to Latency.
	SendDelay *hdrhistogram.Histogram
}

// Range and precision of the histograms.
const (
	minLatency        = 100 * time.Nanosecond
	maxLatency        = time.Minute
	significantDigits = 3
)

func newReport() *Report {
	return &Report{
		Refused:   map[pfcp.Cause]int{},
		Latency:   newHistogram(),
		SendDelay: newHistogram(),
	}
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(minLatency.Nanoseconds(), maxLatency.Nanoseconds(), significantDigits)
}

// Rate returns accepted requests per second.
func (r *Report) Rate() float64 {
	if r.Duration <= 0 {
		return 0
	}
	return float64(r.Accepted) / r.Duration.Seconds()
}

// RefusedTotal is how many requests were refused, whatever the Cause.
func (r *Report) RefusedTotal() int {
	n := 0
	for _, count := range r.Refused {
		n += count
	}
	return n
}

// Add adds what another thread, or another kind of requests, came to at the
// same time.
func (r *Report) Add(o *Report) {
	r.Intended += o.Intended
	r.Sent += o.Sent
	r.Accepted += o.Accepted
	r.Lost += o.Lost
	r.Repeated += o.Repeated
	r.Duplicates += o.Duplicates
	r.Late += o.Late
	r.Unexpected += o.Unexpected
	r.Malformed += o.Malformed
	r.SendErrors += o.SendErrors
	r.Unsent += o.Unsent
	r.Duration = max(r.Duration, o.Duration)
	for cause, n := range o.Refused {
		r.Refused[cause] += n
	}
	r.Latency.Merge(o.Latency)
	r.SendDelay.Merge(o.SendDelay)
}

// record puts d into a histogram.
func record(h *hdrhistogram.Histogram, d time.Duration) {
	// In range by the clamp, so there is no error.
	_ = h.RecordValue(min(max(d, minLatency), maxLatency).Nanoseconds())
}
