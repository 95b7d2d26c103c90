package datapath

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// bare is a datapath that can do little beyond the common session.
var bare = &api.Capabilities{Name: "bare", N3Ipv4: []uint32{1}}

var all = &api.Capabilities{
	Name: "all", N3Ipv4: []uint32{1}, N3Ipv6: [][]byte{make([]byte, 16)},
	TunnelToTunnel: true, Filters: true, Usage: true, Buffering: true, EndMarker: true,
	FramedRoutes: true, Hosts: true, Marking: true, PacketRate: true, Gbr: true, Duplicate: true, Redirect: true, Replacement: true,
	Ethernet: true, Unstructured: true, Encapsulations: true, DroppedDownlink: true, BeforeEnforcement: true,
	ContainerDeletion:  true,
	ForwardingPolicies: []string{"proxy"}, NetworkInstances: []string{"internet"},
}

func common() *api.Change {
	return &api.Change{Seid: 1, Session: &api.Session{
		Seid: 1,
		Rules: []*api.Rule{
			{
				PdrId: 1, FarId: 11, OuterHeaderRemoval: true,
				Detect:  &api.Detect{FTeid: &api.FTEID{Teid: 1, Ipv4: 1}, UeAddress: &api.UEAddress{Ipv4: 2}},
				Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE},
			},
			{
				PdrId: 2, FarId: 12,
				Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: &api.UEAddress{Ipv4: 2}},
				Forward: &api.Forward{
					Action: api.Action_FORW, OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 7, Ipv4: 3},
				},
			},
		},
	}}
}

// TestCapabilities: what a datapath says that it cannot do is refused with the
// rule that asks for it, and taken where it says that it can.
func TestCapabilities(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(c *api.Change, s *api.Session)
		rule   api.RuleType
		id     uint32 // 0: about no rule
	}{
		{"several PDRs on one F-TEID", func(_ *api.Change, s *api.Session) {
			r := common().Session.Rules[0]
			r.PdrId = 3
			s.Rules = append(s.Rules, r)
		}, api.RuleType_PDR_RULE, 3},
		{"an SDF filter", func(_ *api.Change, s *api.Session) {
			s.Rules[0].Detect.Filters = []*api.Filter{{}}
		}, api.RuleType_PDR_RULE, 1},
		{"tunnel to tunnel", func(_ *api.Change, s *api.Session) {
			s.Rules[0].Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: 7, Ipv4: 3}
		}, api.RuleType_PDR_RULE, 1},
		{"a URR", func(_ *api.Change, s *api.Session) {
			s.Urrs = []*api.URR{{Id: 4}}
			s.Rules[1].UrrIds = []uint32{4}
		}, api.RuleType_URR_RULE, 4},
		{"a BAR", func(_ *api.Change, s *api.Session) { s.Bars = []*api.BAR{{Id: 5}} }, api.RuleType_BAR_RULE, 5},
		{"BUFF", func(_ *api.Change, s *api.Session) {
			s.Rules[1].Forward = &api.Forward{Action: api.Action_BUFF}
		}, api.RuleType_FAR_RULE, 12},
		{"an F-TEID over IPv6", func(_ *api.Change, s *api.Session) {
			s.Rules[0].Detect.FTeid.Ipv6 = make([]byte, 16)
		}, api.RuleType_PDR_RULE, 1},
		{"a peer over IPv6", func(_ *api.Change, s *api.Session) {
			s.Rules[1].Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: 7, Ipv6: make([]byte, 16)}
		}, api.RuleType_FAR_RULE, 12},
		{"an End Marker", func(c *api.Change, _ *api.Session) {
			c.EndMarkers = []*api.EndMarker{{Tunnel: &api.OuterHeaderCreation{Teid: 7, Ipv4: 3}}}
		}, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := common()
			if err := Check(c, bare); err != nil {
				t.Fatalf("without it: %v", err)
			}
			tc.change(c, c.Session)
			if err := Check(c, all); err != nil {
				t.Errorf("a datapath that can refuses: %v", err)
			}
			err := Check(c, bare)
			var about *RuleError
			if !errors.Is(err, ErrUnsupported) {
				t.Fatalf("got %v, want %v", err, ErrUnsupported)
			}
			if is := errors.As(err, &about); is != (tc.id != 0) || is && (about.Type != tc.rule || about.ID != tc.id) {
				t.Errorf("got %v, want it to be about %v %d", err, tc.rule, tc.id)
			}
		})
	}
}

// TestCheckWhole: what is wrong with a change as such.
func TestCheckWhole(t *testing.T) {
	for name, c := range map[string]*api.Change{
		"SEID 0":            {Session: &api.Session{}},
		"another's session": {Seid: 1, Session: &api.Session{Seid: 2}},
	} {
		if err := Check(c, all); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: got %v, want %v", name, err, ErrUnsupported)
		}
	}
	for _, m := range []*api.OuterHeaderCreation{{Teid: 0, Ipv4: 1}, {Teid: 1}, {Teid: 1, Ipv4: 1, Ipv6: make([]byte, 16)}, {Teid: 1, Ipv6: make([]byte, 4)}} {
		if err := Check(&api.Change{Seid: 1, EndMarkers: []*api.EndMarker{{Tunnel: m}}}, all); !errors.Is(err, ErrUnsupported) {
			t.Errorf("End Marker into %v: got %v, want %v", m, err, ErrUnsupported)
		}
	}
	var about *RuleError
	v6 := netip.MustParseAddr("2001:db8:3::1").AsSlice()
	c := common()
	c.Session.Rules[0].Detect.FTeid = &api.FTEID{Teid: 1, Ipv6: v6}
	if err := Check(c, &api.Capabilities{N3Ipv6: [][]byte{v6}}); !errors.As(err, &about) || about.ID != 12 {
		t.Errorf("a peer over IPv4 without an endpoint: got %v, want an error about FAR 12", err)
	}
	for name, f := range map[string]*api.FTEID{
		"IPv4 address of another": {Teid: 1, Ipv4: 9}, "IPv6 address of another": {Teid: 1, Ipv4: 1, Ipv6: v6}, "5 octets": {Teid: 1, Ipv6: v6[:5]}, "none": {Teid: 1},
	} {
		c.Session.Rules[0].Detect.FTeid = f
		if err := Check(c, all); !errors.As(err, &about) || about.ID != 1 {
			t.Errorf("F-TEID, %s: got %v, want an error about PDR 1", name, err)
		}
	}
	if err := Check(&api.Change{Seid: 1}, bare); err != nil {
		t.Errorf("removal: %v", err)
	}
}
