package n4

import (
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumbline/pfcp"
	"plumbline/session"
)

// reportBed is an endpoint in a bubble with an association, a session, and a CP
// function that answers as told.
type reportBed struct {
	*quiet
	seid uint64
	// cause is what reports are answered with; 0: with nothing.
	cause atomic.Uint32
	more  func(*pfcp.SessionReportResponse) // adds to answers
}

func newReportBed(t *testing.T) *reportBed {
	t.Helper()
	b := &reportBed{quiet: newQuiet(t)}
	b.answerBy(pfcp.CauseRequestAccepted)
	b.associateQuiet(t, 100)
	for s := range b.sessions.All() {
		b.seid = s.SEID
	}
	b.answerWith(func(_ int, request []byte) []byte {
		h, _, _, _ := pfcp.Parse(request)
		cause := pfcp.Cause(b.cause.Load())
		if h.Type == pfcp.MsgHeartbeatRequest && cause != 0 {
			return heartbeatResponse(request, 100)
		}
		if h.Type != pfcp.MsgSessionReportRequest || cause == 0 {
			return nil
		}
		r := pfcp.SessionReportResponse{Cause: cause}
		if b.more != nil {
			b.more(&r)
		}
		out, err := pfcp.Append(nil, pfcp.Header{Sequence: h.Sequence, SEID: b.seid}, &r)
		if err != nil {
			t.Error(err)
		}
		return out
	})
	return b
}

// answerBy sets the Cause of answers; 0: there are none.
func (b *reportBed) answerBy(c pfcp.Cause) { b.cause.Store(uint32(c)) }

// requests are the Session Report Requests that were sent so far.
func (b *reportBed) requests(t *testing.T) (list []pfcp.SessionReportRequest) {
	t.Helper()
	for _, s := range b.transmissions() {
		h, body, _, err := pfcp.Parse(s.datagram)
		if err != nil {
			t.Fatal(err)
		}
		if h.Type != pfcp.MsgSessionReportRequest {
			continue
		}
		var m pfcp.SessionReportRequest
		if err := m.Decode(body); err != nil {
			t.Fatalf("%x: %v", s.datagram, err)
		}
		if s.to != smfPort || h.SEID != 0x1002 {
			t.Errorf("to %v, SEID %#x; want %v and the CP function's 0x1002", s.to, h.SEID, smfPort)
		}
		list = append(list, m)
	}
	return list
}

func (b *reportBed) end() {
	b.stop()
	b.background.Wait()
}

// event is a notice about the bed's session.
func (b *reportBed) event(e session.Event) {
	e.SEID = b.seid
	b.Report(session.Notice{Event: e, Owner: 1})
}

// TestReportEvents: what happened to a session while a report is under way goes
// into one more, each thing once.
func TestReportEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newReportBed(t)
		defer b.end()
		b.answerBy(0) // not yet
		b.event(session.Event{Kind: session.DownlinkData, RuleID: 1, QFI: 9, DSCP: 46})
		synctest.Wait()
		peer := session.Tunnel{TEID: 0x22, IPv4: session.IPv4{192, 168, 13, 131}}
		for range 3 {
			b.event(session.Event{Kind: session.ErrorIndication, RuleID: 1, Tunnel: peer})
			b.event(session.Event{Kind: session.UserPlaneInactivity})
			b.event(session.Event{Kind: session.DownlinkData, RuleID: 3})
		}
		synctest.Wait()
		b.answerBy(pfcp.CauseRequestAccepted)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		first := pfcp.SessionReportRequest{
			ReportType: pfcp.ReportTypeDLDR,
			DownlinkData: pfcp.Some(pfcp.DownlinkDataReport{PDRIDs: []uint16{1}, ServiceInfos: []pfcp.DownlinkDataServiceInfo{
				{PPI: pfcp.Some(uint8(46)), QFI: pfcp.Some(pfcp.QFI(9))}}}),
		}
		second := pfcp.SessionReportRequest{
			ReportType: pfcp.ReportTypeDLDR | pfcp.ReportTypeERIR | pfcp.ReportTypeUPIR,
			DownlinkData: pfcp.Some(pfcp.DownlinkDataReport{PDRIDs: []uint16{3}, ServiceInfos: []pfcp.DownlinkDataServiceInfo{
				{PPI: pfcp.Some(uint8(0))}}}),
			ErrorIndication: []pfcp.FTEID{{V4: true, TEID: 0x22, IPv4: netip.MustParseAddr("192.168.13.131")}},
		}
		want := []pfcp.SessionReportRequest{first, first, second} // the first one was repeated
		if diff := cmp.Diff(want, b.requests(t), cmpAddrs); diff != "" {
			t.Errorf("reports (-want +got):\n%s", diff)
		}
		c := &b.counters.Reports
		if c.Requests.Load() != 2 || c.Answered.Load() != 2 || b.ReportsWaiting() != 0 {
			t.Errorf("%d requests, %d answered, %d sessions wait; want 2, 2 and 0", c.Requests.Load(), c.Answered.Load(), b.ReportsWaiting())
		}
	})
}

// TestReportDataStatus: what became of the first packets goes into one report, in
// which each PDR stands once.
func TestReportDataStatus(t *testing.T) {
	for _, tc := range []struct {
		name  string
		kinds []session.EventKind
		want  pfcp.Optional[pfcp.DataStatus]
	}{
		{"NOCP", []session.EventKind{session.DownlinkData}, pfcp.Optional[pfcp.DataStatus]{}},
		{"BDPN", []session.EventKind{session.DownlinkBuffered}, pfcp.Some(pfcp.DataStatusBUFF)},
		{"DDPN", []session.EventKind{session.DownlinkDiscarded}, pfcp.Some(pfcp.DataStatusDROP)},
		{"all", []session.EventKind{session.DownlinkData, session.DownlinkBuffered, session.DownlinkDiscarded},
			pfcp.Some(pfcp.DataStatusBUFF | pfcp.DataStatusDROP)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var list []session.Event
			for _, k := range tc.kinds {
				list = append(list, session.Event{Kind: k, RuleID: 3, QFI: 9, DSCP: 46})
			}
			want := pfcp.DownlinkDataReport{
				PDRIDs: []uint16{3}, Status: tc.want,
				ServiceInfos: []pfcp.DownlinkDataServiceInfo{{PPI: pfcp.Some(uint8(46)), QFI: pfcp.Some(pfcp.QFI(9))}},
			}
			if diff := cmp.Diff(want, downlinkData(list)); diff != "" {
				t.Errorf("Downlink Data Report (-want +got):\n%s", diff)
			}
		})
	}
}

var cmpAddrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// TestReportUnanswered: a report that is not answered is sent N1 times, and kept:
// it goes out again, alone, when the path is up again, and the rest after it.
func TestReportUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newReportBed(t)
		defer b.end()
		b.answerBy(0)
		b.event(session.Event{Kind: session.UserPlaneInactivity})
		time.Sleep(100 * time.Second)
		synctest.Wait()
		sent, c := len(b.requests(t)), &b.counters.Reports
		if sent < 3 || c.Unanswered.Load() == 0 || b.ReportsWaiting() != 1 {
			t.Errorf("%d sent, %d unanswered, %d wait", sent, c.Unanswered.Load(), b.ReportsWaiting())
		}
		if !b.Associations()[0].PathDown {
			t.Fatal("the path is not down")
		}
		before := sent
		time.Sleep(300 * time.Second)
		synctest.Wait()
		if sent = len(b.requests(t)); sent != before {
			t.Errorf("%d reports sent while the path was down", sent-before)
		}
		b.answerBy(pfcp.CauseRequestAccepted)
		time.Sleep(60 * time.Second)
		synctest.Wait()
		got := b.requests(t)
		if len(got) != before+1 || b.ReportsWaiting() != 0 || got[before].ReportType != pfcp.ReportTypeUPIR {
			t.Errorf("%d reports after the path was up again, %d wait; want one more than %d and none", len(got), b.ReportsWaiting(), before)
		}
	})
}

// TestReportAnswers: what the answer says is done.
func TestReportAnswers(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cause pfcp.Cause
		more  func(*pfcp.SessionReportResponse)
		check func(t *testing.T, b *reportBed)
	}{
		{
			"no such session: it is deleted", pfcp.CauseSessionContextNotFound, nil,
			func(t *testing.T, b *reportBed) {
				if b.sessions.Len() != 0 || b.Associations()[0].Sessions != 0 {
					t.Errorf("%d sessions, %d of the association; want none", b.sessions.Len(), b.Associations()[0].Sessions)
				}
			},
		},
		{
			"rejected: it has been heard", pfcp.CauseRequestRejected, nil,
			func(t *testing.T, b *reportBed) {
				if b.sessions.Len() != 1 || b.ReportsWaiting() != 0 || b.counters.Reports.Rejected.Load() != 1 {
					t.Errorf("%d sessions, %d wait, %d rejected", b.sessions.Len(), b.ReportsWaiting(), b.counters.Reports.Rejected.Load())
				}
			},
		},
		{
			"another CP F-SEID", pfcp.CauseRequestAccepted,
			func(r *pfcp.SessionReportResponse) {
				r.CPFSEID = pfcp.Some(pfcp.FSEID{SEID: 0x77, IPv4: smfPort.Addr()})
			},
			func(t *testing.T, b *reportBed) {
				if s := b.sessions.Get(b.seid); s.CP.SEID != 0x77 {
					t.Errorf("CP SEID %#x, want 0x77", s.CP.SEID)
				}
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newReportBed(t)
				defer b.end()
				b.more = tc.more
				b.answerBy(tc.cause)
				b.event(session.Event{Kind: session.UserPlaneInactivity})
				time.Sleep(time.Second)
				synctest.Wait()
				if n := len(b.requests(t)); n != 1 {
					t.Errorf("%d reports, want 1", n)
				}
				tc.check(t, b)
			})
		})
	}
}

// TestReportQueue: of many sessions that have something to tell so many are told
// at once, and each once; what is not answered waits again, behind the others, and
// then there is one request at a time, and more with each answer.
func TestReportQueue(t *testing.T) {
	var r reports
	const n = 3 * maxReportsInFlight / 2
	var q *reportQueue
	for range 2 {
		for seid := range uint64(n) {
			q = r.add(session.Notice{Event: session.Event{Kind: session.UserPlaneInactivity, SEID: seid}, Owner: 1})
		}
	}
	take := func() (list []uint64) {
		for {
			seid, what, _, ok := r.take(q, time.Now(), 0)
			if !ok {
				return list
			}
			if !what.inactive {
				t.Errorf("session %d: nothing to tell", seid)
			}
			list = append(list, seid)
		}
	}
	first := take()
	if len(first) != maxReportsInFlight || first[0] != 0 || r.waiting() != n {
		t.Fatalf("%d in flight, %d wait; want %d and %d", len(first), r.waiting(), maxReportsInFlight, n)
	}
	for i, seid := range first {
		if held := r.done(q, seid, &pendingReport{inactive: true}, reportLost); held != (i == 0) {
			t.Errorf("report %d lost: held is news %v", i, held)
		}
	}
	if list := take(); list != nil {
		t.Errorf("%d are sent while nobody answers", len(list))
	}
	r.release(q)
	for _, want := range []int{1, 2, 4, 8, 16, 32} {
		list := take()
		if len(list) != want {
			t.Errorf("%d in flight, want %d", len(list), want)
		}
		for _, seid := range list {
			r.done(q, seid, &pendingReport{}, reportDone)
		}
	}
	for _, seid := range take() {
		r.done(q, seid, &pendingReport{}, reportDone)
	}
	if r.waiting() != 0 || len(r.queues) != 0 {
		t.Errorf("%d wait in %d queues, want none", r.waiting(), len(r.queues))
	}
}
