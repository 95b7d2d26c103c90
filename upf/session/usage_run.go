package session

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// This file looks at sessions when something has happened, or when it is time:
//
//	events of the datapath ─┐
//	timers, once a second ──┴► look: counters > reports and baselines in the
//	                           record > Store.Save > limits in the datapath
//	                             └► flush: Store.Flush > Tell, for all of them
//
// So nobody is told anything that a kill -9 could undo, and what the store holds
// but nobody was told is found there after a restart.

// Source is where events come from: a datapath.
type Source interface {
	// Next waits for the next event. Errors: that of ctx; any other ends Run.
	Next(ctx context.Context) (Event, error)
}

// Notice is an [Event] that the CP function is to be told. A UsageEvent says that
// reports of the session wait: see [Manager.Waiting].
type Notice struct {
	Event
	Owner uint32 // of the session; 0: not about a session
}

// lookers is how many sessions are looked at at the same time: for a datapath
// that answers over a network.
const lookers = 8

// usages is what the manager has to do about usage.
type usages struct {
	tell func(Notice) // set by Run before anything is told

	mu      sync.Mutex
	notices []Notice          // to be told when the store holds their reasons
	unsure  map[uint64]int    // SEIDs with reports that the store may not hold: how many are doing that
	rests   map[uint64]uint64 // by SEID of which the datapath holds URRs that have ended: since when
	round   uint64            // the time for rests
	wake    chan struct{}     // there are notices or rests

	// deleted are the records of sessions that were deleted shortly before this
	// process was started.
	deleted map[uint64][]byte
}

func newUsages() *usages {
	return &usages{
		wake: make(chan struct{}, 1), unsure: make(map[uint64]int),
		rests: make(map[uint64]uint64), deleted: make(map[uint64][]byte),
	}
}

// hint says which session to look at, and for which of its URRs a packet has
// come.
type hint struct {
	seid    uint64
	started Optional[uint32]
	due     bool // it is time, and no event
	urr     uint32
	macs    *MACChange // of the URR urr; nil: it is not about that
}

// Run takes the datapath's events and looks at the time, until ctx ends, whose
// error it returns, or that of the source. What CP functions are to be told goes
// to tell, which must not wait.
func (m *Manager) Run(ctx context.Context, source Source, tell func(Notice)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m.usages.tell = tell
	hints := make(chan hint)
	var work sync.WaitGroup
	for range lookers {
		work.Go(func() {
			for h := range hints {
				m.look(ctx, h)
			}
		})
	}
	work.Go(func() { m.flushes(ctx) })
	var sources sync.WaitGroup
	sources.Go(func() { m.ticks(ctx, hints) })
	sources.Go(func() { cancel(m.events(ctx, source, hints)) })
	sources.Wait()
	close(hints)
	work.Wait()
	return context.Cause(ctx)
}

// events hands on what the datapath tells.
func (m *Manager) events(ctx context.Context, source Source, hints chan<- hint) error {
	for {
		e, err := source.Next(ctx)
		switch {
		case err != nil:
			return err
		case e.Kind == UsageEvent || e.Kind == StartOfTraffic || e.Kind == MACAddresses:
			h := hint{seid: e.SEID, urr: e.RuleID, macs: e.MACs}
			if e.Kind == StartOfTraffic {
				h.started = Some(e.RuleID)
			}
			select {
			case hints <- h:
			case <-ctx.Done():
				return ctx.Err()
			}
		case e.SEID == 0:
			m.usages.tell(Notice{Event: e})
		default:
			if owner, _, ok := m.Lookup(e.SEID); ok {
				m.usages.tell(Notice{e, owner})
			}
		}
	}
}

// ticks hands on the sessions whose time has come.
func (m *Manager) ticks(ctx context.Context, hints chan<- hint) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var due []uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		due = m.timers.due(due[:0], m.now())
		for _, seid := range due {
			select {
			case hints <- hint{seid: seid, due: true}:
			case <-ctx.Done():
				return
			}
		}
	}
}

// retryTime is after how long a look that failed is tried again, in nanoseconds.
const retryTime = 2 * second

// look looks at what a session has used, makes the reports that are due, and
// asks for the next look.
func (m *Manager) look(ctx context.Context, h hint) {
	seid := h.seid
	r := m.works.Get().(*Result)
	defer m.works.Put(r)
	e, err := m.lock(seid, 0, r)
	if err != nil {
		if h.due {
			m.lapse(seid)
		}
		return
	}
	defer e.change.Unlock()
	s := &r.old
	if len(s.URRs) == 0 && s.InactivityTimer == 0 {
		return
	}
	now := m.now()
	if err := m.datapath.Usage(ctx, seid, &r.usage); err != nil {
		m.timers.set(seid, now+retryTime)
		return
	}
	s.trim(now)
	r.limits = s.limits(r.limits[:0])
	made := s.look(now, &r.usage, h.started)
	if h.macs != nil {
		made = s.reportMACs(now, h.urr, h.macs.Detected, h.macs.Removed) || made
	}
	inactive := s.idle(now, r.usage.Packets)
	n := len(r.limits)
	r.limits = s.limits(r.limits)
	if made {
		m.doubt(seid)
	}
	if changed := !slices.Equal(r.limits[:n], r.limits[n:]); made || changed {
		m.commit(e, s, &r.writer)
		r.change = Change{Session: s}
		if changed && m.datapath.Install(ctx, &r.change) != nil {
			m.rest(ctx, seid) // which installs it as it is, until that succeeds
		}
	} else { // what was seen of packets need not outlive the process
		m.keep(e, s, &r.writer)
	}
	if made {
		m.notice(Notice{Event{Kind: UsageEvent, SEID: seid}, s.Owner})
	}
	if inactive {
		m.notice(Notice{Event{Kind: UserPlaneInactivity, SEID: seid}, s.Owner})
	}
}

// keep makes s what is kept of it here, though not in the store.
func (m *Manager) keep(e *entry, s *Session, w *writer) {
	w.b = w.b[:0]
	appendRecord(w, s)
	e.write(w.b)
	m.timers.set(s.SEID, s.next(m.now()))
}

// notice tells something when the store holds all that was saved until now.
func (m *Manager) notice(n Notice) {
	u := m.usages
	u.mu.Lock()
	u.notices = append(u.notices, n)
	u.mu.Unlock()
	u.rouse()
}

func (u *usages) rouse() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// flushes works whenever somebody was noticed.
func (m *Manager) flushes(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.usages.wake:
		}
		if m.settle(ctx) != nil {
			time.AfterFunc(time.Duration(retryTime), m.usages.rouse)
		}
	}
}

// settle makes what was noticed outlive the process, tells it, and then takes out
// of the datapath what nobody needs any more.
func (m *Manager) settle(ctx context.Context) error {
	u := m.usages
	u.mu.Lock()
	notices, rests := u.notices, maps.Clone(u.rests)
	u.notices = nil
	u.mu.Unlock()
	if err := m.flush(ctx); err != nil {
		u.mu.Lock()
		u.notices = append(notices, u.notices...)
		u.mu.Unlock()
		return err
	}
	u.trust(notices)
	for _, n := range notices {
		u.tell(n)
	}
	var failed error
	for seid, since := range rests {
		if err := m.tidy(ctx, seid, since); err != nil {
			failed = err
		}
	}
	return failed
}

// doubt says that reports of a session are being made, of which there will be a
// notice.
func (m *Manager) doubt(seid uint64) {
	m.usages.mu.Lock()
	m.usages.unsure[seid]++
	m.usages.mu.Unlock()
}

// sure returns when the store holds the reports of a session that have been made.
func (m *Manager) sure(ctx context.Context, seid uint64) error {
	m.usages.mu.Lock()
	n := m.usages.unsure[seid]
	m.usages.mu.Unlock()
	if n == 0 {
		return nil
	}
	return m.flush(ctx)
}

// trust takes back the doubts that there were for notices.
func (u *usages) trust(notices []Notice) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, n := range notices {
		if n.Kind != UsageEvent {
			continue
		}
		if u.unsure[n.SEID]--; u.unsure[n.SEID] == 0 {
			delete(u.unsure, n.SEID)
		}
	}
}

// flush makes what was saved outlive the process.
func (m *Manager) flush(ctx context.Context) error {
	if m.config.Store == nil {
		return nil
	}
	return m.config.Store.Flush(ctx)
}
