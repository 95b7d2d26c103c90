package n4load

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// TestAskHeartbeat: the UP function's Recovery Time Stamp comes with the association and with
// each heartbeat, which after N1 transmissions without a response says so.
func TestAskHeartbeat(t *testing.T) {
	r := newResponder(t)
	r.recovery = 1000
	c := dial(t, Config{Remote: r.start(t), T1: 20 * time.Millisecond, N1: 3})
	if _, err := c.Associate(deadline(t)); err != nil || c.Recovery() != 1000 {
		t.Fatalf("associated: Recovery Time Stamp %d, %v; want 1000", c.Recovery(), err)
	}
	r.set(2000, 0)
	if stamp, err := c.Heartbeat(deadline(t)); err != nil || stamp != 2000 || c.Recovery() != 1000 {
		t.Errorf("heartbeat: %d, %v, associated with %d; want 2000, 1000", stamp, err, c.Recovery())
	}
	r.set(2000, 1)
	if _, err := c.Heartbeat(deadline(t)); !errors.Is(err, ErrNoResponse) {
		t.Errorf("without response: %v", err)
	}
}

// set changes the responder's Recovery Time Stamp, and how much it loses.
func (r *responder) set(recovery pfcp.TimeStamp, loss float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recovery, r.loss = recovery, loss
}

// TestTold: what a UP function asks for about the association is reported and accepted, and so is
// a report about a session; one about no session is not told.
func TestTold(t *testing.T) {
	r := newResponder(t)
	type seen struct {
		seid uint64
		m    pfcp.MessageType
		sarr bool
	}
	told := make(chan seen, 10)
	c := dial(t, Config{Remote: r.start(t), Told: func(h pfcp.Header, m pfcp.Message) {
		u, _ := m.(*pfcp.AssociationUpdateRequest)
		told <- seen{h.SEID, m.MessageType(), u != nil && u.AssociationRelease == pfcp.AssociationReleaseSARR}
	}})
	if _, err := c.Establish(deadline(t), &template, template.Sessions(40, 3)); err != nil {
		t.Fatal(err)
	}
	node := pfcp.NodeID{Addr: netip.MustParseAddr("127.0.0.1")}
	for i, tc := range []struct {
		seid uint64
		m    pfcp.Message
		want pfcp.Cause
		told bool
	}{
		{0, &pfcp.AssociationSetupRequest{NodeID: node, RecoveryTimeStamp: 1}, pfcp.CauseRequestAccepted, true},
		{0, &pfcp.AssociationUpdateRequest{NodeID: node, AssociationRelease: pfcp.AssociationReleaseSARR}, pfcp.CauseRequestAccepted, true},
		{42, &pfcp.SessionReportRequest{ReportType: pfcp.ReportTypeUISR}, pfcp.CauseRequestAccepted, true},
		{44, &pfcp.SessionReportRequest{ReportType: pfcp.ReportTypeUISR}, pfcp.CauseSessionContextNotFound, false},
	} {
		h, body := ask(t, r, c, pfcp.Header{Sequence: uint32(300 + i), SEID: tc.seid}, tc.m)
		if got := causeOf(t, h.Type, body); got != tc.want || h.Type != tc.m.MessageType()+1 {
			t.Errorf("%s: answered by %s, %s; want %s", tc.m.MessageType(), h.Type, got, tc.want)
		}
		if !tc.told {
			continue
		}
		sarr := tc.m.MessageType() == pfcp.MsgAssociationUpdateRequest
		if got := <-told; got != (seen{tc.seid, tc.m.MessageType(), sarr}) {
			t.Errorf("%s: told %+v", tc.m.MessageType(), got)
		}
	}
	if len(told) != 0 {
		t.Errorf("told %+v more", <-told)
	}
}

func causeOf(t *testing.T, kind pfcp.MessageType, body []byte) pfcp.Cause {
	t.Helper()
	var setup pfcp.AssociationSetupResponse
	var update pfcp.AssociationUpdateResponse
	var report pfcp.SessionReportResponse
	var err error
	switch kind {
	case pfcp.MsgAssociationSetupResponse:
		err = setup.Decode(body)
	case pfcp.MsgAssociationUpdateResponse:
		err = update.Decode(body)
	default:
		err = report.Decode(body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return max(setup.Cause, update.Cause, report.Cause)
}
