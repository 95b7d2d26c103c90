package vector

import (
	"cmp"
	"slices"

	"plumbline/datapath"
	"plumbline/datapath/model"
)

// bucket is whose packets are counted together.
type bucket struct {
	slice  uint32
	uplink bool
}

// totals is what rules counted that are gone.
type totals map[bucket]datapath.Total

func (t totals) add(slice uint32, r *model.Rule, n datapath.Total) {
	b := bucket{slice, r.Uplink}
	sum := t[b]
	sum.Add(n)
	t[b] = sum
}

// changed keeps what the rules of a session counted until it changed: those that are
// gone, and all of them if it is of another slice now. What those have that go on is
// taken from there (modulo 2^64).
func (t totals) changed(before []*model.Rule, was uint32, after []*model.Rule, is uint32) {
	for _, r := range before {
		on := slices.ContainsFunc(after, func(o *model.Rule) bool { return o.Counters == r.Counters && o.Uplink == r.Uplink })
		if on && was == is {
			continue
		}
		had := r.Counters.Total()
		t.add(was, r, had)
		if i := slices.IndexFunc(after, func(o *model.Rule) bool { return o.Counters == r.Counters }); i >= 0 {
			t.add(is, after[i], datapath.Total{Packets: -had.Packets, Octets: -had.Octets, Dropped: -had.Dropped})
		}
	}
}

// SliceTotals returns what the sessions of each slice have counted since the start.
func (e *Engine) SliceTotals() []datapath.SliceTotal {
	e.mu.RLock()
	defer e.mu.RUnlock()
	all := totals{}
	for b, n := range e.retired {
		all[b] = n
	}
	for s, rules := range e.sessions.All() {
		for _, r := range rules {
			all.add(s.Slice, r, r.Counters.Total())
		}
	}
	bySlice := map[uint32]*datapath.SliceTotal{}
	var out []datapath.SliceTotal
	for b := range all {
		if bySlice[b.slice] == nil {
			bySlice[b.slice] = &datapath.SliceTotal{Slice: b.slice}
		}
	}
	for b, n := range all {
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
