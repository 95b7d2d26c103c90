package xdp

import (
	"net/netip"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// fillSlow makes the rules of the slow path, if it does any PDR of the session,
// or did and has packets of it.
func (c *change) fillSlow() error {
	some := c.ethernet()
	for i := range c.rules {
		some = some || c.rules[i].slow
	}
	if !some && len(c.old.slow) == 0 {
		return nil
	}
	state := &slowState{change: c}
	for _, r := range c.in.GetRules() {
		s := slowRule{pdrID: r.GetPdrId(), slice: uint16(c.in.GetSlice())}
		for j := range c.rules {
			if p := &c.rules[j]; p.slow && c.covers(r, p) {
				s.keys = append(s.keys, tableKey{p.kind(), p.key})
			}
		}
		state.rule = r
		rule := stages.Compile(c.in, r, state)
		if state.err != nil {
			return state.err
		}
		c.models = append(c.models, rule)
		if len(s.keys) > 0 || rule.Ethernet != nil {
			s.rule = rule
			if s.rule.Outer != nil {
				var err error
				if s.hop, err = c.peer(r); err != nil {
					return err
				}
			}
		}
		if some {
			c.slow = append(c.slow, s)
		}
	}
	return nil
}

// rare reports whether the slow path does r: for what r asks for, or since packets are
// redirected, for which the way back has to be looked at as well.
func rare(s *api.Session, r *api.Rule) bool {
	return datapath.SlowOnly(s, r) || !datapath.Uplink(r.GetDetect().GetSourceInterface()) && slices.ContainsFunc(s.GetRules(), func(o *api.Rule) bool {
		to := o.GetForward().GetRedirect()
		return to != nil && to.GetUrl() == ""
	})
}

// slowState is the [stages.State] of the session: meters and URRs are those of
// the programs.
type slowState struct {
	*change
	rule *api.Rule // that is compiled
	err  error     // the first that there was
}

// URR implements [stages.State].
func (s *slowState) URR(u *api.URR) stages.URR {
	slot, _ := s.find(urr, u.GetId())
	return s.d.urrs.urr(slot)
}

// N6 implements [stages.State].
func (s *slowState) N6() *datapath.N6 { return &s.d.cfg.N6 }

// Local implements [stages.State].
func (s *slowState) Local(to datapath.Direction, peer netip.Addr) netip.Addr {
	return datapath.Local(s.d.cfg.Endpoints, to, peer)
}

// slowly returns the rule of the PDR, if the slow path does it.
func (s *session) slowly(pdrID uint32) *slowRule {
	for i := range s.slow {
		if r := &s.slow[i]; r.pdrID == pdrID && r.rule != nil {
			return r
		}
	}
	return nil
}

// holder returns the PDR ID for which s holds a rule's slot.
func (s *session) holder(where uint32) (uint32, bool) {
	for _, h := range s.held {
		if h.where == where {
			return h.id, true
		}
	}
	return 0, false
}

// bindSlow lets the slow path find the rules of made instead of those of old.
func (d *Driver) bindSlow(seid uint64, old, made *session) {
	for i := range old.slow {
		for _, k := range old.slow[i].keys {
			delete(d.slowRules, k)
		}
		d.forgetCopies(old.slow[i].rule)
	}
	delete(d.slowSessions, seid)
	for i := range made.slow {
		s := &made.slow[i]
		for _, k := range s.keys {
			d.slowRules[k] = append(d.slowRules[k], s.rule)
		}
		d.bindCopies(s.rule)
	}
	if len(made.slow) > 0 {
		d.slowSessions[seid] = made
	}
	if d.slow != nil && len(old.slow)+len(made.slow) > 0 {
		d.slow.stages.Bridge.Bind(seid, made.slowModels())
	}
}

// slowModels returns the rules of the slow path.
func (s *session) slowModels() []*stages.Rule {
	var all []*stages.Rule
	for i := range s.slow {
		if r := s.slow[i].rule; r != nil {
			all = append(all, r)
		}
	}
	return all
}

// retireSlow keeps what PDRs of the slow path counted that are gone.
func (d *Driver) retireSlow(old, made *session) {
	for i := range old.slow {
		s := &old.slow[i]
		if s.rule == nil {
			continue
		}
		if now := made.slowly(s.pdrID); now == nil || now.rule.Counters != s.rule.Counters {
			d.retired.add(s.bucket(), drainCounters(s.rule.Counters))
		}
	}
}

func (r *slowRule) bucket() bucket { return bucket{r.slice, r.rule.Uplink} }

// counters returns the counters of a rule as the model's, which have the same
// layout.
func (t *table) counters(slot uint32) *stages.Counters {
	return (*stages.Counters)(unsafe.Pointer(&t.slots[slot].Packets))
}

// drain takes what a slot has counted.
func (t *table) drain(slot uint32) datapath.Total { return drainCounters(t.counters(slot)) }

func drainCounters(c *stages.Counters) datapath.Total {
	return datapath.Total{Packets: atomic.SwapUint64(&c.Packets, 0), Octets: atomic.SwapUint64(&c.Octets, 0), Dropped: atomic.SwapUint64(&c.Dropped, 0)}
}

func addCounters(c *stages.Counters, t datapath.Total) {
	atomic.AddUint64(&c.Packets, t.Packets)
	atomic.AddUint64(&c.Octets, t.Octets)
	atomic.AddUint64(&c.Dropped, t.Dropped)
}
