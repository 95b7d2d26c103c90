package report

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// N4Schema names the version of the form of a load's result. The rules are
// those of [Schema].
const N4Schema = "plumbline.n4/1"

// N4Result is a load of PFCP requests on a UP function.
type N4Result struct {
	Schema  string    `json:"schema"`
	Started time.Time `json:"started"`
	Host    Host      `json:"host"`
	Setup   N4Setup   `json:"setup"`
	Phases  []N4Phase `json:"phases"`
	// Figures are what searches found, and what the sessions were found to be afterwards.
	Figures []Figure `json:"figures,omitempty"`
	// Ended is why it ended before its end; empty: it did not.
	Ended string `json:"ended,omitempty"`
}

// N4Setup is what was asked for, and how it was arranged.
type N4Setup struct {
	UPFunction  string   `json:"up_function"`  // address and port
	CPFunctions []string `json:"cp_functions"` // addresses and ports
	Threads     int      `json:"threads"`      // of the generator
	Pacing      string   `json:"pacing"`       // how it waits, in words
	SpinNS      int64    `json:"spin_ns"`      // how long before a request is due it polls
	T1NS        int64    `json:"t1_ns"`
	N1          int      `json:"n1"`
	Shape       string   `json:"shape"`    // of a session, in words
	Sessions    int      `json:"sessions"` // held when the load began
}

// Names of phases beside the loads.
const (
	N4Fill   = "fill"   // sessions are established before a load
	N4Drain  = "drain"  // they are deleted
	N4Search = "search" // a trial of a search

	N4Interrupted = "interrupted" // a load that ended before its end
)

// Any reports whether anything was measured. r may be nil.
func (r *N4Result) Any() bool { return r != nil && len(r.Phases)+len(r.Figures) > 0 }

// N4Phase is a part of a load: fill, one of the loads that were asked for, a part of one
// whose rate changes, a trial of a search, or drain.
type N4Phase struct {
	Name      string  `json:"name"`
	Operation string  `json:"operation"`           // establish, modify, delete, or the shares of each
	Rate      float64 `json:"intended_per_second"` // 0: a closed loop
	Window    int     `json:"window"`              // of a closed loop
	Arrival   string  `json:"arrival,omitempty"`   // of an open loop: constant, poisson, burst
	Burst     int     `json:"burst,omitempty"`
	WarmUpNS  int64   `json:"warm_up_ns"`
	Held      int     `json:"held"` // sessions at its start

	// Of a UP function that the laboratory runs itself.
	DUT *N4DUT `json:"dut,omitempty"`

	Total      N4Count            `json:"total"`
	Operations map[string]N4Count `json:"operations,omitempty"` // if there was more than one
}

// N4DUT is what a phase cost the UP function, and what it did meanwhile.
type N4DUT struct {
	CPUs             int     `json:"cpus"`               // that it may run on
	Store            string  `json:"store"`              // what keeps its state, empty: nothing
	CPUNSPerRequest  float64 `json:"cpu_ns_per_request"` // user and system time of the process by all requests sent
	OctetsPerSession float64 `json:"octets_per_session"` // growth of its resident set less BPF maps, by sessions held; 0: not known
	ForwardedPPS     float64 `json:"forwarded_pps"`      // packets that it forwarded at the same time
	BedPPS           float64 `json:"bed_pps"`            // the bed limit of the same packets
	FrameLossRatio   float64 `json:"frame_loss_ratio"`
}

// N4Count is what requests came to.
type N4Count struct {
	DurationNS int64 `json:"duration_ns"`

	Intended   int            `json:"intended"`
	Sent       int            `json:"sent"` // at least once
	Accepted   int            `json:"accepted"`
	Refused    map[string]int `json:"refused,omitempty"` // by Cause
	Lost       int            `json:"lost"`              // given up after N1 transmissions
	Repeated   int            `json:"repeated"`          // transmissions after the first
	Duplicates int            `json:"duplicates"`        // responses to what had been answered
	Late       int            `json:"late"`              // responses to what had been given up
	Unexpected int            `json:"unexpected"`        // responses to nothing that was asked
	Malformed  int            `json:"malformed"`         // responses that could not be read
	SendErrors int            `json:"send_errors"`       // transmissions that the socket did not take
	Unsent     int            `json:"unsent"`            // intended, but too many were in flight or no session was left

	AcceptedPerSec float64 `json:"accepted_per_second"`
	// LatencyNS is from the intended send time to the response; in a closed
	// loop from the first transmission.
	LatencyNS N4Latency `json:"latency_ns"`
	// SendDelayNS is from the intended send time to the call that sends: what
	// the generator itself adds to LatencyNS.
	SendDelayNS  N4Latency    `json:"send_delay_ns"`
	LatencyCurve []Percentile `json:"latency_curve,omitempty"`
}

// N4Latency is percentiles of a time in nanoseconds.
type N4Latency struct {
	Min   int64 `json:"min"`
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P99   int64 `json:"p99"`
	P999  int64 `json:"p999"`
	P9999 int64 `json:"p9999"`
	Max   int64 `json:"max"`
}

// RefusedTotal is how many requests were refused, whatever the Cause.
func (c *N4Count) RefusedTotal() int {
	n := 0
	for _, count := range c.Refused {
		n += count
	}
	return n
}

// WriteN4 stores r as JSON, indented, after it has checked it. Errors: those of
// [Write].
func WriteN4(w io.Writer, r *N4Result) error {
	return write(w, r)
}

// Validate reports whether r says what a result must say and nothing that could
// not have been measured.
//
// Errors: [ErrInvalid].
func (r *N4Result) Validate() error {
	if r.Schema != N4Schema {
		return invalid("schema", r.Schema, "want "+N4Schema)
	}
	if len(r.Phases) > maxTrials {
		return invalid("phases", len(r.Phases), "too many")
	}
	if err := first(r.Host.validate(), text("up_function", r.Setup.UPFunction), text("shape", r.Setup.Shape),
		text("pacing", r.Setup.Pacing), between("sessions", float64(r.Setup.Sessions), 0, maxSessions)); err != nil {
		return err
	}
	if err := text("ended", r.Ended); err != nil {
		return err
	}
	for i := range r.Phases {
		if err := r.Phases[i].validate(); err != nil {
			return fmt.Errorf("phase %d: %w", i, err)
		}
	}
	return validateFigures(r.Figures)
}

func (p *N4Phase) validate() error {
	err := first(line("name", p.Name), line("operation", p.Operation), line("arrival", p.Arrival), between("intended_per_second", p.Rate, 0, maxPPS),
		between("window", float64(p.Window), 0, maxSessions), between("burst", float64(p.Burst), 0, maxSessions),
		between("warm_up_ns", float64(p.WarmUpNS), 0, float64(maxLatencyNS)*24), between("held", float64(p.Held), 0, maxSessions),
		p.DUT.validate(), p.Total.validate())
	for name, c := range p.Operations {
		err = first(err, line("operation", name), c.validate())
	}
	return err
}

// validate takes nil: the laboratory does not run the UP function.
func (d *N4DUT) validate() error {
	if d == nil {
		return nil
	}
	return first(between("cpus", float64(d.CPUs), 0, maxCPUs), line("store", d.Store), between("cpu_ns_per_request", d.CPUNSPerRequest, 0, 1e12),
		between("octets_per_session", d.OctetsPerSession, 0, maxMemoryOctets), between("forwarded_pps", d.ForwardedPPS, 0, maxPPS),
		between("bed_pps", d.BedPPS, 0, maxPPS), between("frame_loss_ratio", d.FrameLossRatio, 0, 1))
}

func (c *N4Count) validate() error {
	counts := []int{
		c.Intended, c.Sent, c.Accepted, c.Lost, c.Repeated, c.Duplicates, c.Late, c.Unexpected, c.Malformed, c.SendErrors, c.Unsent,
	}
	for cause, n := range c.Refused {
		if err := line("refused", cause); err != nil {
			return err
		}
		counts = append(counts, n)
	}
	if least := slices.Min(counts); least < 0 || slices.Max(counts) > maxRequests {
		return invalid("counts", least, "want 0 or more, and no more than can be counted")
	}
	answered := c.Accepted + c.RefusedTotal() + c.Malformed
	switch {
	case c.Sent > c.Intended:
		return invalid("sent", c.Sent, fmt.Sprintf("more than the %d intended", c.Intended))
	case answered > c.Sent:
		return invalid("answered", answered, fmt.Sprintf("more than the %d sent", c.Sent))
	}
	return first(between("duration_ns", float64(c.DurationNS), 0, float64(maxLatencyNS)*24),
		between("accepted_per_second", c.AcceptedPerSec, 0, maxPPS), c.LatencyNS.validate(), c.SendDelayNS.validate(), validateCurve(c.LatencyCurve))
}

// maxRequests is more than a load can have.
const maxRequests = 1 << 48
