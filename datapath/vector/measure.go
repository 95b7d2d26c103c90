package vector

// measure counts a packet that leaves.
func (w *Worker) measure(k *work) {
	w.e.stages.Measure(k.rule.model[0], int(k.size))
}
