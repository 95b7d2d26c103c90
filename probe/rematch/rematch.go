// Package rematch evaluates traces of a UPF whose events have a time and a length but do not
// identify the packet: how many entries each exit could belong to, the results of different
// pairings of the same file, and the bounds of the percentiles over all pairings.
//
//	line ─► event ─► in file order: the pairing of the study (nearest in time)
//	             └─► in time order, by slice and length: candidates of each exit,
//	                 oldest first, bounds over all pairings
//
// It reads the two formats of the study "Kernel-Level Per-Slice UPF Latency
// Measurement in Containerised 5G Core Networks": the text that its programs print into
// the kernel's trace buffer, and the CSV that is made of it.
//
//	... bpf_trace_printk: upf_m1 eMBB ts=1000000 len=1458 teid=1
//	... bpf_trace_printk: upf_m3 eMBB ts=1105000 len=1400 teid=0
//
//	ts_rx_ns,ts_tx_ns,delay_us,pkt_len,netif_rx,slice
//	1000000,1105000,105.000,1458,eMBB,eMBB
//
// An entry (upf_m1, ts_rx_ns) is a packet that comes to the UPF, an exit (upf_m3,
// ts_tx_ns) one that leaves it. Times are nanoseconds, lengths octets. Files are
// read once, in bounded memory, regardless of their content.
//
// Source: arXiv:2605.28185, IV (instrumentation), and the scripts published with it.
package rematch

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Schema names the form of a Report in JSON.
const Schema = "plumbline.rematch/1"

// Limits of what is accepted and kept. A file that goes beyond them loses precision,
// which is counted, never more memory.
const (
	DefaultWindow = 10 * time.Millisecond // as in the study
	MaxWindow     = time.Second

	maxSlices  = 64      // further ones are ignored
	maxName    = 32      // octets of a slice's name
	maxParts   = 1024    // distinct lengths, over all slices; the others share one
	maxWaiting = 1 << 14 // events of a window, for each slice or part
	maxNS      = 1 << 62 // later times are nonsense
)

// Errors of [Read].
var (
	ErrNoEvents = errors.New("rematch: no events: neither text of trace_pipe with upf_m1 and upf_m3, nor CSV with ts_rx_ns and ts_tx_ns")
	ErrWindow   = errors.New("rematch: window out of range")
)

// Options say how a file is judged.
type Options struct {
	// Window is the age that an entry may have when its packet leaves. 0 is
	// DefaultWindow; more than MaxWindow is an error.
	Window time.Duration
	// Overhead is by how many octets a frame is longer as it enters (Ethernet, outer
	// IP, UDP, GTP-U) than the packet that leaves. 0: learnt from the file's beginning;
	// negative: lengths are not looked at.
	Overhead int
}

// Format is what a file is written in.
type Format string

// Formats.
const (
	Text Format = "trace_pipe" // one event to a line
	CSV  Format = "csv"        // one pair to a line
)

// Read reads a trace to its end and judges it.
//
// Errors: ErrWindow, ErrNoEvents, and those of r.
func Read(r io.Reader, o Options) (*Report, error) {
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.Window < time.Microsecond || o.Window > MaxWindow {
		return nil, fmt.Errorf("%w: %v is not between 1µs and %v", ErrWindow, o.Window, MaxWindow)
	}
	j := newJudge(o)
	if err := j.read(newLines(r)); err != nil {
		return nil, err
	}
	if j.report.Events == 0 {
		return nil, fmt.Errorf("%w: %d lines", ErrNoEvents, j.report.Lines)
	}
	return j.finish(), nil
}
