package n4

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Restore takes one record that the store kept, of any kind: it passes over
// those that are not of this package. It is called before Serve, for each record
// there is, in any order.
func (e *Endpoint) Restore(kind byte, id uint64, record []byte) error {
	switch kind {
	case KindAssociation:
		return e.restoreAssociation(uint32(id), record)
	case KindLoss:
		return e.restoreLoss(uint32(id), record)
	case KindPFDs:
		return e.restorePFDs(id, record)
	case KindMeta:
		t, err := readRecovery(record)
		if err != nil {
			return err
		}
		e.recovery, e.restored = t, true
	}
	return nil
}

func (e *Endpoint) restoreAssociation(owner uint32, record []byte) error {
	a := e.newAssociation(pfcp.NodeID{}, netip.Addr{}, time.Time{})
	if err := a.read(owner, record); err != nil {
		return err
	}
	a.forms.learn(e.config.leaveOut(a.addr))
	a.asked = time.Now()
	// Limits may be lower than they were: what was accepted stays.
	return e.peers.add(a, int(^uint(0)>>1), int(^uint(0)>>1))
}

// resume goes on where the process before this one ended: the Recovery Time
// Stamp is kept from now on, and the associations' peers are watched again.
func (e *Endpoint) resume() {
	if !e.restored {
		e.store.Save(KindMeta, 0, recoveryRecord(e.recovery))
		_ = e.flush(e.run) // the first answer waits for it again
	}
	for owner, n := range e.sessions.CountOwned() {
		if a := e.peers.owner(owner); a != nil {
			a.sessions.Store(int64(n))
		}
		e.peers.reserve(owner)
	}
	list := e.peers.list()
	for _, a := range list {
		e.monitor(a)
	}
	if len(list) > 0 {
		e.log.event(kindAssociation, slog.LevelInfo, "n4: associations of before the restart go on",
			"associations", len(list), "sessions", e.sessions.Len(), "recovery", e.recovery.Time())
	}
}
