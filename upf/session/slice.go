package session

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/internal/endpoint"
)

// sliceTable knows which slice a session belongs to, how many sessions each has,
// and how many each datapath has.
type sliceTable struct {
	list   []Slice
	counts []atomic.Int64 // of sessions, of each slice in list
	agents [256]atomic.Int64
	used   []uint8 // agents that have GTP-U endpoints
}

func newSliceTable(c *Config) (*sliceTable, error) {
	t := &sliceTable{list: c.Slices, counts: make([]atomic.Int64, len(c.Slices))}
	for i := range c.Endpoints {
		if a := c.Endpoints[i].Agent; !slices.Contains(t.used, a) {
			t.used = append(t.used, a)
		}
	}
	for i := range c.Slices {
		s := &c.Slices[i]
		if s.Number == 0 || t.find(s.Number) != i {
			return nil, fmt.Errorf("slice number %d: not 0, and once", s.Number)
		}
		for _, name := range s.Pools {
			if !slices.ContainsFunc(c.Pools, func(p Pool) bool { return p.Name == name }) {
				return nil, fmt.Errorf("slice %d: there is no pool %q", s.Number, name)
			}
		}
	}
	return t, nil
}

// find returns the place of a slice, or -1.
func (t *sliceTable) find(number uint32) int {
	return slices.IndexFunc(t.list, func(s Slice) bool { return s.Number == number })
}

// of returns the number of the slice that a session belongs to, or 0.
func (t *sliceTable) of(s *Session) uint32 {
	for i := range t.list {
		if t.list[i].has(s) {
			return t.list[i].Number
		}
	}
	return 0
}

// has reports whether the session meets all conditions that the slice has.
func (l *Slice) has(s *Session) bool {
	return (!l.SNSSAI.Present || l.SNSSAI == s.SNSSAI) &&
		(len(l.DNNs) == 0 || endpoint.Named(l.DNNs, s.DNN) > 0) &&
		(len(l.NetworkInstances) == 0 || s.inNetworkInstance(l.NetworkInstances))
}

func (s *Session) inNetworkInstance(names []string) bool {
	for i := range s.PDRs {
		if endpoint.Named(names, s.PDRs[i].PDI.NetworkInstance) > 0 {
			return true
		}
	}
	for i := range s.FARs {
		if endpoint.Named(names, s.FARs[i].Forwarding.NetworkInstance) > 0 {
			return true
		}
	}
	return false
}

// pools are the names of the pools of the session's slice; none: all pools.
func (t *sliceTable) pools(s *Session) []string {
	if i := t.find(s.Slice); i >= 0 {
		return t.list[i].Pools
	}
	return nil
}

// place counts a new session in its slice, and returns the datapath on which it
// shall be: of those that are up, and where its slice may be, the one that has
// the fewest.
func (t *sliceTable) place(s *Session, up func(uint8) bool) (uint8, error) {
	agents := t.used
	i := t.find(s.Slice)
	if i >= 0 {
		limit := int64(t.list[i].MaxSessions)
		if n := t.counts[i].Add(1); limit > 0 && n > limit {
			t.counts[i].Add(-1)
			return 0, &Error{Cause: CauseNoResources, Err: fmt.Errorf("%d sessions of slice %d: %w", limit, s.Slice, ErrFull)}
		}
		if len(t.list[i].Agents) > 0 {
			agents = t.list[i].Agents
		}
	}
	best, found := uint8(0), false
	for _, a := range agents {
		if up(a) && (!found || t.agents[a].Load() < t.agents[best].Load()) {
			best, found = a, true
		}
	}
	if !found {
		t.count(i, -1)
		return 0, &Error{Cause: CauseSystemFailure, Err: fmt.Errorf("no datapath for slice %d is there", s.Slice)}
	}
	t.agents[best].Add(1)
	return best, nil
}

// count adds to the sessions of the slice at that place, if there is one.
func (t *sliceTable) count(i int, n int64) {
	if i >= 0 {
		t.counts[i].Add(n)
	}
}

// restore counts a session that was restored.
func (t *sliceTable) restore(number uint32, agent uint8) {
	t.count(t.find(number), 1)
	t.agents[agent].Add(1)
}

// leave undoes place or restore.
func (t *sliceTable) leave(number uint32, agent uint8) {
	t.count(t.find(number), -1)
	t.agents[agent].Add(-1)
}

func (t *sliceTable) len(number uint32) int {
	if i := t.find(number); i >= 0 {
		return int(t.counts[i].Load())
	}
	return 0
}

// meter returns the rates of a slice; 0: not limited.
func (t *sliceTable) meter(number uint32) (uplink, downlink BitsPerSecond) {
	if i := t.find(number); i >= 0 {
		return t.list[i].UplinkMBR, t.list[i].DownlinkMBR
	}
	return 0, 0
}
