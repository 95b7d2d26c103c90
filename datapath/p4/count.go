package p4

import (
	"context"
	"slices"

	"plumbline/datapath"
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

// collect counts what the target has forwarded by a session.
func (o *offload) collect(ctx context.Context, seid uint64) error {
	s, was := o.hold(seid)
	if s == nil {
		return nil
	}
	var err error
	if was == installed {
		err = o.count(ctx, []*session{s})
	}
	o.release(s, was)
	return err
}

// collectAll counts what the target has forwarded by all sessions. One that somebody works at
// is left out: he counts.
func (o *offload) collectAll(ctx context.Context) error {
	for seids := range slices.Chunk(o.all(func(s *session) bool { return s.state == installed }), batch) {
		if err := o.with(seids, func(all []*session) error { return o.count(ctx, all) }); err != nil {
			return err
		}
	}
	return nil
}
