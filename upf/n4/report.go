package n4

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// This file tells CP functions about their sessions: Session Report Requests.
//
//	session.Manager.Run > Endpoint.Report > queue of the CP function
//	    > Session Report Request, up to N1 times > answer
//	    > reports forgotten, BAR changed, buffer dropped, session deleted
//
// A request is about one session and one thing: packets to be paged for, tunnels in
// error, inactivity, or usage. What waits in a queue is that a session has something
// to tell. What it has used is read from it when its turn comes, so it may have
// become more, and is forgotten there only when the CP function has answered.
//
// A request that is not answered says nothing of others: it alone rests, longer each
// time. Whether the CP function is there is what heartbeats say; while they say that
// it is not, its queue rests as a whole.
//
// Source: TS 29.244 V18.6.0, 5.2.2.3, 5.2.4, 5.11, 6.2.2, 6.3.5, 6.4, 7.5.8 and 7.5.9.

// ReportCounters count Session Report Requests.
type ReportCounters struct {
	Requests   atomic.Uint64 // different ones that were sent
	Answered   atomic.Uint64 // with Request accepted
	Rejected   atomic.Uint64 // with another Cause
	Unanswered atomic.Uint64 // sent N1 times without answer; tried again later
	Discarded  atomic.Uint64 // given up, or not sent as the session or its association was gone
	OtherForm  atomic.Uint64 // of Requests, those without what the CP function did not take before
}

// ReportsWaiting is how many sessions have something to tell that their CP
// functions have not answered yet.
func (e *Endpoint) ReportsWaiting() int {
	n, _ := e.reports.waiting()
	return n
}

// ReportsResting is how many reports were not answered, and are not tried just now.
func (e *Endpoint) ReportsResting() int {
	_, n := e.reports.waiting()
	return n
}

// watchSessions looks at sessions as the datapath's events and the time ask for.
func (e *Endpoint) watchSessions() {
	source := e.config.Events
	if source == nil {
		source = silence{}
	}
	if err := e.sessions.Run(e.run, source, e.Report); e.run.Err() == nil {
		e.log.Error("n4: no more events of the datapath", "error", err)
		_ = e.sessions.Run(e.run, silence{}, e.Report) // the time goes on
	}
}

// silence is a datapath that has nothing to tell.
type silence struct{}

// Next waits for ctx.
func (silence) Next(ctx context.Context) (session.Event, error) {
	<-ctx.Done()
	return session.Event{}, ctx.Err()
}

// Report tells a CP function of something. It does not wait.
func (e *Endpoint) Report(n session.Notice) {
	switch n.Kind {
	case session.PathDown, session.PathUp:
		e.reportPath(n.Tunnel, n.Kind == session.PathDown)
	default:
		e.pump(e.reports.add(n))
	}
}

// pump sends what a queue has, as far as it may.
func (e *Endpoint) pump(q *reportQueue) {
	if a := e.peers.owner(q.owner); a != nil && e.unreachable(a) && e.reports.hold(q) {
		e.background.Go(func() { e.hold(q) })
	}
	for e.run.Err() == nil {
		job, rouse, ok := e.reports.take(q, time.Now(), e.config.ReportsPerSecond)
		if rouse {
			e.background.Go(func() { e.rest(q) })
		}
		if !ok {
			return
		}
		e.background.Go(func() {
			o := e.report(&job)
			held, gone := e.reports.done(q, &job, o, time.Now())
			if held {
				e.background.Go(func() { e.hold(q) })
			}
			if gone {
				e.counters.Reports.Discarded.Add(1)
			}
			e.pump(q)
		})
	}
}

// rest goes on with a queue when the time has come for something in it.
func (e *Endpoint) rest(q *reportQueue) {
	for wait := e.reports.sleep(q, time.Now()); wait > 0; wait = e.reports.sleep(q, time.Now()) {
		select {
		case <-e.run.Done():
			return
		case <-q.wake:
		case <-time.After(wait):
		}
	}
	e.pump(q)
}

// unreachable reports whether no CP function answers for a's sessions.
func (e *Endpoint) unreachable(a *association) bool {
	if !a.pathDown.Load() {
		return false
	}
	_, _, ok := e.standIn(a.owner)
	return !ok
}

// hold lets a queue rest until its CP function is there again.
func (e *Endpoint) hold(q *reportQueue) {
	for {
		if !sleep(e.run, e.config.T1*time.Duration(e.config.N1)) {
			return
		}
		a := e.peers.owner(q.owner)
		if a == nil {
			e.counters.Reports.Discarded.Add(uint64(e.reports.discard(q)))
			return
		}
		if !e.unreachable(a) {
			break
		}
	}
	e.reports.release(q)
	e.pump(q)
}

// maxReportsInRequest is how many Usage Reports are in one request; with about 90
// octets each it stays within what most paths carry in one piece, and there are CP
// functions that read no more of them (docs/n4.md).
const maxReportsInRequest = 8

// report sends one Session Report Request and does what its answer says.
func (e *Endpoint) report(job *reportJob) outcome {
	var w session.Waiting
	o, err := reportDone, error(nil)
	if job.kind == reportUsage {
		err = e.sessions.Waiting(e.run, job.seid, &w)
	} else {
		w.Owner, w.CP, err = e.sessions.CPFunction(job.seid)
	}
	switch {
	case errors.Is(err, session.ErrNoSession):
		e.counters.Reports.Discarded.Add(1)
		return reportNone
	case err != nil:
		e.counters.StoreErrors.Add(1)
		return reportLost
	case job.kind == reportUsage && len(w.Reports) == 0:
		return reportNone // answered already
	}
	if job.old && e.outdated(job) {
		e.counters.Reports.Discarded.Add(1)
		return reportNone
	}
	if len(w.Reports) > maxReportsInRequest {
		w.Reports, o = w.Reports[:maxReportsInRequest], reportMore
	}
	a := e.peers.owner(w.Owner)
	to, ok := e.reportTo(w.Owner, w.CP)
	if a == nil || !ok {
		e.counters.Reports.Discarded.Add(1)
		return reportNone
	}
	return e.sendReport(a, to, job, &w, o)
}

// outdated takes out of an old report what is not so any more, and reports whether nothing
// is left. A UE is not paged whose packets do not wait, as it was reached without that or
// given up, nor said to be inactive that is active again. What has become of packets stays
// true.
func (e *Endpoint) outdated(job *reportJob) bool {
	if job.kind != reportDownlink && job.kind != reportInactive {
		return false
	}
	s := e.sessions.Get(job.seid)
	switch {
	case s == nil:
		return true
	case job.kind == reportInactive:
		return !s.Inactivity.Told
	}
	job.downlink = slices.DeleteFunc(job.downlink, func(d session.Event) bool {
		return d.Kind == session.DownlinkData && !pages(s, uint16(d.RuleID))
	})
	return len(job.downlink) == 0
}

// pages reports whether packets of a session's PDR are buffered, and the CP function wants
// to be told.
func pages(s *session.Session, pdr uint16) bool {
	r := s.PDR(pdr)
	if r == nil {
		return false
	}
	const both = session.Buffer | session.Notify
	f := s.FAR(r.FARID)
	return f != nil && f.ApplyAction&both == both
}

// sendReport sends a report about a session of a, in a form that who gets it can read as far
// as that is known, and does what its answer says. Answered as it should be, its outcome is o.
func (e *Endpoint) sendReport(a *association, to netip.AddrPort, job *reportJob, w *session.Waiting, o outcome) outcome {
	by, cpSEID, old := a, w.CP.SEID, pfcp.Optional[pfcp.FSEID]{}
	if other, at, ok := e.standIn(w.Owner); ok {
		by, to, cpSEID, old = other, at, 0, pfcp.Some(cpFSEID(w.CP))
	}
	form := by.forms.choose(w.Reports, job.tries, e.config.leaveOut(to.Addr()))
	m := reportRequest(w, job, form.leave)
	m.OldCPFSEID = old
	e.counters.Reports.Requests.Add(1)
	if form.leave&form.present != 0 {
		e.counters.Reports.OtherForm.Add(1)
	}
	var heard func([]byte)
	if len(w.Reports) > 0 {
		heard = func(body []byte) { e.acknowledged(job.seid, w, body) }
	}
	body, err := e.requestHeard(e.run, to, cpSEID, m, pfcp.MsgSessionReportResponse, heard)
	if err == nil {
		by.forms.heard(&form, job.tries)
		cause := e.reported(e.run, job.seid, w, body)
		if cause == pfcp.CauseServiceNotSupported && paging(m) {
			if by.forms.learn(LeaveOutPagingPolicy) { // else by another page that was under way
				e.leaves(by, LeaveOutPagingPolicy, "refused: Cause 76")
			}
			return reportRefused
		}
		return o
	}
	up := !e.unreachable(a)
	learned := by.forms.lost(&form, up && errors.Is(err, errNoResponse))
	if errors.Is(err, errNoResponse) {
		e.counters.Reports.Unanswered.Add(1)
		e.log.event(kindReport, slog.LevelWarn, "n4: session report not answered, it is kept",
			"to", to, "seid", job.seid, "type", m.ReportType, "error", err)
	}
	switch {
	case !up:
		return reportDown
	case learned != 0:
		e.leaves(by, learned, "reports with them are not answered")
		return reportOther
	case job.tries+1 < form.steps:
		return reportOther
	}
	return reportLost
}

// paging reports whether a request has a Paging Policy Indication.
func paging(m *pfcp.SessionReportRequest) bool {
	return slices.ContainsFunc(m.DownlinkData.Value.ServiceInfos, func(s pfcp.DownlinkDataServiceInfo) bool {
		return s.PPI.Present
	})
}

// reportRequest is the request about what waits, without what leave names.
func reportRequest(w *session.Waiting, job *reportJob, leave LeaveOut) *pfcp.SessionReportRequest {
	m := new(pfcp.SessionReportRequest)
	switch job.kind {
	case reportDownlink:
		m.ReportType = pfcp.ReportTypeDLDR
		m.DownlinkData = pfcp.Some(downlinkData(job.downlink, leave))
	case reportError:
		m.ReportType = pfcp.ReportTypeERIR
		for _, t := range job.tunnels {
			m.ErrorIndication = append(m.ErrorIndication, remoteFTEID(t))
		}
	case reportInactive:
		m.ReportType = pfcp.ReportTypeUPIR
	default:
		m.ReportType, m.UsageReports = pfcp.ReportTypeUSAR, usageReports(nil, w.Reports, leave)
	}
	return m
}

// downlinkData says for which PDRs packets have come, of what kind the first ones
// were, and, if the CP function asked, what became of them.
// Source: TS 29.244 V18.6.0, 7.5.8.2, 8.2.27 and 8.2.179.
func downlinkData(list []session.Event, leave LeaveOut) (d pfcp.DownlinkDataReport) {
	for _, e := range list {
		switch e.Kind {
		case session.DownlinkBuffered:
			d.Status = pfcp.Some(d.Status.Value | pfcp.DataStatusBUFF)
		case session.DownlinkDiscarded:
			d.Status = pfcp.Some(d.Status.Value | pfcp.DataStatusDROP)
		}
		id := uint16(e.RuleID)
		if slices.Contains(d.PDRIDs, id) {
			continue
		}
		d.PDRIDs = append(d.PDRIDs, id)
		var s pfcp.DownlinkDataServiceInfo
		if leave&LeaveOutPagingPolicy == 0 {
			s.PPI = pfcp.Some(e.DSCP)
		}
		if e.QFI != 0 {
			s.QFI = pfcp.Some(pfcp.QFI(e.QFI))
		}
		if s.PPI.Present || s.QFI.Present {
			d.ServiceInfos = append(d.ServiceInfos, s)
		}
	}
	return d
}
