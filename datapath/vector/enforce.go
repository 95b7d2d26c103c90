package vector

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// enforce asks gates, quotas and meters, and counts the packet if they let it not pass.
func (w *Worker) enforce(k *work) datapath.Reason {
	r, reason := k.rule, datapath.ReasonNone
	switch {
	case r.has(dropped):
		reason = r.model[0].Refusal()
	case r.has(accounted):
		reason = w.admit(r, int(k.size))
	}
	if reason != datapath.ReasonNone {
		r.model[0].CountDropped()
		w.count(reason)
	}
	return reason
}

// admit asks one MBR meter and one URR here, and leaves more of them to the model.
func (w *Worker) admit(r *rule, octets int) datapath.Reason {
	v, m := r.first.volume, r.first.meter
	switch {
	case !r.has(simple), v != nil && !v.Quiet(r.direction()):
		return w.e.stages.Admit(r.model[0], octets, w.now)
	case m != nil && !m.Take(w.now, octets):
		return datapath.DropMBR
	}
	return datapath.ReasonNone
}

func (r *rule) direction() int {
	if r.has(uplink) {
		return stages.Uplink
	}
	return stages.Downlink
}
