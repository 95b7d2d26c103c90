package vector

import "github.com/plumbline-upf/plumbline/datapath"

// A worker remembers which PDR of a long list a flow has: of its key is all that a list
// may look at, and the list itself. Rules that change are another list, so nobody
// clears anything.
const (
	longList  = 4    // PDRs; shorter ones are as fast to look through
	flowSlots = 2048 // of a worker
)

// flow is what a list made of a packet.
type flow struct {
	list    *several // nil: none
	fields  fields
	qfi     int8
	network int // from which it came bare; 0: a tunnel
	rule    *rule
	reason  datapath.Reason
}

// flowOf returns where the flow of a packet is remembered, and whether it is.
func (w *Worker) flowOf(list *several, k *work, f *fields) (*flow, bool) {
	if w.flows == nil {
		w.flows = make([]flow, flowSlots)
	}
	h := k.flow(k.user())
	e := &w.flows[(h^h>>16)%flowSlots]
	network := 0
	if k.header == 0 {
		network = k.packet.Network
	}
	if e.list == list && e.qfi == k.qfi && e.network == network && e.fields == *f {
		return e, true
	}
	*e = flow{list: list, fields: *f, qfi: k.qfi, network: network}
	return e, false
}
