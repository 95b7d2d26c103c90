package n4

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// askGoPFCP sends a message of go-pfcp and has go-pfcp read the answer, which is to
// say that the request was accepted.
func askGoPFCP[R message.Message](t *testing.T, c *client, m message.Message, cause func(R) *ie.IE) R {
	t.Helper()
	octets := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(octets); err != nil {
		t.Fatal(err)
	}
	r, err := message.Parse(c.ask(octets))
	if err != nil {
		t.Fatal(err)
	}
	answer, ok := r.(R)
	if !ok {
		t.Fatalf("%s was answered by %s", m.MessageTypeName(), r.MessageTypeName())
	}
	if v, err := cause(answer).Cause(); err != nil || v != ie.CauseRequestAccepted {
		t.Fatalf("%s: cause %d, %v", m.MessageTypeName(), v, err)
	}
	return answer
}

// among calls see with each IE in a grouped one.
func among(t *testing.T, list []*ie.IE, err error, see func(*ie.IE)) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		see(i)
	}
}

// establishAll has a session that uses all that there is: a Traffic Endpoint, UE
// addresses to be chosen, SDF filters, a URR, a BAR.
func establishAll() message.Message {
	up := "permit out udp from 192.0.2.0/24 53 to assigned"
	return message.NewSessionEstablishmentRequest(0, 0, 0, 2, 0,
		ie.NewNodeID("127.0.0.1", "", ""),
		ie.NewFSEID(0xabcdef, net.IPv4(127, 0, 0, 1), nil),
		ie.NewCreateTrafficEndpoint(ie.NewTrafficEndpointID(4), ie.NewFTEID(0x05, 0, nil, nil, 0), ie.NewNetworkInstance("n9")),
		ie.NewCreatePDR(
			ie.NewPDRID(1), ie.NewPrecedence(100),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewTrafficEndpointID(4)),
			ie.NewOuterHeaderRemoval(6, 0), ie.NewFARID(1), ie.NewURRID(3)),
		ie.NewCreatePDR(
			ie.NewPDRID(3), ie.NewPrecedence(50),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewTrafficEndpointID(4), ie.NewSDFFilter("", "", "", "", 9)),
			ie.NewOuterHeaderRemoval(6, 0), ie.NewFARID(1)),
		ie.NewCreatePDR(
			ie.NewPDRID(2), ie.NewPrecedence(100),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewUEIPAddress(0x14, "", "", 0, 0), ie.NewSDFFilter(up, "", "", "", 9)),
			ie.NewFARID(2), ie.NewURRID(3)),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(2),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore))),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c), ie.NewBARID(5)),
		ie.NewCreateURR(ie.NewURRID(3), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(2, 0),
			ie.NewVolumeThreshold(1, 5000, 0, 0)),
		ie.NewCreateBAR(ie.NewBARID(5), ie.NewDownlinkDataNotificationDelay(100*time.Millisecond), ie.NewSuggestedBufferingPacketsCount(7)),
		ie.NewAPNDNN("internet"), ie.NewSNSSAI(1, 0x0a0b0c), ie.NewUserPlaneInactivityTimer(time.Hour),
	)
}

// TestGoPFCPRules: a CP function made of go-pfcp uses all rules; the datapath gets
// them, the answers say what was chosen, and usage comes when it is asked for and
// when its URR ends.
func TestGoPFCPRules(t *testing.T) {
	b := newBed(t, Config{})
	c := b.client(t, "127.0.0.1")
	c.associate("127.0.0.1", recoveryTime)
	est := askGoPFCP(t, c, establishAll(), func(r *message.SessionEstablishmentResponse) *ie.IE { return r.Cause })
	f, err := est.UPFSEID.FSEID()
	if err != nil || len(est.CreatedPDR) != 1 || len(est.CreatedTrafficEndpoint) != 1 {
		t.Fatalf("F-SEID %+v, %v; %d Created PDRs, %d Created Traffic Endpoints", f, err, len(est.CreatedPDR), len(est.CreatedTrafficEndpoint))
	}
	var teid uint32
	list, err := est.CreatedTrafficEndpoint[0].CreatedTrafficEndpoint()
	among(t, list, err, func(i *ie.IE) {
		if v, err := i.FTEID(); err == nil {
			teid = v.TEID
			if !v.IPv4Address.Equal(n9Addr[:]) {
				t.Errorf("F-TEID at %v, want %v: that of Network Instance n9", v.IPv4Address, n9Addr)
			}
		}
	})
	var ue netip.Addr
	list, err = est.CreatedPDR[0].CreatedPDR()
	among(t, list, err, func(i *ie.IE) {
		if v, err := i.UEIPAddress(); err == nil {
			ue, _ = netip.AddrFromSlice(v.IPv4Address.To4())
		}
	})
	if teid == 0 || !netip.MustParsePrefix("10.60.0.0/24").Contains(ue) {
		t.Fatalf("TEID %#x, UE IP address %v", teid, ue)
	}
	checkAll(t, b.driver.held()[f.SEID], f.SEID, teid, ue)

	mod := askGoPFCP(t, c, message.NewSessionModificationRequest(0, 0, f.SEID, 3, 0, ie.NewQueryURR(ie.NewURRID(3)), ie.NewQueryURRReference(77)),
		func(r *message.SessionModificationResponse) *ie.IE { return r.Cause })
	checkUsage(t, mod.UsageReport, "query", 4000)
	// The fake's counters stand still: after the query there is nothing new.
	del := askGoPFCP(t, c, message.NewSessionDeletionRequest(0, 0, f.SEID, 4, 0),
		func(r *message.SessionDeletionResponse) *ie.IE { return r.Cause })
	checkUsage(t, del.UsageReport, "deletion", 0)
	if b.sessions.Len() != 0 || len(b.driver.held()) != 0 {
		t.Errorf("%d sessions, %d in the datapath; want none", b.sessions.Len(), len(b.driver.held()))
	}
}

// checkAll compares what the datapath holds of establishAll.
func checkAll(t *testing.T, got *api.Session, seid uint64, teid uint32, ue netip.Addr) {
	t.Helper()
	v4 := ue.As4()
	address := uint32(v4[0])<<24 | uint32(v4[1])<<16 | uint32(v4[2])<<8 | uint32(v4[3])
	filters := []*api.Filter{{
		Protocol: proto.Uint32(17), Remote: &api.Prefix{Address: []byte{192, 0, 2, 0}, Bits: 24},
		RemotePorts: []*api.PortRange{{First: 53, Last: 53}},
	}}
	tunnel := &api.FTEID{Teid: teid, Ipv4: 0xc0a80d98}
	forward := &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE}
	want := &api.Session{
		Seid: seid,
		Rules: []*api.Rule{
			{PdrId: 3, Precedence: 50, FarId: 1, OuterHeaderRemoval: true, Forward: forward,
				Detect: &api.Detect{FTeid: tunnel, NetworkInstance: "n9", Filters: filters}},
			{PdrId: 1, Precedence: 100, FarId: 1, OuterHeaderRemoval: true, Forward: forward, UrrIds: []uint32{3},
				Detect: &api.Detect{FTeid: tunnel, NetworkInstance: "n9"}},
			{PdrId: 2, Precedence: 100, FarId: 2, UrrIds: []uint32{3},
				Forward: &api.Forward{Action: api.Action_BUFF, Notify: true, BarId: 5},
				Detect:  &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: &api.UEAddress{Ipv4: address}, Filters: filters}},
		},
		Urrs: []*api.URR{{Id: 3, Threshold: &api.Volume{Total: 5000}}},
		Bars: []*api.BAR{{Id: 5, NotificationDelayMs: 100, Packets: 7}},
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("the datapath holds (-want +got):\n%s", d)
	}
}

// checkUsage checks the one Usage Report of URR 3.
func checkUsage(t *testing.T, reports []*ie.IE, what string, total uint64) {
	t.Helper()
	if len(reports) != 1 {
		t.Fatalf("%s: %d Usage Reports, want 1", what, len(reports))
	}
	list, err := reports[0].UsageReport()
	var urr uint32
	volume := ^uint64(0)
	among(t, list, err, func(i *ie.IE) {
		if i.Type == ie.URRID {
			urr, _ = i.URRID()
		}
		if i.Type == ie.VolumeMeasurement {
			if v, err := i.VolumeMeasurement(); err == nil {
				volume = v.TotalVolume
			}
		}
	})
	if urr != 3 || volume != total {
		t.Errorf("%s: URR %d, %d octets; want URR 3, %d octets", what, urr, volume, total)
	}
}
