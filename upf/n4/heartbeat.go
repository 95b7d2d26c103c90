package n4

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// monitor sends heartbeats to a peer until its association ends.
// Source: TS 29.244 V18.6.0, 6.2.2; TS 23.527 V18, 4.2 and 4.4.
func (e *Endpoint) monitor(a *association) {
	ctx := a.lifetime
	peer := netip.AddrPortFrom(a.addr, e.config.PeerPort)
	if peer == e.addr {
		return // we would ask ourselves
	}
	if !a.proven.Load() {
		e.background.Go(func() { e.prove(a, peer) })
	}
	e.background.Go(func() {
		defer e.pending.forget(peer)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(e.config.HeartbeatInterval):
			}
			ask := &pfcp.HeartbeatRequest{RecoveryTimeStamp: e.recoveryAt(a.addr)}
			body, err := e.request(ctx, peer, 0, ask, pfcp.MsgHeartbeatResponse)
			if ctx.Err() != nil {
				return
			}
			if e.heard(a, body, err) {
				return
			}
			if err == nil {
				e.tellFeatures(a)
			}
		}
	})
}

// prove asks a peer soon after its setup, behind our response, whether it is there. That
// it does not answer says nothing of the path yet.
func (e *Endpoint) prove(a *association, peer netip.AddrPort) {
	if !sleep(a.lifetime, e.config.T1/100) {
		return
	}
	ask := &pfcp.HeartbeatRequest{RecoveryTimeStamp: e.recoveryAt(a.addr)}
	if body, err := e.request(a.lifetime, peer, 0, ask, pfcp.MsgHeartbeatResponse); err == nil {
		e.heard(a, body, nil)
	}
}

// heard takes the outcome of a heartbeat. It reports whether the association
// ends, as the peer has restarted.
func (e *Endpoint) heard(a *association, body []byte, err error) (ended bool) {
	if err != nil {
		if !a.pathDown.Swap(true) {
			e.counters.PathFailures.Add(1)
			e.log.event(kindAssociation, slog.LevelWarn, "n4: peer does not answer heartbeats, its sessions are kept",
				"node", a.node, "addr", a.addr, "error", err)
		}
		return false
	}
	var m pfcp.HeartbeatResponse
	if err := m.Decode(body); err != nil {
		e.counters.drop(DropMalformed)
		return false
	}
	if a.pathDown.Swap(false) {
		e.log.event(kindAssociation, slog.LevelInfo, "n4: peer answers heartbeats again", "node", a.node, "addr", a.addr)
	}
	// Somebody else's setup in its name is not made good by its own answer.
	if uint32(m.RecoveryTimeStamp) == a.recovery.Load() {
		a.proven.Store(true)
	}
	if !newer(m.RecoveryTimeStamp, pfcp.TimeStamp(a.recovery.Load())) || !a.end() {
		return false
	}
	e.counters.PeerRestarts.Add(1)
	e.log.event(kindAssociation, slog.LevelWarn, "n4: peer has restarted, its association and sessions are deleted",
		"node", a.node, "addr", a.addr, "recovery", m.RecoveryTimeStamp.Time())
	e.clear(a)
	return true
}

// newer reports whether a is later than b; time stamps wrap around in 2036.
func newer(a, b pfcp.TimeStamp) bool { return int32(a-b) > 0 }

// newest returns the later one of a and b; 0: none.
func newest(a, b pfcp.TimeStamp) pfcp.TimeStamp {
	if a == 0 || b != 0 && newer(b, a) {
		return b
	}
	return a
}
