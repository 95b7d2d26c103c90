package n4

import (
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
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

// TestReportEvents: each thing that happened to a session goes in a request of its own,
// at once; what happened while one is under way goes into one more, each thing once.
func TestReportEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newReportBed(t)
		defer b.end()
		b.answerBy(0) // not yet
		b.event(session.Event{Kind: session.DownlinkData, RuleID: 1, QFI: 9, DSCP: 46})
		synctest.Wait()
		peer := session.Tunnel{TEID: 0x22, IPv4: session.IPv4{192, 168, 13, 131}}
		for _, e := range []session.Event{
			{Kind: session.ErrorIndication, RuleID: 1, Tunnel: peer}, {Kind: session.UserPlaneInactivity},
			{Kind: session.DownlinkData, RuleID: 3}, {Kind: session.DownlinkData, RuleID: 3},
		} {
			b.event(e)
			synctest.Wait()
		}
		b.answerBy(pfcp.CauseRequestAccepted)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		page := func(pdr uint16, s pfcp.DownlinkDataServiceInfo) pfcp.SessionReportRequest {
			return pfcp.SessionReportRequest{ReportType: pfcp.ReportTypeDLDR, DownlinkData: pfcp.Some(
				pfcp.DownlinkDataReport{PDRIDs: []uint16{pdr}, ServiceInfos: []pfcp.DownlinkDataServiceInfo{s}})}
		}
		first := page(1, pfcp.DownlinkDataServiceInfo{PPI: pfcp.Some(uint8(46)), QFI: pfcp.Some(pfcp.QFI(9))})
		errors := pfcp.SessionReportRequest{ReportType: pfcp.ReportTypeERIR,
			ErrorIndication: []pfcp.FTEID{{V4: true, TEID: 0x22, IPv4: netip.MustParseAddr("192.168.13.131")}}}
		inactive := pfcp.SessionReportRequest{ReportType: pfcp.ReportTypeUPIR}
		again := page(3, pfcp.DownlinkDataServiceInfo{PPI: pfcp.Some(uint8(0))})
		got := b.requests(t)
		// Three are repeated, in any order, and the fourth one follows the first.
		if len(got) != 7 {
			t.Fatalf("%d requests, want 7", len(got))
		}
		at := slices.IndexFunc(got[3:], func(m pfcp.SessionReportRequest) bool {
			return m.DownlinkData.Present && m.DownlinkData.Value.PDRIDs[0] == 3
		})
		if at < 0 || !cmp.Equal(got[3+at], again, cmpAddrs) {
			t.Errorf("no report of the second PDR: %+v", got[3:])
		}
		if diff := cmp.Diff([]pfcp.SessionReportRequest{first, errors, inactive}, got[:3], cmpAddrs); diff != "" {
			t.Errorf("reports (-want +got):\n%s", diff)
		}
		c := &b.counters.Reports
		if c.Requests.Load() != 4 || c.Answered.Load() != 4 || b.ReportsWaiting() != 0 {
			t.Errorf("%d requests, %d answered, %d sessions wait; want 4, 4 and 0", c.Requests.Load(), c.Answered.Load(), b.ReportsWaiting())
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
			if diff := cmp.Diff(want, downlinkData(list, 0)); diff != "" {
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
		b.event(session.Event{Kind: session.ErrorIndication, Tunnel: session.Tunnel{TEID: 0x22, IPv4: session.IPv4{192, 168, 13, 131}}})
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
		if len(got) != before+1 || b.ReportsWaiting() != 0 || got[before].ReportType != pfcp.ReportTypeERIR {
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
