package n4

import (
	"context"
	"log/slog"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// reported does what a CP function's answer to a report says, and returns its Cause.
func (e *Endpoint) reported(ctx context.Context, seid uint64, w *session.Waiting, body []byte) pfcp.Cause {
	var r pfcp.SessionReportResponse
	err := r.Decode(body)
	if err == nil && r.Cause == pfcp.CauseRequestAccepted {
		e.counters.Reports.Answered.Add(1)
	} else {
		e.counters.Reports.Rejected.Add(1)
		e.log.event(kindReport, slog.LevelWarn, "n4: session report rejected",
			"owner", w.Owner, "seid", seid, "cause", r.Cause, "error", err)
	}
	if r.Cause == pfcp.CauseSessionContextNotFound {
		e.abandon(ctx, seid, w.Owner)
		return r.Cause
	}
	if err == nil {
		e.follow(ctx, seid, w, &r)
	}
	return r.Cause
}

// acknowledged takes the usage out of a session of which an answer to a report says that
// it has been heard, whatever was thought of it. That is done before the CP function's
// next message: its deletion would be answered with the same usage again, and there are
// CP functions that charge it twice.
func (e *Endpoint) acknowledged(seid uint64, w *session.Waiting, body []byte) {
	var r pfcp.SessionReportResponse
	if err := r.Decode(body); err != nil || r.Cause != pfcp.CauseSessionContextNotFound {
		e.sessions.Acknowledge(seid, w.Reports)
	}
}

// follow changes a session as the answer to a report asks for.
// Source: TS 29.244 V18.6.0, 7.5.9.
func (e *Endpoint) follow(ctx context.Context, seid uint64, w *session.Waiting, r *pfcp.SessionReportResponse) {
	m := session.Modification{SEID: seid, Owner: w.Owner, DropBuffered: r.SRRspFlags&pfcp.SRRspDROBU != 0}
	if r.UpdateBAR.Present {
		var c converter
		c.updateBAR(next(&m.UpdateBARs), &r.UpdateBAR.Value)
		m.Unsupported = c.unsupported
	}
	if r.CPFSEID.Present {
		m.CP = session.Some(fseid(&r.CPFSEID.Value))
	}
	of := e.peers.owner(w.Owner)
	by := e.successor(of, r.NodeID)
	if by != nil && !by.open() {
		by = nil // all of its sessions go
	}
	if by != nil {
		defer by.done()
		m.NewOwner = by.owner
	}
	if !m.DropBuffered && !m.CP.Present && len(m.UpdateBARs) == 0 && by == nil {
		return
	}
	var result session.Result
	if err := e.sessions.Modify(ctx, &m, &result); err != nil {
		e.log.event(kindReport, slog.LevelWarn, "n4: what the answer to a session report asks for is not possible",
			"owner", w.Owner, "seid", seid, "error", err)
		return
	}
	if by != nil {
		of.sessions.Add(-1)
		by.sessions.Add(1)
	}
}

// successor returns the association to which a session of a goes if the answer to
// a report names this node: another one of the SMF Set. Else it returns nil.
// Source: TS 29.244 V18.6.0, 5.22.3.
func (e *Endpoint) successor(a *association, node pfcp.Optional[pfcp.NodeID]) *association {
	if a == nil || !node.Present || a.smfSet() == "" {
		return nil
	}
	by := e.peers.node(node.Value)
	if by == nil || by == a || !e.inSetOf(a, by) {
		return nil
	}
	return by
}

// abandon deletes a session of which its CP function knows nothing.
// Source: TS 29.244 V18.6.0, 6.3.5.3; TS 23.527 V18, 4.5.
func (e *Endpoint) abandon(ctx context.Context, seid uint64, owner uint32) {
	a := e.peers.owner(owner)
	if a == nil || !a.open() {
		return // all of its sessions go
	}
	defer a.done()
	var result session.Result
	err := e.sessions.Delete(ctx, seid, owner, &result)
	e.deleted(a, seid, &result, err)
}
