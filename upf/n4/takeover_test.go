package n4

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// TestSMFSetTakeOver: while an SMF does not answer, another one of its set that
// has an association of its own gets its reports, with the old CP F-SEID, and
// takes the session over; who is of no set cannot.
func TestSMFSetTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuiet(t)
		q.config.Peers = []netip.Prefix{netip.MustParsePrefix("10.4.0.0/24")}
		defer func() { q.stop(); q.background.Wait() }()
		second, thief := netip.MustParseAddrPort("10.4.0.3:8805"), netip.MustParseAddrPort("10.4.0.66:8805")
		for at, set := range map[netip.AddrPort]string{smfPort: "set.example", second: "set.example", thief: "other.example"} {
			q.receive(at, mustAppend(t, 1, &pfcp.AssociationSetupRequest{
				NodeID: pfcp.NodeID{Addr: at.Addr()}, RecoveryTimeStamp: 100, SMFSetID: pfcp.NewName(set)}))
		}
		idle := usual("10.4.0.2", "10.45.0.2")
		idle.CreateFARs[0].ApplyAction = pfcp.ApplyBUFF | pfcp.ApplyNOCP
		q.receive(smfPort, mustAppend(t, 2, idle))
		var seid uint64
		for s := range q.sessions.All() {
			seid = s.SEID
		}
		first := q.peers.at(smfPort.Addr()).list[0]
		event := session.Event{Kind: session.DownlinkData, SEID: seid, RuleID: 1}
		reported := func() (to netip.AddrPort, h pfcp.Header, m pfcp.SessionReportRequest) {
			synctest.Wait()
			for _, sent := range q.transmissions() {
				got, body, _, err := pfcp.Parse(sent.datagram)
				if err != nil {
					t.Fatal(err)
				}
				if got.Type == pfcp.MsgSessionReportRequest {
					if to, h = sent.to, got; m.Decode(body) != nil {
						t.Fatalf("report %x", sent.datagram)
					}
				}
			}
			return to, h, m
		}
		q.Report(session.Notice{Owner: first.owner, Event: event})
		if to, h, m := reported(); to != smfPort || h.SEID != 0x1002 || m.OldCPFSEID.Present {
			t.Errorf("report to %v, SEID %#x, old F-SEID %v; want the SMF's own", to, h.SEID, m.OldCPFSEID)
		}
		time.Sleep(7 * time.Second) // the report is given up, and rests
		first.pathDown.Store(true)
		time.Sleep(6 * time.Second) // before the other one's heartbeats count as not answered
		if to, h, m := reported(); to != second || h.SEID != 0 || m.OldCPFSEID.Value.SEID != 0x1002 || m.OldCPFSEID.Value.IPv4 != smfPort.Addr() {
			t.Errorf("report to %v, SEID %#x, old F-SEID %+v; want the other SMF of the set", to, h.SEID, m.OldCPFSEID)
		}

		take := func(from netip.AddrPort, sequence uint32, node netip.Addr) pfcp.Cause {
			t.Helper()
			b, err := pfcp.Append(nil, pfcp.Header{SEID: seid, Sequence: sequence}, &pfcp.SessionModificationRequest{
				NodeID: pfcp.Some(pfcp.NodeID{Addr: node}), CPFSEID: pfcp.Some(pfcp.FSEID{SEID: 0x77, IPv4: from.Addr()})})
			if err != nil {
				t.Fatal(err)
			}
			cause, _ := causeOf(t, q.receive(from, b))
			return cause
		}
		for _, tc := range []struct {
			name string
			from netip.AddrPort
			node netip.Addr
			want pfcp.Cause
		}{
			{"of another set", thief, thief.Addr(), pfcp.CauseSessionContextNotFound},
			{"in the name of one of the set", thief, second.Addr(), pfcp.CauseSessionContextNotFound},
			{"of the set", second, second.Addr(), pfcp.CauseRequestAccepted},
			{"when it is not its any more", thief, thief.Addr(), pfcp.CauseSessionContextNotFound},
		} {
			if got := take(tc.from, 50, tc.node); got != tc.want {
				t.Errorf("take-over by an SMF %s: %v, want %v", tc.name, got, tc.want)
			}
		}
		s := q.sessions.Get(seid)
		if a := q.peers.owner(s.Owner); a.addr != second.Addr() || s.CP.SEID != 0x77 || a.sessions.Load() != 1 || first.sessions.Load() != 0 {
			t.Errorf("the session belongs to %v, CP F-SEID %+v; %d and %d sessions", a.addr, s.CP, a.sessions.Load(), first.sessions.Load())
		}
	})
}

// TestSMFSetClaimed: where the operator has named no peers, who says that it is of another's
// SMF Set takes no session over.
func TestSMFSetClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuiet(t)
		defer func() { q.stop(); q.background.Wait() }()
		thief := netip.MustParseAddrPort("10.4.0.66:8805")
		for _, at := range []netip.AddrPort{smfPort, thief} {
			q.receive(at, mustAppend(t, 1, &pfcp.AssociationSetupRequest{
				NodeID: pfcp.NodeID{Addr: at.Addr()}, RecoveryTimeStamp: 100, SMFSetID: pfcp.NewName("set.example")}))
		}
		q.receive(smfPort, mustAppend(t, 2, usual("10.4.0.2", "10.45.0.2")))
		for s := range q.sessions.All() {
			b, err := pfcp.Append(nil, pfcp.Header{SEID: s.SEID, Sequence: 50}, &pfcp.SessionModificationRequest{
				NodeID: pfcp.Some(pfcp.NodeID{Addr: thief.Addr()})})
			if err != nil {
				t.Fatal(err)
			}
			if cause, _ := causeOf(t, q.receive(thief, b)); cause != pfcp.CauseSessionContextNotFound {
				t.Errorf("take-over by a claim: %v, want %v", cause, pfcp.CauseSessionContextNotFound)
			}
		}
	})
}
