package p4

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// A target counts, and knows no limits: what it has counted is read every limitPeriod, and
// added to the engine's counts, which raise the events. So a threshold is told of at most that
// much late, and a quota is passed by what comes in that time. A session that is near a limit
// goes to the CPU, where both are exact to the packet: near is leftLeast octets, or what comes
// in leftPeriods periods at the rate at which packets came last, whichever is more.
const (
	limitPeriod = 100 * time.Millisecond
	leftLeast   = 16 << 20
	leftPeriods = 8
	// retryPeriod is how often is looked whether what keeps a session with the CPU has passed,
	// and retrySome of how many of them at a time.
	retryPeriod = time.Second
	retrySome   = 4096
)

// rate is how many octets a session's rules have counted in a period, when that was looked at
// last, by target and CPU.
type rate struct {
	sum    uint64
	at     uint64 // ns; 0: never
	octets uint64 // in a limitPeriod
}

// look notes what rules have counted until now, ns.
func (r *rate) look(rules []*stages.Rule, now uint64) {
	sum := uint64(0)
	for _, one := range rules {
		sum += one.Counters.Total().Octets
	}
	passed := now - r.at
	if passed < uint64(limitPeriod/2) {
		return
	}
	if r.at != 0 && sum >= r.sum {
		r.octets = uint64(float64(sum-r.sum) * float64(limitPeriod) / float64(passed))
	}
	r.sum, r.at = sum, now
}

// isNear reports whether the rules of a session are the CPU's: a limit is near, or something
// is to be told of the next packet, or packets are to be translated back.
func (o *offload) isNear(s *session, rules []*stages.Rule) bool {
	if l := left(rules); l != stages.NoLimit && l < max(leftLeast, leftPeriods*s.rate.octets) {
		return true
	}
	redirects := o.engine.Stages().Redirects
	for _, r := range rules {
		if !quiet(r) || r.Redirect != nil {
			return true
		}
		if redirects.Some() && (r.UEIPv4.IsValid() && redirects.Of(r.UEIPv4) || r.UEIPv6.IsValid() && redirects.Of(r.UEIPv6.Addr())) {
			return true
		}
	}
	return false
}

// watch looks at limits until ctx is done.
func (o *offload) watch(ctx context.Context) {
	tick, retry := time.NewTicker(limitPeriod), time.NewTicker(retryPeriod)
	defer tick.Stop()
	defer retry.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if o.failure() == nil {
				err = o.lookAtLimits(ctx)
			}
		case <-retry.C:
			o.retry()
		}
		if err != nil {
			o.lose(err)
		}
	}
}

// lookAtLimits counts for all sessions with limits, and has those looked at that are near one.
func (o *offload) lookAtLimits(ctx context.Context) error {
	seids := o.all(func(s *session) bool { return s.state == installed && s.limited })
	for len(seids) > 0 {
		n := min(len(seids), batch)
		err := o.with(seids[:n], func(all []*session) error {
			if err := o.count(ctx, all); err != nil {
				return err
			}
			for _, s := range all {
				var rules []*stages.Rule
				for _, sl := range s.slots {
					rules = append(rules, sl.rule)
				}
				s.rate.look(rules, o.now())
				if o.isNear(s, rules) {
					o.ask(s)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		seids = seids[n:]
	}
	return nil
}

// ask has a session that is held looked at when it is released.
func (o *offload) ask(s *session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s.again = true
}

// retry has sessions looked at that are with the CPU, in part or as a whole, for a reason that may
// have passed.
func (o *offload) retry() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away != nil {
		return
	}
	n := 0
	for _, s := range o.sessions {
		free := func(route netip.Prefix) bool { return !o.blocked(route, s.seid) }
		if s.retry && s.state == apart || (s.state == apart || s.state == installed) && slices.ContainsFunc(s.blocked, free) {
			o.enqueue(s)
			if n++; n == retrySome {
				return
			}
		}
	}
}
