package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// link is what the upper side has of one agent.
type link struct {
	name    string
	keys    wire.Keys
	client  *redis.Client
	log     *slog.Logger
	timeout time.Duration
	changed func()
	events  chan<- eventItem
	wake    chan struct{} // there is something in a queue

	// Of the goroutine that writes, and of takeOver before it.
	epoch    uint64
	version  uint64 // of the last change that is in Redis
	complete bool   // Redis has all that is desired

	mu        sync.Mutex
	next      uint64 // last version given to a change
	desired   map[uint64][]byte
	untouched map[uint64]struct{} // desired from before, not applied since
	settled   bool
	queue     []*op
	waiting   map[uint64]*op // by version: written, or about to be
	requests  []*api.UsageRequest
	usages    map[uint64]chan *api.UsageReply // by id
	lastID    uint64
	alive     *api.Alive // last sign of life; nil: down
	figures   *api.Alive // the same, also while it is down
	instance  uint64     // of the latest process of the agent
	reread    bool       // the stream of replies begins anew
	ended     error
	stats     Stats
}

// Stats counts what a link did.
type Stats struct {
	Applied  uint64 // changes that the agent holds
	Refused  uint64 // changes that it refused
	TimedOut uint64 // changes that it did not answer in time
	Batches  uint64 // written to Redis
	Rewrites uint64 // everything written again
}

func newLink(u *Upper, name string) *link {
	return &link{
		name: name, keys: wire.KeysOf(u.config.Prefix, name), client: u.client, log: u.log,
		timeout: u.config.Timeout, changed: u.config.Changed, events: u.events,
		wake: make(chan struct{}, 1), desired: map[uint64][]byte{}, untouched: map[uint64]struct{}{},
		waiting: map[uint64]*op{}, usages: map[uint64]chan *api.UsageReply{},
	}
}

// op is a change on its way.
type op struct {
	seid       uint64
	session    []byte // as it is to be; nil: removed
	endMarkers []*api.EndMarker
	// dropBuffered: as in api.Change. Packets that an agent buffers it loses when it
	// ends, so it need not be desired.
	dropBuffered bool
	// correction: write what is desired when it is its turn, whatever that is
	// then. No answer of the agent is waited for.
	correction bool
	version    uint64     // 0: not given yet
	written    bool       // Redis has it
	abandoned  bool       // nobody waits any more
	done       chan error // capacity 1; nil: nobody waits
}

// finish tells who waits.
func (o *op) finish(err error) {
	if o.done != nil {
		o.done <- err
		o.done = nil
	}
}

// apply is [Upper.Apply] for the sessions of this agent.
func (l *link) apply(ctx context.Context, c *api.Change, session []byte) error {
	seid := c.GetSeid()
	l.mu.Lock()
	same := string(l.desired[seid]) == string(session) && len(c.GetEndMarkers()) == 0 && !c.GetDropBuffered()
	o := &op{seid: seid, done: make(chan error, 1)}
	switch {
	case l.ended != nil:
		defer l.mu.Unlock()
		return l.ended
	case !l.settled:
		delete(l.untouched, seid)
		o.done = nil
		fallthrough
	case l.up() == nil && len(session) == 0:
		if !same {
			l.correct(o, session)
		}
		l.mu.Unlock()
		return l.written(ctx, o, same)
	case same:
		l.mu.Unlock()
		return nil
	case l.up() == nil:
		l.mu.Unlock()
		return fmt.Errorf("agent %s: %w", l.name, ErrAgentDown)
	}
	o.session, o.endMarkers, o.dropBuffered = session, c.GetEndMarkers(), c.GetDropBuffered()
	l.push(o)
	done := o.done
	l.mu.Unlock()
	return l.await(ctx, o, done)
}

// correct makes session what is desired, and has it written; called with mu
// held.
func (l *link) correct(o *op, session []byte) {
	if len(session) == 0 {
		delete(l.desired, o.seid)
	} else {
		l.desired[o.seid] = session
	}
	o.correction = true
	l.push(o)
}

// push is called with mu held.
func (l *link) push(o *op) {
	l.queue = append(l.queue, o)
	l.wakeUp()
}

func (l *link) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// written waits a while until Redis has a correction. It is desired already, so
// it will come to Redis in any case.
func (l *link) written(ctx context.Context, o *op, nothing bool) error {
	if nothing {
		return nil
	}
	l.mu.Lock()
	done := o.done
	l.mu.Unlock()
	if done == nil {
		return nil
	}
	timer := time.NewTimer(l.timeout)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// await waits for the agent's answer, and takes the change back if it does not
// come.
func (l *link) await(ctx context.Context, o *op, done <-chan error) error {
	timer := time.NewTimer(l.timeout)
	defer timer.Stop()
	err := fmt.Errorf("agent %s: %w (%v)", l.name, ErrTimeout, l.timeout)
	select {
	case err := <-done:
		return err
	case <-timer.C:
	case <-ctx.Done():
		err = fmt.Errorf("agent %s: %w", l.name, ctx.Err())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case err := <-done: // at the last moment
		return err
	default:
	}
	l.stats.TimedOut++
	o.abandoned = true
	delete(l.waiting, o.version)
	switch {
	case o.version == 0: // it was never on its way
		l.queue = slices.DeleteFunc(l.queue, func(q *op) bool { return q == o })
	case len(o.session) == 0 && o.written && l.up() == nil:
		delete(l.desired, o.seid)
		return nil // the agent went meanwhile; it will not find the session when it is back
	default:
		l.push(&op{seid: o.seid, correction: true})
	}
	return err
}

// up returns the agent's last sign of life if it can be given sessions; called
// with mu held.
func (l *link) up() *api.Alive {
	if l.alive.GetReconciled() {
		return l.alive
	}
	return nil
}

func (l *link) isUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up() != nil
}

func (l *link) capabilities() *api.Capabilities {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.alive.GetCapabilities()
}

// settle removes what was not applied since the start.
func (l *link) settle(ctx context.Context) error {
	l.mu.Lock()
	if l.ended != nil {
		defer l.mu.Unlock()
		return l.ended
	}
	removed := len(l.untouched)
	for seid := range l.untouched {
		l.correct(&op{seid: seid}, nil)
	}
	l.untouched, l.settled = nil, true
	barrier := &op{correction: true, done: make(chan error, 1)} // of no session
	done := barrier.done
	l.push(barrier)
	sessions := len(l.desired)
	l.mu.Unlock()
	select {
	case err := <-done:
		l.log.Info("agent's sessions are in redis", "agent", l.name, "sessions", sessions, "removed", removed)
		return err
	case <-ctx.Done():
		return fmt.Errorf("agent %s: %w", l.name, ctx.Err())
	}
}

// end fails all that waits and all that comes.
func (l *link) end(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		err = ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil {
		return
	}
	l.ended = fmt.Errorf("agent %s: %w", l.name, err)
	for _, o := range l.queue {
		o.finish(l.ended)
	}
	for _, o := range l.waiting {
		o.finish(l.ended)
	}
	for id, c := range l.usages {
		close(c)
		delete(l.usages, id)
	}
	l.queue, l.waiting = nil, map[uint64]*op{}
}
