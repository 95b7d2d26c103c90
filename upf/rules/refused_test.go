package rules

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/bus"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// able can do all that one datapath can do and another cannot.
var able = &api.Capabilities{
	N3Ipv4: []uint32{0x0a030001}, N3Ipv6: [][]byte{make([]byte, 16)},
	TunnelToTunnel: true, Filters: true, Usage: true, Buffering: true, EndMarker: true, FramedRoutes: true, Hosts: true,
	Marking: true, PacketRate: true, Gbr: true, Duplicate: true, Redirect: true, Ethernet: true, Unstructured: true,
	Encapsulations: true, DroppedDownlink: true, BeforeEnforcement: true, ContainerDeletion: true, Replacement: true,
	ForwardingPolicies: []string{"gold"},
}

// limited is a datapath that can do what it says, and takes it.
type limited struct {
	driver
	can *api.Capabilities
}

func (l *limited) Apply(_ context.Context, c *api.Change) error { return datapath.Check(c, l.can) }

// TestLacking: a change that the datapath cannot apply is refused with the Cause and the
// failed rule, the error names the one missing feature, and nothing is installed.
func TestLacking(t *testing.T) {
	about := func(r session.RuleType, id uint32) session.Error {
		return session.Error{Cause: session.CauseRuleFailure, HasRule: true, Rule: r, RuleID: id}
	}
	pdnType := session.Error{Cause: session.CauseServiceNotSupported, OffendingIE: session.IEPDNType}
	up := func(e *session.Establishment) *session.ForwardingParameters { return &e.CreateFARs[1].Forwarding }
	peer := session.OuterHeaderCreation{TEID: 9, IPv4: session.IPv4{10, 3, 0, 9}}
	for _, tc := range []struct {
		name string
		lack func(*api.Capabilities)
		ask  func(*session.Establishment)
		want session.Error
	}{
		{"N9", func(c *api.Capabilities) { c.TunnelToTunnel = false },
			func(e *session.Establishment) { up(e).OuterHeaderCreation = peer }, about(session.RulePDR, 2)},
		{"GTP-U Extension Header Deletion into a tunnel", func(c *api.Capabilities) { c.ContainerDeletion = false }, func(e *session.Establishment) {
			e.CreatePDRs[1].DropsContainer, up(e).OuterHeaderCreation = true, peer
		}, about(session.RulePDR, 2)},
		{"SDF filter", func(c *api.Capabilities) { c.Filters = false }, func(e *session.Establishment) {
			e.CreatePDRs[0].PDI.Filters = []session.SDFFilter{{Protocol: session.Some(uint8(17))}}
		}, about(session.RulePDR, 1)},
		{"two PDRs for one UE address", func(c *api.Capabilities) { c.Filters = false }, func(e *session.Establishment) {
			e.CreatePDRs = append(e.CreatePDRs, e.CreatePDRs[0])
			e.CreatePDRs[2].ID, e.CreatePDRs[2].Precedence = 3, 1
		}, about(session.RulePDR, 1)},
		{"two PDRs for one F-TEID", func(c *api.Capabilities) { c.Filters = false }, func(e *session.Establishment) {
			e.CreatePDRs = append(e.CreatePDRs, e.CreatePDRs[1])
			e.CreatePDRs[2].ID = 3
		}, about(session.RulePDR, 3)},
		{"URR", func(c *api.Capabilities) { c.Usage = false }, func(e *session.Establishment) {
			e.CreateURRs = []session.URR{{ID: 4, Method: session.MeasureVolume}}
		}, about(session.RuleURR, 4)},
		{"measurement before enforcement", func(c *api.Capabilities) { c.BeforeEnforcement = false }, func(e *session.Establishment) {
			e.CreateURRs = []session.URR{{ID: 4, Method: session.MeasureVolume, Information: session.InfoMBQE}}
		}, about(session.RuleURR, 4)},
		{"dropped DL traffic", func(c *api.Capabilities) { c.DroppedDownlink = false }, func(e *session.Establishment) {
			e.CreateURRs = []session.URR{{ID: 4, Triggers: session.ReportDROTH, DroppedThreshold: session.DroppedThreshold{Packets: 1}}}
		}, about(session.RuleURR, 4)},
		{"BUFF and NOCP", func(c *api.Capabilities) { c.Buffering = false }, func(e *session.Establishment) {
			e.CreateFARs[0].ApplyAction = session.Buffer | session.Notify
		}, about(session.RuleFAR, 1)},
		{"DDPN", func(c *api.Capabilities) { c.DroppedDownlink = false }, func(e *session.Establishment) {
			e.CreateFARs[0].ApplyAction = session.Drop | session.NotifyDiscarded
		}, about(session.RuleFAR, 1)},
		{"BAR", func(c *api.Capabilities) { c.Buffering = false },
			func(e *session.Establishment) { e.CreateBARs = []session.BAR{{ID: 2}} }, about(session.RuleBAR, 2)},
		{"tunnel over IPv6", func(c *api.Capabilities) { c.N3Ipv6 = nil }, func(e *session.Establishment) {
			e.CreateFARs[0].Forwarding.OuterHeaderCreation = session.OuterHeaderCreation{TEID: 9, IPv6: session.IPv6{0x20, 1}}
		}, about(session.RuleFAR, 1)},
		{"Packet Rate", func(c *api.Capabilities) { c.PacketRate = false }, func(e *session.Establishment) {
			e.CreateQERs[0].DownlinkPackets = session.PacketRate{Packets: 5, TimeMs: 60_000}
		}, about(session.RuleQER, 1)},
		{"GBR", func(c *api.Capabilities) { c.Gbr = false }, func(e *session.Establishment) {
			e.CreateQERs[0].HasGBR, e.CreateQERs[0].GBR = true, session.Rate{Uplink: 1e6, Downlink: 1e6}
		}, about(session.RuleQER, 1)},
		{"RQI", func(c *api.Capabilities) { c.Marking = false }, func(e *session.Establishment) { e.CreateQERs[0].RQI = true }, about(session.RuleQER, 1)},
		{"flow marking", func(c *api.Capabilities) { c.Marking = false },
			func(e *session.Establishment) { e.CreateQERs[0].TOSMask = 0xfc }, about(session.RuleQER, 1)},
		{"service class", func(c *api.Capabilities) { c.Marking = false },
			func(e *session.Establishment) { e.CreateQERs[0].ServiceClass = session.Some(uint8(3)) }, about(session.RuleQER, 1)},
		{"DUPL", func(c *api.Capabilities) { c.Duplicate = false }, func(e *session.Establishment) {
			e.CreateFARs[0].ApplyAction = session.Forward | session.Copy
			e.CreateFARs[0].Duplicates = []session.Duplicate{{DestinationInterface: session.LIFunction, OuterHeaderCreation: peer}}
		}, about(session.RuleFAR, 1)},
		{"redirection", func(c *api.Capabilities) { c.Redirect = false },
			func(e *session.Establishment) { up(e).Redirect = &session.Redirect{URL: "http://a/"} }, about(session.RuleFAR, 2)},
		{"replacement", func(c *api.Capabilities) { c.Replacement = false },
			func(e *session.Establishment) { up(e).Replacement = &session.Replacement{DestinationPort: 1} }, about(session.RuleFAR, 2)},
		{"policy", func(c *api.Capabilities) { c.ForwardingPolicies = nil },
			func(e *session.Establishment) { up(e).ForwardingPolicy = "gold" }, about(session.RuleFAR, 2)},
		{"policy of a copy", func(c *api.Capabilities) { c.ForwardingPolicies = nil }, func(e *session.Establishment) {
			e.CreateFARs[0].ApplyAction = session.Forward | session.Copy
			e.CreateFARs[0].Duplicates = []session.Duplicate{{DestinationInterface: session.Core, ForwardingPolicy: "gold"}}
		}, about(session.RuleFAR, 1)},
		{"UDP/IP", func(c *api.Capabilities) { c.Encapsulations = false }, func(e *session.Establishment) {
			up(e).OuterHeaderCreation = session.OuterHeaderCreation{Encapsulation: session.UDP, Port: 9, IPv4: peer.IPv4}
		}, about(session.RuleFAR, 2)},
		{"IP in IP", func(c *api.Capabilities) { c.Encapsulations = false }, func(e *session.Establishment) {
			up(e).OuterHeaderCreation = session.OuterHeaderCreation{Encapsulation: session.PlainIP, IPv4: peer.IPv4}
		}, about(session.RuleFAR, 2)},
		{"removal of UDP/IP", func(c *api.Capabilities) { c.Encapsulations = false },
			func(e *session.Establishment) { e.CreatePDRs[0].Unwrap = session.UnwrapUDP }, about(session.RulePDR, 1)},
		{"framed route", func(c *api.Capabilities) { c.FramedRoutes = false }, func(e *session.Establishment) {
			e.CreatePDRs[0].PDI.Framed = []netip.Prefix{netip.MustParsePrefix("10.60.0.0/16")}
		}, about(session.RulePDR, 1)},
		{"framed route alone", func(c *api.Capabilities) { c.FramedRoutes = false }, func(e *session.Establishment) {
			e.CreatePDRs[0].PDI.UEAddress, e.CreatePDRs[0].PDI.Framed = session.UEAddress{}, []netip.Prefix{netip.MustParsePrefix("2001:db8::/56")}
		}, about(session.RulePDR, 1)},
		{"Ethernet", func(c *api.Capabilities) { c.Ethernet = false }, func(e *session.Establishment) {
			e.PDNType = session.PDNTypeEth
			e.CreatePDRs[0].PDI.UEAddress, e.CreatePDRs[0].PDI.EthernetSession = session.UEAddress{}, true
		}, pdnType},
		{"Non-IP", func(c *api.Capabilities) { c.Unstructured = false }, func(e *session.Establishment) {
			e.PDNType = session.PDNTypeNonIP
			up(e).OuterHeaderCreation = session.OuterHeaderCreation{Encapsulation: session.UDP, Port: 9, IPv4: peer.IPv4}
		}, pdnType},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := establishment()
			tc.ask(e)
			if err := establishOver(t, able, e); err != nil {
				t.Errorf("with a datapath that can: %v", err)
			}
			can := proto.CloneOf(able)
			tc.lack(can)
			err := establishOver(t, can, e)
			var got *session.Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want %+v", err, tc.want)
			}
			if !errors.Is(err, datapath.ErrUnsupported) {
				t.Errorf("got %v, want %v", err, datapath.ErrUnsupported)
			}
			if tc.want.Err = got.Err; *got != tc.want {
				t.Errorf("got %+v (%v), want %+v", *got, err, tc.want)
			}
		})
	}
}

// establishOver establishes a session over a datapath that can do what can says.
func establishOver(t *testing.T, can *api.Capabilities, e *session.Establishment) error {
	t.Helper()
	m, err := session.NewManager(session.Config{MaxSessions: 8, Endpoints: []session.Endpoint{{IPv4: n3}}},
		Compiler{Bus: bus.InProcess{Driver: &limited{can: can}}})
	if err != nil {
		t.Fatal(err)
	}
	err = m.Establish(t.Context(), e, new(session.Result))
	if err != nil && m.Len() != 0 {
		t.Errorf("%d sessions are left behind", m.Len())
	}
	return err
}
