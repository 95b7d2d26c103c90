package n4

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// rareRequest is a session of one PDR each way, of which go-pfcp writes the parts
// that a test adds: to the PDI and the PDR from Core, to the FAR towards Access, to the
// QER and the request.
type rareRequest struct {
	pdi, pdr, forward, far, qer, urr, more []*ie.IE
}

func (r *rareRequest) message(seq uint32) message.Message {
	pdi := append([]*ie.IE{ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewUEIPAddress(2, "10.45.0.9", "", 0, 0)}, r.pdi...)
	to := append([]*ie.IE{ie.NewDestinationInterface(ie.DstInterfaceAccess), ie.NewOuterHeaderCreation(0x0100, 7, "10.3.0.2", "", 0, 0, 0)}, r.forward...)
	far := append([]*ie.IE{ie.NewFARID(2), ie.NewApplyAction(2), ie.NewForwardingParameters(to...)}, r.far...)
	if len(r.far) > 0 {
		far[1] = ie.NewApplyAction(0x12) // FORW and DUPL
	}
	list := []*ie.IE{
		ie.NewNodeID("127.0.0.1", "", ""), ie.NewFSEID(uint64(seq), net.IPv4(127, 0, 0, 1), nil),
		ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(100),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewFTEID(0x05, 0, nil, nil, 0)),
			ie.NewOuterHeaderRemoval(6, 0), ie.NewFARID(1)),
		ie.NewCreatePDR(append([]*ie.IE{ie.NewPDRID(2), ie.NewPrecedence(100), ie.NewPDI(pdi...), ie.NewFARID(2), ie.NewQERID(3)}, r.pdr...)...),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(2), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore))),
		ie.NewCreateFAR(far...),
		ie.NewCreateQER(append([]*ie.IE{ie.NewQERID(3), ie.NewGateStatus(0, 0)}, r.qer...)...),
	}
	if len(r.urr) > 0 {
		list = append(list, ie.NewCreateURR(append([]*ie.IE{ie.NewURRID(4)}, r.urr...)...))
	}
	return message.NewSessionEstablishmentRequest(0, 0, 0, seq, 0, append(list, r.more...)...)
}

// establish sends the request and returns the Cause and the Failed Rule ID, "" for none.
func (r *rareRequest) establish(t *testing.T, c *client, seq uint32) (cause uint8, failed string, seid uint64) {
	t.Helper()
	m := r.message(seq)
	octets := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(octets); err != nil {
		t.Fatal(err)
	}
	answer, err := message.Parse(c.ask(octets))
	if err != nil {
		t.Fatal(err)
	}
	est, ok := answer.(*message.SessionEstablishmentResponse)
	if !ok {
		t.Fatalf("answered by %s", answer.MessageTypeName())
	}
	if cause, err = est.Cause.Cause(); err != nil {
		t.Fatal(err)
	}
	if est.FailedRuleID != nil {
		octets := est.FailedRuleID.Payload
		failed = map[byte]string{0: "PDR", 1: "FAR", 2: "QER", 3: "URR"}[octets[0]]
	}
	if est.UPFSEID != nil {
		f, err := est.UPFSEID.FSEID()
		if err != nil {
			t.Fatal(err)
		}
		seid = f.SEID
	}
	return cause, failed, seid
}

// rareTests: what go-pfcp asks for, which rule is at fault where the datapath cannot do
// it ("": the request as such), and what the datapath gets where it can; nil: it is
// refused there too.
var rareTests = []struct {
	name   string
	ask    rareRequest
	cause  uint8
	failed string
	want   func(*api.Session)
}{
	{"Packet Rate", rareRequest{qer: []*ie.IE{ie.NewPacketRate(3, 0, 10, 2, 20)}}, 73, "QER", func(s *api.Session) {
		s.Qers[0].UplinkPacketRate = &api.PacketRate{Packets: 10, TimeMs: 60_000}
		s.Qers[0].DownlinkPacketRate = &api.PacketRate{Packets: 20, TimeMs: 3600_000}
	}},
	{"RQI", rareRequest{qer: []*ie.IE{ie.NewRQI(1)}}, 73, "QER", func(s *api.Session) { s.Qers[0].Rqi = true }},
	{"DL Flow Level Marking", rareRequest{qer: []*ie.IE{ie.New(ie.DLFlowLevelMarking, []byte{3, 0xb9, 0xfc, 5, 0})}}, 73, "QER", func(s *api.Session) {
		s.Qers[0].DownlinkTos, s.Qers[0].DownlinkTosMask, s.Qers[0].ServiceClass = 0xb8, 0xfc, proto.Uint32(5)
	}},
	{"QER Control Indications", rareRequest{qer: []*ie.IE{ie.NewQERControlIndications(0, 0, 1)}}, 73, "QER", nil},
	{"QER Correlation ID", rareRequest{qer: []*ie.IE{ie.NewQERCorrelationID(1)}}, 73, "QER", nil},
	{"copy to the LI function over UDP", rareRequest{far: []*ie.IE{ie.NewDuplicatingParameters(ie.NewDestinationInterface(4),
		ie.NewOuterHeaderCreation(0x0400, 0, "192.0.2.9", "", 4000, 0, 0), ie.NewTransportLevelMarking(0x20fc))}}, 73, "FAR", func(s *api.Session) {
		s.Rules[1].Forward.Duplicates = []*api.Duplicate{{DestinationInterface: api.Interface_CORE, Dscp: proto.Uint32(8),
			OuterHeaderCreation: &api.OuterHeaderCreation{Encapsulation: api.Encapsulation_UDP, Port: 4000, Ipv4: 0xc0000209}}}
	}},
	{"copy into a tunnel", rareRequest{far: []*ie.IE{ie.NewDuplicatingParameters(ie.NewDestinationInterface(4),
		ie.NewOuterHeaderCreation(0x0100, 9, "192.0.2.9", "", 0, 0, 0), ie.NewTransportLevelMarking(0x20fc))}}, 73, "FAR", func(s *api.Session) {
		s.Rules[1].Forward.Duplicates = []*api.Duplicate{{DestinationInterface: api.Interface_CORE, Dscp: proto.Uint32(8),
			OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 9, Ipv4: 0xc0000209}}}
	}},
	{"redirection to a URL", rareRequest{forward: []*ie.IE{ie.NewRedirectInformation(2, "http://portal.example/")}}, 73, "FAR", func(s *api.Session) {
		s.Rules[1].Forward.Redirect = &api.Redirect{Url: "http://portal.example/"}
	}},
	{"redirection to a host", rareRequest{forward: []*ie.IE{ie.NewRedirectInformation(0, "192.0.2.1")}}, 73, "FAR", func(s *api.Session) {
		s.Rules[1].Forward.Redirect = &api.Redirect{Ipv4: 0xc0000201}
	}},
	{"replacement", rareRequest{forward: []*ie.IE{ie.New(293, []byte{0x25, 192, 0, 2, 1, 0x1f, 0x90, 0, 80})}}, 73, "FAR", func(s *api.Session) {
		s.Rules[1].Forward.Replacement = &api.Replacement{DestinationIpv4: 0xc0000201, DestinationPort: 8080, SourcePort: 80}
	}},
	{"replacement by nothing", rareRequest{forward: []*ie.IE{ie.New(293, []byte{0})}}, 73, "FAR", nil},
	{"replacement by port 0", rareRequest{forward: []*ie.IE{ie.New(293, []byte{0x04, 0, 0})}}, 73, "FAR", nil},
	{"replacement by a multicast address", rareRequest{forward: []*ie.IE{ie.New(293, []byte{0x01, 224, 0, 0, 1})}}, 73, "FAR", nil},
	{"redirection to a SIP URI", rareRequest{forward: []*ie.IE{ie.NewRedirectInformation(3, "sip:a@b")}}, 73, "FAR", nil},
	{"redirection to a file", rareRequest{forward: []*ie.IE{ie.NewRedirectInformation(2, "file:///etc")}}, 73, "FAR", nil},
	{"Forwarding Policy", rareRequest{forward: []*ie.IE{ie.NewForwardingPolicy("gold")}}, 73, "FAR", func(s *api.Session) {
		s.Rules[1].Forward.ForwardingPolicy = "gold"
	}},
	{"Header Enrichment", rareRequest{forward: []*ie.IE{ie.NewHeaderEnrichment(0, "X-MSISDN", "1")}}, 73, "FAR", nil},
	{"Framed-Route", rareRequest{pdi: []*ie.IE{ie.NewFramedRoute("10.60.0.0/16 0.0.0.0 1"), ie.NewFramedIPv6Route("2001:db8:60::/48 :: 1")}}, 73, "PDR", func(s *api.Session) {
		s.Rules[1].Detect.FramedRoutes = []*api.Prefix{
			{Address: []byte{10, 60, 0, 0}, Bits: 16}, {Address: []byte{0x20, 1, 0xd, 0xb8, 0, 0x60, 15: 0}, Bits: 48}}
	}},
	{"Framed-Route of nonsense", rareRequest{pdi: []*ie.IE{ie.NewFramedRoute("everywhere")}}, 73, "PDR", nil},
	{"Framed-Routing by RIP", rareRequest{pdi: []*ie.IE{ie.NewFramedRouting(3)}}, 73, "PDR", nil},
	{"a delegated prefix", rareRequest{pdi: []*ie.IE{ie.NewUEIPAddress(0x09, "", "2001:db8:1:200::", 8, 0)}}, 73, "PDR", func(s *api.Session) {
		s.Rules[1].Detect.FramedRoutes = []*api.Prefix{{Address: []byte{0x20, 1, 0xd, 0xb8, 0, 1, 2, 15: 0}, Bits: 56}}
	}},
	{"removal of UDP/IPv4", rareRequest{pdr: []*ie.IE{ie.NewOuterHeaderRemoval(2, 0)}}, 73, "PDR", func(s *api.Session) {
		s.Rules[1].Unwrap = api.Unwrap_UNWRAP_UDP
	}},
	{"removal of nothing that is known", rareRequest{pdr: []*ie.IE{ie.NewOuterHeaderRemoval(9, 0)}}, 73, "PDR", nil},
	{"Ethernet Packet Filter", rareRequest{
		pdi: []*ie.IE{ie.NewEthernetPDUSessionInformation(1), ie.NewEthernetPacketFilter(
			ie.NewEthernetFilterID(5), ie.NewEthernetFilterProperties(1),
			ie.NewMACAddress(net.HardwareAddr{2, 0, 0, 0, 0, 1}, nil, net.HardwareAddr{2, 0, 0, 0, 0, 9}, nil),
			ie.NewEthertype(0x0800), ie.NewCTAG(0x05, 3, 0, 0x34), ie.NewSDFFilter("permit out 6 from any 443 to assigned", "", "", "", 0))},
		more: []*ie.IE{ie.NewPDNType(5)},
	}, 76, "", func(s *api.Session) {
		s.PduType = api.PDUType_ETHERNET
		d := s.Rules[1].Detect
		d.EthernetSession = true
		d.EthernetFilters = []*api.EthernetFilter{{
			Id: 5, Bidirectional: true, Ethertype: 0x0800, CTag: &api.VLANTag{Vid: proto.Uint32(0x34), Pcp: proto.Uint32(3)},
			Macs:    []*api.MACs{{Source: []byte{2, 0, 0, 0, 0, 1}, SourceUpper: []byte{2, 0, 0, 0, 0, 9}}},
			Filters: []*api.Filter{{Protocol: proto.Uint32(6), RemotePorts: []*api.PortRange{{First: 443, Last: 443}}}},
		}}
	}},
	{"Non-IP", rareRequest{more: []*ie.IE{ie.NewPDNType(4)}}, 76, "", func(s *api.Session) { s.PduType = api.PDUType_UNSTRUCTURED }},
	{"measurement before enforcement", rareRequest{urr: []*ie.IE{
		ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(2, 0), ie.NewVolumeThreshold(1, 5000, 0, 0), ie.NewMeasurementInformation(1)}}, 73, "URR", func(s *api.Session) {
		s.Urrs = []*api.URR{{Id: 4, BeforeEnforcement: true, Threshold: &api.Volume{Total: 5000}}}
	}},
}

// TestGoPFCPRare: what go-pfcp writes of what few sessions ask for reaches the datapath
// if it can do it, and is refused with the right Cause and rule if it cannot.
func TestGoPFCPRare(t *testing.T) {
	usual, able := newBed(t, Config{}), newWillingBed(t, Config{})
	cu, ca := usual.client(t, "127.0.0.1"), able.client(t, "127.0.0.1")
	cu.associate("127.0.0.1", recoveryTime)
	ca.associate("127.0.0.1", recoveryTime)
	plain := rareRequest{}
	_, _, seid := plain.establish(t, ca, 2)
	common := able.driver.held()[seid]
	delete1(t, ca, seid, 3)
	for i, tc := range rareTests {
		t.Run(tc.name, func(t *testing.T) {
			seq := uint32(10 + i)
			if cause, failed, _ := tc.ask.establish(t, cu, seq); cause != tc.cause || failed != tc.failed {
				t.Errorf("a datapath that cannot: Cause %d, %q; want %d, %q", cause, failed, tc.cause, tc.failed)
			}
			if n := len(usual.driver.held()); n != 0 {
				t.Errorf("%d sessions are in the datapath", n)
			}
			cause, failed, seid := tc.ask.establish(t, ca, seq)
			if tc.want == nil {
				if cause != tc.cause || failed != tc.failed {
					t.Errorf("Cause %d, %q; want %d, %q", cause, failed, tc.cause, tc.failed)
				}
				return
			}
			if cause != ie.CauseRequestAccepted {
				t.Fatalf("Cause %d, %q; want it to be accepted", cause, failed)
			}
			want := proto.Clone(common).(*api.Session)
			got := able.driver.held()[seid]
			want.Seid, want.Rules[0].Detect.FTeid = seid, got.Rules[0].Detect.FTeid
			tc.want(want)
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("datapath (-want +got):\n%s", diff)
			}
			delete1(t, ca, seid, seq+1000)
		})
	}
}

// delete1 deletes a session.
func delete1(t *testing.T, c *client, seid uint64, seq uint32) {
	t.Helper()
	askGoPFCP(t, c, message.NewSessionDeletionRequest(0, 0, seid, seq, 0), func(r *message.SessionDeletionResponse) *ie.IE { return r.Cause })
}
