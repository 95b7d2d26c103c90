package move

import (
	"context"
	"maps"
	"sync"

	"github.com/plumbline-upf/plumbline/datapath"
)

// counts are packets by reason.
type counts map[string]uint64

// with returns the sum of c and what read returns.
func (c counts) with(read func() (map[string]uint64, error)) (map[string]uint64, error) {
	now, err := read()
	if err != nil {
		return nil, err
	}
	sum := maps.Clone(c)
	for reason, n := range now {
		sum[reason] += n
	}
	return sum, nil
}

// past is what datapaths counted that do not forward any more, so that no figure of
// the UPF ever goes back.
type past struct {
	drops, passes counts
	totals        map[uint32]datapath.SliceTotal
}

func newPast() past {
	return past{counts{}, counts{}, map[uint32]datapath.SliceTotal{}}
}

// add adds what a datapath has counted that is paused.
func (p *past) add(d datapath.Driver) {
	p.addDrops(d)
	if t, ok := d.(datapath.PassReporter); ok {
		if sum, err := p.passes.with(t.Passes); err == nil {
			p.passes = sum
		}
	}
	if t, ok := d.(datapath.SliceReporter); ok {
		for _, s := range t.SliceTotals() {
			p.totals[s.Slice] = sumOf(p.totals[s.Slice], s)
		}
	}
}

func (p *past) addDrops(d datapath.Driver) {
	if sum, err := p.drops.with(d.Drops); err == nil {
		p.drops = sum
	}
}

func sumOf(a, b datapath.SliceTotal) datapath.SliceTotal {
	a.Slice = b.Slice
	a.Uplink.Add(b.Uplink)
	a.Downlink.Add(b.Downlink)
	return a
}

// Passes returns how many packets were handed to the host or the slow path, by
// reason, since the start; nil: the datapath does not count them.
func (m *Mover) Passes() (map[string]uint64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if t, ok := m.driver.(datapath.PassReporter); ok {
		return m.past.passes.with(t.Passes)
	}
	if len(m.past.passes) == 0 {
		return nil, nil
	}
	return maps.Clone(m.past.passes), nil
}

// SliceTotals adds up what the rules of each slice counted since the start, in no
// order; nil: no datapath has counted them.
func (m *Mover) SliceTotals() []datapath.SliceTotal {
	m.mu.RLock()
	defer m.mu.RUnlock()
	t, ok := m.driver.(datapath.SliceReporter)
	if !ok && len(m.past.totals) == 0 {
		return nil
	}
	sum := maps.Clone(m.past.totals)
	if ok {
		for _, s := range t.SliceTotals() {
			sum[s.Slice] = sumOf(sum[s.Slice], s)
		}
	}
	all := []datapath.SliceTotal{}
	for _, s := range sum {
		all = append(all, s)
	}
	return all
}

// ending is why nothing forwards any more.
type ending struct {
	once  sync.Once
	ended chan struct{}
	err   error
}

func (e *ending) fail(err error) {
	e.once.Do(func() {
		e.err = err
		close(e.ended)
	})
}

// Ended is closed when the datapath has failed; [Mover.Err] returns the reason.
func (m *Mover) Ended() <-chan struct{} { return m.end.ended }

// Err returns the reason why the datapath failed; nil: it runs.
func (m *Mover) Err() error {
	select {
	case <-m.end.ended:
		return m.end.err
	default:
		return nil
	}
}

// watch waits for the end of a datapath, as long as it is the one that forwards.
func (m *Mover) watch(ctx context.Context, d datapath.Driver) {
	e, ok := d.(datapath.Failer)
	if !ok {
		return
	}
	select {
	case <-ctx.Done():
	case <-e.Ended():
		m.end.fail(e.Err())
	}
}
