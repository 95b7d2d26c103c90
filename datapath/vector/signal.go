package vector

import (
	"net/netip"
	"sync"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// answer does what a GTP-U message asks for that the stages did not forward, but
// sends not too much of it. The engine's lock is held for reading.
func (w *Worker) answer(m stages.Datagram, reason datapath.Reason) {
	e := w.e
	if reason == datapath.PassSignalling {
		switch h, err := gtpu.Parse(m.Payload); {
		case err != nil:
			return
		case h.Type() == gtpu.ErrorIndication:
			e.errored.Add(m)
			return
		case h.Type() == gtpu.EchoResponse:
			if e.peers.known(m.From.Addr()) {
				e.paths.Answered(m)
			}
			return
		}
	} else if !e.restart.MayAnswer(reason) || reason != datapath.DropNoPDR && reason != datapath.DropGTPUExtType || !e.answers.allow(e.cfg.Now()) {
		return // the session may yet come back; or nothing is to be said, or enough was
	}
	for _, d := range e.stages.Signal(m, reason) {
		if reason != datapath.PassSignalling || e.allow(m) {
			if w.tracing != nil {
				w.tracing.beside(&stages.Sent{Packet: d.Packet(), Outer: &stages.Outer{Local: d.From.Addr()}}, true)
			}
			w.signal(d)
		}
	}
}

// allow bounds what is sent to whom we do not send packets anyway.
func (e *Engine) allow(m stages.Datagram) bool {
	return e.peers.known(m.From.Addr()) || e.strangers.allow(e.cfg.Now())
}

// findErrored raises ERROR_INDICATION for each session that sends into a tunnel of
// which an Error Indication came, about the first of its PDRs that does. The lock is
// given up now and then, so that no change waits for long.
//
// Source: TS 29.244 V18.6.0, 5.10.
func (e *Engine) findErrored() {
	tunnels := e.errored.Take()
	if len(tunnels) == 0 {
		return
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	n := 0
	for s, rules := range e.sessions.All() {
		if r, t := sendsTo(rules, tunnels); r != nil {
			e.events.Post(&api.Event{
				Kind: api.EventKind_ERROR_INDICATION, Seid: s.SEID, RuleId: r.PDRID, Tunnel: stages.EventTunnel(t),
			})
		}
		if n++; n%1024 == 0 { // others may change sessions, between two of them
			e.mu.RUnlock()
			e.mu.RLock()
		}
	}
}

func sendsTo(rules []*stages.Rule, tunnels map[gtpu.Tunnel]bool) (*stages.Rule, gtpu.Tunnel) {
	for _, r := range rules {
		if !r.Sends() {
			continue
		}
		if t := (gtpu.Tunnel{TEID: r.Outer.TEID, Peer: r.Outer.Peer}); tunnels[t] {
			return r, t
		}
	}
	return nil, gtpu.Tunnel{}
}

// limiter is a [stages.Limiter] for several goroutines.
type limiter struct {
	mu sync.Mutex
	stages.Limiter
}

func (l *limiter) allow(nowNs uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Allow(nowNs)
}

// peer is one to which rules send, and from which address.
type peer struct{ local, addr netip.Addr }

// peers counts the rules that send to each, by the peer and by its address alone. The
// engine's lock guards it.
type peers struct {
	rules map[peer]int
	addrs map[netip.Addr]int
}

// known reports whether any rule sends to an address.
func (p *peers) known(a netip.Addr) bool { return p.addrs[a] > 0 }

// add adds n for each rule that has an outer header.
func (p *peers) add(rules []*stages.Rule, n int) {
	for _, r := range rules {
		if r.Outer == nil {
			continue
		}
		to := peer{r.Outer.Local, r.Outer.Peer}
		if p.rules[to] += n; p.rules[to] == 0 {
			delete(p.rules, to)
		}
		if p.addrs[to.addr] += n; p.addrs[to.addr] == 0 {
			delete(p.addrs, to.addr)
		}
	}
}

// newPaths asks the peers whether they are there.
func (e *Engine) newPaths() *stages.Paths[peer] {
	return &stages.Paths[peer]{
		Interval: e.cfg.Echo, Peer: func(p peer) netip.Addr { return p.addr },
		Ask: func(p peer, seq uint16) {
			_ = e.sending(func(w *Worker) error { w.signal(stages.EchoRequest(p.local, p.addr, seq)); return nil })
		},
		Tell: func(p peer, up bool) {
			kind := api.EventKind_PATH_DOWN
			if up {
				kind = api.EventKind_PATH_UP
			}
			e.events.Post(&api.Event{Kind: kind, Tunnel: stages.EventTunnel(gtpu.Tunnel{Peer: p.addr})})
		},
	}
}

// peersInUse returns the peers, but for ourselves, that have an address of ours.
func (e *Engine) peersInUse() map[peer]bool {
	all := make(map[peer]bool, len(e.peers.rules))
	for to := range e.peers.rules {
		if to.local.IsValid() && !e.local(to.addr) {
			all[to] = true
		}
	}
	return all
}
