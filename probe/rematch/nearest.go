package rematch

import "slices"

// studyBuffer is how many entries of a slice the study's script remembers.
const studyBuffer = 500

// nearest pairs as the study's script does: an exit takes, of the entries of its slice
// that are not taken yet, the one nearest in time; identity plays no part.
//
// Source: parse_tcbpf.awk of the study.
type nearest struct {
	window  uint64
	pending []waiting // not taken, as they came
	entered uint64    // entries so far
}

// waiting is an entry that no exit has taken.
type waiting struct {
	event
	number uint64 // from 0
}

// enter remembers an entry; the oldest one of a full buffer is forgotten.
func (n *nearest) enter(e event) {
	if len(n.pending) > 0 && n.pending[0].number+studyBuffer <= n.entered {
		n.pending = slices.Delete(n.pending, 0, 1)
	}
	n.pending = append(n.pending, waiting{e, n.entered})
	n.entered++
}

// leave returns the entry that an exit takes, and among how many it chose: 0 if there is
// none. Entries older than the window are forgotten.
func (n *nearest) leave(e event) (entry event, among int) {
	n.pending = slices.DeleteFunc(n.pending, func(w waiting) bool { return e.ns > w.ns && e.ns-w.ns > n.window })
	best := -1
	for i, w := range n.pending {
		if w.ns > e.ns {
			continue
		}
		among++
		if best < 0 || w.ns > n.pending[best].ns {
			best = i
		}
	}
	if best < 0 {
		return event{}, 0
	}
	entry = n.pending[best].event
	n.pending = slices.Delete(n.pending, best, best+1)
	return entry, among
}
