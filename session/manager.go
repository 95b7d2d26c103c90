package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
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
	Session *Session
	// EndMarkers are the tunnels that get an End Marker behind the last packet.
	EndMarkers []OuterHeaderCreation
}

// Manager owns all sessions. Its methods may be called from any number of
// goroutines: those on different sessions do not wait for each other, and
// readers wait for nobody longer than it takes to copy a list of pointers.
type Manager struct {
	config   Config
	datapath Datapath
	teids    *teids
	claims   *claims
	count    atomic.Int64
	shards   [256]shard
}

// shard holds those sessions whose SEID ends in its number.
type shard struct {
	mu       sync.RWMutex
	sessions map[uint64]*entry
	_        [32]byte // so that two shards do not share a cache line
}

// entry is the place of one session.
type entry struct {
	mu      sync.Mutex              // held while the session is changed
	current atomic.Pointer[Session] // nil before it is established and after it is deleted
}

// NewManager returns a manager without sessions.
func NewManager(c Config, d Datapath) (*Manager, error) {
	if len(c.Endpoints) == 0 {
		return nil, errors.New("session: no GTP-U endpoint")
	}
	t, err := newTEIDs(c.MaxSessions)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	m := &Manager{config: c, datapath: d, teids: t, claims: newClaims()}
	for i := range m.shards {
		m.shards[i].sessions = make(map[uint64]*entry)
	}
	return m, nil
}

// Establish makes a new session. It returns when the datapath holds it.
// The result is in r. The error is nil or an [*Error].
func (m *Manager) Establish(ctx context.Context, req *Establishment, r *Result) error {
	s, err := m.establish(ctx, req)
	*r = Result{Session: s}
	return err
}

func (m *Manager) establish(ctx context.Context, req *Establishment) (*Session, error) {
	if n := m.count.Add(1); n > int64(m.config.MaxSessions) {
		m.count.Add(-1)
		return nil, &Error{Cause: CauseNoResources, Err: fmt.Errorf("%d sessions: %w", n-1, ErrFull)}
	}
	seid, e := m.reserve()
	s, err := m.install(ctx, req, seid)
	if err != nil {
		m.forget(seid)
		return nil, err
	}
	e.current.Store(s)
	return s, nil
}

// install plans and applies an establishment.
func (m *Manager) install(ctx context.Context, req *Establishment, seid uint64) (*Session, error) {
	p := plan{n3: m.config.n3()}
	if err := p.establish(req, seid); err != nil {
		return nil, err
	}
	if err := m.acquire(&p); err != nil {
		return nil, err
	}
	if err := m.datapath.Install(ctx, &Change{Session: p.next}); err != nil {
		var buf [8]resource
		m.release(p.next.resources(buf[:0]))
		return nil, applyError(err)
	}
	return p.next, nil
}

// Modify changes a session. It returns when the datapath holds it so. The result
// is in r. The error is nil or an [*Error].
func (m *Manager) Modify(ctx context.Context, req *Modification, r *Result) error {
	s, err := m.modify(ctx, req)
	*r = Result{Session: s}
	return err
}

func (m *Manager) modify(ctx context.Context, req *Modification) (*Session, error) {
	e, old, err := m.lock(req.SEID, req.Owner)
	if err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	p := plan{n3: m.config.n3()}
	if err := p.modify(old, req); err != nil {
		return nil, err
	}
	if err := m.acquire(&p); err != nil {
		return nil, err
	}
	var oldBuf, nextBuf [8]resource
	before, after := old.resources(oldBuf[:0]), p.next.resources(nextBuf[:0])
	if err := m.datapath.Install(ctx, &Change{Session: p.next}); err != nil {
		m.release(without(after, before))
		return nil, applyError(err)
	}
	e.current.Store(p.next)
	m.release(without(before, after))
	return p.next, nil
}

// Delete removes a session. It returns when the datapath has let go of it.
// The result is in r. The error is nil or an [*Error].
func (m *Manager) Delete(ctx context.Context, seid uint64, owner uint32, r *Result) error {
	e, s, err := m.lock(seid, owner)
	if err != nil {
		return err
	}
	*r = Result{Session: s}
	defer e.mu.Unlock()
	if err := m.datapath.Remove(ctx, seid); err != nil {
		return applyError(err)
	}
	e.current.Store(nil)
	var buf [8]resource
	m.release(s.resources(buf[:0]))
	m.forget(seid)
	return nil
}

// DeleteOwned removes all sessions of an owner and says how many. It goes on
// after an error and returns them all.
func (m *Manager) DeleteOwned(ctx context.Context, owner uint32) (int, error) {
	n := 0
	var failed []error
	for s := range m.All() {
		if s.Owner != owner {
			continue
		}
		err := m.Delete(ctx, s.SEID, owner, new(Result))
		switch {
		case err == nil:
			n++
		case !errors.Is(err, ErrNoSession): // somebody else was faster
			failed = append(failed, fmt.Errorf("session %#x: %w", s.SEID, err))
		}
	}
	return n, errors.Join(failed...)
}

// applyError is what a datapath's error means to the CP function.
func applyError(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Cause: CauseSystemFailure, Err: err}
}

// Get returns the session, or nil.
func (m *Manager) Get(seid uint64) *Session {
	if e := m.entry(seid); e != nil {
		return e.current.Load()
	}
	return nil
}

// ByTEID returns the session that has a PDR with this TEID, or nil.
func (m *Manager) ByTEID(teid uint32) *Session {
	return m.Get(m.claims.holder(resource{resourceTEID, uint64(teid)}))
}

// ByUEAddress returns a session that has a PDR with this UE address, or nil. If
// a has both an IPv4 address and an IPv6 prefix, the IPv4 address decides.
func (m *Manager) ByUEAddress(a UEAddress) *Session {
	d := PDI{UEAddress: a}
	for _, r := range d.resources(nil) {
		return m.Get(m.claims.holder(r))
	}
	return nil
}

// Len is how many sessions there are, those included that are being
// established.
func (m *Manager) Len() int { return int(m.count.Load()) }

// All yields every session that was there when it began and still is when its
// turn comes; some that came meanwhile too. Sessions can be changed meanwhile,
// by the caller too.
func (m *Manager) All() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		var list []*entry
		for i := range m.shards {
			list = m.shards[i].entries(list[:0])
			for _, e := range list {
				if s := e.current.Load(); s != nil && !yield(s) {
					return
				}
			}
		}
	}
}

func (h *shard) entries(list []*entry) []*entry {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, e := range h.sessions {
		list = append(list, e)
	}
	return list
}

// reserve finds a SEID that nobody has, at random so that it cannot be guessed
// from another, and makes an empty entry of it.
func (m *Manager) reserve() (uint64, *entry) {
	e := new(entry)
	for {
		seid := rand.Uint64()
		if seid != 0 && m.insert(seid, e) {
			return seid, e
		}
	}
}

func (m *Manager) insert(seid uint64, e *entry) bool {
	h := m.shard(seid)
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, taken := h.sessions[seid]; taken {
		return false
	}
	h.sessions[seid] = e
	return true
}

// forget takes a SEID out of the index.
func (m *Manager) forget(seid uint64) {
	h := m.shard(seid)
	h.mu.Lock()
	delete(h.sessions, seid)
	h.mu.Unlock()
	m.count.Add(-1)
}

func (m *Manager) shard(seid uint64) *shard { return &m.shards[seid%uint64(len(m.shards))] }

func (m *Manager) entry(seid uint64) *entry {
	h := m.shard(seid)
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.sessions[seid]
}

// lock returns an owner's session with its entry locked.
func (m *Manager) lock(seid uint64, owner uint32) (*entry, *Session, error) {
	e := m.entry(seid)
	if e == nil {
		return nil, nil, noSession(seid)
	}
	e.mu.Lock()
	s := e.current.Load()
	if s == nil || s.Owner != owner {
		e.mu.Unlock()
		return nil, nil, noSession(seid)
	}
	return e, s, nil
}

func noSession(seid uint64) *Error {
	return &Error{Cause: CauseSessionContextNotFound, Err: fmt.Errorf("SEID %#x: %w", seid, ErrNoSession)}
}
