package rematch

// order puts events in order of time. They may come in any order within the window, as
// they do where several CPUs write one file, or where a row has two times.
type order struct {
	heap    []event // the first is the earliest
	latest  uint64  // ns of the latest event so far
	emitted uint64  // ns of the last that was passed on
	window  uint64
}

// add takes an event and returns whether it still found its place: false for one that
// is earlier than what was passed on.
func (o *order) add(e event) bool {
	if e.ns < o.emitted {
		return false
	}
	o.latest = max(o.latest, e.ns)
	o.heap = append(o.heap, e)
	for i := len(o.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !o.heap[i].before(o.heap[parent]) {
			break
		}
		o.heap[i], o.heap[parent] = o.heap[parent], o.heap[i]
		i = parent
	}
	return true
}

// due returns the next event that nothing can come before any more; of a full heap, and
// if all is set, the next one.
func (o *order) due(all bool) (event, bool) {
	if len(o.heap) == 0 || (!all && len(o.heap) < maxWaiting && o.heap[0].ns+o.window >= o.latest) {
		return event{}, false
	}
	first, last := o.heap[0], len(o.heap)-1
	o.heap[0] = o.heap[last]
	o.heap = o.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && o.heap[child+1].before(o.heap[child]) {
			child++
		}
		if !o.heap[child].before(o.heap[i]) {
			break
		}
		o.heap[i], o.heap[child] = o.heap[child], o.heap[i]
		i = child
	}
	o.emitted = first.ns
	return first, true
}

// restart begins another time: a file may hold several recordings.
func (o *order) restart(ns uint64) { o.heap, o.latest, o.emitted = o.heap[:0], ns, 0 }
