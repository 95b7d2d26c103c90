// Package move changes the datapath under a running control plane.
//
//	control plane ─► Mover ─► datapath that forwards
//	                   └────► the next one, while it is filled
//
// A move opens the next datapath paused and installs every session in it, while requests are
// answered and reach both. Unsupported rules are detected there, before anything has changed. Then
// the old one is detached from its devices, its counts up to the last packet are transferred, and
// the next one takes packets. If it cannot, the old one continues. State that the old one learned
// from packets is transferred before the first packet: buffered packets, NAT mappings, names of
// flows, MAC addresses. Packets that arrive in between are lost; apart from those only the fill
// level of meters is lost, which begin with a whole burst.
package move

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// Source is where sessions come from: the datapath before, or what is left of it.
type Source interface {
	// Pause stops it: what Usage returns changes no more.
	Pause() error
	// Resume lets it continue, if it can.
	Resume() error
	// Usage is as that of [datapath.Driver].
	Usage(seid uint64) (*api.SessionUsage, error)
	// Close ends it for good.
	Close() error
}

// Errors of a move.
var (
	// ErrBusy: another move is under way.
	ErrBusy = errors.New("another move is under way")
	// ErrRefused: sessions ask for what the next datapath cannot do.
	ErrRefused = errors.New("sessions that the datapath cannot take")
)

// Mover is a [datapath.Driver] of which the datapath behind it can change.
type Mover struct {
	log    *slog.Logger
	events datapath.Events
	moving sync.Mutex // held by a move

	// mu is held for reading while the datapath is used, and for writing while it changes. It comes
	// before all locks of datapaths.
	mu      sync.RWMutex
	driver  datapath.Movable
	over    *handover // sessions are on their way to another datapath; nil: they are not
	since   time.Time
	past    past // of datapaths before this one
	pumping func()
	moved   bool

	end ending
}

var (
	_ datapath.Driver         = (*Mover)(nil)
	_ datapath.PassReporter   = (*Mover)(nil)
	_ datapath.BufferReporter = (*Mover)(nil)
	_ datapath.TableReporter  = (*Mover)(nil)
	_ datapath.SliceReporter  = (*Mover)(nil)
	_ datapath.Failer         = (*Mover)(nil)
)

// New returns a Mover over the datapath d. log may be nil.
func New(d datapath.Movable, log *slog.Logger) *Mover {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	m := &Mover{log: log, past: newPast(), end: ending{ended: make(chan struct{})}}
	m.use(d)
	return m
}

// Inherit lets the sessions that are applied until Settle continue with the counts of left. It is
// called before the first of them; the datapath is paused.
func (m *Mover) Inherit(left Source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = newHandover(left, m.driver)
}

// use makes d the datapath. The caller holds m.mu, or is the only one.
func (m *Mover) use(d datapath.Movable) {
	m.driver, m.since = d, time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	m.pumping = cancel
	go func() {
		for {
			e, err := d.Next(ctx)
			if err != nil {
				return
			}
			m.events.Post(e)
		}
	}()
	go m.watch(ctx, d)
}

// Current returns the datapath that forwards, and since when it does. It may be
// closed soon after.
func (m *Mover) Current() (datapath.Movable, time.Time) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.driver, m.since
}

// Result is what a move has done.
type Result struct {
	Sessions int           // that went over
	Took     time.Duration // in all
	Gap      time.Duration // in which no datapath took packets
	Learnt   stages.Inherited
}

// Move makes the datapath that open returns, paused, the one that forwards. fill
// gives it every session through the driver that it is called with. ctx is for the
// time until anything changes.
//
// Errors: [ErrBusy], [RefusedError], and those of open, fill and the datapaths. After any of them
// the previous datapath continues.
func (m *Mover) Move(ctx context.Context, open func() (datapath.Movable, error), fill func(context.Context, datapath.Driver) error) (Result, error) {
	if !m.moving.TryLock() {
		return Result{}, ErrBusy
	}
	defer m.moving.Unlock()
	start := time.Now()
	m.mu.RLock()
	busy := m.over != nil
	m.mu.RUnlock()
	if busy {
		return Result{}, fmt.Errorf("sessions of before the start come first: %w", ErrBusy)
	}
	next, err := open()
	if err != nil {
		return Result{}, err
	}
	over := m.begin(next)
	err = fill(ctx, filler{next, over})
	if refused := over.refusal(); refused != nil {
		err = refused
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return Result{}, errors.Join(err, m.abandon(next))
	}
	old := m.driver // which only a move changes
	r, err := m.exchange(over)
	if err != nil {
		return Result{}, errors.Join(err, next.Close())
	}
	if err := old.Close(); err != nil {
		m.log.Error("the datapath of before does not end as it should", "error", err)
	}
	if err := next.Settle(context.WithoutCancel(ctx)); err != nil {
		m.log.Error("the datapath forwards, but does not settle as it should", "error", err)
	}
	r.Took = time.Since(start)
	return r, nil
}

// begin lets changes reach next, too.
func (m *Mover) begin(next datapath.Movable) *handover {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = newHandover(m.driver, next)
	return m.over
}

// abandon continues without next.
func (m *Mover) abandon(next datapath.Movable) error {
	m.mu.Lock()
	m.over = nil
	m.mu.Unlock()
	return next.Close()
}

// exchange detaches the old datapath, and lets the next one take packets. Neither is used by others
// meanwhile.
func (m *Mover) exchange(over *handover) (Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = nil
	if refused := over.refusal(); refused != nil { // while it was waited for the lock
		return Result{}, refused
	}
	old := m.driver
	start := time.Now()
	if err := over.run(m.log); err != nil {
		return Result{}, m.goBack(over, old, err)
	}
	r := Result{Sessions: len(over.held), Gap: over.resumed.Sub(start), Learnt: over.learnt}
	over.carry(m.log, false)
	m.past.add(old)
	drain(old, &m.events)
	m.pumping()
	m.moved = true
	m.use(over.to)
	return r, nil
}

// goBack lets the old datapath continue after the next one has failed, with the packets that had
// been transferred. If that fails as well, nothing forwards.
func (m *Mover) goBack(over *handover, old datapath.Movable, why error) error {
	inherit(old, over.to)
	m.past.addDrops(over.to) // what had no room there
	err := old.Resume()
	if err == nil {
		return fmt.Errorf("the datapath of before goes on: %w", why)
	}
	err = fmt.Errorf("the datapath of before does not go on: %w", err)
	m.end.fail(err)
	return errors.Join(why, err)
}

// drain takes out what a datapath still has to tell.
func drain(d datapath.Driver, to *datapath.Events) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		e, err := d.Next(over)
		if err != nil {
			return
		}
		to.Post(e)
	}
}
