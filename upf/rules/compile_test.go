package rules

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/bus"
	"github.com/plumbline-upf/plumbline/upf/session"
)

var n3 = session.IPv4{10, 3, 0, 1}

// establishment is a session of one PDR each way.
func establishment() *session.Establishment {
	ue := session.UEAddress{IPv4: session.IPv4{10, 45, 0, 2}}
	return &session.Establishment{
		Owner: 1, DNN: "internet",
		CreatePDRs: []session.PDR{
			{ID: 1, Precedence: 100, FARID: 1, QERIDs: []uint32{1}, PDI: session.PDI{SourceInterface: session.Core, UEAddress: ue}},
			{ID: 2, Precedence: 100, FARID: 2, QERIDs: []uint32{1}, OuterHeaderRemoval: true,
				PDI: session.PDI{FTEID: session.FTEID{TEID: 7, IPv4: n3}}},
		},
		CreateFARs: []session.FAR{
			{ID: 1, ApplyAction: session.Forward, HasForwarding: true, Forwarding: session.ForwardingParameters{
				OuterHeaderCreation: session.OuterHeaderCreation{TEID: 2, IPv4: session.IPv4{10, 3, 0, 2}}}},
			{ID: 2, ApplyAction: session.Forward, HasForwarding: true, Forwarding: session.ForwardingParameters{DestinationInterface: session.Core}},
		},
		CreateQERs: []session.QER{{ID: 1, QFI: 9}},
	}
}

// want is what a datapath holds of establishment.
func want(seid uint64) *api.Session {
	return &api.Session{
		Seid: seid,
		Rules: []*api.Rule{
			{PdrId: 1, Precedence: 100, FarId: 1, QerIds: []uint32{1},
				Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: &api.UEAddress{Ipv4: 0x0a2d0002}},
				Forward: &api.Forward{Action: api.Action_FORW,
					OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 2, Ipv4: 0x0a030002}}},
			{PdrId: 2, Precedence: 100, FarId: 2, QerIds: []uint32{1}, OuterHeaderRemoval: true,
				Detect:  &api.Detect{FTeid: &api.FTEID{Teid: 7, Ipv4: 0x0a030001}},
				Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE}},
		},
		Qers: []*api.QER{{Id: 1, Qfi: 9}},
	}
}

// TestCompileSessions: what a session asks for, with what it has from elsewhere, as
// the datapath gets it from a session manager. Each row is in the same memory as
// the one before.
func TestCompileSessions(t *testing.T) {
	udp := session.SDFFilter{Protocol: session.Some(uint8(17)), Remote: netip.MustParsePrefix("2001:db8::/32"),
		RemotePorts: []session.PortRange{{First: 53, Last: 54}}, TOS: 8, TOSMask: 0xfc, FlowLabel: session.Some(uint32(5))}
	apiUDP := &api.Filter{Protocol: proto.Uint32(17), RemotePorts: []*api.PortRange{{First: 53, Last: 54}},
		Remote: &api.Prefix{Address: []byte{0x20, 1, 0xd, 0xb8, 15: 0}, Bits: 32}, Tos: 8, TosMask: 0xfc, FlowLabel: proto.Uint32(5)}
	esp := session.SDFFilter{SPI: session.Some(uint32(3)), Local: netip.MustParsePrefix("10.45.0.2/32")}
	apiESP := &api.Filter{Spi: proto.Uint32(3), Local: &api.Prefix{Address: []byte{10, 45, 0, 2}, Bits: 32}}
	v6 := session.IPv6{0x20, 1, 15: 9}
	for _, tc := range []struct {
		name string
		ask  func(*session.Establishment)
		want func(*api.Session)
	}{
		{"SDF filters", func(e *session.Establishment) { e.CreatePDRs[0].PDI.Filters = []session.SDFFilter{udp, esp} },
			func(s *api.Session) { s.Rules[0].Detect.Filters = []*api.Filter{apiUDP, apiESP} }},
		{"SDF filters, one of them matches all", func(e *session.Establishment) { e.CreatePDRs[0].PDI.Filters = []session.SDFFilter{udp, {}} },
			func(*api.Session) {}},
		{"application", func(e *session.Establishment) { e.CreatePDRs[0].PDI.ApplicationID = "dns" },
			func(s *api.Session) { s.Rules[0].Detect.Filters = []*api.Filter{apiUDP} }},
		{"nothing of all that", func(*session.Establishment) {}, func(*api.Session) {}},
		{"predefined rules", func(e *session.Establishment) { e.CreatePDRs[0].Predefined = []string{"block", "slow"} },
			func(s *api.Session) {
				block := proto.Clone(s.Rules[0]).(*api.Rule)
				block.PdrId, block.Precedence, block.Detect.Filters = 1<<16|1, 10, []*api.Filter{apiESP}
				block.Forward = &api.Forward{}
				slow := proto.Clone(s.Rules[0]).(*api.Rule)
				slow.PdrId, slow.Precedence, slow.QerIds = 2<<16|1, 20, []uint32{idPredefined}
				s.Rules = append([]*api.Rule{block, slow}, s.Rules...)
				s.Qers = append([]*api.QER{{Id: idPredefined, UplinkMbrBps: 1000, DownlinkMbrBps: 2000}}, s.Qers...)
			}},
		{"slice with rates", func(e *session.Establishment) { e.DNN = "gold" }, func(s *api.Session) {
			s.Slice = 4
			for _, r := range s.Rules {
				r.QerIds = append(r.QerIds, idSlice)
			}
			s.Qers = append([]*api.QER{{Id: idSlice, UplinkMbrBps: 5e6, Shared: 4}}, s.Qers...)
		}},
		{"BUFF and NOCP with a BAR", func(e *session.Establishment) {
			e.CreateFARs[0].ApplyAction, e.CreateFARs[0].BARID = session.Buffer|session.Notify, session.Some(uint8(3))
			e.CreateBARs = []session.BAR{{ID: 3, NotificationDelay: 50 * time.Millisecond, Packets: 300}}
		}, func(s *api.Session) {
			s.Rules[0].Forward = &api.Forward{Action: api.Action_BUFF, Notify: true, BarId: 3}
			s.Bars = []*api.BAR{{Id: 3, NotificationDelayMs: 50, Packets: 300}}
		}},
		{"tunnels over IPv6, N9", func(e *session.Establishment) {
			e.CreatePDRs[1].PDI.FTEID.IPv6 = v6
			e.CreateFARs[1].Forwarding.OuterHeaderCreation = session.OuterHeaderCreation{TEID: 6, IPv6: v6}
		}, func(s *api.Session) {
			s.Rules[1].Detect.FTeid.Ipv6 = v6[:]
			s.Rules[1].Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: 6, Ipv6: v6[:]}
		}},
		{"rates, marks and measurement of few QERs and URRs", func(e *session.Establishment) {
			e.CreateQERs[0] = session.QER{ID: 1, QFI: 9, HasGBR: true, GBR: session.Rate{Uplink: 7, Downlink: 8},
				UplinkPackets: session.PacketRate{TimeMs: 60_000}, DownlinkPackets: session.PacketRate{Packets: 5, TimeMs: 3600_000},
				RQI: true, PagingPolicy: session.Some(uint8(0)), TOS: 0xb8, TOSMask: 0xfc, ServiceClass: session.Some(uint8(3))}
			e.CreatePDRs[0].URRIDs = []uint32{8}
			e.CreateURRs = []session.URR{{ID: 8, Method: session.MeasureVolume, Information: session.InfoMBQE}}
		}, func(s *api.Session) {
			s.Rules[0].UrrIds = []uint32{8}
			s.Urrs = []*api.URR{{Id: 8, BeforeEnforcement: true}}
			s.Qers = []*api.QER{{Id: 1, Qfi: 9, UplinkGbrBps: 7, DownlinkGbrBps: 8, UplinkGateClosed: true, // a rate of 0
				DownlinkPacketRate: &api.PacketRate{Packets: 5, TimeMs: 3600_000}, Rqi: true, PagingPolicy: proto.Uint32(0),
				DownlinkTos: 0xb8, DownlinkTosMask: 0xfc, ServiceClass: proto.Uint32(3)}}
		}},
		{"copies, redirection, policy, and UDP around bare packets", func(e *session.Establishment) {
			f := &e.CreateFARs[1]
			f.ApplyAction = session.Forward | session.Copy
			f.Duplicates = []session.Duplicate{
				{DestinationInterface: session.LIFunction, DSCP: session.Some(uint8(8)), OuterHeaderCreation: session.OuterHeaderCreation{TEID: 4, IPv6: v6}},
				{DestinationInterface: session.SGiLAN, ForwardingPolicy: "copy"},
			}
			f.Forwarding.Redirect, f.Forwarding.ForwardingPolicy = &session.Redirect{IPv4: session.IPv4{1, 2, 3, 4}, IPv6: v6}, "gold"
			f.Forwarding.OuterHeaderCreation = session.OuterHeaderCreation{Encapsulation: session.UDP, Port: 99, IPv4: session.IPv4{1, 2, 3, 5}}
			e.CreatePDRs[0].Unwrap = session.UnwrapIP
		}, func(s *api.Session) {
			s.Rules[0].Unwrap = api.Unwrap_UNWRAP_IP
			s.Rules[1].Forward = &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE, ForwardingPolicy: "gold",
				Redirect:            &api.Redirect{Ipv4: 0x01020304, Ipv6: v6[:]},
				OuterHeaderCreation: &api.OuterHeaderCreation{Encapsulation: api.Encapsulation_UDP, Port: 99, Ipv4: 0x01020305},
				Duplicates: []*api.Duplicate{
					{DestinationInterface: api.Interface_CORE, Dscp: proto.Uint32(8), OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 4, Ipv6: v6[:]}},
					{DestinationInterface: api.Interface_SGI_LAN, ForwardingPolicy: "copy"},
				}}
		}},
		{"framed routes, and several Traffic Endpoints", func(e *session.Establishment) {
			e.CreateEndpoints = []session.TrafficEndpoint{
				{ID: 1, UEAddress: e.CreatePDRs[0].PDI.UEAddress, NetworkInstance: "one"},
				{ID: 2, Framed: []netip.Prefix{netip.MustParsePrefix("10.60.0.0/16"), netip.MustParsePrefix("2001:db8::/48")}},
			}
			e.CreatePDRs[0].PDI = session.PDI{SourceInterface: session.Core, Endpoint: session.Some(uint8(1)), MoreEndpoints: []uint8{2}, Filters: []session.SDFFilter{udp}}
		}, func(s *api.Session) {
			s.Rules[0].Detect.NetworkInstance, s.Rules[0].Detect.Filters = "one", []*api.Filter{apiUDP}
			more := proto.Clone(s.Rules[0]).(*api.Rule)
			more.PdrId = 1<<shiftEndpoint | 1
			more.Detect.UeAddress, more.Detect.NetworkInstance = nil, ""
			more.Detect.FramedRoutes = []*api.Prefix{{Address: []byte{10, 60, 0, 0}, Bits: 16}, {Address: []byte{0x20, 1, 0xd, 0xb8, 15: 0}, Bits: 48}}
			s.Rules = []*api.Rule{s.Rules[0], more, s.Rules[1]}
		}},
		{"Ethernet: a bidirectional filter, named from the other direction", func(e *session.Establishment) {
			e.PDNType = session.PDNTypeEth
			a, b := session.MAC{2, 0, 0, 0, 0, 1}, session.MAC{2, 0, 0, 0, 0, 2}
			e.CreatePDRs[1].PDI.Ethernet = []session.EthernetFilter{{ID: session.Some(uint32(7)), Bidirectional: true, Ethertype: 0x800,
				MACs: []session.MACs{{Source: session.Some(a), UpperSource: session.Some(b)}},
				CTAG: session.Some(session.VLANTag{VID: session.Some(uint16(5)), DEI: session.Some(false)}), Filters: []session.SDFFilter{udp}}}
			e.CreatePDRs[0].PDI.UEAddress = session.UEAddress{}
			e.CreatePDRs[0].PDI.Ethernet = []session.EthernetFilter{{ID: session.Some(uint32(7)), Reference: true}}
			e.CreateFARs[1].Forwarding.OuterHeaderCreation = session.OuterHeaderCreation{Encapsulation: session.Tags, STAG: session.Some(uint16(0xe005))}
			e.CreateFARs[1].Forwarding.ProxyARP = true
		}, func(s *api.Session) {
			s.PduType = api.PDUType_ETHERNET
			filter := func(m *api.MACs) []*api.EthernetFilter {
				return []*api.EthernetFilter{{Id: 7, Bidirectional: true, Ethertype: 0x800, Macs: []*api.MACs{m}, Filters: []*api.Filter{apiUDP},
					CTag: &api.VLANTag{Vid: proto.Uint32(5), Dei: proto.Uint32(0)}}}
			}
			s.Rules[0].Detect = &api.Detect{SourceInterface: api.Interface_CORE, EthernetSession: true,
				EthernetFilters: filter(&api.MACs{Destination: []byte{2, 0, 0, 0, 0, 1}, DestinationUpper: []byte{2, 0, 0, 0, 0, 2}})}
			s.Rules[1].Detect.EthernetFilters = filter(&api.MACs{Source: []byte{2, 0, 0, 0, 0, 1}, SourceUpper: []byte{2, 0, 0, 0, 0, 2}})
			s.Rules[1].Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Encapsulation: api.Encapsulation_TAG, STag: proto.Uint32(0xe005)}
			s.Rules[1].Forward.ProxyArp = true
		}},
		{"unstructured", func(e *session.Establishment) { e.PDNType = session.PDNTypeNonIP },
			func(s *api.Session) { s.PduType = api.PDUType_UNSTRUCTURED }},
		{"URR", func(e *session.Establishment) {
			e.CreatePDRs[0].URRIDs = []uint32{8}
			e.CreateURRs = []session.URR{{ID: 8, Method: session.MeasureVolume, Triggers: session.ReportVOLTH | session.ReportSTART,
				VolumeThreshold: session.Volume{HasUplink: true, Uplink: 70}, VolumeQuota: session.Volume{HasTotal: true, Total: 90}}}
		}, func(s *api.Session) {
			s.Rules[0].UrrIds = []uint32{8}
			s.Urrs = []*api.URR{{Id: 8, Threshold: &api.Volume{Uplink: 70}, Quota: &api.Volume{Total: 90}, StartOfTraffic: true}}
		}},
		{"quota of nothing, with a FAR for it", func(e *session.Establishment) {
			e.CreatePDRs[0].URRIDs = []uint32{8}
			e.CreateFARs = append(e.CreateFARs, session.FAR{ID: 5, ApplyAction: session.Buffer})
			e.CreateURRs = []session.URR{{ID: 8, Method: session.MeasureVolume, VolumeQuota: session.Volume{HasTotal: true}, QuotaFAR: session.Some(uint32(5))}}
		}, func(s *api.Session) {
			s.Rules[0].UrrIds, s.Rules[0].Forward = []uint32{8}, &api.Forward{Action: api.Action_BUFF}
			s.Urrs = []*api.URR{{Id: 8}} // the datapath must not drop what the FAR is for
		}},
		{"quota of nothing", func(e *session.Establishment) {
			e.CreatePDRs[1].URRIDs = []uint32{8}
			e.CreateURRs = []session.URR{{ID: 8, Method: session.MeasureVolume, VolumeQuota: session.Volume{HasTotal: true}}}
		}, func(s *api.Session) {
			s.Rules[1].UrrIds, s.Rules[1].Forward = []uint32{8}, &api.Forward{Spent: true}
			s.Urrs = []*api.URR{{Id: 8, Quota: &api.Volume{}}}
		}},
		{"quota of nothing, with a FAR for it that drops", func(e *session.Establishment) {
			e.CreatePDRs[0].URRIDs = []uint32{8}
			e.CreateFARs = append(e.CreateFARs, session.FAR{ID: 5, ApplyAction: session.Drop})
			e.CreateURRs = []session.URR{{ID: 8, Method: session.MeasureVolume, VolumeQuota: session.Volume{HasTotal: true}, QuotaFAR: session.Some(uint32(5))}}
		}, func(s *api.Session) {
			s.Rules[0].UrrIds, s.Rules[0].Forward = []uint32{8}, &api.Forward{Spent: true}
			s.Urrs = []*api.URR{{Id: 8}}
		}},
		{"the usual one again", func(*session.Establishment) {}, func(*api.Session) {}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := new(driver)
			m, err := session.NewManager(session.Config{
				MaxSessions: 8, Endpoints: []session.Endpoint{{IPv4: n3, IPv6: v6}},
				Predefined: []session.PredefinedRule{
					{Name: "block", Precedence: 10, Filters: []session.SDFFilter{esp}, Drop: true},
					{Name: "slow", Precedence: 20, HasQER: true, QER: session.QER{HasMBR: true, MBR: session.Rate{Uplink: 1000, Downlink: 2000}}},
				},
				Slices: []session.Slice{{Number: 4, DNNs: []string{"gold"}, UplinkMBR: 5e6}},
			}, Compiler{Bus: bus.InProcess{Driver: d}})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.SetPFDs(t.Context(), "dns", []session.SDFFilter{udp}); err != nil {
				t.Fatal(err)
			}
			req, r := establishment(), new(session.Result)
			tc.ask(req)
			if err := m.Establish(t.Context(), req, r); err != nil {
				t.Fatal(err)
			}
			w := want(r.Session.SEID)
			tc.want(w)
			if diff := cmp.Diff(w, d.change.Session, protocmp.Transform()); diff != "" {
				t.Errorf("installed (-want +got):\n%s", diff)
			}
			// The change of a path: End Markers, and packets that were buffered.
			if err := m.Modify(t.Context(), &session.Modification{
				SEID: r.Session.SEID, Owner: 1, DropBuffered: true, UpdateFARs: []session.UpdateFAR{{
					ID: 1, HasForwarding: true, SendEndMarkers: true,
					OuterHeaderCreation: session.Some(session.OuterHeaderCreation{TEID: 3, IPv4: session.IPv4{10, 3, 0, 3}}),
				}},
			}, r); err != nil {
				t.Fatal(err)
			}
			markers := []*api.EndMarker{{Tunnel: &api.OuterHeaderCreation{Teid: 2, Ipv4: 0x0a030002}}}
			if diff := cmp.Diff(markers, d.change.EndMarkers, protocmp.Transform()); diff != "" || !d.change.DropBuffered {
				t.Errorf("End Markers, dropped %v (-want +got):\n%s", d.change.DropBuffered, diff)
			}
		})
	}
}

// nowhere is a datapath that costs nothing.
type nowhere struct{ bus.Bus }

func (nowhere) Apply(context.Context, *api.Change) error { return nil }

// TestCompileAllocations: compiling a session of the usual shape allocates nothing.
func TestCompileAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool forgets under the race detector")
	}
	s, c := usual(t), Compiler{Bus: nowhere{}}
	ctx := t.Context()
	if got := testing.AllocsPerRun(1000, func() {
		if err := c.Install(ctx, &session.Change{Session: s}); err != nil {
			t.Error(err)
		}
	}); got > 1 { // the change itself, here in the test
		t.Errorf("%v allocations, want none", got)
	}
}

func BenchmarkCompile(b *testing.B) {
	s := usual(b)
	ch, c := &session.Change{Session: s}, Compiler{Bus: nowhere{}}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Install(b.Context(), ch); err != nil {
			b.Fatal(err)
		}
	}
}

// usual is a session of 2 PDRs, 2 FARs, 1 QER, 1 URR.
func usual(t testing.TB) *session.Session {
	t.Helper()
	m, err := session.NewManager(session.Config{
		MaxSessions: 8, Endpoints: []session.Endpoint{{IPv4: n3}},
	}, Compiler{Bus: nowhere{}})
	if err != nil {
		t.Fatal(err)
	}
	req, r := establishment(), new(session.Result)
	req.CreateURRs = []session.URR{{ID: 1, Method: session.MeasureVolume, Triggers: session.ReportVOLTH,
		VolumeThreshold: session.Volume{HasTotal: true, Total: 1e6}}}
	for i := range req.CreatePDRs {
		req.CreatePDRs[i].URRIDs = []uint32{1}
	}
	if err := m.Establish(t.Context(), req, r); err != nil {
		t.Fatal(err)
	}
	return r.Session
}
