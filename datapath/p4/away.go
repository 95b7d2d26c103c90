package p4

import (
	"context"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
)

// What is done when the target goes away, and comes back.

// lose notes that the target is not there, or does not do what it is told: nothing is written
// until reset.
func (o *offload) lose(err error) {
	o.mu.Lock()
	first := o.away == nil && !o.closed
	if first {
		o.away, o.since = err, time.Now()
	}
	o.changed.Broadcast()
	o.mu.Unlock()
	if !first {
		return
	}
	o.log.Error("target is away: no session is changed until it is back", "err", err)
	if o.lost != nil {
		o.lost()
	}
}

// reset begins anew with a target, which empty makes have no entries and have counted nothing.
// counted: what it had counted before can be read from it.
func (o *offload) reset(ctx context.Context, counted bool, empty func() error) error {
	o.idle()
	if o.away == nil {
		o.away = errAway // nobody puts anything into it meanwhile
	}
	o.mu.Unlock()
	if counted {
		if err := o.collectAll(ctx); err != nil {
			return err
		}
	}
	if err := empty(); err != nil {
		return err
	}
	o.idle() // somebody may have begun meanwhile
	defer o.mu.Unlock()
	o.keys, o.uses, o.cells = map[datapath.Key]*keyState{}, map[nexthop.Peer]int{}, map[uint32][2]count{}
	clear(o.entries)
	o.routes, o.rest = 0, map[datapath.Key][]uint64{}
	o.peers.clear()
	o.slots.clear()
	o.lists.clear()
	o.buckets.clear()
	o.shares.clear()
	o.queue = nil
	for seid, s := range o.sessions {
		*s = session{seid: seid, gone: s.gone}
		if keys, err := o.engine.Keys(seid); err == nil {
			o.register(s, keys)
		}
		o.enqueue(s)
	}
	o.away, o.holds, o.since = nil, false, time.Now()
	if o.removedAway > 0 {
		o.log.Warn("sessions were removed while the target was away: what it forwarded of them since the last reading is in no usage",
			"sessions", o.removedAway)
		o.removedAway = 0
	}
	o.changed.Broadcast()
	return nil
}

// idle locks mu when nobody works at a session.
func (o *offload) idle() {
	o.mu.Lock()
	for o.busy() && !o.closed {
		o.changed.Wait()
	}
}

// waits reports whether the target still has what it had before.
func (o *offload) waits() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.holds
}

// failure is why nothing can be changed now; nil: it can.
func (o *offload) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away != nil {
		return fmt.Errorf("p4: the target is away: %w", o.away)
	}
	return nil
}

func (o *offload) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
}
