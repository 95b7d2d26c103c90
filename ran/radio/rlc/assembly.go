package rlc

import "slices"

const (
	// maxAssemblies is how many SDUs an entity puts together at a time, maxSpans into
	// how many pieces with gaps between them one may be split. Both bound memory.
	maxAssemblies = 128
	maxSpans      = 16
)

// span is octets of an SDU, from and up to.
type span struct{ from, to int }

// assembly is an SDU of which segments are there.
type assembly struct {
	number uint64
	length int // 0: its last segment is not there
	spans  []span
	octets []byte
}

// add puts a segment in. False: it contradicts what is there, or makes too many pieces.
func (a *assembly) add(offset int, data []byte, last bool) bool {
	end := offset + len(data)
	known := a.length
	if last {
		known = end
	}
	highest := end
	if n := len(a.spans); n > 0 {
		highest = max(highest, a.spans[n-1].to)
	}
	if len(data) == 0 || end > MaxSDU || known > 0 && highest > known || last && a.length > 0 && a.length != end {
		return false
	}
	if !a.cover(span{offset, end}) {
		return false
	}
	a.length = known
	if len(a.octets) < end {
		a.octets = slices.Grow(a.octets, end-len(a.octets))[:end]
	}
	copy(a.octets[offset:], data)
	return true
}

// cover adds a span to those that are there, which are in order and do not touch.
func (a *assembly) cover(s span) bool {
	i := 0
	for i < len(a.spans) && a.spans[i].to < s.from {
		i++
	}
	j := i
	for j < len(a.spans) && a.spans[j].from <= s.to {
		s = span{min(s.from, a.spans[j].from), max(s.to, a.spans[j].to)}
		j++
	}
	if i == j && len(a.spans) == maxSpans {
		return false
	}
	a.spans = slices.Replace(a.spans, i, j, s)
	return true
}

func (a *assembly) complete() bool {
	return a.length > 0 && len(a.spans) == 1 && a.spans[0] == span{0, a.length}
}

// gap reports whether octets are missing before the last one that is there.
func (a *assembly) gap() bool { return len(a.spans) > 1 || a.spans[0].from > 0 }

// assemblies are those of an entity. Their buffers are used again.
type assemblies struct {
	active []*assembly
	done   []*assembly // delivered, and still in use
	spare  []*assembly
}

func (l *assemblies) find(number uint64) *assembly {
	for _, a := range l.active {
		if a.number == number {
			return a
		}
	}
	return nil
}

// open is the assembly of a number, a new one if need be; nil if there are too many.
func (l *assemblies) open(number uint64) *assembly {
	if a := l.find(number); a != nil {
		return a
	}
	if len(l.active) >= maxAssemblies {
		return nil
	}
	var a *assembly
	if n := len(l.spare); n > 0 {
		a, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		a = &assembly{spans: make([]span, 0, maxSpans+1), octets: make([]byte, 0, 2048)}
	}
	a.number, a.length, a.spans, a.octets = number, 0, a.spans[:0], a.octets[:0]
	l.active = append(l.active, a)
	return a
}

// finish takes one out that was delivered: its octets stay until recycle.
func (l *assemblies) finish(a *assembly) {
	l.remove(a)
	l.done = append(l.done, a)
}

func (l *assemblies) remove(a *assembly) {
	i := slices.Index(l.active, a)
	last := len(l.active) - 1
	l.active[i] = l.active[last]
	l.active = l.active[:last]
}

// drop discards those with a number below the limit, and returns how many.
func (l *assemblies) drop(below uint64) (dropped int) {
	for i := 0; i < len(l.active); {
		a := l.active[i]
		if a.number >= below {
			i++
			continue
		}
		l.remove(a)
		l.spare = append(l.spare, a)
		dropped++
	}
	return dropped
}

// abandon gives one up, if there is one, into which nothing was put.
func (l *assemblies) abandon(a *assembly) {
	if a != nil && len(a.spans) == 0 {
		l.remove(a)
		l.spare = append(l.spare, a)
	}
}

func (l *assemblies) recycle() {
	l.spare = append(l.spare, l.done...)
	l.done = l.done[:0]
}
