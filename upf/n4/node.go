package n4

import (
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Errors of node procedures.
var (
	errLimit       = errors.New("too many associations")
	errAssociated  = errors.New("associated already")
	errOtherPeer   = errors.New("this Node ID is associated from another address")
	errLeaving     = errors.New("the UP function is about to stop")
	errNotAccepted = errors.New("not accepted")
)

// heartbeat answers a Heartbeat Request, from anybody who is allowed to send
// one, and changes nothing. Source: TS 29.244 V18.6.0, 6.2.2.
func (w *worker) heartbeat(h pfcp.Header, body []byte) {
	var m pfcp.HeartbeatRequest
	if err := m.Decode(body); err != nil {
		w.e.counters.drop(DropMalformed) // its response has no Cause
		return
	}
	w.reply(h, 0, &pfcp.HeartbeatResponse{RecoveryTimeStamp: w.e.recoveryAt(w.src.Addr())}, 0)
}

// nodeRequest is a node request that is being answered, perhaps later.
type nodeRequest struct {
	src  netip.AddrPort
	head pfcp.Header
	body []byte // until the worker goes on
	key  requestKey
}

// node answers a node request; if that takes long, later and by itself.
func (w *worker) node(r nodeRequest) {
	if w.e.storeDown.Load() && keeps(r.head.Type) {
		w.refuse(r.src, r.head, errStore)
		return
	}
	switch r.head.Type {
	case pfcp.MsgAssociationSetupRequest:
		w.setup(r)
	case pfcp.MsgAssociationUpdateRequest:
		w.update(r)
	case pfcp.MsgAssociationReleaseRequest:
		w.release(r)
	case pfcp.MsgPFDManagementRequest:
		w.managePFDs(r)
	case pfcp.MsgSessionSetDeletionRequest:
		w.deleteSet(r)
	case pfcp.MsgSessionSetModifyRequest:
		w.modifySet(r)
	default:
		w.e.counters.drop(DropUnknown)
	}
}

// spokenFor returns the association of a Node ID if its CP function has sent the request. If
// not, it refuses the request and returns nil.
func (w *worker) spokenFor(r nodeRequest, id pfcp.NodeID) *association {
	a := w.e.peers.spokenFor(id, r.src.Addr())
	if a == nil {
		w.refuse(r.src, r.head, errNoAssociation)
	}
	return a
}

// release answers an Association Release Request when the association's
// sessions are deleted. Source: TS 29.244 V18.6.0, 6.2.8.2.2.
func (w *worker) release(r nodeRequest) {
	var m pfcp.AssociationReleaseRequest
	if err := m.Decode(r.body); err != nil {
		w.refuse(r.src, r.head, err)
		return
	}
	a := w.spokenFor(r, m.NodeID)
	if a == nil {
		return
	}
	w.afterClearing(r, a, func(b []byte) []byte {
		return w.e.append(b, r.head, 0, &pfcp.AssociationReleaseResponse{
			NodeID: w.e.nodeID, Cause: pfcp.CauseRequestAccepted,
		}, pfcp.CauseRequestAccepted)
	})
}

// defaultPatience is how long a worker waits for sessions to be deleted, so
// that what the peer sends next is done next. If there are many of them it goes
// on with other peers.
const defaultPatience = 20 * time.Millisecond

// afterClearing ends an association (nil: none), deletes its sessions, and
// then answers. While that goes on, its requests are dropped, and the peer
// repeats them.
func (w *worker) afterClearing(r nodeRequest, a *association, answer func([]byte) []byte) {
	if a == nil {
		w.buf = answer(w.buf)
		return
	}
	if !a.end() {
		w.e.counters.drop(DropBusy)
		return
	}
	w.after(r, func() { w.e.clear(a) }, answer)
}

// after does work that may take long, and then answers. answer appends the
// response; neither may use the worker or the request's body.
func (w *worker) after(r nodeRequest, work func(), answer func([]byte) []byte) {
	e, now := w.e, w.now
	done := make(chan struct{})
	e.background.Go(func() {
		defer close(done)
		work()
	})
	late := time.NewTimer(e.patience)
	defer late.Stop()
	select {
	case <-done:
		w.buf = answer(w.buf)
	case <-late.C:
		w.late = true
		e.background.Go(func() {
			<-done
			response := answer(nil)
			if len(response) == 0 {
				e.cache.end(r.key)
				return
			}
			if e.flush(e.run) != nil && keeps(r.head.Type) {
				w := newWorker(e, nil)
				w.refuse(r.src, r.head, errStore)
				response = w.buf
			}
			e.cache.put(r.key, response, now)
			if e.run.Err() == nil {
				e.transmit(r.src, response)
			}
		})
	}
}

// clear deletes the sessions of an association that is ending, and forgets it.
func (e *Endpoint) clear(a *association) {
	a.drain()
	n := 0
	if a.sessions.Load() > 0 { // to look for them takes long
		var err error
		if n, err = e.sessions.DeleteOwned(e.run, a.owner); err != nil {
			e.log.Error("n4: sessions of an ended association remain", "node", a.node, "error", err)
		}
	}
	if err := e.removePFDs(a.node.String()); err != nil {
		e.log.Error("n4: PFDs of an ended association remain", "node", a.node, "error", err)
	}
	e.cache.forget(a.addr)
	e.rememberLoss(a)
	e.peers.remove(a)
	e.store.Drop(KindAssociation, uint64(a.owner))
	a.cancel()
	e.log.event(kindAssociation, slog.LevelInfo, "n4: association ended", "node", a.node, "from", a.addr, "sessions", n)
}

// refuseNode answers a node request that is not accepted.
func (w *worker) refuseNode(h pfcp.Header, r refusal) {
	id := w.e.nodeID
	var m pfcp.Message
	switch h.Type {
	case pfcp.MsgAssociationSetupRequest:
		m = &pfcp.AssociationSetupResponse{
			NodeID: id, Cause: r.cause, RecoveryTimeStamp: w.e.recoveryAt(w.src.Addr()),
		}
	case pfcp.MsgAssociationUpdateRequest:
		m = &pfcp.AssociationUpdateResponse{NodeID: id, Cause: r.cause}
	case pfcp.MsgAssociationReleaseRequest:
		m = &pfcp.AssociationReleaseResponse{NodeID: id, Cause: r.cause}
	case pfcp.MsgPFDManagementRequest:
		m = &pfcp.PFDManagementResponse{Cause: r.cause, OffendingIE: r.offendingIE}
	case pfcp.MsgSessionSetDeletionRequest:
		m = &pfcp.SessionSetDeletionResponse{NodeID: id, Cause: r.cause, OffendingIE: r.offendingIE}
	case pfcp.MsgSessionSetModifyRequest:
		m = &pfcp.SessionSetModificationResponse{NodeID: id, Cause: r.cause, OffendingIE: r.offendingIE}
	default:
		w.e.counters.drop(DropMalformed) // a response without a Cause, or none at all
		return
	}
	w.reply(h, 0, m, r.cause)
}
