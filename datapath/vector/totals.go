package vector

import (
	"cmp"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// bucket is whose packets are counted together.
type bucket struct {
	slice  uint32
	uplink bool
}

// totals is what rules counted that are gone.
type totals map[bucket]datapath.Total

func (t totals) add(slice uint32, r *stages.Rule, n datapath.Total) {
	b := bucket{slice, r.Uplink}
	sum := t[b]
	sum.Add(n)
	t[b] = sum
}

// changed keeps what the rules of a session counted until it changed: those that are
// gone, and all of them if it is of another slice now. What those have that go on is
// taken from there (modulo 2^64).
func (t totals) changed(before []*stages.Rule, was uint32, after []*stages.Rule, is uint32) {
	for _, r := range before {
		on := slices.ContainsFunc(after, func(o *stages.Rule) bool { return o.Counters == r.Counters && o.Uplink == r.Uplink })
		if on && was == is {
			continue
		}
		had := r.Counters.Total()
		t.add(was, r, had)
		if i := slices.IndexFunc(after, func(o *stages.Rule) bool { return o.Counters == r.Counters }); i >= 0 {
			t.add(is, after[i], datapath.Total{Packets: -had.Packets, Octets: -had.Octets, Dropped: -had.Dropped})
		}
	}
}

// SliceTotals returns what the sessions of each slice have counted since the start. No
// value is ever less than one returned before.
func (e *Engine) SliceTotals() []datapath.SliceTotal {
	e.totalsMu.Lock()
	defer e.totalsMu.Unlock()
	for b, n := range e.sum() {
		had := e.totals[b]
		e.totals[b] = datapath.Total{Packets: max(had.Packets, n.Packets), Octets: max(had.Octets, n.Octets), Dropped: max(had.Dropped, n.Dropped)}
	}
	return e.totals.bySlice()
}

// sum adds up what all sessions have counted. The lock is given up now and then, so
// that no change waits for long, and no packet for that; a session that goes meanwhile
// may be missed, and is not the next time.
func (e *Engine) sum() totals {
	e.mu.RLock()
	defer e.mu.RUnlock()
	all, n := totals{}, 0
	for b, n := range e.retired {
		all[b] = n
	}
	for s, rules := range e.sessions.All() {
		for _, r := range rules {
			all.add(s.Slice, r, r.Counters.Total())
		}
		if n++; n%1024 == 0 {
			e.mu.RUnlock()
			e.mu.RLock()
		}
	}
	return all
}

func (t totals) bySlice() []datapath.SliceTotal {
	bySlice := map[uint32]*datapath.SliceTotal{}
	var out []datapath.SliceTotal
	for b := range t {
		if bySlice[b.slice] == nil {
			bySlice[b.slice] = &datapath.SliceTotal{Slice: b.slice}
		}
	}
	for b, n := range t {
		if b.uplink {
			bySlice[b.slice].Uplink.Add(n)
		} else {
			bySlice[b.slice].Downlink.Add(n)
		}
	}
	for _, s := range bySlice {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b datapath.SliceTotal) int { return cmp.Compare(a.Slice, b.Slice) })
	return out
}
