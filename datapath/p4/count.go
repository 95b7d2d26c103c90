package p4

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
)

// count reads what the target has counted for sessions that are held, and adds it to the
// engine's counts.
func (o *offload) count(ctx context.Context, all []*session) error {
	var slots []*slot
	for _, s := range all {
		slots = append(slots, s.slots...)
	}
	return o.countSlots(ctx, slots)
}

// countSlots does so for places in the table rules.
func (o *offload) countSlots(ctx context.Context, all []*slot) error {
	forwarded, refused := o.schema.counters[counterForwarded], o.schema.counters[counterRefused]
	var cells []cell
	for _, sl := range all {
		if sl.there {
			cells = append(cells, cell{forwarded, sl.index}, cell{refused, sl.index})
		}
	}
	if len(cells) == 0 {
		return nil
	}
	now, err := o.target.read(ctx, cells)
	if err != nil {
		return err
	}
	for _, sl := range all {
		if !sl.there {
			continue
		}
		f, r := now[cell{forwarded, sl.index}], now[cell{refused, sl.index}]
		if f.packets < sl.had[0].packets || r.packets < sl.had[1].packets {
			sl.had = [2]count{} // the target has restarted
		}
		n := datapath.Total{Packets: f.packets - sl.had[0].packets, Dropped: r.packets - sl.had[1].packets}
		n.Octets = f.octets - sl.had[0].octets - uint64(sl.header)*n.Packets
		sl.had = [2]count{f, r}
		if n != (datapath.Total{}) {
			o.engine.Count(sl.rule, n)
		}
	}
	return nil
}

// collect counts what the target has forwarded by a session. Of one that is away it is known
// what it had forwarded when that was read last.
func (o *offload) collect(ctx context.Context, seid uint64) {
	if o.failure() != nil {
		return
	}
	s, was := o.hold(seid)
	if s == nil {
		return
	}
	if was == installed {
		if err := o.count(ctx, []*session{s}); err != nil {
			o.lose(err)
		}
	}
	o.release(s, was)
}

// collectAll counts what the target has forwarded for all sessions. A session that is busy is
// skipped: its holder counts.
func (o *offload) collectAll(ctx context.Context) error {
	for seids := range slices.Chunk(o.all(func(s *session) bool { return s.state == installed }), batch) {
		if err := o.with(seids, func(all []*session) error { return o.count(ctx, all) }); err != nil {
			return err
		}
	}
	return nil
}

// catchUp is collectAll of a target that may be away.
func (o *offload) catchUp(ctx context.Context) {
	if o.failure() != nil {
		return
	}
	if err := o.collectAll(ctx); err != nil {
		o.lose(err)
	}
}

// readPeriod is how long is waited between two readings of all counters of a target outside of
// the process. One that restarts has lost what it had counted since the last.
const readPeriod = 10 * time.Second

// readOn reads all counters again and again until ctx is done.
func (o *offload) readOn(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(readPeriod):
		}
		o.catchUp(ctx)
	}
}

// reasonCounts is what the cells of a counter array, by [datapath.Reason], have counted, over all
// restarts of the target.
type reasonCounts struct {
	mu    sync.Mutex
	cells []cell
	had   map[uint32]uint64
	sum   map[datapath.Reason]uint64
}

// newReasonCounts returns one of the cells of those reasons that are so.
func newReasonCounts(counter uint32, is func(r datapath.Reason) bool) *reasonCounts {
	t := &reasonCounts{had: map[uint32]uint64{}, sum: map[datapath.Reason]uint64{}}
	for _, r := range datapath.Reasons() {
		if is(r) {
			t.cells = append(t.cells, cell{counter, uint32(r)})
		}
	}
	return t
}

// read reads the cells.
//
// Errors: the target's.
func (t *reasonCounts) read(ctx context.Context, from target) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, err := from.read(ctx, t.cells)
	if err != nil {
		return err
	}
	for c, n := range now {
		if n.packets < t.had[c.index] {
			t.had[c.index] = 0 // the target has restarted
		}
		if new := n.packets - t.had[c.index]; new > 0 {
			t.sum[datapath.Reason(c.index)] += new
		}
		t.had[c.index] = n.packets
	}
	return nil
}

// empty calls do, which makes all cells count from 0 on.
func (t *reasonCounts) empty(do func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := do()
	if err == nil {
		clear(t.had)
	}
	return err
}

// all returns what was counted of each reason that has counted.
func (t *reasonCounts) all() map[datapath.Reason]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.sum)
}
