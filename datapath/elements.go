package datapath

import (
	"slices"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Way says where a datapath does something.
type Way string

// The ways. A datapath that has one program does all in it.
const (
	Done     Way = "done"
	Program  Way = "program"   // the fast path
	Vectors  Way = "vectors"   // the fast path, in user space
	Pipeline Way = "pipeline"  // the fast path, a P4 program
	SlowPath Way = "slow path" // handed on to the part that is correct, not fast
	Refused  Way = "refused"   // the change is, with the rule that asks for it
)

// Element is something that TS 29.244 lets a CP function ask for, with a minimal
// use of it, and who does it. It is the source of docs/rules.md; a test of each
// datapath holds it against what the datapath does.
type Element struct {
	Rule   string // PDI, PDR, FAR, QER, URR, BAR, Session
	Name   string
	Clause string // of TS 29.244 V18.6.0
	// Use changes a session of two PDRs, uplink and downlink, with a QER, so that
	// it asks for the element.
	Use func(s *api.Session)
	// By datapath. TC does what XDP does: they have the programs' stages in common.
	Model, XDP, Vector, P4 Way
}

func up(s *api.Session) *api.Rule   { return s.GetRules()[0] }
func down(s *api.Session) *api.Rule { return s.GetRules()[1] }

// filtered gives both PDRs a filter.
func filtered(f *api.Filter) func(s *api.Session) {
	return func(s *api.Session) {
		up(s).Detect.Filters, down(s).Detect.Filters = []*api.Filter{f}, []*api.Filter{f}
	}
}

// limited changes the QER.
func limited(f func(q *api.QER)) func(s *api.Session) {
	return func(s *api.Session) { f(s.GetQers()[0]) }
}

// counted gives both PDRs a URR.
func counted(u *api.URR) func(s *api.Session) {
	return func(s *api.Session) {
		s.Urrs = []*api.URR{u}
		for _, r := range s.GetRules() {
			r.UrrIds = []uint32{u.GetId()}
		}
	}
}

// overUDP lets uplink packets go on in UDP/IP.
func overUDP(s *api.Session) {
	up(s).Forward.OuterHeaderCreation = &api.OuterHeaderCreation{
		Encapsulation: api.Encapsulation_UDP, Port: 9, Ipv4: down(s).GetForward().GetOuterHeaderCreation().GetIpv4(),
	}
}

// framed makes the session one of frames before it is changed, on the data network
// with Network Instance "lan".
func framed(change func(s *api.Session)) func(s *api.Session) {
	return func(s *api.Session) {
		s.PduType = api.PDUType_ETHERNET
		up(s).Detect.UeAddress, up(s).Detect.Filters, up(s).Forward.NetworkInstance = nil, nil, "lan"
		down(s).Detect = &api.Detect{SourceInterface: api.Interface_CORE, EthernetSession: true, NetworkInstance: "lan"}
		change(s)
	}
}

// etherFiltered gives both PDRs an Ethernet Packet Filter.
func etherFiltered(f *api.EthernetFilter) func(s *api.Session) {
	return func(s *api.Session) {
		up(s).Detect.EthernetFilters, down(s).Detect.EthernetFilters = []*api.EthernetFilter{f}, []*api.EthernetFilter{f}
	}
}

func number(n uint32) *uint32 { return &n }

// Elements are in the order of docs/rules.md.
var Elements = slices.Concat([]Element{
	{"PDI", "Source Interface, Local F-TEID, UE IP Address", "8.2.2, 8.2.3, 8.2.62", func(*api.Session) {}, Done, Program, Vectors, Pipeline},
	{"PDI", "Local F-TEID over IPv6", "8.2.3", func(s *api.Session) {
		up(s).Detect.FTeid.Ipv6 = []byte{0x20, 1, 0xd, 0xb8, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
	}, Done, Program, Vectors, Pipeline},
	{"PDI", "QFI, one of up to four", "8.2.89", func(s *api.Session) { up(s).Detect.Qfis = []uint32{1, 5, 7, 9} }, Done, Program, Vectors, Pipeline},
	{"PDI", "QFI, more than four", "8.2.89", func(s *api.Session) { up(s).Detect.Qfis = []uint32{1, 2, 3, 4, 9} }, Done, Program, Vectors, Pipeline},
	{"PDI", "SDF Filter: protocol", "8.2.5", filtered(&api.Filter{Protocol: number(17)}), Done, Program, Vectors, Pipeline},
	{"PDI", "SDF Filter: addresses with masks", "8.2.5", filtered(&api.Filter{Remote: &api.Prefix{Address: []byte{198, 18, 0, 0}, Bits: 15}}), Done, Program, Vectors, Pipeline},
	{"PDI", "SDF Filter: lists and ranges of ports", "8.2.5", filtered(&api.Filter{RemotePorts: []*api.PortRange{{First: 9, Last: 9}, {First: 1000, Last: 1999}}}), Done, Program, Vectors, Pipeline},
	{"PDI", "SDF Filter: ToS or Traffic Class", "8.2.5", filtered(&api.Filter{TosMask: 0xfc}), Done, Program, Vectors, Pipeline},
	{"PDI", "SDF Filter: Security Parameter Index", "8.2.5", filtered(&api.Filter{Spi: number(1)}), Done, Program, Vectors, SlowPath},
	{"PDI", "SDF Filter: Flow Label", "8.2.5", filtered(&api.Filter{FlowLabel: number(1)}), Done, Program, Vectors, SlowPath},
	{"PDI", "Application ID: host of TLS, QUIC or HTTP", "8.2.6, 8.2.39", filtered(&api.Filter{Host: "example.org"}), Done, Program, SlowPath, SlowPath},
	{"PDI", "Framed-Route, Framed-IPv6-Route, delegated prefix", "8.2.109, 8.2.111", func(s *api.Session) {
		down(s).Detect.FramedRoutes = []*api.Prefix{{Address: []byte{192, 168, 0, 0}, Bits: 16}}
	}, Done, Program, Vectors, Pipeline},
	{"PDI", "Ethernet PDU Session Information", "8.2.102", framed(func(*api.Session) {}), Done, Program, SlowPath, SlowPath},
	{"PDI", "Ethernet Packet Filter: MAC addresses, ranges of them", "8.2.93", framed(etherFiltered(&api.EthernetFilter{
		Macs: []*api.MACs{{Source: []byte{2, 0, 0, 0, 0, 0}, SourceUpper: []byte{2, 0xff, 0, 0, 0, 0}, Destination: make([]byte, 6), DestinationUpper: []byte{2, 0xff, 0, 0, 0, 0}}},
	})), Done, Program, SlowPath, SlowPath},
	{"PDI", "Ethernet Packet Filter: Ethertype", "8.2.96", framed(etherFiltered(&api.EthernetFilter{Ethertype: 0x0800})), Done, Program, SlowPath, SlowPath},
	{"PDI", "Ethernet Packet Filter: C-TAG, S-TAG", "8.2.94, 8.2.95", framed(func(s *api.Session) {
		tagged := &api.EthernetFilter{CTag: &api.VLANTag{Vid: number(1)}, STag: &api.VLANTag{Pcp: number(1)}}
		up(s).Detect.EthernetFilters, down(s).Detect.EthernetFilters = []*api.EthernetFilter{tagged, {}}, []*api.EthernetFilter{tagged, {}}
	}), Done, Program, SlowPath, SlowPath},
	{"PDI", "Ethernet Packet Filter: SDF Filter", "8.2.5", framed(etherFiltered(&api.EthernetFilter{Filters: []*api.Filter{{Protocol: number(17)}}})), Done, Program, SlowPath, SlowPath},
	{"PDR", "Precedence: several PDRs of an F-TEID or UE IP address", "8.2.11", func(s *api.Session) {
		again := &api.Rule{
			PdrId: 3, Precedence: down(s).GetPrecedence(), FarId: 3, OuterHeaderRemoval: true, Detect: up(s).GetDetect(), Forward: up(s).GetForward(),
		}
		s.Rules = append(s.Rules, again)
	}, Done, Program, Vectors, Pipeline},
	{"PDR", "Outer Header Removal: GTP-U", "8.2.64", func(s *api.Session) { up(s).OuterHeaderRemoval = true }, Done, Program, Vectors, Pipeline},
	{"PDR", "Outer Header Removal: GTP-U Extension Header Deletion, from tunnel to tunnel", "8.2.64", func(s *api.Session) {
		up(s).DropsContainer = true
		up(s).Forward.OuterHeaderCreation = down(s).GetForward().GetOuterHeaderCreation()
	}, Done, SlowPath, SlowPath, SlowPath},
	{"PDR", "Outer Header Removal: UDP/IP", "8.2.64", func(s *api.Session) { down(s).Unwrap = api.Unwrap_UNWRAP_UDP }, Done, SlowPath, SlowPath, SlowPath},
}, farElements, []Element{
	{"QER", "Gate Status", "8.2.7", limited(func(q *api.QER) { q.UplinkGateClosed = true }), Done, Program, Vectors, Pipeline},
	{"QER", "QFI", "8.2.89", limited(func(q *api.QER) { q.Qfi = 5 }), Done, Program, Vectors, Pipeline},
	{"QER", "MBR", "8.2.8", limited(func(q *api.QER) { q.UplinkMbrBps, q.DownlinkMbrBps = MaxMBR, MaxMBR }), Done, Program, Vectors, Pipeline},
	{"QER", "MBR of more than two QERs", "8.2.8", func(s *api.Session) {
		for id := uint32(7); id < 10; id++ {
			s.Qers = append(s.Qers, &api.QER{Id: id, UplinkMbrBps: MaxMBR})
			up(s).QerIds = append(up(s).QerIds, id)
		}
	}, Done, Program, Vectors, SlowPath},
	{"QER", "GBR", "8.2.9", limited(func(q *api.QER) { q.UplinkGbrBps = MinMBR }), Done, Program, Vectors, SlowPath},
	{"QER", "Packet Rate", "8.2.63", limited(func(q *api.QER) { q.UplinkPacketRate = &api.PacketRate{Packets: 9, TimeMs: 1} }), Done, Program, Vectors, SlowPath},
	{"QER", "DL Flow Level Marking", "8.2.66", limited(func(q *api.QER) { q.DownlinkTosMask = 0xfc }), Done, Program, Vectors, SlowPath},
	{"QER", "RQI", "8.2.88", limited(func(q *api.QER) { q.Rqi = true }), Done, Program, Vectors, SlowPath},
	{"QER", "Paging Policy Indicator", "8.2.116", limited(func(q *api.QER) { q.PagingPolicy = number(1) }), Done, SlowPath, Vectors, SlowPath},
	{"URR", "volume, Volume Threshold, Volume Quota", "7.5.2.4", counted(&api.URR{Id: 1, Threshold: &api.Volume{Total: 1}, Quota: &api.Volume{Total: 1 << 40}}), Done, Program, Vectors, Pipeline},
	{"URR", "start of traffic", "7.5.2.4", counted(&api.URR{Id: 1, StartOfTraffic: true}), Done, Program, Vectors, SlowPath},
	{"URR", "several URRs of a PDR", "7.5.2.2", func(s *api.Session) {
		s.Urrs = []*api.URR{{Id: 1}, {Id: 2}}
		up(s).UrrIds = []uint32{1, 2}
	}, Done, Program, Vectors, Pipeline},
	{"URR", "Measurement Information: MBQE", "8.2.68", counted(&api.URR{Id: 1, BeforeEnforcement: true}), Done, Program, Vectors, SlowPath},
	{"URR", "Dropped DL Traffic Threshold", "7.5.2.4", counted(&api.URR{Id: 1, DroppedDownlinkPackets: 1}), Done, Program, Vectors, Pipeline},
	{"URR", "MAC Addresses Reporting", "7.5.2.4", framed(counted(&api.URR{Id: 1, MacAddresses: true})), Done, Program, SlowPath, SlowPath},
	{"BAR", "Downlink Data Notification Delay, Suggested Buffering Packets Count, DL Buffering Duration", "7.5.2.6", func(s *api.Session) {
		s.Bars = []*api.BAR{{Id: 1, Packets: 9, DurationMs: 1000}}
		down(s).Forward.Action, down(s).Forward.BarId = api.Action_BUFF, 1
	}, Done, SlowPath, SlowPath, SlowPath},
	{"Session", "PDN Type: Ethernet", "8.2.79", framed(func(*api.Session) {}), Done, Program, SlowPath, SlowPath},
	{"Session", "PDN Type: unstructured", "8.2.79", func(s *api.Session) {
		s.PduType = api.PDUType_UNSTRUCTURED
		overUDP(s)
		down(s).Unwrap = api.Unwrap_UNWRAP_UDP
	}, Done, SlowPath, SlowPath, SlowPath},
})
