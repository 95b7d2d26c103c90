// Package report is what a measurement leaves behind: the schemas of results, and the tables,
// pages and exports made from them.
//
// A [Lab] goes one way through it: package method fills it, [Lab.Validate] checks it, [WriteLab]
// stores it, [LabTable] and [LabHTML] show it. Nothing is computed that is not in the file, except
// medians and spreads over the repeats.
//
// Units are in the names: `_pps` frames per second, `_bps` bits per second of
// whole frames (from the Ethernet header to the end of the payload, without
// preamble, frame check sequence and gap), `_octets`, `_ns` nanoseconds,
// `_percent` where 100 is one CPU, `_ratio` from 0 to 1.
package report

import "time"

// Direction is the way of the frames through the UPF: uplink is N3 to N6.
type Direction string

// The directions, in the order in which they are shown.
const (
	Uplink   Direction = "uplink"
	Downlink Direction = "downlink"
)

// Directions lists them in the order in which they are shown.
var Directions = []Direction{Uplink, Downlink}

// Host is the machine and the software that the figures belong to.
type Host struct {
	OS           string `json:"os"`     // PRETTY_NAME of /etc/os-release
	Kernel       string `json:"kernel"` // release of uname(2)
	Arch         string `json:"arch"`
	CPUModel     string `json:"cpu_model"`
	CPUs         int    `json:"cpus"` // that the process may run on
	MemoryOctets uint64 `json:"memory_octets"`
	BPFJIT       string `json:"bpf_jit"`    // whether the JIT is on, and its hardening where it is known
	SpectreV2    string `json:"spectre_v2"` // the mitigation in force: it prices every indirect call
	GoVersion    string `json:"go_version"` //
	Version      string `json:"version"`    // of plumb
	Commit       string `json:"commit"`     // that plumb was built from; "+dirty" if changed since
	CommandLine  string `json:"command_line"`
}

// Install is how the sessions got into the DUT, over PFCP: all of a run, which
// may have measured with fewer at first.
type Install struct {
	Sessions       int     `json:"sessions"`
	DurationNS     int64   `json:"duration_ns"`
	SessionsPerSec float64 `json:"sessions_per_second"`
	// LatencyNS is from a request's first transmission to its response, of the
	// last number of sessions; the client is a closed loop.
	LatencyNS        Latency `json:"latency_ns"`
	RequestsRepeated int     `json:"requests_repeated"` // by T1
	// DUTMemoryOctets is the resident set of the DUT's process after the
	// sessions were installed, DUTMemoryBeforeOctets that before. The memory of
	// BPF maps that are not mapped into it is not in them.
	DUTMemoryOctets       uint64 `json:"dut_memory_octets"`
	DUTMemoryBeforeOctets uint64 `json:"dut_memory_before_octets"`
	// MapMemoryOctets is what the DUT's BPF maps occupy by the kernel's account.
	MapMemoryOctets uint64 `json:"map_memory_octets"`
}

// Kind says what a trial is for.
type Kind string

// The kinds of trial.
const (
	// Throughput trials are those of plumbline.result/1 at the highest rate.
	Throughput Kind = "throughput"
	// Paced trials offer a part of the throughput, so that latency is that of
	// the path and not that of the sender's waiting.
	Paced Kind = "paced"
	// Saturated trials offer as much as possible.
	Saturated Kind = "saturated"
	// Search trials are those of the search for the throughput.
	Search Kind = "search"
)

// Trial is one measurement of the DUT.
type Trial struct {
	DUT       string    `json:"dut"`
	Datapath  string    `json:"datapath"`
	Direction Direction `json:"direction"`
	Sessions  int       `json:"sessions"`
	Access    string    `json:"access"` // which session each frame belongs to: same, uniform, zipf
	// FrameOctets is the length of a frame as it is offered. What is received
	// is shorter (uplink) or longer (downlink) by the outer headers.
	FrameOctets  int     `json:"frame_octets"`
	IntendedPPS  float64 `json:"intended_pps"` // 0: as fast as possible
	OfferedPPS   float64 `json:"offered_pps"`
	ReceivedPPS  float64 `json:"received_pps"`
	ReceivedBPS  float64 `json:"received_bps"`
	LossRatio    float64 `json:"loss_ratio"` // of the offered frames
	Misdelivered uint64  `json:"misdelivered"`
	Duplicated   uint64  `json:"duplicated"`
	// MisdeliveredBy is Misdelivered by the first thing that was wrong with a frame, as
	// package meter names it: teid, ue, qfi. Absent if there are none.
	MisdeliveredBy map[string]uint64 `json:"misdelivered_by,omitempty"`
	// UnenforcedBy are frames that are wrong only in what the UPF is known not to enforce,
	// named as those of MisdeliveredBy, of which they are none. Absent if there are none.
	UnenforcedBy map[string]uint64 `json:"unenforced_by,omitempty"`
	// Reordered frames came after one that was sent later, of whichever session. What
	// came so late that it may be a duplicate is among them, and counts as lost.
	Reordered uint64 `json:"reordered"`
	// BedRatio is ReceivedPPS by that of the bed trial of the same sessions and
	// repeat; of a paced trial by the median of that of all repeats.
	BedRatio  float64 `json:"bed_ratio"`
	LatencyNS Latency `json:"latency_ns"`
	CPU       CPU     `json:"cpu"`

	Kind           Kind    `json:"kind"`
	Repeat         int     `json:"repeat"`
	XDPMode        string  `json:"xdp_mode"` // native, generic, or empty for a datapath without XDP
	DurationNS     int64   `json:"duration_ns"`
	OfferedFrames  uint64  `json:"offered_frames"`
	ReceivedFrames uint64  `json:"received_frames"`
	OfferedBPS     float64 `json:"offered_bps"`
	// CostNS is what the DUT adds to each frame: 1/received_pps of this trial
	// less that of the bed trial of the same repeat. Absent where the rate was
	// not limited by the path, as in paced trials.
	CostNS *float64 `json:"cost_ns,omitempty"`
	// Drops is what the DUT says it dropped during the trial, by reason.
	Drops map[string]uint64 `json:"drops,omitempty"`
	// LatencyCurve is the latency by percentile, ascending.
	LatencyCurve []Percentile `json:"latency_curve,omitempty"`

	// Of trials of a [Lab].

	Started time.Time `json:"started,omitzero"` // after the warm-up
	// IntendedFrames is how many there are at the intended rate; 0: as many as possible.
	IntendedFrames uint64 `json:"intended_frames,omitempty"`
	// SentFrames is how many of OfferedFrames the sender's device took, where that is
	// told apart; 0: it is not. The others count as lost, as RFC 2544 and MLRsearch
	// have it: nobody knows whether the DUT would have forwarded them.
	SentFrames uint64 `json:"sent_frames,omitempty"`
	Realtime   bool   `json:"realtime,omitempty"` // sent from a real-time thread
	// HeldNS is how long the sender was ready to send, but something else had its CPU.
	HeldNS int64 `json:"held_ns,omitempty"`
	// Churn is of other sessions, that came, changed and went while the frames flowed.
	Churn *N4Phase `json:"churn,omitempty"`
	// GapNS is the longest time between two arrivals, of any stream.
	GapNS int64 `json:"gap_ns,omitempty"`
	// Streams is what became of each stream of the traffic profile, if there are several.
	Streams []StreamTrial `json:"streams,omitempty"`
	// LatencyHistogram has every latency, in nanoseconds: see [histogram.Encode].
	LatencyHistogram string `json:"latency_histogram,omitempty"`
	// Stamped is what time stamps of the kernel or of the devices say, if frames had any.
	Stamped *Stamped `json:"stamped,omitempty"`
	// Phase is which part of a turn the trial is, of methods that have such: before,
	// during, after.
	Phase string `json:"phase,omitempty"`
	// Memory is what the DUT occupies when the trial is over, of methods that look.
	Memory *Memory `json:"memory,omitempty"`
	// Series is how the trial went, of methods that keep it.
	Series []Slot `json:"series,omitempty"`
}

// Stamped is latency from when a frame left its device to when it came to the other one, of
// a sample of the frames.
type Stamped struct {
	By             string `json:"by"`              // software (the kernel, at the driver) or hardware (the devices)
	AskedFrames    uint64 `json:"asked_frames"`    // of the offered ones, those that were to be stamped
	SentFrames     uint64 `json:"sent_frames"`     // of these, have a stamp of when they left
	ReceivedFrames uint64 `json:"received_frames"` // have one of when they arrived
	// BackwardFrames have both, and arrived before they left: somebody set the clock
	// meanwhile. They are in no latency.
	BackwardFrames   uint64  `json:"backward_frames,omitempty"`
	Frames           uint64  `json:"frames"` // that the latency is of
	LatencyNS        Latency `json:"latency_ns"`
	LatencyHistogram string  `json:"latency_histogram,omitempty"` // as that of the trial
}

// StreamTrial is what became of one of the streams of a [Trial], of the same fields.
type StreamTrial struct {
	Name             string            `json:"name"`
	OfferedFrames    uint64            `json:"offered_frames"`
	ReceivedFrames   uint64            `json:"received_frames"`
	OfferedPPS       float64           `json:"offered_pps"`
	ReceivedPPS      float64           `json:"received_pps"`
	ReceivedBPS      float64           `json:"received_bps"`
	LossRatio        float64           `json:"loss_ratio"`
	Misdelivered     uint64            `json:"misdelivered"`
	MisdeliveredBy   map[string]uint64 `json:"misdelivered_by,omitempty"`
	UnenforcedBy     map[string]uint64 `json:"unenforced_by,omitempty"`
	Duplicated       uint64            `json:"duplicated"`
	Reordered        uint64            `json:"reordered"`
	LatencyNS        Latency           `json:"latency_ns"`
	LatencyHistogram string            `json:"latency_histogram,omitempty"`
	Series           []Slot            `json:"series,omitempty"` // as that of the trial
}

// Latency is one-way, from the frame's intended send time to its arrival at the
// meter.
type Latency struct {
	Min  int64 `json:"min"`
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`

	// Absent where they were not measured, as in results of one UPF.

	P9999 int64 `json:"p9999,omitempty"`
	Mean  int64 `json:"mean,omitempty"`
	// PDV is P999 less Min. Source: RFC 8219, 7.3.1; RFC 5481, 4.2.
	PDV int64 `json:"pdv,omitempty"`
	// Variation is the mean of the absolute differences between the latencies of
	// frames that follow each other. Source: RFC 5481, 4.1.
	Variation int64 `json:"variation,omitempty"`
}

// Percentile is one point of a latency curve.
type Percentile struct {
	Percentile float64 `json:"percentile"` // 0 to 100
	NS         int64   `json:"ns"`
}

// CPU is the time that CPUs spent during a trial; 100 % is one CPU.
type CPU struct {
	DUTPercent     float64 `json:"dut_percent"`     // the DUT's process, user and system
	SoftirqPercent float64 `json:"softirq_percent"` // all CPUs: where XDP runs
	SystemPercent  float64 `json:"system_percent"`  // all CPUs: where the generator runs
	BusyPercent    float64 `json:"busy_percent"`    // all CPUs, everything but idle and waiting for I/O
}

// Memory is what the DUT's processes occupy, by the kernel's account.
type Memory struct {
	// ResidentOctets is the resident set, AnonymousOctets what of it is the processes' own:
	// heap and stacks.
	ResidentOctets  uint64 `json:"resident_octets"`
	AnonymousOctets uint64 `json:"anonymous_octets"`
	MapOctets       uint64 `json:"map_octets,omitempty"` // BPF maps
}

// The names of beds among the systems: of one whose program redirects frames, and of one whose
// program redirects socket buffers.
const (
	SystemBed   = "bed"
	SystemBedTC = "bed tc"
)

// isBed reports whether a system is no UPF.
func isBed(system string) bool { return system == SystemBed || system == SystemBedTC }

// PathMemory is the memory of a UPF with its sessions installed, before any packet.
type PathMemory struct {
	Sessions       int     `json:"sessions"`
	ResidentOctets uint64  `json:"resident_octets"`    // of the process, as far as it touched what it has mapped
	MapOctets      uint64  `json:"map_octets"`         // of its BPF maps, by the kernel's account
	InstallPerSec  float64 `json:"install_per_second"` // sessions over PFCP, all so far
}
