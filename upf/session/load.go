package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// Loaded is what Load has done.
type Loaded struct {
	Sessions int           // restored
	Deleted  int           // records of sessions that were deleted shortly before
	Failed   []LoadFailure // what could not be restored, and is dropped
	// Absent are those of Sessions that their datapath did not take though it
	// refused nothing: it fails, or is away. It is tried again while Run runs.
	Absent []LoadFailure
}

// LoadFailure is a session that could not be restored.
type LoadFailure struct {
	SEID  uint64
	Owner uint32 // 0: its record cannot be read
	Err   error
}

// errClashing: two records that exclude each other.
var errClashing = errors.New("its place is taken")

// errRead: there is no session in a record.
var errRead = errors.New("not read")

// loadBatch is how many records are handed over at once.
const loadBatch = 256

// Load restores the sessions whose records source gives, as that of a store does:
// it claims what they need and gives them to their datapaths, on all CPUs. Records
// of another kind are passed over. It is called before the first request, and
// after SetPFDs, or while source runs: sessions that name an application come
// last.
//
// What cannot be restored is dropped from the store. Errors: that of source.
func (m *Manager) Load(ctx context.Context, source func(ctx context.Context, each func(kind byte, id uint64, record []byte) error) error) (Loaded, error) {
	l := loading{m: m, work: make(chan []stored, runtime.GOMAXPROCS(0))}
	var workers sync.WaitGroup
	for range cap(l.work) {
		workers.Go(func() { l.restore(ctx) })
	}
	err := source(ctx, func(kind byte, id uint64, record []byte) error {
		if kind == KindSession {
			l.add(stored{id, bytes.Clone(record)})
		}
		return ctx.Err()
	})
	if len(l.batch) > 0 {
		l.work <- l.batch
	}
	if len(l.last) > 0 && err == nil {
		l.work <- l.last
	}
	close(l.work)
	workers.Wait()
	return l.done, err
}

// stored is a session's record that has been read from a store.
type stored struct {
	seid   uint64
	record []byte
}

// loading is one Load at work.
type loading struct {
	m     *Manager
	work  chan []stored
	batch []stored
	last  []stored // those that name applications

	mu   sync.Mutex
	done Loaded
}

func (l *loading) add(s stored) {
	if len(s.record) >= recordHeader && recordTraits(s.record)&traitApplications != 0 {
		l.last = append(l.last, s)
		return
	}
	if l.batch = append(l.batch, s); len(l.batch) == loadBatch {
		l.work <- l.batch
		l.batch = make([]stored, 0, loadBatch)
	}
}

// restore works on batches until there are no more.
func (l *loading) restore(ctx context.Context) {
	r := new(Result)
	for batch := range l.work {
		var done Loaded
		for _, s := range batch {
			deleted, err := l.m.restore(ctx, s, r)
			var absent *absentError
			switch {
			case errors.As(err, &absent):
				done.Sessions++
				done.Absent = append(done.Absent, LoadFailure{SEID: s.seid, Owner: r.next.Owner, Err: absent.err})
			case errors.Is(err, errRead):
				done.Failed = append(done.Failed, LoadFailure{SEID: s.seid, Err: err})
			case err != nil:
				done.Failed = append(done.Failed, LoadFailure{SEID: s.seid, Owner: r.next.Owner, Err: err})
			case deleted:
				done.Deleted++
			default:
				done.Sessions++
			}
		}
		l.mu.Lock()
		l.done.Sessions += done.Sessions
		l.done.Deleted += done.Deleted
		l.done.Failed = append(l.done.Failed, done.Failed...)
		l.done.Absent = append(l.done.Absent, done.Absent...)
		l.mu.Unlock()
	}
}

// restore restores one session, or what is left of one that was deleted.
func (m *Manager) restore(ctx context.Context, from stored, r *Result) (deleted bool, err error) {
	r.begin(&r.next)
	s := &r.next
	if err := readRecord(s, from.seid, from.record, r.reader()); err != nil {
		m.dropStored(from.seid)
		return false, fmt.Errorf("%w: %w", errRead, err)
	}
	if s.Deleted != 0 {
		m.reviveDeleted(s, from.record)
		return true, nil
	}
	err = m.restoreSession(ctx, from, r)
	var absent *absentError
	if err != nil && !errors.As(err, &absent) {
		m.dropStored(from.seid)
	}
	return false, err
}

// absentError says that a restored session's datapath has not taken it yet.
type absentError struct{ err error }

func (e *absentError) Error() string { return e.err.Error() }

func (m *Manager) restoreSession(ctx context.Context, from stored, r *Result) error {
	s := &r.next
	p := plan{m: m, r: r, next: s, now: m.now()}
	if err := p.validate(); err != nil {
		return err
	}
	e, ok := m.table.occupy(from.seid, m.config.MaxSessions)
	if !ok {
		return fmt.Errorf("SEID %#x, %d sessions: %w", from.seid, m.Len(), errClashing)
	}
	e.change.Lock()
	defer e.change.Unlock()
	if err := p.acquire(); err != nil {
		m.table.release(from.seid)
		return err
	}
	was := s.Slice
	s.Slice = m.tables.slices.of(s)
	r.change.Session = s
	installed := m.datapath.Install(ctx, &r.change)
	if installed != nil && applyError(installed).Cause != CauseSystemFailure {
		m.claims.release(r.taken)
		m.table.release(from.seid)
		return installed
	}
	m.tables.slices.restore(s.Slice, Agent(from.seid))
	e.adopt(from.record)
	m.revive(s)
	if len(s.Reports) > 0 || s.Slice != was { // the configuration may be another one
		m.commit(e, s, &r.writer)
	}
	if installed != nil {
		m.rest(ctx, from.seid)
		return &absentError{installed}
	}
	return nil
}

func (m *Manager) dropStored(seid uint64) {
	if m.config.Store != nil {
		m.config.Store.Drop(KindSession, seid)
	}
}
