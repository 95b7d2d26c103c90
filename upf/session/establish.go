package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/internal/endpoint"
)

// Establish makes a new session. It returns when the datapath holds it.
// The result is in r. The error is nil or an [*Error].
func (m *Manager) Establish(ctx context.Context, req *Establishment, r *Result) error {
	r.begin(&r.next)
	p := plan{m: m, r: r, next: &r.next, now: m.now()}
	if err := p.establish(req); err != nil {
		return err
	}
	agent, given := p.givenAgent()
	agent, err := m.tables.slices.place(p.next, func(a uint8) bool {
		return (!given || a == agent) && m.config.AgentUp(a)
	})
	if err != nil {
		return err
	}
	seid, e, ok := m.table.reserve(agent, m.config.MaxSessions)
	if !ok {
		m.tables.slices.leave(p.next.Slice, agent)
		return &Error{Cause: CauseNoResources, Err: fmt.Errorf("%d sessions: %w", m.config.MaxSessions, ErrFull)}
	}
	p.next.SEID = seid
	e.change.Lock()
	defer e.change.Unlock()
	if err := m.install(ctx, &p); err != nil {
		m.tables.slices.leave(p.next.Slice, agent)
		m.table.release(seid)
		return err
	}
	m.commit(e, p.next, &r.writer)
	return nil
}

// install claims what a new session needs and applies it. A session of the same
// CP F-SEID that holds something of it goes: its CP function has not heard that
// it exists, or has forgotten it.
func (m *Manager) install(ctx context.Context, p *plan) error {
	err := p.acquire()
	for tries := 0; err != nil && p.clash != 0 && tries < maxReplaced; tries++ {
		seid, ok := m.replace(ctx, p)
		if !ok {
			return err
		}
		p.r.Replaced = append(p.r.Replaced, seid)
		err = p.acquire()
	}
	if err != nil {
		return err
	}
	p.r.change = Change{Session: p.next}
	err = m.datapath.Install(ctx, &p.r.change)
	if isFull(err) && m.clear(ctx) {
		err = m.datapath.Install(ctx, &p.r.change)
	}
	if err != nil {
		m.claims.release(p.r.taken)
		return applyError(err)
	}
	return nil
}

// isFull reports whether a datapath has no room.
func isFull(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Cause == CauseNoResources
}

// maxReplaced is how many sessions one establishment can replace: those of one
// CP F-SEID, of which there is one, or after odd races two.
const maxReplaced = 4

// replace deletes the session that holds what the planned one needs, if it is of
// the same owner and has the same CP F-SEID, or the UE's address in the same data network:
// a CP function gives an address to one session, so it has lost the other one.
func (m *Manager) replace(ctx context.Context, p *plan) (uint64, bool) {
	w := m.works.Get().(*Result)
	defer m.works.Put(w)
	e := m.table.at(p.clash - 1)
	// Two that would replace each other must not wait for each other.
	if !e.change.TryLock() {
		return 0, false
	}
	defer e.change.Unlock()
	seid := e.taken()
	same := e.read(seid, &w.old, w.reader()) && w.old.Owner == p.next.Owner &&
		(w.old.CP == p.next.CP || p.isUE(p.clashAt) && endpoint.SameName(w.old.DNN, p.next.DNN))
	if !same {
		return 0, false
	}
	w.Reports = w.Reports[:0]
	if len(w.old.URRs) > 0 && w.old.CP != p.next.CP {
		w.between = w.old
		if m.removeUsage(ctx, &w.between, w) != nil {
			return 0, false
		}
	}
	if m.datapath.Remove(ctx, seid) != nil {
		return 0, false
	}
	if len(w.Reports) > 0 {
		p.r.Lost = append(p.r.Lost, Lost{SEID: seid, CP: w.old.CP, Reports: slices.Clone(w.Reports)})
	}
	m.drop(&w.old, w)
	return seid, true
}

// isUE reports whether the resource is the address of the planned session's UE, and not
// that of a host behind it.
func (p *plan) isUE(r resource) bool {
	return slices.ContainsFunc(p.next.PDRs, func(d PDR) bool { return slices.Contains(d.PDI.UEAddress.resources(nil), r) })
}

// drop forgets a session that the datapath has let go of, in the store too. The
// caller holds its entry's change.
func (m *Manager) drop(s *Session, r *Result) {
	if m.config.Store != nil {
		m.config.Store.Drop(KindSession, s.SEID)
	}
	m.forget(s, r)
}

// forget gives back what a session has here. The caller holds its entry's change.
func (m *Manager) forget(s *Session, r *Result) {
	r.before = s.resources(r.before[:0])
	m.claims.release(r.before)
	m.tables.slices.leave(s.Slice, Agent(s.SEID))
	m.timers.forget(s.SEID)
	m.table.release(s.SEID)
}
