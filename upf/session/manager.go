package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"
)

// Datapath is where sessions are applied. An implementation gives its errors
// as an [*Error] where it can; any other is a System failure.
type Datapath interface {
	// Install makes the datapath hold c.Session, whole, in place of whatever it
	// held for its SEID, before it returns nil. On an error nothing has changed.
	// c and what it points to must not be changed, nor kept.
	Install(ctx context.Context, c *Change) error

	// Remove takes the session out of the datapath. On an error nothing has
	// changed.
	Remove(ctx context.Context, seid uint64) error

	// Usage reads into u what was counted for the session.
	Usage(ctx context.Context, seid uint64, u *Usage) error
}

// Change is a session as it is to be, and what goes with the change.
type Change struct {
	Session    *Session
	EndMarkers []EndMarker
	// DropBuffered: packets that were buffered so far are dropped.
	DropBuffered bool

	tables *tables
}

// EndMarker is what ends a tunnel, or a QoS flow in it, behind the last packet.
// Source: TS 29.281 V18.1.0, 7.3.2.
type EndMarker struct {
	Tunnel               OuterHeaderCreation
	DestinationInterface Interface // of the FAR that sent there
	QFI                  uint8     // of the QoS flow that has left; 0: all have
}

// Flows returns the filters of an application, of which one has to match; ok is
// false if it is not known, and then no packet is of it. They must not be changed.
func (c *Change) Flows(app string) (filters []SDFFilter, ok bool) {
	if c.tables == nil {
		return nil, false
	}
	return c.tables.flows(app)
}

// Predefined returns the predefined rule of that name, or nil.
func (c *Change) Predefined(name string) *PredefinedRule {
	if c.tables == nil {
		return nil
	}
	return c.tables.predefined[name]
}

// SliceMeter returns the rates of the slice that the session belongs to; 0: not
// limited.
func (c *Change) SliceMeter() (uplink, downlink BitsPerSecond) {
	if c.tables == nil {
		return 0, 0
	}
	return c.tables.slices.meter(c.Session.Slice)
}

// withTables gives what sessions name to a datapath with each of them.
type withTables struct {
	Datapath
	tables *tables
}

// Install implements [Datapath].
func (d withTables) Install(ctx context.Context, c *Change) error {
	c.tables = d.tables
	return d.Datapath.Install(ctx, c)
}

// Manager owns all sessions. Its methods may be called from any number of
// goroutines: those on different sessions do not wait for each other, and
// readers wait for nobody longer than it takes to copy a record.
type Manager struct {
	config   Config
	datapath Datapath
	table    table
	claims   *claims
	tables   tables
	timers   *timers
	usages   *usages
	works    sync.Pool // of *Result, for work that no caller's Result is there for
}

// NewManager returns a manager without sessions.
func NewManager(c Config, d Datapath) (*Manager, error) {
	if len(c.Endpoints) == 0 {
		return nil, errors.New("session: no GTP-U endpoint")
	}
	if c.MaxRules <= 0 {
		c.MaxRules = defaultMaxRules
	}
	c.MaxRules = min(c.MaxRules, maxRecordRules)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.AgentUp == nil {
		c.AgentUp = func(uint8) bool { return true }
	}
	t, err := newTEIDs(c.MaxSessions)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	p, err := newPools(c.Pools)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	s, err := newSliceTable(&c)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	m := &Manager{
		config: c, claims: newClaims(t, p), timers: newTimers(c.Now().UnixNano()), usages: newUsages(),
	}
	m.datapath = withTables{d, &m.tables}
	if err := m.tables.init(c.Predefined, s); err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	m.works.New = func() any { return new(Result) }
	return m, nil
}

// now is the time in Unix nanoseconds.
func (m *Manager) now() int64 { return m.config.Now().UnixNano() }

// applyError is what a datapath's error means to the CP function.
func applyError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Cause: CauseSystemFailure, Err: err}
}

// Get returns the session, or nil. It decodes it anew each time; who does so
// often uses Read.
func (m *Manager) Get(seid uint64) *Session {
	s := new(Session)
	if !m.Read(seid, s) {
		return nil
	}
	return s
}

// Read makes s the session of that SEID, in the memory that s has. It reports
// false if there is none.
func (m *Manager) Read(seid uint64, s *Session) bool {
	w := m.works.Get().(*Result)
	defer m.works.Put(w)
	e := m.table.find(seid)
	return e != nil && e.read(seid, s, w.reader())
}

// Lookup returns the owner of a session and the CP function's SEID, without
// decoding it. It reports false if there is none, nor was shortly before this
// process was started.
func (m *Manager) Lookup(seid uint64) (owner uint32, cp uint64, ok bool) {
	if e := m.table.find(seid); e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.seid == seid && e.record != nil {
			return recordOwner(e.record), recordCP(e.record), true
		}
	}
	w := m.works.Get().(*Result)
	defer m.works.Put(w)
	if !m.deletedBefore(seid, &w.old, w.reader()) {
		return 0, 0, false
	}
	return w.old.Owner, w.old.CP.SEID, true
}

// ByFTEID returns the session that has this F-TEID, or nil. Without an address in f it
// is that of any F-TEID with the TEID.
func (m *Manager) ByFTEID(f FTEID) *Session {
	return m.held(m.claims.teids.holder(f.TEID, f.locals()))
}

// ByUEAddress returns the session to which packets for this UE address go, or
// nil. If a has both an IPv4 address and an IPv6 prefix, the IPv4 address
// decides.
func (m *Manager) ByUEAddress(a UEAddress) *Session {
	for _, r := range a.resources(nil) {
		return m.held(m.claims.holder(r))
	}
	return nil
}

// held returns the session of a holder, or nil.
func (m *Manager) held(holder uint32) *Session {
	if holder == 0 {
		return nil
	}
	return m.Get(m.table.at(holder - 1).taken())
}

// Len is how many sessions there are, those included that are being
// established.
func (m *Manager) Len() int { return m.table.len() }

// SliceLen is how many sessions a slice has, by its number.
func (m *Manager) SliceLen(number uint32) int { return m.tables.slices.len(number) }

// All yields every session that was there when it began and still is when its
// turn comes; some that came meanwhile too. Sessions can be changed meanwhile,
// by the caller too.
func (m *Manager) All() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for seid := range m.seids(func([]byte) bool { return true }) {
			if s := m.Get(seid); s != nil && !yield(s) {
				return
			}
		}
	}
}

// seids yields the SEIDs of the sessions whose records want says yes to. It is
// called with the record locked, so it must not wait.
func (m *Manager) seids(want func(record []byte) bool) iter.Seq[uint64] {
	return m.places(func(record []byte) bool { return record != nil && want(record) })
}

// places is seids with those sessions that are being established, whose records are
// nil.
func (m *Manager) places(want func(record []byte) bool) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i := range m.table.chunks {
			c := m.table.chunks[i].Load()
			if c == nil {
				continue
			}
			for j := range c {
				e := &c[j]
				e.mu.Lock()
				seid := e.seid
				ok := seid != 0 && want(e.record)
				e.mu.Unlock()
				if ok && !yield(seid) {
					return
				}
			}
		}
	}
}

// lock returns a session's entry, locked for a change, with the session in
// r.old. owner 0: whoever owns it.
func (m *Manager) lock(seid uint64, owner uint32, r *Result) (*entry, error) {
	e := m.table.find(seid)
	if e == nil {
		return nil, noSession(seid)
	}
	e.change.Lock()
	if !e.read(seid, &r.old, r.reader()) || owner != 0 && r.old.Owner != owner {
		e.change.Unlock()
		return nil, noSession(seid)
	}
	return e, nil
}

func noSession(seid uint64) *Error {
	return &Error{Cause: CauseSessionContextNotFound, Err: fmt.Errorf("SEID %#x: %w", seid, ErrNoSession)}
}

// commit makes s what is kept of it, here and in the store. The caller holds
// e.change.
func (m *Manager) commit(e *entry, s *Session, w *writer) {
	w.b = w.b[:0]
	appendRecord(w, s)
	e.write(w.b)
	if m.config.Store != nil {
		m.config.Store.Save(KindSession, s.SEID, w.b)
	}
	m.timers.set(s.SEID, s.next(m.now()))
}
