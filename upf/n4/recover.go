package n4

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// Lost is what the store kept of CP functions and does not give any more, though
// they count on it.
type Lost struct {
	Owners  []uint32 // whose sessions
	Unknown bool     // there is more, and it is not known whose
}

// Recover makes good what was lost, before Serve and when all records and sessions
// are restored: CP functions whose sessions are not there are sent a newer Recovery
// Time Stamp than before, by which they restore them, or all are if it is not known
// whose those are. Sessions that are there stay, and are replaced as they are
// established again. Sessions without an association are deleted: nobody could
// modify or delete them. When it returns nil the store holds what is to be sent.
//
// Source: TS 23.527 V18, 4.2; TS 29.244 V18.6.0, 6.2.2.
func (e *Endpoint) Recover(ctx context.Context, lost Lost) error {
	orphans := map[uint32]int{}
	for owner, n := range e.sessions.CountOwned() {
		if owner != 0 && e.peers.owner(owner) == nil {
			orphans[owner] = n
		}
	}
	if !e.restored && (len(orphans) > 0 || len(e.peers.list()) > 0) {
		lost.Unknown = true
	}
	if len(orphans) == 0 && len(lost.Owners) == 0 && !lost.Unknown {
		return nil
	}
	told := e.endOrphans(ctx, orphans)
	for _, owner := range lost.Owners {
		if a := e.peers.owner(owner); a != nil {
			told = append(told, a.addr)
		} else if orphans[owner] == 0 {
			lost.Unknown = true // there is nothing that says where it is
		}
	}
	if lost.Unknown {
		e.renew()
	} else {
		slices.SortFunc(told, netip.Addr.Compare)
		for _, addr := range slices.Compact(told) {
			e.renewAt(addr)
		}
	}
	return e.flush(ctx)
}

// endOrphans deletes the sessions of owners that have no association any more, and
// returns the addresses of the CP functions that they were of.
func (e *Endpoint) endOrphans(ctx context.Context, orphans map[uint32]int) (of []netip.Addr) {
	if len(orphans) == 0 {
		return nil
	}
	addrs := map[netip.Addr]struct{}{}
	for s := range e.sessions.All() {
		if orphans[s.Owner] == 0 {
			continue
		}
		if s.CP.IPv4 != (session.IPv4{}) {
			addrs[netip.AddrFrom4(s.CP.IPv4)] = struct{}{}
		} else {
			addrs[netip.AddrFrom16(s.CP.IPv6)] = struct{}{}
		}
	}
	of = slices.Collect(maps.Keys(addrs))
	for owner := range orphans {
		e.peers.reserve(owner)
		n, err := e.sessions.DeleteOwned(ctx, owner)
		if err != nil {
			e.log.Error("n4: sessions without an association remain", "owner", owner, "error", err)
		}
		e.log.Error("n4: the association of sessions is lost, they are deleted", "owner", owner, "sessions", n, "cp_addresses", of)
	}
	return of
}

// renew gives all CP functions a newer Recovery Time Stamp than any of them was sent.
func (e *Endpoint) renew() {
	before := newest(e.recovery, e.losses.newest())
	for _, a := range e.peers.list() {
		before = newest(before, a.lost)
	}
	e.recovery, e.restored = e.later(before), true
	e.store.Save(KindMeta, 0, recoveryRecord(e.recovery))
	e.log.event(kindAssociation, slog.LevelError, "n4: sessions may be lost, all CP functions are sent a newer Recovery Time Stamp",
		"associations", len(e.peers.list()), "recovery", e.recovery.Time())
}

// renewAt gives those at one address a newer one, whether they are associated or not.
func (e *Endpoint) renewAt(addr netip.Addr) {
	stamp, known := e.later(e.recoveryAt(addr)), false
	for _, a := range e.peers.list() {
		if a.addr == addr {
			a.lost, known = stamp, true
			e.save(a)
		}
	}
	if !known {
		owner := e.peers.take()
		of := loss{stamp, owner}
		e.store.Save(KindLoss, uint64(owner), of.record(addr))
		if gone := e.losses.put(addr, of, e.config.MaxAssociations); gone != 0 {
			e.store.Drop(KindLoss, uint64(gone))
		}
	}
	e.log.event(kindAssociation, slog.LevelError, "n4: sessions are lost, their CP function is sent a newer Recovery Time Stamp",
		"addr", addr, "recovery", stamp.Time())
}

// later is a Recovery Time Stamp later than one that was sent: the start of the
// process, if that is.
func (e *Endpoint) later(before pfcp.TimeStamp) pfcp.TimeStamp {
	if t := pfcp.NewTimeStamp(e.config.RecoveryTime); newer(t, before) {
		return t
	}
	return before + 1
}
