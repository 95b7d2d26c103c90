package datapath

import (
	"context"
	"sync"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Events is a queue from a datapath to whoever asks with Next. It holds an
// event once, however often it is posted, so what it holds is bounded by what
// there is to tell: rules and peers. The zero value is ready for use.
type Events struct {
	mu     sync.Mutex
	queue  []*api.Event
	queued map[eventKey]*api.Event
	posted chan struct{} // has an element while the queue is not empty
	closed bool
}

// eventKey is what makes two events the same.
type eventKey struct {
	kind       api.EventKind
	seid       uint64
	rule, teid uint32
	peer4      uint32
	peer6      [16]byte
}

func keyOf(e *api.Event) eventKey {
	t := e.GetTunnel()
	k := eventKey{kind: e.GetKind(), seid: e.GetSeid(), rule: e.GetRuleId(), teid: t.GetTeid(), peer4: t.GetIpv4()}
	copy(k.peer6[:], t.GetIpv6())
	return k
}

// Post puts e into the queue unless it is there already.
func (q *Events) Post(e *api.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := keyOf(e)
	if q.closed {
		return
	}
	if there := q.queued[k]; there != nil {
		// MAC addresses are the only thing that an event tells and does not point to.
		there.MacsDetected = append(there.MacsDetected, e.GetMacsDetected()...)
		there.MacsRemoved = append(there.MacsRemoved, e.GetMacsRemoved()...)
		return
	}
	if q.queued == nil {
		q.queued = map[eventKey]*api.Event{}
	}
	q.queued[k] = e
	q.queue = append(q.queue, e)
	q.wake()
}

// wake lets one waiter look. The caller holds mu.
func (q *Events) wake() {
	select {
	case q.signal() <- struct{}{}:
	default:
	}
}

func (q *Events) signal() chan struct{} {
	if q.posted == nil {
		q.posted = make(chan struct{}, 1)
	}
	return q.posted
}

// Next takes the oldest event out of the queue, and waits for one if there is
// none. Errors: that of ctx, and [ErrClosed].
func (q *Events) Next(ctx context.Context) (*api.Event, error) {
	for {
		e, signal, err := q.take()
		if e != nil || err != nil {
			return e, err
		}
		select {
		case <-signal:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (q *Events) take() (*api.Event, chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		q.wake() // for the next waiter
		return nil, nil, ErrClosed
	}
	if len(q.queue) == 0 {
		return nil, q.signal(), nil
	}
	e := q.queue[0]
	q.queue[0] = nil
	q.queue = q.queue[1:]
	delete(q.queued, keyOf(e))
	if len(q.queue) > 0 {
		q.wake()
	} else {
		q.queue = nil
	}
	return e, nil, nil
}

// Close makes Next return [ErrClosed]; what is in the queue is lost.
func (q *Events) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.queue, q.queued = nil, nil
	q.wake()
}
