package n4

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"plumbline/pfcp"
	"plumbline/session"
)

// This file tells CP functions about their sessions: Session Report Requests.
//
//	session.Manager.Run > Endpoint.Report > queue of the CP function
//	    > Session Report Request, up to N1 times > answer
//	    > reports forgotten, BAR changed, buffer dropped, session deleted
//
// What waits in a queue is that a session has something to tell. What it has
// used is read from it when its turn comes, so it may have become more, and is
// forgotten there only when the CP function has answered. When no answer comes,
// the queue rests, while its path is down and then a while, and then one request
// is tried.
//
// Source: TS 29.244 V18.6.0, 5.2.2.3, 5.2.4, 5.11, 6.3.5, 7.5.8 and 7.5.9.

// ReportCounters count Session Report Requests.
type ReportCounters struct {
	Requests   atomic.Uint64 // different ones that were sent
	Answered   atomic.Uint64 // with Request accepted
	Rejected   atomic.Uint64 // with another Cause
	Unanswered atomic.Uint64 // sent N1 times without answer; tried again later
	Discarded  atomic.Uint64 // not sent, as the session or its association was gone
}

// ReportsWaiting is how many sessions have something to tell that their CP
// functions have not answered yet.
func (e *Endpoint) ReportsWaiting() int { return e.reports.waiting() }

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
	for {
		seid, what, wait, ok := e.reports.take(q, time.Now(), e.config.ReportsPerSecond)
		if wait > 0 {
			e.background.Go(func() { e.rest(q, wait) })
		}
		if !ok || e.run.Err() != nil {
			return
		}
		e.background.Go(func() {
			o := e.report(seid, &what)
			if e.reports.done(q, seid, &what, o) {
				e.background.Go(func() { e.hold(q) })
			}
			e.pump(q)
		})
	}
}

// rest goes on with a queue after a while, when its CP function may be sent more.
func (e *Endpoint) rest(q *reportQueue, wait time.Duration) {
	select {
	case <-e.run.Done():
		return
	case <-time.After(wait):
	}
	e.reports.rested(q)
	e.pump(q)
}

// hold lets a queue rest until its CP function may be there again.
func (e *Endpoint) hold(q *reportQueue) {
	rest := e.config.T1 * time.Duration(e.config.N1)
	for {
		select {
		case <-e.run.Done():
			return
		case <-time.After(rest):
		}
		a := e.peers.owner(q.owner)
		if a == nil {
			e.counters.Reports.Discarded.Add(uint64(e.reports.discard(q)))
			return
		}
		if _, ok := e.standIn(q.owner); ok || !a.pathDown.Load() {
			break
		}
	}
	e.reports.release(q)
	e.pump(q)
}

// maxReportsInRequest is how many Usage Reports are in one request; with about 90
// octets each it stays within what most paths carry in one piece.
const maxReportsInRequest = 12

// report sends one Session Report Request and does what its answer says.
func (e *Endpoint) report(seid uint64, what *pendingReport) outcome {
	var w session.Waiting
	switch err := e.sessions.Waiting(e.run, seid, &w); {
	case errors.Is(err, session.ErrNoSession):
		e.counters.Reports.Discarded.Add(1)
		return reportDone
	case err != nil:
		e.counters.StoreErrors.Add(1)
		return reportLost
	}
	to, ok := e.reportTo(w.Owner, w.CP)
	if !ok {
		e.counters.Reports.Discarded.Add(1)
		return reportDone
	}
	o := reportDone
	if len(w.Reports) > maxReportsInRequest {
		w.Reports, o = w.Reports[:maxReportsInRequest], reportMore
	}
	m := reportRequest(&w, what)
	if m.ReportType == 0 {
		return reportDone // answered already
	}
	cpSEID := w.CP.SEID
	if other, ok := e.standIn(w.Owner); ok {
		to, cpSEID, m.OldCPFSEID = other, 0, pfcp.Some(cpFSEID(w.CP))
	}
	e.counters.Reports.Requests.Add(1)
	body, err := e.request(e.run, to, cpSEID, m, pfcp.MsgSessionReportResponse)
	if err != nil {
		if errors.Is(err, errNoResponse) {
			e.counters.Reports.Unanswered.Add(1)
			e.log.event(kindReport, slog.LevelWarn, "n4: session report not answered, it is kept",
				"to", to, "seid", seid, "error", err)
		}
		return reportLost
	}
	e.reported(e.run, seid, &w, body)
	return o
}

// reportRequest is the request about what waits.
func reportRequest(w *session.Waiting, what *pendingReport) *pfcp.SessionReportRequest {
	m := &pfcp.SessionReportRequest{UsageReports: usageReports(nil, w.Reports)}
	if len(w.Reports) > 0 {
		m.ReportType |= pfcp.ReportTypeUSAR
	}
	if len(what.downlink) > 0 {
		m.ReportType |= pfcp.ReportTypeDLDR
		m.DownlinkData = pfcp.Some(downlinkData(what.downlink))
	}
	if len(what.tunnels) > 0 {
		m.ReportType |= pfcp.ReportTypeERIR
		for _, t := range what.tunnels {
			m.ErrorIndication = append(m.ErrorIndication, remoteFTEID(t))
		}
	}
	if what.inactive {
		m.ReportType |= pfcp.ReportTypeUPIR
	}
	return m
}

// downlinkData says for which PDRs packets have come, of what kind the first ones
// were, and, if the CP function asked, what became of them.
// Source: TS 29.244 V18.6.0, 7.5.8.2, 8.2.27 and 8.2.179.
func downlinkData(list []session.Event) (d pfcp.DownlinkDataReport) {
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
		s := pfcp.DownlinkDataServiceInfo{PPI: pfcp.Some(e.DSCP)}
		if e.QFI != 0 {
			s.QFI = pfcp.Some(pfcp.QFI(e.QFI))
		}
		d.ServiceInfos = append(d.ServiceInfos, s)
	}
	return d
}
