package rematch

import "bytes"

// event is a packet at one of the two points.
type event struct {
	ns         uint64
	row        uint64 // of a CSV, from 1: an entry and an exit with the same number were paired; 0: text
	length     uint32
	exit       bool
	signalling bool // an entry of TEID 0: echo and the like, which never leave by N6
}

// before orders events by time; a packet enters before one leaves.
func (e event) before(other event) bool {
	if e.ns != other.ns {
		return e.ns < other.ns
	}
	return !e.exit && other.exit
}

// parseText parses an event in a line of trace_pipe: "upf_m1 SLICE ts=NS len=OCTETS", optionally "
// teid=NUMBER", after the kernel's prefix.
func parseText(line []byte) (slice []byte, e event, ok bool) {
	_, rest, found := bytes.Cut(line, []byte("upf_m"))
	if !found || len(rest) < 2 || rest[1] != ' ' || (rest[0] != '1' && rest[0] != '3') {
		return nil, e, false
	}
	e.exit = rest[0] == '3'
	slice, rest, found = bytes.Cut(rest[2:], []byte(" ts="))
	if !found || !validName(slice) {
		return nil, e, false
	}
	if e.ns, rest, ok = number(rest); !ok {
		return nil, e, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(" len=")); !ok {
		return nil, e, false
	}
	length, rest, ok := number(rest)
	if !ok || length > 1<<20 {
		return nil, e, false
	}
	e.length = uint32(length)
	if rest, ok := bytes.CutPrefix(rest, []byte(" teid=")); ok && !e.exit {
		teid, _, ok := number(rest)
		e.signalling = ok && teid == 0
	}
	return slice, e, true
}

// parseLost takes the count of "CPU:3 [LOST 117 EVENTS]", with which the kernel says
// that its trace buffer was full.
func parseLost(line []byte) (uint64, bool) {
	_, rest, found := bytes.Cut(line, []byte("[LOST "))
	if !found {
		return 0, false
	}
	n, rest, ok := number(rest)
	return n, ok && bytes.HasPrefix(rest, []byte(" EVENTS]"))
}
