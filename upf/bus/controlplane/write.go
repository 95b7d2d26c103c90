package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/redisconn"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// batchMax is how many changes are written at once.
const batchMax = 64

// retryInterval is how long after an error Redis is asked again.
const retryInterval = 50 * time.Millisecond

// checkInterval is how often Redis is asked, when nothing is written, whether it
// still has what we wrote.
const checkInterval = time.Second

var errLost = errors.New("redis lost its data")

// batch is a write to Redis. It can be repeated until it is known to be done.
type batch struct {
	ops  []*op
	last uint64
	args []any
}

// write writes what is queued until ctx is done. Errors: [ErrFenced].
func (l *link) write(ctx context.Context) error {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		b, err := l.take()
		if err != nil {
			return err
		}
		if b != nil {
			err = l.send(ctx, b)
		} else {
			err = l.wait(ctx, tick.C)
		}
		if errors.Is(err, errLost) {
			err = l.rewrite(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// wait returns when there may be something to write; while there is not, it
// looks after what was written.
func (l *link) wait(ctx context.Context, tick <-chan time.Time) error {
	if l.isSettled() && !l.complete {
		return l.finishAll(ctx)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.wake:
		return nil
	case <-tick:
	}
	if !l.complete {
		return nil
	}
	answer, err := wire.Check.Run(ctx, l.client, []string{l.keys.Head, l.keys.Desired, l.keys.Changes}, wire.Number(l.epoch), wire.Number(l.version)).Text()
	if err != nil {
		return ctx.Err() // the next one will tell
	}
	return answered(answer)
}

func (l *link) isSettled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settled
}

// answered is the error that an answer of a script stands for.
func answered(answer string) error {
	switch answer {
	case wire.OK, wire.Again:
		return nil
	case wire.Lost:
		return errLost
	case wire.Fenced:
		return ErrFenced
	}
	return fmt.Errorf("answer %q: %w", answer, wire.ErrMessage)
}

// take makes a batch of what is queued, in its order; nil: there is nothing.
func (l *link) take() (*batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &batch{}
	message := &api.Batch{Previous: l.version, Usages: l.requests}
	l.requests = nil
	n := 0
	for ; n < len(l.queue) && len(b.ops) < batchMax; n++ {
		o := l.queue[n]
		if o.abandoned {
			continue
		}
		b.ops = append(b.ops, o)
		if o.seid == 0 { // a barrier
			continue
		}
		l.next++
		o.version = l.next
		if o.correction {
			o.session = l.desired[o.seid]
		} else {
			l.waiting[o.version] = o
		}
		message.Changes = append(message.Changes, &api.VersionedChange{
			Version: o.version, Seid: o.seid, Session: o.session, EndMarkers: o.endMarkers, DropBuffered: o.dropBuffered})
	}
	l.queue = l.queue[n:]
	if len(l.queue) == 0 {
		l.queue = nil // the array goes with it
	}
	if len(b.ops)+len(message.Usages) == 0 {
		return nil, nil
	}
	b.last = l.version
	if len(message.Changes) > 0 {
		b.last = l.next
	}
	message.Last = b.last
	var err error
	b.args, err = l.writeArgs(message)
	return b, err
}

// writeArgs are the arguments of wire.Write. Of several changes of a session
// the last one is what is desired.
func (l *link) writeArgs(m *api.Batch) ([]any, error) {
	encoded, err := wire.Marshal(m)
	if err != nil {
		return nil, err
	}
	last := map[uint64]*api.VersionedChange{}
	for _, c := range m.GetChanges() {
		last[c.GetSeid()] = c
	}
	var sets, removals []any
	for seid, c := range last {
		if len(c.GetSession()) == 0 {
			removals = append(removals, wire.SEIDField(seid))
			continue
		}
		value, err := wire.Marshal(&api.Desired{Version: c.GetVersion(), Session: c.GetSession()})
		if err != nil {
			return nil, err
		}
		sets = append(sets, wire.SEIDField(seid), value)
	}
	args := []any{wire.Number(l.epoch), wire.Number(m.GetPrevious()), wire.Number(m.GetLast()),
		wire.ChangesMax, encoded, len(sets) / 2}
	return append(append(args, sets...), removals...), nil
}

// send writes a batch, as often as it takes.
func (l *link) send(ctx context.Context, b *batch) error {
	warned := false
	for {
		answer, err := wire.Write.Run(ctx, l.client, []string{l.keys.Head, l.keys.Desired, l.keys.Changes}, b.args...).Text()
		if redisconn.NotOurs(err) {
			l.requeue(b)
			return errLost
		}
		if err == nil {
			if err = answered(answer); err == nil {
				l.sent(b)
				return nil
			}
			if errors.Is(err, errLost) {
				l.requeue(b)
			}
			return err
		}
		if ctx.Err() != nil {
			l.requeue(b)
			return ctx.Err()
		}
		if !warned {
			l.log.Warn("redis does not answer; changes wait", "agent", l.name, "error", err)
			warned = true
		}
		if err := wire.Pause(ctx, retryInterval); err != nil {
			l.requeue(b)
			return err
		}
	}
}

// sent notes that Redis has a batch.
func (l *link) sent(b *batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = b.last
	l.stats.Batches++
	for _, o := range b.ops {
		o.written = true
		if o.correction {
			o.finish(nil)
		}
	}
}

// requeue puts back, in their order, all changes that no agent has answered.
func (l *link) requeue(b *batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	back := map[*op]struct{}{}
	for _, o := range l.waiting {
		back[o] = struct{}{}
	}
	for _, o := range b.ops {
		if !o.abandoned {
			back[o] = struct{}{}
		}
	}
	l.waiting = map[uint64]*op{}
	first := slices.SortedFunc(maps.Keys(back), func(a, b *op) int {
		switch { // a barrier is behind all
		case a.seid == 0 || b.seid != 0 && a.version > b.version:
			return 1
		case b.seid == 0 || a.version < b.version:
			return -1
		}
		return 0
	})
	for _, o := range first {
		o.written, o.version = false, 0
	}
	l.queue = append(first, l.queue...)
}
