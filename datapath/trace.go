package datapath

import (
	"errors"
	"net/netip"
	"time"
)

// Tracer is a [Driver] that can show what becomes of chosen packets.
type Tracer interface {
	// Trace starts a trace. It costs other packets next to nothing, and ends with
	// [Trace.Close].
	//
	// Errors: [ErrTraces] if there are [MaxTraces], [ErrClosed], and what is wrong
	// with f.
	Trace(f TraceFilter) (Trace, error)
}

// Limits of traces.
const (
	MaxTraces    = 4    // at once
	MaxTraceKeys = 16   // TEIDs, IPv4 addresses, and IPv6 prefixes of a trace
	MaxTraceSnap = 2048 // octets of a frame
	MaxTraceRate = 20_000
)

// ErrTraces says that there are as many traces as there can be.
var ErrTraces = errors.New("as many traces as there can be at once")

// Trace is a trace that runs. Its methods may be called by several goroutines.
type Trace interface {
	// Packets yields what was seen, until the trace is closed. What nobody takes
	// in time is lost, and counted.
	Packets() <-chan *TracePacket
	// Retarget makes the trace one of other TEIDs and UE addresses.
	Retarget(t TraceTargets) error
	// Counts says how much was seen so far, and how much of it is not shown.
	Counts() TraceCounts
	// Close ends the trace. To close it again does nothing.
	Close()
}

// TraceFilter says which packets a trace wants: those of any target, those that
// end for one of the reasons, or all.
type TraceFilter struct {
	TraceTargets
	Reasons []Reason
	All     bool // but what is left to the host: PassHost
	Sample  int  // one in so many of them; 1: each
	Rate    int  // at most so many a second, 1 to MaxTraceRate
	Snap    int  // octets of each frame that are kept, 1 to MaxTraceSnap
}

// TraceTargets are whose packets a trace wants: at most [MaxTraceKeys] of each.
type TraceTargets struct {
	TEIDs []uint32     // G-PDUs that arrive with them
	UEs   []netip.Addr // user packets from and to them; of IPv6 the first 64 bits count
}

// TraceCounts are numbers of packets since the trace was started.
type TraceCounts struct {
	Wanted  uint64 `json:"wanted"`  // that the filter selects, before sampling
	Limited uint64 `json:"limited"` // sampled, but above the rate
	Lost    uint64 `json:"lost"`    // sampled, and lost on their way to the reader
}

// TracePacket is what became of one packet in one place: where it came, or in the
// slow path behind. A datapath in user space has no such second place: Slow are
// there packets that leave beside the one that came.
type TracePacket struct {
	At      time.Time     // when it came
	Took    time.Duration // until it was handed on, sent or dropped
	CPU     int           // where; -1: not known
	Slow    bool          // in the slow path
	Answer  bool          // Left is not the packet, but what its sender is told
	Reason  Reason        // ReasonNone: it was sent
	TEID    uint32        // of the G-PDU that came; 0: a bare packet, or not understood
	Key     Key           // of the rule that was looked up; zero: none
	SEID    uint64        // of the rule that matched; 0: see Key
	PDRID   uint32        // of the rule that matched; 0: see Key, which has one rule only
	Arrived TraceFrame    // zero: it came out of the buffer
	Left    TraceFrame    // zero: not sent
}

// TraceFrame is a frame, or an IP packet, at a device.
type TraceFrame struct {
	Device string // name
	IP     bool   // Data begins with the IP header, not with the Ethernet header
	Octets int    // its length
	Data   []byte // its first octets
}
