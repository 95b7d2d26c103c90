package report

import (
	"fmt"
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/internal/plainjson"
)

// CorrectnessSchema names the version of the form of a [Correctness]. The rules
// are those of [Schema].
const CorrectnessSchema = "plumbline.correctness/1"

// Correctness is how far a UPF is from what its rules say.
type Correctness struct {
	Schema        string          `json:"schema"`
	Started       time.Time       `json:"started"`
	Host          Host            `json:"host"`
	System        string          `json:"system"`             // title of the DUT
	Version       string          `json:"version,omitempty"`  // of the DUT
	Datapath      string          `json:"datapath,omitempty"` // of the DUT, if it is ours
	Configuration string          `json:"configuration"`      // of the DUT
	Rates         []RateFigure    `json:"rates"`
	Volumes       []VolumeFigure  `json:"volumes"`
	Limits        []LimitFigure   `json:"limits"`
	Effects       []EffectFigure  `json:"effects"`
	Buffers       []BufferFigure  `json:"buffers"`
	Restarts      []RestartFigure `json:"restarts"`
	// NotEnforced are rules that the DUT is known not to enforce, or to enforce wrongly: one
	// sentence each.
	NotEnforced []string `json:"not_enforced,omitempty"`
	// UnenforcedBy are frames that were wrong in nothing else, as [Trial] has them.
	UnenforcedBy map[string]uint64 `json:"unenforced_by,omitempty"`
	// Unmeasured is what the DUT refused, or accepted and did not do.
	Unmeasured []Unmeasured `json:"unmeasured,omitempty"`
}

// Any reports whether r has figures, or says why there is none. r may be nil.
func (r *Correctness) Any() bool {
	return r != nil && len(r.Rates)+len(r.Volumes)+len(r.Limits)+len(r.Effects)+len(r.Buffers)+len(r.Restarts)+len(r.Unmeasured) > 0
}

// Unmeasured says why there is no figure.
type Unmeasured struct {
	Part string `json:"part"`
	What string `json:"what"`
	Why  string `json:"why"`
}

// RateFigure is an MBR, and what passed of more than that. Rates are of user
// packets, from their IP header on.
type RateFigure struct {
	Direction    Direction `json:"direction"`
	Protocol     string    `json:"protocol"` // UDP, of the generator; TCP, of iperf3
	AskedBPS     float64   `json:"asked_bps"`
	OfferedBPS   float64   `json:"offered_bps"` // 0: as much as there can be, which TCP finds out
	PassedBPS    float64   `json:"passed_bps"`
	ErrorPercent float64   `json:"error_percent"` // of PassedBPS, below 0: less than asked
	PacketOctets int       `json:"packet_octets"` // of the user packets; 0: TCP's
	DurationNS   int64     `json:"duration_ns"`
	// FreeBPS is what passed of the same without an MBR, which is measured where the error is
	// large; 0: it was not.
	FreeBPS float64 `json:"free_bps,omitempty"`
	// Reached is whether more was offered than asked, and the UPF carries more than that
	// without an MBR: else nothing is known, and there is no error.
	Reached bool `json:"reached"`
	// NotEnforced is whether the MBR was exceeded by as much as without one: there is no error of
	// it then.
	NotEnforced bool `json:"not_enforced,omitempty"`
}

// Judge takes what passed of the same without an MBR: a loss of the UPF's is no error of its
// MBR. alike is the part of what exceeds the MBR then from which on the MBR has changed nothing.
func (f *RateFigure) Judge(freeBPS, alike float64) {
	f.FreeBPS = freeBPS
	switch excess := f.PassedBPS - f.AskedBPS; {
	case freeBPS < f.AskedBPS*atLeast, excess > 0 && freeBPS < f.AskedBPS*clearly:
		f.Reached, f.ErrorPercent = false, 0
	case excess > 0 && excess >= alike*(freeBPS-f.AskedBPS):
		f.NotEnforced, f.ErrorPercent = true, 0
	}
}

// atLeast is how much more than the MBR must be offered for it to be reached, and clearly what
// must pass without it to tell one that is exceeded from one that is not enforced.
const (
	atLeast = 1.02
	clearly = 1.04
)

// Unknown says in words why nothing is known of how right the MBR is; empty: something is.
func (f *RateFigure) Unknown() string {
	switch {
	case f.NotEnforced:
		return "not enforced"
	case !f.Reached && f.FreeBPS > 0 && f.PassedBPS > f.AskedBPS:
		return "not known"
	case !f.Reached && f.FreeBPS > 0:
		return "lost without it"
	case !f.Reached:
		return "not reached"
	}
	return ""
}

// VolumeFigure is what a URR counted beside what arrived behind the UPF.
type VolumeFigure struct {
	Direction      Direction `json:"direction"`
	AskedPPS       uint64    `json:"asked_pps"` // 0: as much as possible
	RatePPS        float64   `json:"rate_pps"`  // that was forwarded
	MBR            bool      `json:"mbr"`       // while a QER dropped a part
	ReportedOctets uint64    `json:"reported_octets"`
	MeteredOctets  uint64    `json:"metered_octets"`
	ErrorPPM       float64   `json:"error_ppm"`
}

// LimitFigure is a Volume Threshold or Quota under traffic.
type LimitFigure struct {
	Kind           string    `json:"kind"` // threshold, quota
	Direction      Direction `json:"direction"`
	AskedPPS       uint64    `json:"asked_pps"` // 0: as much as possible
	RatePPS        float64   `json:"rate_pps"`  // that was offered
	PacketOctets   int       `json:"packet_octets"`
	AskedOctets    uint64    `json:"asked_octets"`
	ReportedOctets uint64    `json:"reported_octets"`
	PassedOctets   uint64    `json:"passed_octets"` // quota: in all, by the meter
	// OverPackets is by how many user packets the threshold was passed when it
	// was reported, or the quota by what was forwarded.
	OverPackets float64 `json:"over_packets"`
	DelayNS     int64   `json:"delay_ns"` // threshold: from the packet that reached it to the report; 0: not measured
}

// EffectFigure is a change of a FAR under traffic, done Repeats times.
type EffectFigure struct {
	Kind    string  `json:"kind"` // drop, forward, path switch
	RatePPS float64 `json:"rate_pps"`
	Repeats int     `json:"repeats"`
	// OldAfter is how many packets were sent after the CP function had the
	// response, and treated by the old rule all the same.
	OldAfter int `json:"old_after_packets"`
	// LastOldNS is when the last such packet was sent, or the last packet
	// of the old rule at all, after the response: below 0 it was before. Median, and
	// the highest.
	LastOldNS    int64 `json:"last_old_ns"`
	LastOldMaxNS int64 `json:"last_old_max_ns"`
	// Of a path switch:
	Lost       int   `json:"lost_packets"`
	Reordered  int   `json:"reordered_packets"`
	GapNS      int64 `json:"gap_ns"` // from the last packet in the old tunnel to the first in the new one, median
	GapMaxNS   int64 `json:"gap_max_ns"`
	EndMarkers int   `json:"end_markers"` // that came after the last packet in the old tunnel, and before nothing else there
}

// BufferFigure is buffering for an idle UE, and its release, done Repeats times.
type BufferFigure struct {
	RatePPS     float64 `json:"rate_pps"`
	Repeats     int     `json:"repeats"`
	Frames      int     `json:"frames"`   // sent in all
	Buffered    int     `json:"buffered"` // of them, released ones
	Lost        int     `json:"lost_packets"`
	Reordered   int     `json:"reordered_packets"`
	Duplicated  int     `json:"duplicated_packets"`
	NoticeNS    int64   `json:"notice_ns"` // from the first packet to the Downlink Data Report, median
	NoticeMaxNS int64   `json:"notice_max_ns"`
}

// RestartFigure is a UPF that is killed under traffic and started again, done Repeats
// times. The CP function associates and establishes the session again a moment
// after N4 answers.
type RestartFigure struct {
	RatePPS     float64 `json:"rate_pps"`
	Repeats     int     `json:"repeats"`
	ReadyNS     int64   `json:"ready_ns"` // from the kill until N4 answers, median
	ReadyMaxNS  int64   `json:"ready_max_ns"`
	OutageNS    int64   `json:"outage_ns"` // the longest time without a packet, median
	OutageMaxNS int64   `json:"outage_max_ns"`
	Lost        int     `json:"lost_packets"` // of all repeats
	Kept        int     `json:"kept"`         // how often packets flowed before the session was established again
}

// WriteCorrectness stores r.
func WriteCorrectness(w io.Writer, r *Correctness) error {
	if err := plainjson.Write(w, r); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
