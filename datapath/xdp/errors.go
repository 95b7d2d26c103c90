package xdp

import (
	"context"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// scanShare is the part of the time that looking may take: one in so many.
const scanShare = 20

// reportErrors raises ERROR_INDICATION until ctx is done.
func (d *Driver) reportErrors(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.errored.Some:
		}
		start := time.Now()
		d.findErrored(d.errored.Take())
		wait := max(scanShare*time.Since(start), 10*time.Millisecond)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// findErrored raises ERROR_INDICATION for each session that sends into one of
// the tunnels, about the first of its PDRs that does. The lock is given up now
// and then, so that no change waits for long.
//
// Source: TS 29.244 V18.6.0, 5.10.
func (d *Driver) findErrored(tunnels map[gtpu.Tunnel]bool) {
	teids := map[uint32]bool{}
	for t := range tunnels {
		teids[t.TEID] = true
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	n := 0
	for seid, s := range d.sessions.all() {
		if pdr, t, ok := d.sendsTo(s, teids, tunnels); ok {
			d.events.Post(&api.Event{
				Kind: api.EventKind_ERROR_INDICATION, Seid: seid, RuleId: pdr, Tunnel: eventTunnel(t.Tunnel),
			})
		}
		if n++; n%1024 == 0 { // others may change sessions, between two of them
			d.mu.RUnlock()
			d.mu.RLock()
		}
	}
}

// sendsTo returns the first PDR of s that sends into one of the tunnels.
func (d *Driver) sendsTo(s *session, teids map[uint32]bool, tunnels map[gtpu.Tunnel]bool) (uint32, sending, bool) {
	for i := range s.slow {
		if r := s.slow[i].rule; r != nil && r.Action == api.Action_FORW && r.Outer != nil {
			if t := (gtpu.Tunnel{TEID: r.Outer.TEID, Peer: r.Outer.Peer}); tunnels[t] {
				return r.PDRID, sending{t, r.Outer.Local}, true
			}
		}
	}
	for _, h := range s.held {
		if !h.isRule() {
			continue
		}
		r := &d.table(h.kind()).slots[h.slot()]
		if atomic.LoadUint32(&r.Ctl)&ruleOuter == 0 {
			continue
		}
		if o := unpackOuter(r.UeIp6); teids[o.teid] {
			hop := d.hops.keyOf(uint32(o.hop))
			if t := (gtpu.Tunnel{TEID: o.teid, Peer: hop.addr}); tunnels[t] {
				return h.id, sending{t, d.ports.localOf(hop)}, true
			}
		}
	}
	return 0, sending{}, false
}

// sending is a tunnel, and the address from which packets go there.
type sending struct {
	gtpu.Tunnel
	local netip.Addr
}

func eventTunnel(t gtpu.Tunnel) *api.Tunnel {
	out := &api.Tunnel{Teid: t.TEID}
	setPeer(out, t.Peer)
	return out
}

func setPeer(t *api.Tunnel, a netip.Addr) {
	if a.Is4() {
		b := a.As4()
		t.Ipv4 = uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
		return
	}
	t.Ipv6 = a.AsSlice()
}
