package n4

import (
	"log/slog"
	"net/netip"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// update answers an Association Update Request: the CP function's features, from
// where else it speaks, its SMF set; or that it will release the association.
// Source: TS 29.244 V18.6.0, 6.2.7.2 and 5.18.
func (w *worker) update(r nodeRequest) {
	var m pfcp.AssociationUpdateRequest
	if err := m.Decode(r.body); err != nil {
		w.refuse(r.src, r.head, err)
		return
	}
	a := w.spokenFor(r, m.NodeID)
	if a == nil {
		return
	}
	if !a.open() {
		w.e.counters.drop(DropBusy)
		return
	}
	defer a.done()
	w.e.updated(a, &m)
	w.reply(r.head, 0, &pfcp.AssociationUpdateResponse{
		NodeID: w.e.nodeID, Cause: pfcp.CauseRequestAccepted, UPFunctionFeatures: pfcp.Some(w.e.features()),
	}, pfcp.CauseRequestAccepted)
}

// updated does what an Association Update Request says. What it does not say
// stays as it is.
func (e *Endpoint) updated(a *association, m *pfcp.AssociationUpdateRequest) {
	if m.CPFunctionFeatures.Present {
		a.features.Store(uint32(m.CPFunctionFeatures.Value))
	}
	if len(m.Alternatives) > 0 {
		e.peers.move(a, addresses(m.Alternatives))
	}
	if len(m.SMFSetID) > 0 {
		a.setSMFSet(string(m.SMFSetID))
	}
	e.save(a)
	if m.AUReqFlags&pfcp.AUReqPARPS != 0 && e.enhanced(a) && !a.parting.Swap(true) {
		e.log.event(kindAssociation, slog.LevelInfo, "n4: the CP function prepares to release the association",
			"node", a.node, "from", a.addr, "sessions", a.sessions.Load())
		e.background.Go(func() { e.prepareRelease(a) })
	}
}

// speaker is the association of a Node ID for which a request from addr speaks, or nil. A CP
// function may have several addresses and one association: one that the operator has listed
// as a peer's, by itself, and from where no association was set up, is added to those from which it speaks.
// Source: TS 29.244 V18.6.0, 5.8.1.
func (e *Endpoint) speaker(id pfcp.NodeID, addr netip.Addr) *association {
	if a := e.peers.spokenFor(id, addr); a != nil {
		return a
	}
	a := e.peers.node(id)
	if a == nil || e.peers.table.Load().own(addr) > 0 || !e.listed(addr) || !e.listed(a.addr) || !e.peers.extend(a, addr) {
		return nil
	}
	e.save(a)
	e.log.event(kindAssociation, slog.LevelInfo, "n4: the CP function speaks from another address too",
		"node", a.node, "from", a.addr, "also", addr)
	return a
}
