package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Delete removes a session. It returns when the datapath has let go of it.
// The result is in r. The error is nil or an [*Error].
func (m *Manager) Delete(ctx context.Context, seid uint64, owner uint32, r *Result) error {
	r.begin(&r.next)
	e, err := m.lock(seid, owner, r)
	if err != nil && m.deletedBefore(seid, &r.old, r.reader()) && r.old.Owner == owner {
		r.Session, r.Again, r.Reports = &r.old, true, append(r.Reports, r.old.Reports...)
		return nil
	}
	if err != nil {
		return err
	}
	defer e.change.Unlock()
	r.Session = &r.old
	if len(r.old.URRs) > 0 || len(r.old.Reports) > 0 {
		return m.deleteCounted(ctx, r)
	}
	if err := m.datapath.Remove(ctx, seid); err != nil {
		return applyError(err)
	}
	m.drop(&r.old, r)
	return nil
}

// deleteCounted removes a session of which there is usage to report. Its record
// stays in the store for a while, and what the datapath counted until that is
// certain.
func (m *Manager) deleteCounted(ctx context.Context, r *Result) error {
	r.between = r.old
	if err := m.removeUsage(ctx, &r.between, r); err != nil {
		r.Reports = r.Reports[:0]
		return applyError(err)
	}
	m.forget(&r.old, r)
	if m.config.Store != nil { // in place of the session's record, in one step
		r.writer.b = r.writer.b[:0]
		appendRecord(&r.writer, &r.between)
		m.config.Store.Save(KindSession, r.old.SEID, r.writer.b)
		m.timers.set(r.old.SEID, r.between.next(m.now()))
	}
	m.rest(ctx, r.old.SEID)
	return nil
}

// Selector says which sessions are meant: those that meet all its conditions.
type Selector struct {
	Owner uint32   // 0: anybody's
	CSIDs []FQCSID // it has one of these; empty: whatever it has
	CP    FSEID    // its F-SEID has one of these addresses; none: any. The SEID is passed over.
}

// has reports whether the selector means s.
func (x *Selector) has(s *Session) bool {
	if x.Owner != 0 && s.Owner != x.Owner {
		return false
	}
	if x.CP.IPv4 != (IPv4{}) || x.CP.IPv6 != (IPv6{}) {
		v4 := x.CP.IPv4 != (IPv4{}) && s.CP.IPv4 == x.CP.IPv4
		v6 := x.CP.IPv6 != (IPv6{}) && s.CP.IPv6 == x.CP.IPv6
		if !v4 && !v6 {
			return false
		}
	}
	if len(x.CSIDs) == 0 {
		return true
	}
	for i := range x.CSIDs {
		if slices.ContainsFunc(s.CSIDs, func(c FQCSID) bool { return c.same(&x.CSIDs[i]) }) {
			return true
		}
	}
	return false
}

// selected yields the SEIDs of sessions that may be meant: what it says no to
// without decoding them are those of others, and those without a set.
func (m *Manager) selected(x *Selector) func(func(uint64) bool) {
	return m.seids(func(record []byte) bool {
		return (x.Owner == 0 || recordOwner(record) == x.Owner) &&
			(len(x.CSIDs) == 0 || recordTraits(record)&traitCSIDs != 0)
	})
}

// DeleteOwned removes all sessions of an owner and says how many. It goes on
// after an error and returns them all.
func (m *Manager) DeleteOwned(ctx context.Context, owner uint32) (int, error) {
	return m.DeleteSet(ctx, Selector{Owner: owner})
}

// DeleteSet removes the sessions that x means and says how many. It goes on
// after an error and returns them all.
// Source: TS 29.244 V18.6.0, 6.2.9 and 7.4.6.
func (m *Manager) DeleteSet(ctx context.Context, x Selector) (int, error) {
	r, n := new(Result), 0
	var failed []error
	var s Session
	for seid := range m.selected(&x) {
		if !m.Read(seid, &s) || !x.has(&s) {
			continue
		}
		err := m.Delete(ctx, seid, s.Owner, r)
		switch {
		case err == nil:
			n++
		case !errors.Is(err, ErrNoSession): // somebody else was faster
			failed = append(failed, fmt.Errorf("session %#x: %w", seid, err))
		}
	}
	return n, errors.Join(failed...)
}

// Move says what becomes of sessions that another CP function takes over.
type Move struct {
	Owner uint32 // 0: as it was
	IPv4  IPv4   // of the CP F-SEID, with IPv6; both none: as they were
	IPv6  IPv6
}

// MoveOwner gives the sessions that x means to another owner, changes the
// addresses of their CP F-SEIDs, or both, and says how many they were. The
// datapath has nothing to do with it.
// Source: TS 29.244 V18.6.0, 5.22.3 and 7.4.7.
func (m *Manager) MoveOwner(x Selector, to Move) int {
	r, n := new(Result), 0
	for seid := range m.selected(&x) {
		e, err := m.lock(seid, 0, r)
		if err != nil {
			continue
		}
		if x.has(&r.old) {
			if to.Owner != 0 {
				r.old.Owner = to.Owner
			}
			if to.IPv4 != (IPv4{}) || to.IPv6 != (IPv6{}) {
				r.old.CP.IPv4, r.old.CP.IPv6 = to.IPv4, to.IPv6
			}
			m.commit(e, &r.old, &r.writer)
			n++
		}
		e.change.Unlock()
	}
	return n
}

// CountOwned says how many sessions each owner has.
func (m *Manager) CountOwned() map[uint32]int {
	count := make(map[uint32]int)
	for range m.seids(func(record []byte) bool {
		count[recordOwner(record)]++
		return false
	}) {
		continue // it says no to each
	}
	return count
}
