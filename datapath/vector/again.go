package vector

import (
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
)

// What leaves for an F-TEID of our own is kept until the vector has been treated, and
// is then a vector of its own: GTP-U messages that have come from us. So packets of a
// flow keep their order, also behind others that the model made, and End Markers that of
// their tunnel.

// mayPass says whether what is treated may go through one F-TEID of our own more.
func (w *Worker) mayPass() datapath.Reason {
	if w.passes >= datapath.MaxPasses {
		return datapath.DropLoop
	}
	return datapath.ReasonNone
}

// again has a packet treated again, or drops it.
func (w *Worker) again(p *Packet) {
	if p.Reason = w.mayPass(); p.Reason != datapath.ReasonNone {
		w.count(p.Reason)
		return
	}
	p.From, p.To = netip.AddrPortFrom(p.Outer.Local, p.Source), p.Outer.Peer
	p.Network, p.Outside = 0, 0
	w.next = append(w.next, p)
}

// treatAgain treats what has come to F-TEIDs of our own, until nothing has. What is kept
// in one pass is treated in the next one, so all of it has come as often.
func (w *Worker) treatAgain() {
	if len(w.next) == 0 {
		return
	}
	w.now, w.least = w.e.cfg.Now(), w.e.cfg.Links.Least()
	for len(w.next) > 0 {
		in := w.next
		w.next = w.spare[:0]
		w.passes++
		for some := range slices.Chunk(in, MaxVector) {
			w.treat(some)
			for _, p := range some {
				if p.first != nil {
					p.first.Reason = p.Reason
				}
			}
		}
		clear(in)
		w.spare = in
	}
	w.passes = 0
}
