package vector

// measure counts a packet that leaves.
func (w *Worker) measure(k *work) {
	r, v := k.rule, k.rule.first.volume
	switch {
	case r.has(accounted) && !r.has(simple), v != nil && !v.Quiet(r.direction()):
		w.e.stages.Measure(r.model[0], int(k.size))
		return
	}
	r.counters.Add(int(k.size))
	if v != nil && v.Add(r.direction(), uint64(k.size)) {
		w.e.stages.Reached(r.model[0].URRs[0], r.direction())
	}
}
