package n4

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// TestSession establishes, switches the path, closes a gate and deletes, and
// looks at each response and at what the datapath holds.
func TestSession(t *testing.T) {
	b := newBed(t, Config{})
	c := b.client(t, "127.0.0.1")
	if got := c.associate("127.0.0.1", recoveryTime); got != pfcp.CauseRequestAccepted {
		t.Fatal(got)
	}
	r := c.establish(usual("127.0.0.1", "10.45.0.2"))
	seid := r.UPFSEID.Value.SEID
	teid := r.CreatedPDRs[0].LocalFTEIDs[0].TEID
	wantResponse := pfcp.SessionEstablishmentResponse{
		NodeID: pfcp.NodeID{Addr: netip.MustParseAddr("127.0.0.1")}, Cause: pfcp.CauseRequestAccepted,
		UPFSEID: pfcp.Some(pfcp.FSEID{SEID: seid, IPv4: netip.MustParseAddr("127.0.0.1")}),
		CreatedPDRs: []pfcp.CreatedPDR{{PDRID: 2, LocalFTEIDs: []pfcp.FTEID{
			{V4: true, TEID: teid, IPv4: netip.AddrFrom4(n3Addr)}}}},
	}
	if d := cmp.Diff(wantResponse, r, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" || seid == 0 || teid == 0 {
		t.Errorf("SEID %#x, TEID %#x (-want +got):\n%s", seid, teid, d)
	}
	dscp := uint32(46)
	want := &api.Session{
		Seid: seid,
		Rules: []*api.Rule{
			{
				PdrId: 1, Precedence: 255, QerIds: []uint32{1}, FarId: 1,
				Detect: &api.Detect{SourceInterface: api.Interface_CORE, NetworkInstance: "internet",
					UeAddress: &api.UEAddress{Ipv4: 0x0a2d0002}},
				Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS, Dscp: &dscp,
					OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 0x22, Ipv4: 0xc0a80d83}},
			},
			{
				PdrId: 2, Precedence: 255, QerIds: []uint32{1}, FarId: 2, OuterHeaderRemoval: true,
				Detect: &api.Detect{SourceInterface: api.Interface_ACCESS, Qfis: []uint32{9},
					FTeid: &api.FTEID{Teid: teid, Ipv4: 0xc0a80d97}, UeAddress: &api.UEAddress{Ipv4: 0x0a2d0002}},
				Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE},
			},
		},
		Qers: []*api.QER{{Id: 1, Qfi: 9, UplinkMbrBps: 100e6, DownlinkMbrBps: 200e6, UplinkGbrBps: 1e6, DownlinkGbrBps: 1e6}},
	}
	check := func(step string) {
		t.Helper()
		if d := cmp.Diff(map[uint64]*api.Session{seid: want}, b.driver.held(), protocmp.Transform()); d != "" {
			t.Errorf("%s: datapath (-want +got):\n%s", step, d)
		}
	}
	check("established")

	modify := func(m *pfcp.SessionModificationRequest, cpSEID uint64) {
		t.Helper()
		var r pfcp.SessionModificationResponse
		if h := c.do(seid, m, &r); r.Cause != pfcp.CauseRequestAccepted || h.SEID != cpSEID {
			t.Errorf("modification: %v, SEID %#x, want accepted and %#x", r.Cause, h.SEID, cpSEID)
		}
	}
	// SNDEM asks for End Markers. They are not sent: EMPU is not advertised.
	modify(&pfcp.SessionModificationRequest{UpdateFARs: []pfcp.UpdateFAR{{
		FARID: 1, UpdateForwardingParameters: pfcp.Some(pfcp.UpdateForwardingParameters{
			SMReqFlags: pfcp.SMReqSNDEM,
			OuterHeaderCreation: pfcp.Some(pfcp.OuterHeaderCreation{
				Description: pfcp.CreateGTPUUDPIPv4, TEID: 0x33, IPv4: netip.MustParseAddr("192.168.13.132")})}),
	}}}, 0x1002)
	want.Rules[0].Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: 0x33, Ipv4: 0xc0a80d84}
	check("path switched")

	modify(&pfcp.SessionModificationRequest{
		CPFSEID:    pfcp.Some(pfcp.FSEID{SEID: 0x7777, IPv4: netip.MustParseAddr("127.0.0.1")}),
		UpdateQERs: []pfcp.UpdateQER{{QERID: 1, GateStatus: pfcp.Some(pfcp.GateStatus{DownlinkClosed: true})}},
	}, 0x7777)
	want.Qers[0].DownlinkGateClosed = true
	check("gate closed, F-SEID changed")

	var del pfcp.SessionDeletionResponse
	if h := c.do(seid, &pfcp.SessionDeletionRequest{}, &del); del.Cause != pfcp.CauseRequestAccepted || h.SEID != 0x7777 {
		t.Errorf("deletion: %v, SEID %#x", del.Cause, h.SEID)
	}
	if h := c.do(seid, &pfcp.SessionDeletionRequest{}, &del); del.Cause != pfcp.CauseSessionContextNotFound || h.SEID != 0 {
		t.Errorf("second deletion: %v, SEID %#x; want %v and 0", del.Cause, h.SEID, pfcp.CauseSessionContextNotFound)
	}
	if n := len(b.driver.held()); n != 0 || b.sessions.Len() != 0 {
		t.Errorf("%d sessions in the datapath, %d here; want none", n, b.sessions.Len())
	}
}

// TestRefused: what is not done is refused by its IE and rule, and leaves
// nothing behind.
func TestRefused(t *testing.T) {
	b := newBed(t, Config{})
	c := b.client(t, "127.0.0.1")
	c.associate("127.0.0.1", recoveryTime)
	rule := func(kind pfcp.RuleType, id uint32) pfcp.Optional[pfcp.FailedRuleID] {
		return pfcp.Some(pfcp.FailedRuleID{Type: kind, ID: id})
	}
	noRule := pfcp.Optional[pfcp.FailedRuleID]{}
	const ruleFailure = pfcp.CauseRuleCreationModificationFail
	for _, tc := range []struct {
		name   string
		change func(*pfcp.SessionEstablishmentRequest)
		cause  pfcp.Cause
		ie     pfcp.IEType
		rule   pfcp.Optional[pfcp.FailedRuleID]
	}{
		{"Create URR", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreateURRs = []pfcp.CreateURR{{URRID: 7, MeasurementMethod: pfcp.MeasureEVENT}}
		}, ruleFailure, 0, rule(pfcp.RuleURR, 7)},
		{"Create BAR", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreateBARs = []pfcp.BAR{{BARID: 3, Noted: pfcp.IEMTEDTControlInformation}}
		}, ruleFailure, 0, rule(pfcp.RuleBAR, 3)},
		{"Create MAR", func(m *pfcp.SessionEstablishmentRequest) { m.CreateMARs = []uint16{3} }, ruleFailure, 0, rule(pfcp.RuleMAR, 3)},
		{"Create Traffic Endpoint, twice", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreateTEPs = []pfcp.TrafficEndpoint{{TrafficEndpointID: 1}, {TrafficEndpointID: 1}}
		}, ruleFailure, pfcp.IECreateTrafficEndpoint, noRule},
		{"PDN Type Ethernet", func(m *pfcp.SessionEstablishmentRequest) { m.PDNType.Value = pfcp.PDNTypeEthernet },
			pfcp.CauseServiceNotSupported, pfcp.IEPDNType, noRule},
		{"URR ID", func(m *pfcp.SessionEstablishmentRequest) { m.CreatePDRs[1].URRIDs = []uint32{1} }, ruleFailure, 0, rule(pfcp.RulePDR, 2)},
		{"Application ID", func(m *pfcp.SessionEstablishmentRequest) { m.CreatePDRs[1].PDI.ApplicationID = []byte("x") }, pfcp.Cause(session.CauseUnknownApplication), 0, rule(pfcp.RulePDR, 2)},
		{"Traffic Endpoint ID", func(m *pfcp.SessionEstablishmentRequest) { m.CreatePDRs[1].PDI.TrafficEndpointIDs = []uint8{1} },
			ruleFailure, 0, rule(pfcp.RulePDR, 2)},
		{"SDF filter that denies", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreatePDRs[1].PDI.SDFFilters[0].FlowDescription = []byte("deny out udp from any 53 to assigned")
		}, ruleFailure, 0, rule(pfcp.RulePDR, 2)},
		{"SDF filter that says nothing", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreatePDRs[1].PDI.SDFFilters[0] = pfcp.SDFFilter{}
		}, ruleFailure, 0, rule(pfcp.RulePDR, 2)},
		{"SDF filter of another PDR", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreatePDRs[1].PDI.SDFFilters[0] = pfcp.SDFFilter{FilterID: pfcp.Some(uint32(1))}
		}, ruleFailure, 0, rule(pfcp.RulePDR, 2)},
		{"QFI 0", func(m *pfcp.SessionEstablishmentRequest) { m.CreatePDRs[1].PDI.QFIs = pfcp.NewQFISet(0, 9) }, ruleFailure, 0, rule(pfcp.RulePDR, 2)},
		{"IPv6 F-TEID", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreatePDRs[1].PDI.FTEID = pfcp.Some(pfcp.FTEID{CH: true, V6: true})
		}, ruleFailure, 0, rule(pfcp.RulePDR, 2)},
		{"UE IP Address to be chosen from no pool", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreatePDRs[0].PDI.UEIPAddresses = []pfcp.UEIPAddress{{CHV4: true}}
			m.CreatePDRs[0].UEIPPoolIdentities = [][]byte{[]byte("nowhere")}
		}, ruleFailure, 0, rule(pfcp.RulePDR, 1)},
		{"IPv6 prefix of 56 bits", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreatePDRs[0].PDI.UEIPAddresses = []pfcp.UEIPAddress{{IPv6: netip.MustParseAddr("2001:db8::"), IPv6Length: pfcp.Some(uint8(56))}}
		}, ruleFailure, 0, rule(pfcp.RulePDR, 1)},
		{"two IPv4 addresses", func(m *pfcp.SessionEstablishmentRequest) {
			l := m.CreatePDRs[0].PDI.UEIPAddresses
			m.CreatePDRs[0].PDI.UEIPAddresses = append(l, pfcp.UEIPAddress{IPv4: netip.MustParseAddr("10.45.0.99")})
		}, ruleFailure, 0, rule(pfcp.RulePDR, 1)},
		{"Outer Header Removal of UDP", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreatePDRs[1].OuterHeaderRemoval.Value.Description = pfcp.RemoveUDPIPv4
		}, ruleFailure, 0, rule(pfcp.RulePDR, 2)},
		{"FORW and DUPL", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreateFARs[0].ApplyAction = pfcp.ApplyFORW | pfcp.ApplyDUPL
		}, ruleFailure, 0, rule(pfcp.RuleFAR, 1)},
		{"BAR ID", func(m *pfcp.SessionEstablishmentRequest) { m.CreateFARs[0].BARID = pfcp.Some(uint8(1)) }, ruleFailure, 0, rule(pfcp.RuleFAR, 1)},
		{"Linked Traffic Endpoint", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreateFARs[1].ForwardingParameters.Value.LinkedTrafficEndpointID = pfcp.Some(uint8(1))
		}, ruleFailure, 0, rule(pfcp.RuleFAR, 2)},
		{"Outer Header Creation UDP/IPv4", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreateFARs[0].ForwardingParameters.Value.OuterHeaderCreation.Value.Description = pfcp.CreateUDPIPv4
		}, ruleFailure, 0, rule(pfcp.RuleFAR, 1)},
		{"RQI", func(m *pfcp.SessionEstablishmentRequest) { m.CreateQERs[0].RQI = pfcp.Some(true) }, ruleFailure, 0, rule(pfcp.RuleQER, 1)},
		{"QER Correlation ID", func(m *pfcp.SessionEstablishmentRequest) { m.CreateQERs[0].QERCorrelationID = pfcp.Some(uint32(1)) },
			ruleFailure, 0, rule(pfcp.RuleQER, 1)},
		{"unknown FAR", func(m *pfcp.SessionEstablishmentRequest) { m.CreatePDRs[0].FARID.Value = 9 }, ruleFailure, 0, rule(pfcp.RulePDR, 1)},
		{"no association", func(m *pfcp.SessionEstablishmentRequest) { m.NodeID.Addr = netip.MustParseAddr("10.9.9.9") },
			pfcp.CauseNoEstablishedPFCPAssociation, 0, noRule},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := usual("127.0.0.1", "10.45.0.2")
			tc.change(m)
			var r pfcp.SessionEstablishmentResponse
			if h := c.do(0, m, &r); h.SEID != m.CPFSEID.SEID {
				t.Errorf("SEID %#x, want %#x", h.SEID, m.CPFSEID.SEID)
			}
			if r.Cause != tc.cause || r.OffendingIE.Value != tc.ie || r.FailedRuleID != tc.rule || r.UPFSEID.Present {
				t.Errorf("got %+v, want %v, IE %v, rule %+v", r, tc.cause, tc.ie, tc.rule)
			}
			if b.sessions.Len() != 0 || b.driver.changed() != 0 {
				t.Error("something is left of it")
			}
		})
	}
	c.establish(usual("127.0.0.1", "10.45.0.2"))
}

// TestRollback: a rule that the datapath refuses is named in the response, and
// the session is as before, or not at all.
func TestRollback(t *testing.T) {
	b := newBed(t, Config{})
	c := b.client(t, "127.0.0.1")
	c.associate("127.0.0.1", recoveryTime)
	b.driver.refuse(2)
	var r pfcp.SessionEstablishmentResponse
	c.do(0, usual("127.0.0.1", "10.45.0.2"), &r)
	failed := pfcp.Some(pfcp.FailedRuleID{Type: pfcp.RulePDR, ID: 2})
	if r.Cause != pfcp.CauseRuleCreationModificationFail || r.FailedRuleID != failed || len(r.CreatedPDRs) != 0 {
		t.Errorf("refused by the datapath: %+v", r)
	}
	b.driver.refuse(0)
	r = c.establish(usual("127.0.0.1", "10.45.0.2")) // the address is free again
	seid := r.UPFSEID.Value.SEID
	before := b.driver.held()[seid]
	b.driver.refuse(2)
	var mod pfcp.SessionModificationResponse
	c.do(seid, &pfcp.SessionModificationRequest{UpdateQERs: []pfcp.UpdateQER{{QERID: 1, QFI: pfcp.Some(pfcp.QFI(3))}}}, &mod)
	if mod.Cause != pfcp.CauseRuleCreationModificationFail || mod.FailedRuleID != failed {
		t.Errorf("refused by the datapath: %+v", mod)
	}
	if d := cmp.Diff(before, b.driver.held()[seid], protocmp.Transform()); d != "" || b.sessions.Get(seid).QER(1).QFI != 9 {
		t.Errorf("the session changed (-want +got):\n%s", d)
	}
}

// TestRemoveNamed: Remove URR, Remove QER and Remove FAR alone, octet for octet, of rules
// that PDRs name.
func TestRemoveNamed(t *testing.T) {
	b := newBed(t, Config{Sockets: 1})
	c := b.client(t, "127.0.0.1")
	c.associate("127.0.0.1", recoveryTime)
	m := usual("127.0.0.1", "10.45.0.2")
	m.CreateURRs = []pfcp.CreateURR{{URRID: 1, MeasurementMethod: pfcp.MeasureVOLUM}}
	m.CreatePDRs[0].URRIDs, m.CreatePDRs[1].URRIDs = []uint32{1}, []uint32{1}
	seid := c.establish(m).UPFSEID.Value.SEID
	for i, tc := range []struct {
		name, ie string
		reports  int
	}{
		{"URR", "0011 0008 0051 0004 00000001", 1},
		{"QER", "0012 0008 006d 0004 00000001", 0},
		{"FAR", "0010 0008 006c 0004 00000001", 0},
	} {
		c.seq = uint32(900 + i)
		var r pfcp.SessionModificationResponse
		h := c.decode(c.ask(octets(t, fmt.Sprintf("2134 0018 %016x %06x 00 %s", seid, c.seq, tc.ie))), &r)
		if r.Cause != pfcp.CauseRequestAccepted || h.SEID != m.CPFSEID.SEID || len(r.UsageReports) != tc.reports {
			t.Errorf("Remove %s: %v, SEID %#x, reports %+v", tc.name, r.Cause, h.SEID, r.UsageReports)
		}
		if tc.reports > 0 && (r.UsageReports[0].URRID != 1 || r.UsageReports[0].Volume.Value.Total.Value != 4000) {
			t.Errorf("last report %+v, want 4000 octets of URR 1", r.UsageReports[0])
		}
	}
	for _, r := range b.driver.held()[seid].GetRules() {
		if len(r.UrrIds)+len(r.QerIds) != 0 || r.GetForward().GetIncomplete() != (r.PdrId == 1) {
			t.Errorf("the datapath holds %v", r)
		}
	}
}

// TestNotDone: what is asked for and would not be done is refused with its rule, where
// that matters.
func TestNotDone(t *testing.T) {
	marking := pfcp.Some(pfcp.TransportLevelMarking{Value: 0xb8, Mask: 0xfc})
	removal := pfcp.Some(pfcp.OuterHeaderRemoval{Description: pfcp.RemoveGTPUUDPIPv4, Extensions: pfcp.Some(uint8(1))})
	tunnel := pfcp.Some(pfcp.OuterHeaderCreation{Description: pfcp.CreateGTPUUDPIPv4, TEID: 0x33, IPv4: netip.MustParseAddr("192.168.13.132")})
	failed := func(kind pfcp.RuleType, id uint32) pfcp.Optional[pfcp.FailedRuleID] {
		return pfcp.Some(pfcp.FailedRuleID{Type: kind, ID: id})
	}
	for _, tc := range []struct {
		name   string
		change func(*pfcp.SessionEstablishmentRequest)
		want   pfcp.Optional[pfcp.FailedRuleID] // none: accepted
	}{
		{"marking to N6", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreateFARs[1].ForwardingParameters.Value.TransportLevelMarking = marking
		}, failed(pfcp.RuleFAR, 2)},
		{"marking of a tunnel that is not known yet", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreateFARs[0].ForwardingParameters.Value.OuterHeaderCreation = pfcp.Optional[pfcp.OuterHeaderCreation]{}
		}, pfcp.Optional[pfcp.FailedRuleID]{}},
		{"extension headers deleted towards N6", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreatePDRs[1].OuterHeaderRemoval = removal
		}, pfcp.Optional[pfcp.FailedRuleID]{}},
		{"extension headers deleted, into a tunnel", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreatePDRs[1].OuterHeaderRemoval = removal
			m.CreateFARs[1].ForwardingParameters.Value.OuterHeaderCreation = tunnel
		}, pfcp.Optional[pfcp.FailedRuleID]{}},
		{"QFI 0", func(m *pfcp.SessionEstablishmentRequest) {
			m.CreateQERs[0].QFI = pfcp.Some(pfcp.QFI(0))
		}, pfcp.Optional[pfcp.FailedRuleID]{}},
	} {
		b := newBed(t, Config{Sockets: 1})
		c := b.client(t, "127.0.0.1")
		c.associate("127.0.0.1", recoveryTime)
		m := usual("127.0.0.1", "10.45.0.2")
		tc.change(m)
		var r pfcp.SessionEstablishmentResponse
		c.do(0, m, &r)
		want := pfcp.CauseRequestAccepted
		if tc.want.Present {
			want = pfcp.CauseRuleCreationModificationFail
		}
		if r.Cause != want || r.FailedRuleID != tc.want {
			t.Errorf("%s: %v, Failed Rule ID %+v; want %v, %+v", tc.name, r.Cause, r.FailedRuleID, want, tc.want)
		}
		for _, s := range b.driver.held() {
			if q := s.GetQers()[0].GetQfi(); tc.name == "QFI 0" && q != 0 {
				t.Errorf("%s: the datapath holds QFI %d", tc.name, q)
			}
		}
		deletes := func() bool { // the datapath holds that the container goes
			return slices.ContainsFunc(b.driver.held()[r.UPFSEID.Value.SEID].GetRules(), (*api.Rule).GetDropsContainer)
		}
		if tc.name == "extension headers deleted, into a tunnel" && !deletes() {
			t.Errorf("%s: not in the datapath's rules", tc.name)
		}
		if tc.name != "extension headers deleted towards N6" {
			continue
		}
		if deletes() {
			t.Errorf("%s: in the datapath's rules, where nothing is to be done", tc.name)
		}
		// The tunnel comes later.
		var mod pfcp.SessionModificationResponse
		c.do(r.UPFSEID.Value.SEID, &pfcp.SessionModificationRequest{UpdateFARs: []pfcp.UpdateFAR{{
			FARID: 2, UpdateForwardingParameters: pfcp.Some(pfcp.UpdateForwardingParameters{OuterHeaderCreation: tunnel}),
		}}}, &mod)
		if mod.Cause != pfcp.CauseRequestAccepted || !deletes() {
			t.Errorf("%s, then a tunnel: %v, deletes %v; want accepted, true", tc.name, mod.Cause, deletes())
		}
	}
}

// TestNetworkInstance: an F-TEID is chosen at the endpoint of the Network Instance "n9", in
// whichever form the CP function writes that.
func TestNetworkInstance(t *testing.T) {
	b := newBed(t, Config{Sockets: 1})
	c := b.client(t, "127.0.0.1")
	c.associate("127.0.0.1", recoveryTime)
	for i, tc := range []struct {
		name string
		want session.IPv4
	}{
		{"6e39", n9Addr}, {"02 6e39", n9Addr}, {"4e39", n9Addr}, {"02 4e39", n9Addr}, {"02 6e39 00", n9Addr},
		{"02 6e39 06 6d6e63303031 06 6d6363303031 04 67707273", n9Addr},
		{"6e39 2e 6d6e63303031 2e 6d6363303031 2e 67707273", n9Addr},
		{"6e38", n3Addr}, {"6e39 2e 6d6e63303031", n3Addr},
	} {
		m := usual("127.0.0.1", netip.AddrFrom4([4]byte{10, 45, 0, byte(i)}).String())
		m.CreatePDRs[1].PDI.NetworkInstance = octets(t, tc.name)
		r := c.establish(m)
		if got := r.CreatedPDRs[0].LocalFTEIDs[0].IPv4; got != netip.AddrFrom4(tc.want) {
			t.Errorf("Network Instance %s: F-TEID at %v, want %v", tc.name, got, netip.AddrFrom4(tc.want))
		}
	}
}
