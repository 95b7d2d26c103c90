package xdp

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"plumbline/api"
	"plumbline/datapath/model"
	"plumbline/gtpu"
)

// errorIndications collects Error Indications and looks once for all of them
// which sessions they are about: that takes a look at every session, so it is
// done seldom, for as many as there are.
type errorIndications struct {
	mu      sync.Mutex
	tunnels map[gtpu.Tunnel]bool
	some    chan struct{}
}

// maxErrored is how many tunnels wait at most. A peer repeats its Error
// Indication as long as packets come.
const maxErrored = 4096

// scanShare is the part of the time that looking may take: one in so many.
const scanShare = 20

func newErrorIndications() *errorIndications {
	return &errorIndications{tunnels: map[gtpu.Tunnel]bool{}, some: make(chan struct{}, 1)}
}

// add keeps an Error Indication if it comes from the peer that it is about: to
// anybody else it would give the power to end tunnels.
//
// Source: TS 29.281 V18.1.0, 7.3.1.
func (e *errorIndications) add(m model.Datagram) {
	t, err := gtpu.ParseErrorIndication(m.Payload)
	if err != nil || t.Peer != m.From.Addr() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.tunnels) < maxErrored {
		e.tunnels[t] = true
	}
	select {
	case e.some <- struct{}{}:
	default:
	}
}

func (e *errorIndications) take() map[gtpu.Tunnel]bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := e.tunnels
	e.tunnels = map[gtpu.Tunnel]bool{}
	return taken
}

// reportErrors raises ERROR_INDICATION until ctx is done.
func (d *Driver) reportErrors(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.errored.some:
		}
		start := time.Now()
		d.findErrored(d.errored.take())
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
