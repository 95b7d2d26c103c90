package rematch

import "bytes"

// columns are the places of a CSV's columns; -1: not there.
type columns struct{ entered, left, delay, length, slice int }

// isHeader reports whether a line names the columns of the CSV.
func isHeader(line []byte) bool {
	return bytes.Contains(line, []byte("ts_rx_ns")) && bytes.Contains(line, []byte("ts_tx_ns"))
}

// parseHeader finds the columns by their names, in any order.
func parseHeader(line []byte) columns {
	c := columns{-1, -1, -1, -1, -1}
	for i, name := range bytes.Split(line, []byte(",")) {
		switch string(bytes.TrimSpace(name)) {
		case "ts_rx_ns":
			c.entered = i
		case "ts_tx_ns":
			c.left = i
		case "delay_us":
			c.delay = i
		case "pkt_len":
			c.length = i
		case "slice":
			c.slice = i
		}
	}
	return c
}

// noSlice is the slice of a file without a column of slices.
var noSlice = []byte("-")

// row is a pair in the CSV.
type row struct {
	slice      []byte // of the line
	entered    uint64 // ns
	left       uint64 // ns
	length     uint32 // octets of the frame as it entered
	contradict bool   // delay_us is not the difference of the times
}

// parse takes a pair from a line.
func (c columns) parse(line []byte) (row, bool) {
	r := row{slice: noSlice}
	var delay uint64
	hasDelay, hasEntered, hasLeft := false, false, false
	for i := 0; line != nil; i++ {
		field, rest, more := bytes.Cut(line, []byte(","))
		if line = rest; !more {
			line = nil
		}
		ok := true
		switch i {
		case c.entered:
			r.entered, hasEntered = whole(field)
			ok = hasEntered
		case c.left:
			r.left, hasLeft = whole(field)
			ok = hasLeft
		case c.delay:
			delay, hasDelay = micros(field)
		case c.length:
			length, _ := whole(field)
			r.length = uint32(min(length, 1<<20))
		case c.slice:
			r.slice = field
			ok = validName(field)
		}
		if !ok {
			return r, false
		}
	}
	if !hasEntered || !hasLeft || r.left < r.entered {
		return r, false
	}
	took := r.left - r.entered
	r.contradict = hasDelay && max(took, delay)-min(took, delay) > 1000
	return r, true
}

// whole reads a whole number; some tools write it as 5.0.
func whole(field []byte) (uint64, bool) {
	n, rest, ok := number(field)
	if ok && len(rest) > 0 {
		ok = rest[0] == '.' && len(bytes.Trim(rest[1:], "0")) == 0
	}
	return n, ok
}

// micros reads microseconds with up to nine decimal places, and returns nanoseconds.
func micros(field []byte) (uint64, bool) {
	n, rest, ok := number(field)
	if !ok || n > maxNS/1000 {
		return 0, false
	}
	ns := n * 1000
	if len(rest) == 0 {
		return ns, true
	}
	if rest[0] != '.' || len(rest) > 10 {
		return 0, false
	}
	for i, unit := 1, uint64(100); i < len(rest); i, unit = i+1, unit/10 {
		digit := rest[i] - '0'
		if digit > 9 {
			return 0, false
		}
		ns += uint64(digit) * unit
	}
	return ns, true
}
