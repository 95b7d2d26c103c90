package vector

import "plumbline/datapath"

// enforce asks gates, quotas and meters, and counts the packet if they let it not pass.
func (w *Worker) enforce(k *work) datapath.Reason {
	r := k.rule
	if !r.has(accounted) {
		return datapath.ReasonNone
	}
	reason := w.e.stages.Admit(r.model[0], int(k.size), w.now)
	if reason != datapath.ReasonNone {
		r.model[0].CountDropped()
		w.count(reason)
	}
	return reason
}
