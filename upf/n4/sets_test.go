package n4

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// member is an establishment in connection sets of SMF 10.4.0.2.
func member(node, ue string, csids ...uint16) *pfcp.SessionEstablishmentRequest {
	m := usual(node, ue)
	m.FQCSIDs = []pfcp.FQCSID{smfSets(csids...)}
	return m
}

func smfSets(csids ...uint16) pfcp.FQCSID {
	return pfcp.FQCSID{NodeType: pfcp.CSIDNodeSMF, Node: pfcp.CSIDNode{Addr: netip.MustParseAddr("10.4.0.2")}, CSIDs: csids}
}

// addressesOfUEs lists the IPv4 addresses of the UEs that have sessions.
func (b *bed) addressesOfUEs() (list []string) {
	for s := range b.sessions.All() {
		list = append(list, netip.AddrFrom4(s.PDR(1).PDI.UEAddress.IPv4).String())
	}
	slices.Sort(list)
	return list
}

// TestSessionSetDeletion deletes the sessions of a set, those of its owner alone.
func TestSessionSetDeletion(t *testing.T) {
	b := newBed(t, Config{})
	c, other := b.client(t, "127.0.0.2"), b.client(t, "127.0.0.3")
	c.associate("127.0.0.2", recoveryTime)
	other.associate("127.0.0.3", recoveryTime)
	c.establish(member("127.0.0.2", "10.45.0.1", 1))
	c.establish(member("127.0.0.2", "10.45.0.2", 2))
	c.establish(member("127.0.0.2", "10.45.0.3", 1, 3))
	c.establish(usual("127.0.0.2", "10.45.0.4"))
	other.establish(member("127.0.0.3", "10.45.0.5", 1))
	remove := func(from *client, node string, sets ...pfcp.FQCSID) pfcp.SessionSetDeletionResponse {
		var r pfcp.SessionSetDeletionResponse
		from.do(0, &pfcp.SessionSetDeletionRequest{NodeID: pfcp.NodeID{Addr: netip.MustParseAddr(node)}, FQCSIDs: sets}, &r)
		return r
	}
	if r := remove(other, "127.0.0.2", smfSets(1)); r.Cause != pfcp.CauseNoEstablishedPFCPAssociation {
		t.Errorf("in another's name: %v", r.Cause)
	}
	if r := remove(c, "127.0.0.2"); r.Cause != pfcp.CauseConditionalIEMissing || r.OffendingIE.Value != pfcp.IEFQCSID {
		t.Errorf("without a set: %v, IE %v", r.Cause, r.OffendingIE)
	}
	if r := remove(c, "127.0.0.2", smfSets(9, 1)); r.Cause != pfcp.CauseRequestAccepted {
		t.Errorf("set 1: %v", r.Cause)
	}
	if got, want := b.addressesOfUEs(), []string{"10.45.0.2", "10.45.0.4", "10.45.0.5"}; !slices.Equal(got, want) {
		t.Errorf("sessions of %v are left, want %v", got, want)
	}
	if n := len(b.driver.held()); n != 3 || b.Associations()[0].Sessions != 2 {
		t.Errorf("%d sessions in the datapath, %d of the association; want 3 and 2", n, b.Associations()[0].Sessions)
	}
}

// TestSessionSetModification sends reports about sets elsewhere.
func TestSessionSetModification(t *testing.T) {
	b := newBed(t, Config{Peers: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	c := b.client(t, "127.0.0.2")
	c.associate("127.0.0.2", recoveryTime)
	for i := range 3 {
		m := member("127.0.0.2", fmt.Sprint("10.45.0.", i), uint16(i))
		m.CPFSEID.IPv4 = netip.AddrFrom4([4]byte{127, 0, 0, byte(20 + i)})
		c.establish(m)
	}
	elsewhere := pfcp.CPAddress{IPv4: netip.MustParseAddr("127.0.0.9")}
	modify := func(changes ...pfcp.SessionChangeInfo) pfcp.SessionSetModificationResponse {
		var r pfcp.SessionSetModificationResponse
		c.do(0, &pfcp.SessionSetModificationRequest{NodeID: pfcp.NodeID{Addr: netip.MustParseAddr("127.0.0.2")}, Changes: changes}, &r)
		return r
	}
	if r := modify(pfcp.SessionChangeInfo{Alternative: elsewhere}); r.Cause != pfcp.CauseConditionalIEMissing {
		t.Errorf("no set: %v", r.Cause)
	}
	r := modify(
		pfcp.SessionChangeInfo{FQCSIDs: []pfcp.FQCSID{smfSets(1)}, Alternative: elsewhere},
		pfcp.SessionChangeInfo{CPAddresses: []pfcp.CPAddress{{IPv4: netip.MustParseAddr("127.0.0.22")}}, Alternative: elsewhere},
	)
	if r.Cause != pfcp.CauseRequestAccepted {
		t.Fatalf("%v", r.Cause)
	}
	for s := range b.sessions.All() {
		to, ok := b.reportTo(s.Owner, s.CP)
		want := elsewhere.IPv4
		if s.PDR(1).PDI.UEAddress.IPv4[3] == 0 {
			want = netip.MustParseAddr("127.0.0.20")
		}
		if !ok || to.Addr() != want {
			t.Errorf("session of UE %v reports to %v, want %v", s.PDR(1).PDI.UEAddress.IPv4, to, want)
		}
	}
}

// TestReportTo: only addresses that an operator or a peer stands for are sent
// anything.
func TestReportTo(t *testing.T) {
	b := newBed(t, Config{PeerPort: 1})
	c := b.client(t, "127.0.0.2")
	c.associate("127.0.0.2", recoveryTime)
	b.client(t, "127.0.0.3").associate("127.0.0.3", recoveryTime)
	for cp, want := range map[string]string{
		"127.0.0.2":  "127.0.0.2:1",
		"127.0.0.3":  "127.0.0.3:1", // associated too
		"192.0.2.66": "127.0.0.2:1", // who knows whose
	} {
		to, ok := b.reportTo(b.Associations()[0].Owner, session.FSEID{SEID: 1, IPv4: netip.MustParseAddr(cp).As4()})
		if !ok || to.String() != want {
			t.Errorf("CP F-SEID at %s: reports go to %v, want %s", cp, to, want)
		}
	}
	if to, ok := b.reportTo(99, session.FSEID{}); ok {
		t.Errorf("reports of nobody go to %v", to)
	}
}

// TestRetention: sessions that a CP function asks to keep when it associates
// again are there afterwards, and the others are not.
func TestRetention(t *testing.T) {
	for _, tc := range []struct {
		name  string
		keep  *pfcp.SessionRetention
		want  []string
		flags pfcp.ASRspFlags
	}{
		{"none", nil, nil, 0},
		{"all", &pfcp.SessionRetention{}, []string{"10.45.0.0", "10.45.0.1", "10.45.0.2"}, pfcp.ASRspPSREI},
		{"those of two addresses", &pfcp.SessionRetention{CPEntities: []pfcp.CPAddress{
			{IPv4: netip.MustParseAddr("10.4.0.20")}, {IPv4: netip.MustParseAddr("10.4.0.22")}}},
			[]string{"10.45.0.0", "10.45.0.2"}, pfcp.ASRspPSREI},
		{"those of nobody", &pfcp.SessionRetention{CPEntities: []pfcp.CPAddress{{IPv4: netip.MustParseAddr("10.4.0.99")}}}, nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBed(t, Config{})
			c := b.client(t, "127.0.0.2")
			c.associate("127.0.0.2", recoveryTime)
			for i := range 3 {
				m := usual("127.0.0.2", fmt.Sprint("10.45.0.", i))
				m.CPFSEID.IPv4 = netip.AddrFrom4([4]byte{10, 4, 0, byte(20 + i)})
				c.establish(m)
			}
			again := &pfcp.AssociationSetupRequest{NodeID: pfcp.NodeID{Addr: netip.MustParseAddr("127.0.0.2")}, RecoveryTimeStamp: 9}
			if tc.keep != nil {
				again.SessionRetention = pfcp.Some(*tc.keep)
			}
			var r pfcp.AssociationSetupResponse
			if c.do(0, again, &r); r.Cause != pfcp.CauseRequestAccepted || r.ASRspFlags != tc.flags {
				t.Errorf("%v, flags %#x; want accepted, %#x", r.Cause, r.ASRspFlags, tc.flags)
			}
			if got := b.addressesOfUEs(); !slices.Equal(got, tc.want) {
				t.Errorf("sessions of %v are left, want %v", got, tc.want)
			}
			if a := b.Associations(); len(a) != 1 || a[0].Sessions != len(tc.want) || a[0].Recovery != pfcp.TimeStamp(9).Time() {
				t.Errorf("associations %+v", a)
			}
		})
	}
}
