package session

import (
	"context"
	"maps"
)

// rest says that the datapath holds URRs that a session has no more, or a session
// that has been deleted. They are taken out when the store holds what has been
// saved until now. The caller holds the session, which is at rest as it is to be.
func (m *Manager) rest(ctx context.Context, seid uint64) {
	u := m.usages
	u.mu.Lock()
	u.round++
	u.rests[seid] = u.round
	since := u.round
	u.mu.Unlock()
	if m.config.Store == nil {
		if m.tidyLocked(ctx, seid, since) == nil {
			return
		}
	}
	u.rouse()
}

// clear takes out at once all that waits for it, and reports whether there was
// anything: another session may need the room.
func (m *Manager) clear(ctx context.Context) bool {
	m.usages.mu.Lock()
	rests := maps.Clone(m.usages.rests)
	m.usages.mu.Unlock()
	if len(rests) == 0 || m.flush(ctx) != nil {
		return false
	}
	for seid, since := range rests {
		_ = m.tidy(ctx, seid, since) // what fails is tried again by settle
	}
	return true
}

// settled returns when no URR of a session waits to be taken out any more: the
// next change would do that too early, or go on with its count for another one of
// the same ID. The caller holds the session.
func (m *Manager) settled(ctx context.Context, seid uint64) error {
	u := m.usages
	u.mu.Lock()
	since, waits := u.rests[seid]
	u.mu.Unlock()
	if !waits {
		return nil
	}
	if err := m.flush(ctx); err != nil {
		return err
	}
	return m.tidyLocked(ctx, seid, since)
}

// tidy makes the datapath hold a session as it is, or not at all if it has been
// deleted, unless more has to be taken out since then. What fails costs memory in
// the datapath, until it is tried again.
func (m *Manager) tidy(ctx context.Context, seid, since uint64) error {
	if e := m.table.find(seid); e != nil {
		e.change.Lock()
		defer e.change.Unlock()
	}
	return m.tidyLocked(ctx, seid, since)
}

// tidyLocked is tidy for who holds the session.
func (m *Manager) tidyLocked(ctx context.Context, seid, since uint64) error {
	u := m.usages
	u.mu.Lock()
	now := u.rests[seid]
	u.mu.Unlock()
	if now != since {
		return nil
	}
	r := m.works.Get().(*Result)
	defer m.works.Put(r)
	var err error
	if e := m.table.find(seid); e != nil && e.read(seid, &r.old, r.reader()) {
		r.change = Change{Session: &r.old}
		err = m.datapath.Install(ctx, &r.change)
	} else {
		err = m.datapath.Remove(ctx, seid)
	}
	if err == nil {
		u.mu.Lock()
		delete(u.rests, seid)
		u.mu.Unlock()
	}
	return err
}

// revive makes a restored session's reports and times known again. A response
// that was under way when the process ended may not have arrived: reports that
// were in it are sent again, with the same UR-SEQN, in a request. That the session is
// inactive is told again, too, as nobody may have heard it: unless packets have come.
// The caller holds the session.
func (m *Manager) revive(s *Session) {
	now := m.now()
	s.trim(now)
	for i := range s.Reports {
		s.Reports[i].Answered = 0
	}
	if s.Inactivity.Told {
		s.Inactivity.Told = false
		var w writer
		appendRecord(&w, s)
		m.table.find(s.SEID).write(w.b)
	}
	if s.waiting() {
		m.doubt(s.SEID)
		m.notice(Notice{Event{Kind: UsageEvent, SEID: s.SEID}, s.Owner})
	}
	if len(s.URRs) > 0 || s.InactivityTimer != 0 { // within a minute, not all at once
		m.timers.set(s.SEID, now+int64(slotOf(s.SEID)%60)*second)
	}
}

// reviveDeleted keeps what a repeated deletion of a session is answered with,
// for as long as it may come.
func (m *Manager) reviveDeleted(s *Session, record []byte) {
	m.usages.mu.Lock()
	m.usages.deleted[s.SEID] = append([]byte(nil), record...)
	m.usages.mu.Unlock()
	m.timers.set(s.SEID, s.next(m.now()))
}

// deletedBefore reads a session that was deleted before this process was started,
// and of which a repeated deletion is still answered.
func (m *Manager) deletedBefore(seid uint64, s *Session, r *reader) bool {
	m.usages.mu.Lock()
	defer m.usages.mu.Unlock()
	record, ok := m.usages.deleted[seid]
	return ok && readRecord(s, seid, record, r) == nil
}

// lapse forgets a deleted session, when its request cannot come again.
func (m *Manager) lapse(seid uint64) {
	m.usages.mu.Lock()
	delete(m.usages.deleted, seid)
	m.usages.mu.Unlock()
	if m.config.Store != nil {
		m.config.Store.Drop(KindSession, seid)
	}
}
