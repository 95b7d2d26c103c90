package n4

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// Release ends all associations in good order: no new sessions are accepted,
// the CP functions are asked to release their associations, and those that have
// not done so when Config.GracefulRelease is over, or ctx is done, are ended
// with their sessions. Serve has to run meanwhile; Close comes after.
// Source: TS 29.244 V18.6.0, 6.2.7.3 and 5.18.
func (e *Endpoint) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.config.GracefulRelease)
	defer cancel()
	e.leaving.Store(true)
	var all sync.WaitGroup
	for _, a := range e.peers.list() {
		all.Go(func() { e.part(ctx, a) })
	}
	all.Wait()
	return e.flush(e.run)
}

// part ends one association: its CP function may do it until ctx is done.
func (e *Endpoint) part(ctx context.Context, a *association) {
	a.parting.Store(true)
	err := e.askForRelease(ctx, a)
	if err == nil {
		select {
		case <-a.lifetime.Done():
			return
		case <-ctx.Done():
		}
	}
	if !a.end() {
		<-a.lifetime.Done() // somebody else ends it
		return
	}
	e.log.event(kindAssociation, slog.LevelWarn, "n4: the CP function has not released the association",
		"node", a.node, "from", a.addr, "sessions", a.sessions.Load(), "error", err)
	e.clear(a)
}

// askForRelease asks a CP function to release its association, after the usage
// of its sessions has been reported, if it wants that.
func (e *Endpoint) askForRelease(ctx context.Context, a *association) error {
	ask := &pfcp.AssociationUpdateRequest{
		NodeID:                e.nodeID,
		AssociationRelease:    pfcp.AssociationReleaseSARR,
		GracefulReleasePeriod: pfcp.Some(pfcp.NewTimer(e.config.GracefulRelease)),
	}
	if e.enhanced(a) {
		prepare := &pfcp.AssociationUpdateRequest{NodeID: e.nodeID, AUReqFlags: pfcp.AUReqPARPS}
		if err := e.tell(ctx, a, prepare); err != nil {
			return err
		}
		e.reportFinal(ctx, a)
		ask.AssociationRelease |= pfcp.AssociationReleaseURSS
	}
	return e.tell(ctx, a, ask)
}

// enhanced reports whether both sides have Enhanced PFCP Association Release.
func (e *Endpoint) enhanced(a *association) bool {
	return e.features()&pfcp.UPFeatureEPFAR != 0 && pfcp.CPFunctionFeatures(a.features.Load())&pfcp.CPFeatureEPFAR != 0
}

// tell sends an Association Update Request, and returns nil if it is accepted.
func (e *Endpoint) tell(ctx context.Context, a *association, m *pfcp.AssociationUpdateRequest) error {
	body, err := e.request(ctx, netip.AddrPortFrom(a.addr, e.config.PeerPort), 0, m, pfcp.MsgAssociationUpdateResponse)
	if err != nil {
		return err
	}
	var r pfcp.AssociationUpdateResponse
	if err := r.Decode(body); err != nil {
		return err
	}
	if !r.Cause.Accepted() {
		return &pfcp.Error{Cause: r.Cause, In: r.MessageType().String(), Err: errNotAccepted}
	}
	return nil
}

// prepareRelease is what a CP function has asked for that will release the
// association: the usage of its sessions is reported, and then it is told so.
func (e *Endpoint) prepareRelease(a *association) {
	e.reportFinal(a.lifetime, a)
	err := e.tell(a.lifetime, a, &pfcp.AssociationUpdateRequest{
		NodeID: e.nodeID, AssociationRelease: pfcp.AssociationReleaseURSS,
	})
	if err != nil {
		e.log.event(kindAssociation, slog.LevelWarn, "n4: the CP function does not take that all usage is reported",
			"node", a.node, "addr", a.addr, "error", err)
	}
}

// maxFinal is how many final reports wait for their answers.
const maxFinal = 64

// reportFinal deletes the sessions of an association that have usage to report,
// and reports it. Source: TS 29.244 V18.6.0, 5.18.2.
func (e *Endpoint) reportFinal(ctx context.Context, a *association) {
	var all sync.WaitGroup
	slots := make(chan struct{}, maxFinal)
	for s := range e.sessions.All() {
		if s.Owner != a.owner || len(s.URRs) == 0 || ctx.Err() != nil {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			e.finish(ctx, a, s)
			<-slots
		})
	}
	all.Wait()
}

// deleted counts a session that has been deleted for a. It reports false if it was
// not, or if somebody else was faster.
func (e *Endpoint) deleted(a *association, seid uint64, r *session.Result, err error) bool {
	switch {
	case err == nil && !r.Again:
		a.sessions.Add(-1)
		return true
	case err != nil && !errors.Is(err, session.ErrNoSession):
		e.log.event(kindAssociation, slog.LevelError, "n4: session not deleted", "node", a.node, "seid", seid, "error", err)
	}
	return false
}

// finish deletes one session and reports what it has used, if that is anything.
func (e *Endpoint) finish(ctx context.Context, a *association, s *session.Session) {
	if !a.open() {
		return // all of its sessions go
	}
	var r session.Result
	err := e.sessions.Delete(ctx, s.SEID, a.owner, &r)
	a.done()
	if !e.deleted(a, s.SEID, &r, err) {
		return
	}
	used := slices.DeleteFunc(r.Reports, func(u session.UsageReport) bool {
		return u.Usage == (session.Counts{}) && u.Duration == 0
	})
	if to, ok := e.reportTo(a.owner, s.CP); ok {
		e.sendFinal(ctx, a, to, s, used)
	}
}

// lost reports the last usage of sessions whose UE's address their CP function has given to
// another one.
func (e *Endpoint) lost(a *association, list []session.Lost) {
	for _, l := range list {
		e.log.event(kindAssociation, slog.LevelWarn, "n4: a session has the UE's address of a lost one, which is ended",
			"node", a.node, "seid", l.SEID, "reports", len(l.Reports))
		if to, ok := e.reportTo(a.owner, l.CP); ok {
			e.background.Go(func() {
				e.sendFinal(a.lifetime, a, to, &session.Session{SEID: l.SEID, CP: l.CP}, l.Reports)
			})
		}
	}
}

// sendFinal reports the last usage of a session that is deleted, in as many requests as it
// takes: the last one says that the session is gone.
func (e *Endpoint) sendFinal(ctx context.Context, a *association, to netip.AddrPort, s *session.Session, used []session.UsageReport) {
	for i := range used {
		used[i].Trigger = session.TriggerTEBUR
	}
	leave := a.forms.leave() | e.config.leaveOut(to.Addr())
	for len(used) > 0 {
		n := min(len(used), maxReportsInRequest)
		m := &pfcp.SessionReportRequest{ReportType: pfcp.ReportTypeUSAR, UsageReports: usageReports(nil, used[:n], leave)}
		if n == len(used) {
			m.SRReqFlags = pfcp.SRReqPSDBU
		}
		if _, err := e.request(ctx, to, s.CP.SEID, m, pfcp.MsgSessionReportResponse); err != nil {
			e.log.event(kindReport, slog.LevelError, "n4: final usage of a session is not reported",
				"to", to, "seid", s.SEID, "reports", len(used), "error", err)
			return
		}
		used = used[n:]
	}
}
