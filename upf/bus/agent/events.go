package agent

import (
	"context"
	"sync"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// Limits of what is kept of events; beyond, the driver keeps them, the same ones
// as one.
const (
	eventsEntry = 64   // in one entry of the stream
	eventsKept  = 1024 // entries that have not been acknowledged
)

// events are those that the control plane has not dealt with yet.
type events struct {
	mu       sync.Mutex
	changed  chan struct{} // closed when anything here has changed
	fresh    []*api.Event  // in no entry yet
	entries  []*api.Events // not acknowledged, sequences ascend
	told     int           // how many of entries are in the stream
	sequence uint64
}

func (e *events) init() { e.changed = make(chan struct{}) }

// notify is called with mu held.
func (e *events) notify() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// add takes an event unless there are too many: then it returns a channel that
// is closed when to try again.
func (e *events) add(event *api.Event) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.fresh) >= eventsEntry {
		return e.changed
	}
	e.fresh = append(e.fresh, event)
	e.notify()
	return nil
}

// next returns the first entry that is not in the stream; else a channel that is
// closed when to ask again.
func (e *events) next(instance uint64) (*api.Events, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.told == len(e.entries) && len(e.fresh) > 0 && len(e.entries) < eventsKept {
		e.sequence++
		e.entries = append(e.entries, &api.Events{Instance: instance, Sequence: e.sequence, Events: e.fresh})
		e.fresh = nil
		e.notify()
	}
	if e.told < len(e.entries) {
		return e.entries[e.told], nil
	}
	return nil, e.changed
}

// wasTold notes that an entry is in the stream.
func (e *events) wasTold(entry *api.Events) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.told < len(e.entries) && e.entries[e.told] == entry {
		e.told++
	}
}

// tellAgain has all that was not acknowledged told once more.
func (e *events) tellAgain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = 0
	e.notify()
}

// acknowledged forgets the entries up to a sequence.
func (e *events) acknowledged(sequence uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for n < len(e.entries) && e.entries[n].GetSequence() <= sequence {
		n++
	}
	if n > 0 {
		e.entries, e.told = e.entries[n:], max(0, e.told-n)
		e.notify()
	}
}

// collect takes events from the driver until ctx is done.
func (a *Agent) collect(ctx context.Context) error {
	for {
		event, err := a.driver.Next(ctx)
		if err != nil {
			return err
		}
		for again := a.events.add(event); again != nil; again = a.events.add(event) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-again:
			}
		}
	}
}

// tell puts events into the stream until ctx is done.
func (a *Agent) tell(ctx context.Context) error {
	for {
		entry, again := a.events.next(a.instance)
		if entry == nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-again:
			}
			continue
		}
		b, err := wire.Marshal(entry)
		if err != nil {
			return err
		}
		told, err := wire.Tell.Run(ctx, a.client, []string{a.keys.Events}, wire.EventsMax, b).Int()
		if err == nil && told == 1 {
			a.events.wasTold(entry)
			continue
		}
		if err := wire.Pause(ctx, retryInterval); err != nil {
			return err
		}
	}
}
