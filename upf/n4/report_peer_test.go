package n4

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// peerBed is an endpoint in a bubble with one association, and sessions that are
// never answered, besides those that are.
type peerBed struct {
	*quiet
	t     *testing.T
	seids map[uint64]uint64 // SEIDs of the UP function by the CP function's
	dead  func(h pfcp.Header, m *pfcp.SessionReportRequest, body []byte) bool
	cause func(m *pfcp.SessionReportRequest) pfcp.Cause
}

// told is a Session Report Request that was sent.
type toldReport struct {
	at   time.Duration
	cp   uint64 // SEID
	body []byte
	pfcp.SessionReportRequest
}

// newPeerBed returns one with sessions for CP SEIDs 0x1001 and following. Those that dead
// means are not answered. With a URR each has a report of usage every 10 s.
func newPeerBed(t *testing.T, sessions int, urr *pfcp.CreateURR, dead func(pfcp.Header, *pfcp.SessionReportRequest, []byte) bool) *peerBed {
	t.Helper()
	b := &peerBed{quiet: newQuietOver(t, ableDatapath), t: t, seids: map[uint64]uint64{}, dead: dead}
	b.config.N1, b.config.T1, b.config.HeartbeatInterval = 3, 3*time.Second, 30*time.Second
	b.reports.t1, b.reports.n1 = b.config.T1, b.config.N1
	b.answerWith(b.answers)
	b.receive(smfPort, mustAppend(t, 1, &pfcp.AssociationSetupRequest{
		NodeID: pfcp.NodeID{Addr: smfPort.Addr()}, RecoveryTimeStamp: 100}))
	for i := range sessions {
		m := usual("10.4.0.2", netip.AddrFrom4([4]byte{10, 45, 0, byte(i + 1)}).String())
		m.CreateFARs[0].ApplyAction = pfcp.ApplyBUFF | pfcp.ApplyNOCP
		if urr != nil {
			m.CreateURRs = []pfcp.CreateURR{*urr}
			m.CreatePDRs[0].URRIDs = []uint32{urr.URRID}
		}
		var r pfcp.SessionEstablishmentResponse
		_, body, _, err := pfcp.Parse(b.receive(smfPort, mustAppend(t, uint32(10+i), m)))
		if err != nil || r.Decode(body) != nil || r.Cause != pfcp.CauseRequestAccepted {
			t.Fatalf("establishment: %v, %v", r.Cause, err)
		}
		b.seids[m.CPFSEID.SEID] = r.UPFSEID.Value.SEID
	}
	b.background.Go(b.watchSessions)
	return b
}

// answers is how the CP function answers.
func (b *peerBed) answers(_ int, request []byte) []byte {
	h, body, _, _ := pfcp.Parse(request)
	if h.Type == pfcp.MsgHeartbeatRequest {
		return heartbeatResponse(request, 100)
	}
	var m pfcp.SessionReportRequest
	if h.Type != pfcp.MsgSessionReportRequest || m.Decode(body) != nil || b.dead(h, &m, body) {
		return nil
	}
	cause := pfcp.CauseRequestAccepted
	if b.cause != nil {
		cause = b.cause(&m)
	}
	out, err := pfcp.Append(nil, pfcp.Header{Sequence: h.Sequence, SEID: b.seids[h.SEID]}, &pfcp.SessionReportResponse{Cause: cause})
	if err != nil {
		b.t.Error(err)
	}
	return out
}

// told is what was sent of the session of a CP SEID, repetitions left out.
func (b *peerBed) told(cp uint64) (list []toldReport) {
	b.t.Helper()
	seen := map[uint32]bool{}
	for _, s := range b.transmissions() {
		h, body, _, err := pfcp.Parse(s.datagram)
		if err != nil || h.Type != pfcp.MsgSessionReportRequest || h.SEID != cp || seen[h.Sequence] {
			continue
		}
		seen[h.Sequence] = true
		r := toldReport{at: s.at, cp: h.SEID, body: body}
		if err := r.Decode(body); err != nil {
			b.t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// page is a packet for the session of a CP SEID.
func (b *peerBed) page(cp uint64, dscp uint8) {
	b.Report(session.Notice{Owner: 1, Event: session.Event{Kind: session.DownlinkData, SEID: b.seids[cp], RuleID: 1, QFI: 9, DSCP: dscp}})
}

func (b *peerBed) end() {
	b.stop()
	b.background.Wait()
}

// times are when reports were sent, in seconds.
func times(list []toldReport) (at []float64) {
	for _, r := range list {
		at = append(at, r.at.Seconds())
	}
	return at
}

// countsPackets reports whether a Usage Report of a message has TONOP, ULNOP or DLNOP in
// its Volume Measurement. Source: TS 29.244 V18.6.0, 8.2.44.
func countsPackets(t *testing.T, body []byte) bool {
	t.Helper()
	for len(body) >= 4 {
		kind, n := pfcp.IEType(binary.BigEndian.Uint16(body)), int(binary.BigEndian.Uint16(body[2:]))
		value := body[4 : 4+n]
		if kind == pfcp.IEVolumeMeasurement && value[0]&0x38 != 0 || kind == 80 && countsPackets(t, value) {
			return true
		}
		body = body[4+n:]
	}
	return false
}

// TestReportOneDead: the report of session A is never answered; those of B and C are
// sent at once all the same, and A's rests longer each time.
func TestReportOneDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPeerBed(t, 3, nil, func(h pfcp.Header, _ *pfcp.SessionReportRequest, _ []byte) bool { return h.SEID == 0x1001 })
		defer b.end()
		b.page(0x1001, 0)
		time.Sleep(time.Second)
		b.page(0x1002, 0)
		time.Sleep(11 * time.Second)
		b.page(0x1003, 0)
		time.Sleep(108 * time.Second)
		synctest.Wait()
		for cp, want := range map[uint64][]float64{0x1001: {0, 18, 45, 90}, 0x1002: {1}, 0x1003: {12}} {
			if got := times(b.told(cp)); !slices.Equal(got, want) {
				t.Errorf("session %#x: reports at %v s, want %v", cp, got, want)
			}
		}
		if n := b.ReportsResting(); n != 1 || b.ReportsWaiting() != 1 {
			t.Errorf("%d reports rest, %d sessions wait; want 1 and 1", n, b.ReportsWaiting())
		}
	})
}

// TestReportThreeDead: with three sessions that are never answered, twenty others are
// paged when their packets come.
func TestReportThreeDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPeerBed(t, 23, nil, func(h pfcp.Header, _ *pfcp.SessionReportRequest, _ []byte) bool { return h.SEID <= 0x1003 })
		defer b.end()
		for cp := range uint64(3) {
			b.page(0x1001+cp, 0)
		}
		time.Sleep(12 * time.Second)
		for cp := range uint64(20) {
			b.page(0x1004+cp, 0)
		}
		time.Sleep(28 * time.Second)
		b.page(0x1004, 0)
		synctest.Wait()
		for cp := range uint64(20) {
			want := []float64{12}
			if cp == 0 {
				want = []float64{12, 40}
			}
			if got := times(b.told(0x1004 + cp)); !slices.Equal(got, want) {
				t.Errorf("session %#x: reports at %v s, want %v", 0x1004+cp, got, want)
			}
		}
	})
}

// urrPeriodic is a URR as free5GC's SMF has it, with a report every 10 s.
func urrPeriodic(information pfcp.MeasurementInformation) *pfcp.CreateURR {
	u := &pfcp.CreateURR{URRID: 1, MeasurementMethod: pfcp.MeasureVOLUM, ReportingTriggers: pfcp.ReportPERIO}
	u.MeasurementPeriodS = pfcp.Some(uint32(10))
	u.MeasurementInformation = pfcp.Some(information)
	return u
}

// TestReportPageBesideUsage: the usage of a session is not answered; what pages the same
// session is sent alone, at once, and does not have to wait, nor does usage for it.
func TestReportPageBesideUsage(t *testing.T) {
	for _, tc := range []struct {
		name string
		dead pfcp.ReportType
		page []float64
	}{
		{"usage is not answered", pfcp.ReportTypeUSAR, []float64{12}},
		{"the page is not answered", pfcp.ReportTypeDLDR, []float64{12, 30}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newPeerBed(t, 1, urrPeriodic(0), func(_ pfcp.Header, m *pfcp.SessionReportRequest, _ []byte) bool {
					return m.ReportType == tc.dead
				})
				defer b.end()
				time.Sleep(12 * time.Second)
				b.page(0x1001, 0)
				time.Sleep(38 * time.Second)
				synctest.Wait()
				var page, usage []toldReport
				for _, r := range b.told(0x1001) {
					switch r.ReportType {
					case pfcp.ReportTypeDLDR:
						page = append(page, r)
					case pfcp.ReportTypeUSAR:
						usage = append(usage, r)
					}
					if r.DownlinkData.Present && len(r.UsageReports) > 0 {
						t.Errorf("at %v: usage in a message that pages", r.at)
					}
				}
				if got := times(page); !slices.Equal(got, tc.page) {
					t.Errorf("pages at %v s, want %v", got, tc.page)
				}
				if got := len(usage); tc.dead == pfcp.ReportTypeDLDR && got < 4 || got == 0 {
					t.Errorf("usage %d times within 50 s", got)
				}
			})
		})
	}
}

// TestReportOtherForm: a CP function that answers no message with packet counts gets
// its usage without, at once after the first time that it was not answered; when a
// second report has shown the same, it is sent no such IE any more, in responses
// neither. What pages is not late by that.
func TestReportOtherForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuses := func(_ pfcp.Header, _ *pfcp.SessionReportRequest, body []byte) bool {
			return countsPackets(t, body)
		}
		b := newPeerBed(t, 1, urrPeriodic(pfcp.MeasurementMNOP), refuses)
		defer b.end()
		time.Sleep(12 * time.Second)
		b.page(0x1001, 0)
		time.Sleep(78 * time.Second)
		synctest.Wait()
		var whole, without int
		var last time.Duration
		for _, r := range b.told(0x1001) {
			if r.ReportType == pfcp.ReportTypeDLDR {
				if r.at != 12*time.Second {
					t.Errorf("page at %v", r.at)
				}
				continue
			}
			if countsPackets(t, r.body) {
				whole++
			} else {
				if without++; whole > 0 && without <= whole && r.at != last+9*time.Second {
					t.Errorf("without packet counts at %v, whole at %v; want at once after N1 times T1", r.at, last)
				}
			}
			last = r.at
		}
		if whole != 2 || without < 6 {
			t.Errorf("usage %d times whole, %d times without packet counts; want 2 and 6 or more", whole, without)
		}
		if l := b.Associations()[0].LeaveOut; l != LeaveOutPacketCounts {
			t.Errorf("left out %q", l)
		}
		c := &b.counters.Reports
		if c.Unanswered.Load() != 2 || c.OtherForm.Load() != 1 || b.ReportsWaiting() != 0 {
			t.Errorf("%d unanswered, %d in another form, %d wait; want 2, 1 and none", c.Unanswered.Load(), c.OtherForm.Load(), b.ReportsWaiting())
		}
		var d pfcp.SessionDeletionResponse
		request, err := pfcp.Append(nil, pfcp.Header{SEID: b.seids[0x1001], Sequence: 99}, &pfcp.SessionDeletionRequest{})
		if err != nil {
			t.Fatal(err)
		}
		_, body, _, err := pfcp.Parse(b.receive(smfPort, request))
		if err != nil || d.Decode(body) != nil || len(d.UsageReports) != 1 || d.UsageReports[0].Volume.Value.TotalPackets.Present {
			t.Errorf("deletion: %v, %+v", err, d)
		}
	})
}

// TestReportFormKept: what a CP function does not hear for a while, as its path is bad, is
// sent in another form, and whole again afterwards.
func TestReportFormKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		b := newPeerBed(t, 2, urrPeriodic(pfcp.MeasurementMNOP), func(pfcp.Header, *pfcp.SessionReportRequest, []byte) bool {
			return time.Since(start) < 18*time.Second
		})
		defer b.end()
		time.Sleep(65 * time.Second)
		synctest.Wait()
		list := b.told(0x1001)
		if b.counters.Reports.OtherForm.Load() == 0 {
			t.Error("no other form was tried")
		}
		if l := b.Associations()[0].LeaveOut; l != 0 || !countsPackets(t, list[len(list)-1].body) {
			t.Errorf("left out %q after the path was bad", l)
		}
	})
}
