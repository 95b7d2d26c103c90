package n4

import (
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"plumbline/pfcp"
)

// Errors of node procedures.
var (
	errLimit      = errors.New("too many associations")
	errAssociated = errors.New("associated already")
	errOtherPeer  = errors.New("this Node ID is associated from another address")
)

// heartbeat answers a Heartbeat Request, from anybody who is allowed to send
// one, and changes nothing. Source: TS 29.244 V18.6.0, 6.2.2.
func (w *worker) heartbeat(h pfcp.Header, body []byte) {
	var m pfcp.HeartbeatRequest
	if err := m.Decode(body); err != nil {
		w.e.counters.drop(DropMalformed) // its response has no Cause
		return
	}
	w.reply(h, 0, &pfcp.HeartbeatResponse{RecoveryTimeStamp: w.e.recovery}, 0)
}

// node answers a node request; if that takes long, later and by itself.
func (w *worker) node(src netip.AddrPort, h pfcp.Header, body []byte, key requestKey, now time.Time) {
	switch h.Type {
	case pfcp.MsgAssociationSetupRequest:
		w.setup(src, h, body, key, now)
	case pfcp.MsgAssociationUpdateRequest:
		w.update(src, h, body)
	case pfcp.MsgAssociationReleaseRequest:
		w.release(src, h, body, key, now)
	case pfcp.MsgPFDManagementRequest, pfcp.MsgSessionSetDeletionRequest, pfcp.MsgSessionSetModifyRequest:
		w.refuse(src, h, &pfcp.Error{Cause: pfcp.CauseServiceNotSupported, In: h.Type.String(), Err: errors.New("not supported")})
	default:
		w.e.counters.drop(DropUnknown)
	}
}

// setup answers an Association Setup Request. A CP function that is associated
// already begins anew: its sessions are deleted first, so that it can have
// their F-TEIDs and UE addresses again at once.
// Source: TS 29.244 V18.6.0, 6.2.6.2.2.
func (w *worker) setup(src netip.AddrPort, h pfcp.Header, body []byte, key requestKey, now time.Time) {
	var m pfcp.AssociationSetupRequest
	if err := m.Decode(body); err != nil {
		w.refuse(src, h, err)
		return
	}
	old := w.e.peers.node(m.NodeID)
	if old != nil && old.addr != src.Addr() && !old.pathDown.Load() {
		w.refuse(src, h, &pfcp.Error{Cause: pfcp.CauseRequestRejected, In: h.Type.String(), Err: errOtherPeer})
		return
	}
	a := w.e.newAssociation(m.NodeID, src.Addr(), now)
	a.recovery.Store(uint32(m.RecoveryTimeStamp))
	a.features.Store(uint32(m.CPFunctionFeatures.Value))
	w.afterClearing(src, key, now, old, func(b []byte) []byte { return w.e.associate(b, h, a) })
}

// associate puts a into the table and appends the response.
func (e *Endpoint) associate(b []byte, h pfcp.Header, a *association) []byte {
	if err := e.admit(a); err != nil {
		a.cancel()
		e.log.event(kindAssociation, slog.LevelWarn, "n4: association refused", "node", a.node, "from", a.addr, "error", err)
		return e.append(b, h, 0, &pfcp.AssociationSetupResponse{
			NodeID: e.nodeID, Cause: pfcp.CauseNoResourcesAvailable, RecoveryTimeStamp: e.recovery,
		}, pfcp.CauseNoResourcesAvailable)
	}
	e.associated(a)
	return e.append(b, h, 0, &pfcp.AssociationSetupResponse{
		NodeID: e.nodeID, Cause: pfcp.CauseRequestAccepted, RecoveryTimeStamp: e.recovery,
		UPFunctionFeatures: pfcp.Some(e.features),
	}, pfcp.CauseRequestAccepted)
}

// associated is called when a is in the table: it is kept, and its peer is
// watched.
func (e *Endpoint) associated(a *association) {
	e.store.Save(KindAssociation, uint64(a.owner), a.record())
	e.log.event(kindAssociation, slog.LevelInfo, "n4: associated", "node", a.node, "from", a.addr,
		"recovery", pfcp.TimeStamp(a.recovery.Load()).Time())
	e.monitor(a)
}

// admit puts a into the table. If that is full, an association that nobody would
// miss gives way: who sets up associations in the names of others cannot keep
// real peers out for long.
func (e *Endpoint) admit(a *association) error {
	limit, perAddress := e.config.MaxAssociations, e.config.MaxAssociationsPerAddress
	err := e.peers.add(a, limit, perAddress)
	if !errors.Is(err, errLimit) {
		return err
	}
	if old := e.peers.idle(a.addr, perAddress); old != nil && old.end() {
		e.clear(old)
		err = e.peers.add(a, limit, perAddress)
	}
	return err
}

// update answers an Association Update Request. Nothing that a CP function
// can change concerns us. Source: TS 29.244 V18.6.0, 6.2.7.2.
func (w *worker) update(src netip.AddrPort, h pfcp.Header, body []byte) {
	var m pfcp.AssociationUpdateRequest
	if err := m.Decode(body); err != nil {
		w.refuse(src, h, err)
		return
	}
	if w.e.peers.spokenFor(m.NodeID, src.Addr()) == nil {
		w.refuse(src, h, errNoAssociation)
		return
	}
	w.reply(h, 0, &pfcp.AssociationUpdateResponse{
		NodeID: w.e.nodeID, Cause: pfcp.CauseRequestAccepted, UPFunctionFeatures: pfcp.Some(w.e.features),
	}, pfcp.CauseRequestAccepted)
}

// release answers an Association Release Request when the association's
// sessions are deleted. Source: TS 29.244 V18.6.0, 6.2.8.2.2.
func (w *worker) release(src netip.AddrPort, h pfcp.Header, body []byte, key requestKey, now time.Time) {
	var m pfcp.AssociationReleaseRequest
	if err := m.Decode(body); err != nil {
		w.refuse(src, h, err)
		return
	}
	a := w.e.peers.spokenFor(m.NodeID, src.Addr())
	if a == nil {
		w.refuse(src, h, errNoAssociation)
		return
	}
	w.afterClearing(src, key, now, a, func(b []byte) []byte {
		return w.e.append(b, h, 0, &pfcp.AssociationReleaseResponse{
			NodeID: w.e.nodeID, Cause: pfcp.CauseRequestAccepted,
		}, pfcp.CauseRequestAccepted)
	})
}

// defaultPatience is how long a worker waits for an association's sessions to
// be deleted, so that what the peer sends next is done next. If there are many
// of them it goes on with other peers.
const defaultPatience = 20 * time.Millisecond

// afterClearing ends an association (nil: none), deletes its sessions, and
// then answers. While that goes on, its requests are dropped, and the peer
// repeats them.
func (w *worker) afterClearing(src netip.AddrPort, key requestKey, now time.Time, a *association, answer func([]byte) []byte) {
	if a == nil {
		w.buf = answer(w.buf)
		return
	}
	if !a.end() {
		w.e.counters.drop(DropBusy)
		return
	}
	cleared := make(chan struct{})
	w.e.background.Go(func() {
		defer close(cleared)
		w.e.clear(a)
	})
	late := time.NewTimer(w.e.patience)
	defer late.Stop()
	select {
	case <-cleared:
		w.buf = answer(w.buf)
	case <-late.C:
		w.e.background.Go(func() {
			<-cleared
			response := answer(nil)
			if len(response) == 0 {
				return
			}
			w.e.cache.put(key, response, now)
			if w.e.flush(w.e.run) == nil {
				w.e.transmit(src, response)
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
	e.cache.forget(a.addr)
	e.peers.remove(a)
	e.store.Drop(KindAssociation, uint64(a.owner))
	e.log.event(kindAssociation, slog.LevelInfo, "n4: association ended", "node", a.node, "from", a.addr, "sessions", n)
}

// refuseNode answers a node request that is not accepted. The two kinds of
// responses are those that begin with our Node ID and those with the Cause
// alone; that of an association being set up has our Recovery Time Stamp too.
func (w *worker) refuseNode(h pfcp.Header, cause pfcp.Cause) {
	switch h.Type {
	case pfcp.MsgAssociationSetupRequest:
		w.reply(h, 0, &pfcp.AssociationSetupResponse{NodeID: w.e.nodeID, Cause: cause, RecoveryTimeStamp: w.e.recovery}, cause)
	case pfcp.MsgAssociationUpdateRequest:
		w.reply(h, 0, &pfcp.AssociationUpdateResponse{NodeID: w.e.nodeID, Cause: cause}, cause)
	case pfcp.MsgAssociationReleaseRequest:
		w.reply(h, 0, &pfcp.AssociationReleaseResponse{NodeID: w.e.nodeID, Cause: cause}, cause)
	case pfcp.MsgPFDManagementRequest:
		w.reply(h, 0, &bare{h.Type + 1, &pfcp.SessionDeletionResponse{Cause: cause}}, cause)
	case pfcp.MsgSessionSetDeletionRequest, pfcp.MsgSessionSetModifyRequest:
		w.reply(h, 0, &bare{h.Type + 1, &pfcp.AssociationReleaseResponse{NodeID: w.e.nodeID, Cause: cause}}, cause)
	default:
		w.e.counters.drop(DropMalformed) // a response without a Cause, or none at all
	}
}

// bare is a response that this endpoint only ever refuses with: another type
// with the same IEs.
type bare struct {
	kind pfcp.MessageType
	pfcp.Message
}

// MessageType returns the type.
func (b *bare) MessageType() pfcp.MessageType { return b.kind }
