package p4

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"plumbline/datapath/model"
)

// A target counts, and knows no limits: what it has counted is read every limitPeriod, and
// added to the engine's counts, which raise the events. So a threshold is told of at most that
// much late, and a quota is passed by what comes in that time. A session that is near a limit
// goes to the CPU, where both are exact to the packet: near is leftLeast octets, or what comes
// in leftPeriods periods at the rate of the last one, whichever is more.
const (
	limitPeriod = 100 * time.Millisecond
	leftLeast   = 1 << 20
	leftPeriods = 8
	// retryPeriod is how often is looked whether what keeps a session with the CPU has passed,
	// and retrySome of how many of them at a time.
	retryPeriod = time.Second
	retrySome   = 4096
)

// isNear reports whether the rules of a session are the CPU's: a limit is near, or something
// is to be told of the next packet, or packets are to be translated back.
func (o *offload) isNear(s *session, rules []*model.Rule) bool {
	if l := left(rules); l != model.NoLimit && l < max(leftLeast, leftPeriods*s.moved) {
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
				s.moved, s.since = s.since, 0
				var rules []*model.Rule
				for _, sl := range s.slots {
					rules = append(rules, sl.rule)
				}
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
		if s.retry && s.state == apart {
			s.moved /= 2 // nobody looks meanwhile
		}
		free := func(route netip.Prefix) bool { return !o.blocked(route, s.seid) }
		if s.retry && s.state == apart || (s.state == apart || s.state == installed) && slices.ContainsFunc(s.blocked, free) {
			o.enqueue(s)
			if n++; n == retrySome {
				return
			}
		}
	}
}
