package session

import (
	"context"
	"slices"
)

// Waiting are the reports of a session that its CP function has not acknowledged
// yet, and where they go.
type Waiting struct {
	Owner   uint32
	CP      FSEID
	Reports []UsageReport // oldest first
}

// Waiting reads into w what is to be reported of a session's usage, which may be
// nothing; all of it outlives this process. Errors: [ErrNoSession], or that of the
// store.
func (m *Manager) Waiting(ctx context.Context, seid uint64, w *Waiting) error {
	*w = Waiting{Reports: w.Reports[:0]}
	r := m.works.Get().(*Result)
	defer m.works.Put(r)
	s := &r.old
	if !m.Read(seid, s) {
		return noSession(seid)
	}
	w.Owner, w.CP = s.Owner, s.CP
	for _, u := range s.Reports {
		if u.Answered == 0 {
			w.Reports = append(w.Reports, u)
		}
	}
	if len(w.Reports) == 0 {
		return nil
	}
	return m.sure(ctx, seid)
}

// CPFunction returns whom to tell of anything about a session but its usage. Errors:
// [ErrNoSession].
func (m *Manager) CPFunction(seid uint64) (owner uint32, cp FSEID, err error) {
	r := m.works.Get().(*Result)
	defer m.works.Put(r)
	if !m.Read(seid, &r.old) {
		return 0, FSEID{}, noSession(seid)
	}
	return r.old.Owner, r.old.CP, nil
}

// Acknowledge forgets reports that the CP function has acknowledged. If it does
// not outlive the process they are sent again, and a CP function that knows their
// UR-SEQN passes over them.
func (m *Manager) Acknowledge(seid uint64, reports []UsageReport) {
	r := m.works.Get().(*Result)
	defer m.works.Put(r)
	e, err := m.lock(seid, 0, r)
	if err != nil {
		return
	}
	defer e.change.Unlock()
	s := &r.old
	n := len(s.Reports)
	s.Reports = slices.DeleteFunc(s.Reports, func(u UsageReport) bool {
		return slices.ContainsFunc(reports, func(r UsageReport) bool { return u.same(&r) })
	})
	m.commit(e, s, &r.writer)
	if n >= maxReports {
		m.timers.set(seid, m.now()) // what there was no room for
	}
}

// same reports whether both are one report, sent the same way: a URR of the same ID
// that came later begins with UR-SEQN 0 again, but at another time.
func (r *UsageReport) same(other *UsageReport) bool {
	return r.URRID == other.URRID && r.SEQN == other.SEQN && r.Start == other.Start && r.End == other.End && r.Answered == other.Answered
}
