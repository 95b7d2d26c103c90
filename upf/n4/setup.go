package n4

import (
	"errors"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// setup answers an Association Setup Request. A CP function that is associated
// already begins anew: its sessions are deleted first, so that it can have
// their F-TEIDs and UE addresses again at once, unless it asks to retain them.
// Source: TS 29.244 V18.6.0, 6.2.6.2.2.
func (w *worker) setup(r nodeRequest) {
	var m pfcp.AssociationSetupRequest
	if err := m.Decode(r.body); err != nil {
		w.refuse(r.src, r.head, err)
		return
	}
	if w.e.leaving.Load() {
		w.refuse(r.src, r.head, &pfcp.Error{Cause: pfcp.CauseRequestRejected, In: r.head.Type.String(), Err: errLeaving})
		return
	}
	old := w.e.peers.node(m.NodeID)
	known := old != nil && w.at.speaksFor(old)
	switch {
	case old != nil && !known && w.e.holds(old, r.src.Addr(), w.now):
		w.refuse(r.src, r.head, &pfcp.Error{Cause: pfcp.CauseRequestRejected, In: r.head.Type.String(), Err: errOtherPeer})
		return
	case known && m.SessionRetention.Present:
		w.retain(r, old, &m)
		return
	}
	a := w.e.newAssociation(m.NodeID, r.src.Addr(), w.now)
	a.introduce(m.RecoveryTimeStamp, m.CPFunctionFeatures, m.SMFSetID)
	a.others = addresses(m.Alternatives)
	if known {
		a.replaces(old)
	}
	e, now := w.e, w.now
	if old != nil && a.countsOn(old) && e.config.Restoring != nil {
		e.config.Restoring()
	}
	w.afterClearing(r, old, func(b []byte) []byte {
		if old != nil {
			a.succeed(old, now, e.recoveryAt(a.addr))
		}
		return e.associate(b, r.head, a)
	})
}

// introduce takes what a CP function says of itself when it sets up an
// association.
func (a *association) introduce(recovery pfcp.TimeStamp, features pfcp.Optional[pfcp.CPFunctionFeatures], set pfcp.Name) {
	a.recovery.Store(uint32(recovery))
	a.features.Store(uint32(features.Value))
	a.setSMFSet(string(set))
}

// addresses lists addresses of a CP function, each once, of all that are too
// many the first.
func addresses(list []pfcp.CPAddress) (addrs []netip.Addr) {
	for _, c := range list {
		for _, a := range [...]netip.Addr{c.IPv4, c.IPv6} {
			if a.IsValid() && !slices.Contains(addrs, a) && len(addrs) < maxOthers {
				addrs = append(addrs, a)
			}
		}
	}
	return addrs
}

// associate puts a into the table and appends the response.
func (e *Endpoint) associate(b []byte, h pfcp.Header, a *association) []byte {
	if err := e.admit(a); err != nil {
		a.cancel()
		e.log.event(kindAssociation, slog.LevelWarn, "n4: association refused", "node", a.node, "from", a.addr, "error", err)
		return e.append(b, h, 0, &pfcp.AssociationSetupResponse{
			NodeID: e.nodeID, Cause: pfcp.CauseNoResourcesAvailable, RecoveryTimeStamp: e.recoveryAt(a.addr),
		}, pfcp.CauseNoResourcesAvailable)
	}
	e.associated(a)
	return e.append(b, h, 0, e.setupResponse(a, 0), pfcp.CauseRequestAccepted)
}

func (e *Endpoint) setupResponse(a *association, flags pfcp.ASRspFlags) *pfcp.AssociationSetupResponse {
	return &pfcp.AssociationSetupResponse{
		NodeID: e.nodeID, Cause: pfcp.CauseRequestAccepted, RecoveryTimeStamp: e.recoveryAt(a.addr),
		UPFunctionFeatures: pfcp.Some(e.features()), ASRspFlags: flags, UEIPAddressPools: e.config.Pools,
	}
}

// associated is called when a is in the table: it is kept, and its peer is
// watched.
func (e *Endpoint) associated(a *association) {
	a.told.features.Store(uint64(e.features()))
	e.save(a)
	e.takeLoss(a)
	e.log.event(kindAssociation, slog.LevelInfo, "n4: associated", "node", a.node, "from", a.addr,
		"recovery", pfcp.TimeStamp(a.recovery.Load()).Time())
	e.monitor(a)
}

// save makes the store keep a as it is now.
func (e *Endpoint) save(a *association) {
	e.store.Save(KindAssociation, uint64(a.owner), a.record(e.peers.others(a)))
}

// admit puts a into the table. If that is full, another one gives way: who sets up
// associations in the names of others, and so cannot answer, keeps nobody out who can.
func (e *Endpoint) admit(a *association) error {
	limit, perAddress := e.config.MaxAssociations, e.config.MaxAssociationsPerAddress
	a.lost = newest(a.lost, e.losses.at(a.addr))
	err := e.peers.add(a, limit, perAddress)
	if !errors.Is(err, errLimit) {
		return err
	}
	if old := e.peers.givesWay(a.addr, perAddress); old != nil && old.end() {
		e.clear(old)
		a.lost = newest(a.lost, e.losses.at(a.addr))
		err = e.peers.add(a, limit, perAddress)
	}
	return err
}

// retain answers an Association Setup Request that asks to keep sessions: those
// whose CP F-SEID has one of the addresses, or all. The association goes on as
// the new one. Source: TS 29.244 V18.6.0, 6.2.6.2.2 and table 7.4.4.1-2.
func (w *worker) retain(r nodeRequest, a *association, m *pfcp.AssociationSetupRequest) {
	e := w.e
	if !a.open() { // it ends, and its sessions with it
		e.counters.drop(DropBusy)
		return
	}
	defer a.done()
	list := m.SessionRetention.Value.CPEntities
	a.parting.Store(false)
	e.peers.move(a, addresses(m.Alternatives))
	a.introduce(m.RecoveryTimeStamp, m.CPFunctionFeatures, m.SMFSetID)
	a.told.features.Store(uint64(e.features()))
	e.cache.forget(r.src.Addr()) // its Sequence Numbers begin anew
	e.save(a)
	w.after(r, func() {
		e.keepSessions(a, list)
		e.log.event(kindAssociation, slog.LevelInfo, "n4: associated again, sessions retained",
			"node", a.node, "from", a.addr, "sessions", a.sessions.Load())
	}, func(b []byte) []byte {
		var flags pfcp.ASRspFlags
		if a.sessions.Load() > 0 {
			flags = pfcp.ASRspPSREI
		}
		return e.append(b, r.head, 0, e.setupResponse(a, flags), pfcp.CauseRequestAccepted)
	})
}

// keepSessions deletes those sessions of an association whose CP F-SEID has none
// of the addresses; if there are no addresses, none.
func (e *Endpoint) keepSessions(a *association, list []pfcp.CPAddress) {
	if len(list) == 0 {
		return
	}
	keep := addresses(list)
	others := make(map[session.FSEID]bool)
	for s := range e.sessions.All() {
		f := session.FSEID{IPv4: s.CP.IPv4, IPv6: s.CP.IPv6}
		v4, v6 := netip.AddrFrom4(f.IPv4), netip.AddrFrom16(f.IPv6)
		if s.Owner == a.owner && !slices.Contains(keep, v4) && !slices.Contains(keep, v6) {
			others[f] = true
		}
	}
	for f := range others {
		_, _ = e.deleteSessions(a, session.Selector{CP: f}) // logged there
	}
}
