package n4

import (
	"errors"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// allowed reports whether the address may be that of a peer.
func (e *Endpoint) allowed(a netip.Addr) bool {
	if len(e.config.Peers) == 0 {
		return true
	}
	return slices.ContainsFunc(e.config.Peers, func(p netip.Prefix) bool { return p.Contains(a) }) ||
		slices.Contains(e.config.Associate, a)
}

// named reports whether the operator has named the address as that of a peer.
func (e *Endpoint) named(a netip.Addr) bool {
	return slices.Contains(e.config.Associate, a) || len(e.config.Peers) > 0 && e.allowed(a)
}

// listed reports whether the operator has named the address by itself: not as one of a range.
func (e *Endpoint) listed(a netip.Addr) bool {
	return slices.Contains(e.config.Associate, a) ||
		slices.ContainsFunc(e.config.Peers, func(p netip.Prefix) bool { return p.IsSingleIP() && p.Addr() == a })
}

// Errors of associations that may have no more sessions.
var (
	errParting = &pfcp.Error{Cause: pfcp.CauseRequestRejected, Err: errors.New("the association is about to be released")}
	errTooMany = &pfcp.Error{Cause: pfcp.CauseNoResourcesAvailable, Err: errors.New("too many sessions in one association")}
)

// mayEstablish says by an error that an association may have no other session.
// With several workers there may be a few more than the limit.
func (e *Endpoint) mayEstablish(a *association) error {
	switch limit := e.config.MaxSessionsPerAssociation; {
	case a.parting.Load() || e.leaving.Load():
		return errParting
	case e.storeDown.Load():
		return errStore
	case limit > 0 && a.sessions.Load() >= int64(limit):
		return errTooMany
	}
	return nil
}

// bucket limits requests to a rate, with a burst of a tenth of a second's worth.
// Its whole state is the time at which the next request would be on time if
// requests came evenly (GCRA).
type bucket struct {
	due atomic.Int64 // ns since the epoch
}

// take reports whether a request at that time is within the rate, in requests
// per second; 0: any rate.
func (b *bucket) take(now time.Time, rate int) bool {
	if rate <= 0 {
		return true
	}
	interval := int64(time.Second) / int64(rate)
	slack := max(int64(time.Second/10), interval)
	for {
		due := b.due.Load()
		at := now.UnixNano()
		if due-at > slack {
			return false
		}
		if b.due.CompareAndSwap(due, max(due, at)+interval) {
			return true
		}
	}
}

// within reports whether a request from there is within the limit of its peer.
// Those who are not associated have one limit together, so that they cannot
// keep a peer waiting by taking new addresses.
func (e *Endpoint) within(at *peer, now time.Time) bool {
	if at == nil {
		return e.strangers.take(now, e.config.RequestsPerSecond)
	}
	return at.rate.take(now, e.config.RequestsPerSecond)
}
