package datapath

import (
	"errors"
	"net/netip"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

func ptr(n uint32) *uint32 { return &n }

// TestEachCapability: a datapath that can do all but one thing refuses that, and
// the error is about the rule that asks for it.
func TestEachCapability(t *testing.T) {
	const session = -1 // about no rule
	uplink, downlink := func(s *api.Session) *api.Rule { return s.Rules[0] }, func(s *api.Session) *api.Rule { return s.Rules[1] }
	qer := func(q *api.QER) func(s *api.Session) {
		return func(s *api.Session) {
			q.Id = 6
			s.Qers = []*api.QER{q}
		}
	}
	urr := func(u *api.URR) func(s *api.Session) {
		return func(s *api.Session) {
			u.Id = 7
			s.Urrs = []*api.URR{u}
		}
	}
	filter := func(f *api.Filter) func(s *api.Session) {
		return func(s *api.Session) { uplink(s).Detect.Filters = []*api.Filter{f} }
	}
	ethernet := func(f func(s *api.Session)) func(s *api.Session) {
		return func(s *api.Session) {
			s.PduType = api.PDUType_ETHERNET
			uplink(s).Detect.UeAddress, downlink(s).Detect.UeAddress = nil, nil
			downlink(s).Detect.EthernetSession = true
			f(s)
		}
	}
	for _, tc := range []struct {
		name   string
		forget func(has *api.Capabilities)
		ask    func(s *api.Session)
		rule   api.RuleType
		id     uint32
	}{
		{"Ethernet session", func(h *api.Capabilities) { h.Ethernet = false }, ethernet(func(*api.Session) {}), session, 0},
		{"unstructured session", func(h *api.Capabilities) { h.Unstructured = false },
			func(s *api.Session) {
				s.PduType = api.PDUType_UNSTRUCTURED
				uplink(s).Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Encapsulation: api.Encapsulation_UDP, Ipv4: 3, Port: 9}
			}, session, 0},
		{"framed route", func(h *api.Capabilities) { h.FramedRoutes = false },
			func(s *api.Session) {
				downlink(s).Detect.FramedRoutes = []*api.Prefix{{Address: []byte{192, 168, 0, 0}, Bits: 16}}
			}, api.RuleType_PDR_RULE, 2},
		{"host", func(h *api.Capabilities) { h.Hosts = false }, filter(&api.Filter{Host: "*.example.org"}), api.RuleType_PDR_RULE, 1},
		{"unwrapping", func(h *api.Capabilities) { h.Encapsulations = false },
			func(s *api.Session) { downlink(s).Unwrap = api.Unwrap_UNWRAP_UDP }, api.RuleType_PDR_RULE, 2},
		{"GTP-U Extension Header Deletion", func(h *api.Capabilities) { h.ContainerDeletion = false },
			func(s *api.Session) {
				uplink(s).DropsContainer = true
				uplink(s).Forward.OuterHeaderCreation = downlink(s).GetForward().GetOuterHeaderCreation()
			}, api.RuleType_PDR_RULE, 1},
		{"Network Instance of a PDI", func(h *api.Capabilities) { h.NetworkInstances = []string{"ims"} },
			func(s *api.Session) { downlink(s).Detect.NetworkInstance = "internet" }, api.RuleType_PDR_RULE, 2},
		{"Network Instance of a FAR", func(h *api.Capabilities) { h.NetworkInstances = []string{"ims"} },
			func(s *api.Session) { uplink(s).Forward.NetworkInstance = "internet" }, api.RuleType_FAR_RULE, 11},
		{"DUPL", func(h *api.Capabilities) { h.Duplicate = false },
			func(s *api.Session) {
				uplink(s).Forward.Duplicates = []*api.Duplicate{{DestinationInterface: api.Interface_CORE}}
			}, api.RuleType_FAR_RULE, 11},
		{"replacement", func(h *api.Capabilities) { h.Replacement = false },
			func(s *api.Session) { uplink(s).Forward.Replacement = &api.Replacement{DestinationPort: 1} }, api.RuleType_FAR_RULE, 11},
		{"redirect", func(h *api.Capabilities) { h.Redirect = false },
			func(s *api.Session) { uplink(s).Forward.Redirect = &api.Redirect{Url: "http://example.org/"} }, api.RuleType_FAR_RULE, 11},
		{"Forwarding Policy", func(h *api.Capabilities) { h.ForwardingPolicies = []string{"other"} },
			func(s *api.Session) { uplink(s).Forward.ForwardingPolicy = "proxy" }, api.RuleType_FAR_RULE, 11},
		{"Forwarding Policy of a copy", func(h *api.Capabilities) { h.ForwardingPolicies = nil },
			func(s *api.Session) {
				uplink(s).Forward.Duplicates = []*api.Duplicate{{DestinationInterface: api.Interface_CORE, ForwardingPolicy: "proxy"}}
			}, api.RuleType_FAR_RULE, 11},
		{"DDPN", func(h *api.Capabilities) { h.DroppedDownlink = false },
			func(s *api.Session) {
				downlink(s).Forward = &api.Forward{Action: api.Action_BUFF, NotifyDiscarded: true}
			}, api.RuleType_FAR_RULE, 12},
		{"UDP/IP", func(h *api.Capabilities) { h.Encapsulations = false },
			func(s *api.Session) {
				uplink(s).Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Encapsulation: api.Encapsulation_UDP, Ipv4: 3, Port: 9}
			}, api.RuleType_FAR_RULE, 11},
		{"GBR", func(h *api.Capabilities) { h.Gbr = false }, qer(&api.QER{DownlinkGbrBps: MinMBR}), api.RuleType_QER_RULE, 6},
		{"Packet Rate", func(h *api.Capabilities) { h.PacketRate = false },
			qer(&api.QER{UplinkPacketRate: &api.PacketRate{Packets: 1, TimeMs: 1}}), api.RuleType_QER_RULE, 6},
		{"RQI", func(h *api.Capabilities) { h.Marking = false }, qer(&api.QER{Rqi: true}), api.RuleType_QER_RULE, 6},
		{"marking", func(h *api.Capabilities) { h.Marking = false }, qer(&api.QER{DownlinkTosMask: 0xfc}), api.RuleType_QER_RULE, 6},
		{"service class", func(h *api.Capabilities) { h.Marking = false }, qer(&api.QER{ServiceClass: ptr(0)}), api.RuleType_QER_RULE, 6},
		{"paging policy", func(h *api.Capabilities) { h.Marking = false }, qer(&api.QER{PagingPolicy: ptr(0)}), api.RuleType_QER_RULE, 6},
		{"before enforcement", func(h *api.Capabilities) { h.BeforeEnforcement = false }, urr(&api.URR{BeforeEnforcement: true}), api.RuleType_URR_RULE, 7},
		{"dropped packets", func(h *api.Capabilities) { h.DroppedDownlink = false }, urr(&api.URR{DroppedDownlinkPackets: 1}), api.RuleType_URR_RULE, 7},
		{"dropped octets", func(h *api.Capabilities) { h.DroppedDownlink = false }, urr(&api.URR{DroppedDownlinkOctets: 1}), api.RuleType_URR_RULE, 7},
		{"MAC addresses", func(h *api.Capabilities) { h.Ethernet = false }, urr(&api.URR{MacAddresses: true}), api.RuleType_URR_RULE, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := common()
			tc.ask(c.Session)
			if err := Check(c, all); err != nil {
				t.Errorf("a datapath that can refuses: %v", err)
			}
			has := proto.CloneOf(all)
			tc.forget(has)
			err := Check(c, has)
			var about *RuleError
			if !errors.Is(err, ErrUnsupported) {
				t.Fatalf("got %v, want %v", err, ErrUnsupported)
			}
			if is := errors.As(err, &about); is != (tc.rule != session) || is && (about.Type != tc.rule || about.ID != tc.id) {
				t.Errorf("got %v, want it to be about %v %d", err, tc.rule, tc.id)
			}
		})
	}
}

// TestBounds: numbers and lengths that no datapath takes.
func TestBounds(t *testing.T) {
	up, down := func(f func(r *api.Rule)) func(s *api.Session) { return func(s *api.Session) { f(s.Rules[0]) } },
		func(f func(r *api.Rule)) func(s *api.Session) { return func(s *api.Session) { f(s.Rules[1]) } }
	qer := func(q *api.QER) func(s *api.Session) { return func(s *api.Session) { s.Qers = []*api.QER{q} } }
	route := func(bits uint32, address ...byte) func(s *api.Session) {
		return down(func(r *api.Rule) { r.Detect.FramedRoutes = []*api.Prefix{{Address: address, Bits: bits}} })
	}
	redirect := func(to *api.Redirect) func(s *api.Session) { return up(func(r *api.Rule) { r.Forward.Redirect = to }) }
	outer := func(ohc *api.OuterHeaderCreation) func(s *api.Session) {
		return up(func(r *api.Rule) { r.Forward.OuterHeaderCreation = ohc })
	}
	global := []byte{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
	for name, ask := range map[string]func(s *api.Session){
		"PDU session type 3":           func(s *api.Session) { s.PduType = 3 },
		"1025 PDRs":                    func(s *api.Session) { s.Rules = make([]*api.Rule, MaxRules+1) },
		"17 QERs":                      up(func(r *api.Rule) { r.QerIds = make([]uint32, MaxRefs+1) }),
		"1025 filters":                 up(func(r *api.Rule) { r.Detect.Filters = make([]*api.Filter, MaxFilters+1) }),
		"33 ports":                     up(func(r *api.Rule) { r.Detect.Filters = []*api.Filter{{LocalPorts: make([]*api.PortRange, MaxPorts+1)}} }),
		"a host in upper case":         up(func(r *api.Rule) { r.Detect.Filters = []*api.Filter{{Host: "Example.org"}} }),
		"Unwrap 9":                     down(func(r *api.Rule) { r.Unwrap = 9 }),
		"two Outer Header Removals":    up(func(r *api.Rule) { r.Unwrap = api.Unwrap_UNWRAP_UDP }),
		"tags of an IP session":        down(func(r *api.Rule) { r.Unwrap = api.Unwrap_UNWRAP_S_TAG }),
		"Ethernet in an IP session":    down(func(r *api.Rule) { r.Detect.EthernetSession = true }),
		"a framed route to everywhere": route(0, 0, 0, 0, 0),
		"half of everywhere":           route(1, 0, 0, 0, 0),
		"a framed route of 33 bits":    route(33, 10, 0, 0, 0),
		"a framed route of 3 octets":   route(8, 10, 0, 0),
		"an IPv6 route of 65 bits":     route(65, global...),
		"an IPv6 route to link-local":  route(64, append([]byte{0xfe, 0x80}, global[2:]...)...),
		"65 framed routes":             down(func(r *api.Rule) { r.Detect.FramedRoutes = make([]*api.Prefix, MaxFramedRoutes+1) }),
		"9 copies":                     up(func(r *api.Rule) { r.Forward.Duplicates = make([]*api.Duplicate, MaxDuplicates+1) }),
		"a copy back to ACCESS":        up(func(r *api.Rule) { r.Forward.Duplicates = []*api.Duplicate{{}} }),
		"a copy to ourselves": up(func(r *api.Rule) {
			r.Forward.Duplicates = []*api.Duplicate{{OuterHeaderCreation: &api.OuterHeaderCreation{Ipv4: 1, Teid: 1}}}
		}),
		"replacement by 4 octets of IPv6": up(func(r *api.Rule) {
			r.Forward.Replacement = &api.Replacement{SourceIpv6: make([]byte, 4)}
		}),
		"replacement by port 65536":    up(func(r *api.Rule) { r.Forward.Replacement = &api.Replacement{SourcePort: 65536} }),
		"redirect to nowhere":          redirect(&api.Redirect{}),
		"redirect to two places":       redirect(&api.Redirect{Ipv4: 1, Url: "http://example.org"}),
		"a URL with a line end":        redirect(&api.Redirect{Url: "http://example.org/\r\nSet-Cookie: a=b"}),
		"redirect to 4 octets of IPv6": redirect(&api.Redirect{Ipv6: make([]byte, 4)}),
		"UDP without port":             outer(&api.OuterHeaderCreation{Encapsulation: api.Encapsulation_UDP, Ipv4: 1}),
		"UDP with a TEID":              outer(&api.OuterHeaderCreation{Encapsulation: api.Encapsulation_UDP, Ipv4: 1, Port: 1, Teid: 1}),
		"GTP-U with a port":            outer(&api.OuterHeaderCreation{Ipv4: 1, Teid: 1, Port: 1}),
		"IP with a port":               outer(&api.OuterHeaderCreation{Encapsulation: api.Encapsulation_PLAIN_IP, Ipv4: 1, Port: 1}),
		"a tag in an IP session":       outer(&api.OuterHeaderCreation{Encapsulation: api.Encapsulation_TAG, CTag: ptr(1)}),
		"Encapsulation 7":              outer(&api.OuterHeaderCreation{Encapsulation: 7, Ipv4: 1}),
		"GBR above what a meter knows": qer(&api.QER{UplinkGbrBps: MaxMBR + 1}),
		"MBR of 999 bit/s":             qer(&api.QER{DownlinkMbrBps: MinMBR - 1}),
		"no packets in a second":       qer(&api.QER{UplinkPacketRate: &api.PacketRate{TimeMs: 1000}}),
		"packets in no time":           qer(&api.QER{DownlinkPacketRate: &api.PacketRate{Packets: 1}}),
		"packets in eight days":        qer(&api.QER{DownlinkPacketRate: &api.PacketRate{Packets: 1, TimeMs: 8 * 24 * 3600 * 1000}}),
		"ToS 256":                      qer(&api.QER{DownlinkTos: 256, DownlinkTosMask: 1}),
		"service class 256":            qer(&api.QER{ServiceClass: ptr(256)}),
		"paging policy 8":              qer(&api.QER{PagingPolicy: ptr(8)}),
	} {
		c := common()
		ask(c.Session)
		if err := Check(c, all); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: got %v, want %v", name, err, ErrUnsupported)
		}
	}
}

// TestKeys: framed routes as long as a UE address or prefix are looked for as
// these are, and a route covers the keys of its session that lie inside it.
func TestKeys(t *testing.T) {
	prefix := func(bits uint32, address ...byte) *api.Prefix { return &api.Prefix{Address: address, Bits: bits} }
	r := &api.Rule{Detect: &api.Detect{
		UeAddress:    &api.UEAddress{Ipv4: 0x0a2d0001},
		FramedRoutes: []*api.Prefix{prefix(16, 10, 45, 7, 7), prefix(32, 10, 45, 0, 1), prefix(32, 10, 45, 0, 2)},
	}}
	keys := Keys(r)
	if len(keys) != 3 || keys[0] != (Key{IPv4: 0x0a2d0001}) || keys[1].Route.String() != "10.45.0.0/16" || keys[2] != (Key{IPv4: 0x0a2d0002}) {
		t.Errorf("keys %v", keys)
	}
	for k, want := range map[Key]bool{
		{IPv4: 0x0a2d0001}:                       true,
		{IPv4: 0x0a2d0909}:                       true, // inside the route
		{IPv4: 0x0a2e0001}:                       false,
		{Route: Route(prefix(24, 10, 45, 3, 0))}: true,
		{Route: Route(prefix(8, 10, 0, 0, 0))}:   false, // the route is inside
		{TEID: 0x0a2d0001}:                       false,
		{IPv6: 0x20010db800000000}:               false,
	} {
		if got := Covers(r, k); got != want {
			t.Errorf("Covers(%v) = %v, want %v", k, got, want)
		}
	}
	local6 := netip.MustParseAddr("2001:db8:3::1")
	tunnelled := &api.Rule{Detect: &api.Detect{FTeid: &api.FTEID{Teid: 5, Ipv4: 0x0a030001, Ipv6: local6.AsSlice()}, FramedRoutes: r.Detect.FramedRoutes}}
	local4 := netip.AddrFrom4([4]byte{10, 3, 0, 1})
	for k, want := range map[Key]bool{
		{IPv4: 0x0a2d0001}:                                      false,
		{TEID: 5, Local: local4}:                                true,
		{TEID: 5, Local: local6}:                                true,
		{TEID: 6, Local: local4}:                                false,
		{TEID: 5, Local: netip.AddrFrom4([4]byte{10, 3, 0, 2})}: false,
		{TEID: 5}: false,
	} {
		if got := Covers(tunnelled, k); got != want {
			t.Errorf("Covers(%v) = %v for an F-TEID, want %v", k, got, want)
		}
	}
}
