package n4

import (
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// apply changes the Apply Action of the session of a CP SEID.
func (b *peerBed) apply(cp uint64, action pfcp.ApplyAction) {
	b.t.Helper()
	request, err := pfcp.Append(nil, pfcp.Header{SEID: b.seids[cp], Sequence: 99}, &pfcp.SessionModificationRequest{
		UpdateFARs: []pfcp.UpdateFAR{{FARID: 1, ApplyAction: pfcp.Some(action)}}})
	if err != nil {
		b.t.Fatal(err)
	}
	if cause, _ := causeOf(b.t, b.receive(smfPort, request)); cause != pfcp.CauseRequestAccepted {
		b.t.Fatalf("modification: %v", cause)
	}
}

// TestReportOutdated: a page that was not answered is sent again as long as its packets
// wait and the CP function wants to be told, and no longer; what has become of packets is
// told all the same.
func TestReportOutdated(t *testing.T) {
	for _, tc := range []struct {
		name   string
		action pfcp.ApplyAction
		more   session.EventKind // beside the page; 0: nothing
		again  bool
		status pfcp.Optional[pfcp.DataStatus]
	}{
		{"packets wait", pfcp.ApplyBUFF | pfcp.ApplyNOCP, 0, true, pfcp.Optional[pfcp.DataStatus]{}},
		{"packets flow", pfcp.ApplyFORW, 0, false, pfcp.Optional[pfcp.DataStatus]{}},
		{"packets are dropped", pfcp.ApplyDROP, 0, false, pfcp.Optional[pfcp.DataStatus]{}},
		{"nobody wants to be told", pfcp.ApplyBUFF, 0, false, pfcp.Optional[pfcp.DataStatus]{}},
		{"packets flow, and one was discarded", pfcp.ApplyFORW, session.DownlinkDiscarded, true, pfcp.Some(pfcp.DataStatusDROP)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var alive atomic.Bool
				b := newPeerBed(t, 1, nil, func(pfcp.Header, *pfcp.SessionReportRequest, []byte) bool { return !alive.Load() })
				defer b.end()
				if tc.more != 0 {
					b.Report(session.Notice{Owner: 1, Event: session.Event{Kind: tc.more, SEID: b.seids[0x1001], RuleID: 1}})
				}
				b.page(0x1001, 0)
				time.Sleep(60 * time.Second)
				synctest.Wait()
				before := len(b.told(0x1001))
				b.apply(0x1001, tc.action)
				alive.Store(true)
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				after := b.told(0x1001)[before:]
				if before < 2 || len(after) > 0 != tc.again || b.ReportsWaiting() != 0 {
					t.Errorf("%d reports before, %d after, %d wait; want 2 or more, %v, none", before, len(after), b.ReportsWaiting(), tc.again)
				}
				if tc.again && (len(after) != 1 || after[0].DownlinkData.Value.Status != tc.status) {
					t.Errorf("%+v, want Status %+v", after, tc.status)
				}
			})
		})
	}
}

// TestReportPageLasts: a page is not given up while its packets wait, as the datapath tells
// of them once.
func TestReportPageLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		b := newPeerBed(t, 1, nil, func(pfcp.Header, *pfcp.SessionReportRequest, []byte) bool { return time.Since(start) < time.Hour })
		defer b.end()
		b.page(0x1001, 0)
		time.Sleep(time.Hour)
		synctest.Wait()
		before := len(b.told(0x1001))
		if b.ReportsWaiting() != 1 || before < 15 {
			t.Errorf("%d pages in an hour, %d wait; want 15 or more, and one", before, b.ReportsWaiting())
		}
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if after := b.told(0x1001)[before:]; len(after) != 1 || !slices.Equal(after[0].DownlinkData.Value.PDRIDs, []uint16{1}) || b.ReportsWaiting() != 0 {
			t.Errorf("%+v when the CP function answers, %d wait; want the page, and none", after, b.ReportsWaiting())
		}
	})
}

// TestReportInactivityLasts: that a session is inactive is told until it is heard, or
// until there are packets again.
func TestReportInactivityLasts(t *testing.T) {
	for _, tc := range []struct {
		name   string
		active bool
		want   int // how often it is told when the CP function answers
	}{{"inactive still", false, 1}, {"active again", true, 0}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				b := newPeerBed(t, 1, nil, func(pfcp.Header, *pfcp.SessionReportRequest, []byte) bool { return time.Since(start) < time.Hour })
				defer b.end()
				request, err := pfcp.Append(nil, pfcp.Header{SEID: b.seids[0x1001], Sequence: 98}, &pfcp.SessionModificationRequest{
					InactivityTimerS: pfcp.Some(uint32(1200))})
				if err != nil {
					t.Fatal(err)
				}
				if cause, _ := causeOf(t, b.receive(smfPort, request)); cause != pfcp.CauseRequestAccepted {
					t.Fatalf("modification: %v", cause)
				}
				time.Sleep(50 * time.Minute)
				if tc.active {
					b.driver.count(1)
				}
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				before := len(b.told(0x1001))
				time.Sleep(6 * time.Minute)
				synctest.Wait()
				if after := len(b.told(0x1001)) - before; before < 7 || after != tc.want || b.ReportsWaiting() != 0 {
					t.Errorf("told %d times in an hour, %d after that, %d wait; want 7 or more, %d and none", before, after, b.ReportsWaiting(), tc.want)
				}
			})
		})
	}
}

// TestReportPagingPolicy: a CP function that refuses a Paging Policy Indication (Cause 76)
// is paged without it at once, and from then on.
func TestReportPagingPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPeerBed(t, 1, nil, func(pfcp.Header, *pfcp.SessionReportRequest, []byte) bool { return false })
		defer b.end()
		ppi := func(m *pfcp.SessionReportRequest) (out []uint8) {
			for _, s := range m.DownlinkData.Value.ServiceInfos {
				if s.PPI.Present {
					out = append(out, s.PPI.Value)
				}
			}
			return out
		}
		b.cause = func(m *pfcp.SessionReportRequest) pfcp.Cause {
			if list := ppi(m); len(list) > 0 && list[0] != 0 {
				return pfcp.CauseServiceNotSupported
			}
			return pfcp.CauseRequestAccepted
		}
		var got []int
		for range 2 {
			b.page(0x1001, 46)
			time.Sleep(time.Second)
			synctest.Wait()
			for _, r := range b.told(0x1001)[len(got):] {
				got = append(got, len(ppi(&r.SessionReportRequest)))
				if s := r.DownlinkData.Value.ServiceInfos; len(s) != 1 || s[0].QFI.Value != 9 {
					t.Errorf("service information %+v, want QFI 9", s)
				}
			}
		}
		if !slices.Equal(got, []int{1, 0, 0}) || b.counters.Reports.Rejected.Load() != 1 || b.ReportsWaiting() != 0 {
			t.Errorf("indications %v, %d rejected; want one, then none", got, b.counters.Reports.Rejected.Load())
		}
	})
}

// TestReportPagingPolicyInFlight: of several pages that are refused for their Paging
// Policy Indication while all are under way, each is sent again without it.
func TestReportPagingPolicyInFlight(t *testing.T) {
	const sessions = 5
	synctest.Test(t, func(t *testing.T) {
		b := newPeerBed(t, sessions, nil, func(pfcp.Header, *pfcp.SessionReportRequest, []byte) bool { return false })
		defer b.end()
		b.cause = func(m *pfcp.SessionReportRequest) pfcp.Cause {
			time.Sleep(10 * time.Millisecond) // all are sent before the first answer
			if paging(m) {
				return pfcp.CauseServiceNotSupported
			}
			return pfcp.CauseRequestAccepted
		}
		for cp := range uint64(sessions) {
			b.page(0x1001+cp, 46)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for cp := range uint64(sessions) {
			var got []bool
			for _, r := range b.told(0x1001 + cp) {
				got = append(got, paging(&r.SessionReportRequest))
			}
			if !slices.Equal(got, []bool{true, false}) {
				t.Errorf("session %#x: pages with an indication %v, want one with, then one without", 0x1001+cp, got)
			}
		}
		if n := b.ReportsWaiting(); n != 0 {
			t.Errorf("%d sessions wait, want none", n)
		}
	})
}

// TestReportStandInForm: what an SMF cannot read is left out of what it is sent in place of
// another one of its set, and what it refuses is noted for it alone.
func TestReportStandInForm(t *testing.T) {
	for _, tc := range []struct {
		name       string
		configured bool
		together   bool   // they have one association
		want       []bool // pages with a Paging Policy Indication
		noted      []LeaveOut
	}{
		{"configured", true, false, []bool{false}, []LeaveOut{0, LeaveOutPagingPolicy}},
		{"configured for an alternative address", true, true, []bool{false}, []LeaveOut{0}},
		{"learned", false, false, []bool{true, false}, []LeaveOut{0, LeaveOutPagingPolicy}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newPeerBed(t, 1, nil, func(pfcp.Header, *pfcp.SessionReportRequest, []byte) bool { return false })
				defer b.end()
				second := netip.MustParseAddrPort("10.4.0.3:8805")
				if tc.configured {
					b.config.Forms = []PeerForm{{netip.PrefixFrom(second.Addr(), 32), LeaveOutPagingPolicy}}
				}
				b.cause = func(m *pfcp.SessionReportRequest) pfcp.Cause {
					if paging(m) {
						return pfcp.CauseServiceNotSupported
					}
					return pfcp.CauseRequestAccepted
				}
				first := b.peers.at(smfPort.Addr()).list[0]
				b.config.Peers = []netip.Prefix{netip.MustParsePrefix("10.4.0.0/24")}
				if tc.together {
					b.peers.move(first, []netip.Addr{second.Addr()})
				} else {
					b.receive(second, mustAppend(t, 1, &pfcp.AssociationSetupRequest{
						NodeID: pfcp.NodeID{Addr: second.Addr()}, RecoveryTimeStamp: 100, SMFSetID: pfcp.NewName("set.example")}))
					first.setSMFSet(string(pfcp.NewName("set.example")))
				}
				first.pathDown.Store(true)
				b.page(0x1001, 46)
				time.Sleep(time.Second)
				synctest.Wait()
				var got []bool
				for _, r := range b.told(0) {
					got = append(got, paging(&r.SessionReportRequest))
				}
				var noted []LeaveOut
				for _, a := range b.Associations() {
					noted = append(noted, a.LeaveOut)
				}
				if !slices.Equal(got, tc.want) || !slices.Equal(noted, tc.noted) {
					t.Errorf("indications %v, left out %v; want %v and %v", got, noted, tc.want, tc.noted)
				}
			})
		})
	}
}
