package session

import (
	"net/netip"
	"testing"
)

// prefixes are the given ones.
func prefixes(text ...string) (list []netip.Prefix) {
	for _, s := range text {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

// ethernet makes a request one of an Ethernet PDU session, whose downlink frames are
// found by their MAC addresses.
func ethernet(e *Establishment) {
	e.PDNType = PDNTypeEth
	e.CreatePDRs[0].PDI.UEAddress, e.CreatePDRs[0].PDI.EthernetSession = UEAddress{}, true
	e.CreatePDRs[1].PDI.UEAddress, e.CreatePDRs[1].PDI.Filters = UEAddress{}, nil
}

// TestRareCapabilities: what few sessions ask for is refused, with the rule at fault, by
// the one thing that the datapath cannot do, and is accepted if it can.
func TestRareCapabilities(t *testing.T) {
	qer := Error{CauseRuleFailure, 0, true, RuleQER, 1, ErrUnsupported}
	far := Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrUnsupported}
	pdr := Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrUnsupported}
	eth := Error{CauseServiceNotSupported, IEPDNType, false, 0, 0, ErrUnsupported}
	peer := OuterHeaderCreation{TEID: 9, IPv4: IPv4{10, 3, 0, 9}}
	for _, tc := range []struct {
		name   string
		lack   func(*Capabilities)
		change func(*Establishment)
		want   Error
	}{
		{"Packet Rate", func(c *Capabilities) { c.PacketRate = false }, func(e *Establishment) {
			e.CreateQERs[0].DownlinkPackets = PacketRate{5, 60_000}
		}, qer},
		{"RQI", func(c *Capabilities) { c.Marking = false }, func(e *Establishment) { e.CreateQERs[0].RQI = true }, qer},
		{"flow marking", func(c *Capabilities) { c.Marking = false }, func(e *Establishment) { e.CreateQERs[0].TOSMask = 0xfc }, qer},
		{"service class", func(c *Capabilities) { c.Marking = false }, func(e *Establishment) {
			e.CreateQERs[0].ServiceClass = Some(uint8(3))
		}, qer},
		{"DUPL", func(c *Capabilities) { c.Duplicate = false }, func(e *Establishment) {
			e.CreateFARs[0].ApplyAction = Forward | Copy
			e.CreateFARs[0].Duplicates = []Duplicate{{DestinationInterface: LIFunction, OuterHeaderCreation: peer}}
		}, far},
		{"redirection", func(c *Capabilities) { c.Redirect = false }, func(e *Establishment) {
			e.CreateFARs[0].Forwarding.Redirect = &Redirect{URL: "http://a/"}
		}, far},
		{"policy", func(c *Capabilities) { c.Policies = false }, func(e *Establishment) { e.CreateFARs[0].Forwarding.ForwardingPolicy = "gold" }, far},
		{"policy of a copy", func(c *Capabilities) { c.Policies = false }, func(e *Establishment) {
			e.CreateFARs[0].ApplyAction = Forward | Copy
			e.CreateFARs[0].Duplicates = []Duplicate{{DestinationInterface: Core, ForwardingPolicy: "gold"}}
		}, far},
		{"UDP/IP", func(c *Capabilities) { c.Encapsulations = false }, func(e *Establishment) {
			e.CreateFARs[0].Forwarding.OuterHeaderCreation = OuterHeaderCreation{Encapsulation: UDP, Port: 9, IPv4: peer.IPv4}
		}, far},
		{"IP in IP", func(c *Capabilities) { c.Encapsulations = false }, func(e *Establishment) {
			e.CreateFARs[0].Forwarding.OuterHeaderCreation = OuterHeaderCreation{Encapsulation: PlainIP, IPv4: peer.IPv4}
		}, far},
		{"removal of UDP/IP", func(c *Capabilities) { c.Encapsulations = false }, func(e *Establishment) { e.CreatePDRs[0].Unwrap = UnwrapUDP }, pdr},
		{"framed route", func(c *Capabilities) { c.FramedRoutes = false }, func(e *Establishment) {
			e.CreatePDRs[0].PDI.Framed = prefixes("10.60.0.0/16")
		}, pdr},
		{"framed route alone", func(c *Capabilities) { c.FramedRoutes = false }, func(e *Establishment) {
			e.CreatePDRs[0].PDI.UEAddress, e.CreatePDRs[0].PDI.Framed = UEAddress{}, prefixes("2001:db8::/56")
		}, pdr},
		{"Ethernet", func(c *Capabilities) { c.Ethernet = false }, ethernet, eth},
		{"Non-IP", func(c *Capabilities) { c.Unstructured = false }, func(e *Establishment) { e.PDNType = PDNTypeNonIP }, eth},
		{"measurement before enforcement", func(c *Capabilities) { c.BeforeEnforcement = false }, func(e *Establishment) {
			e.CreateURRs = []URR{{ID: 4, Method: MeasureVolume, Information: InfoMBQE}}
		}, Error{CauseRuleFailure, 0, true, RuleURR, 4, ErrUnsupported}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := establishment(IPv4{10, 45, 0, 2})
			tc.change(req)
			able, dp := newManager(t, 8)
			s, err := establish(able, req)
			if err != nil {
				t.Fatalf("with a datapath that can: %v", err)
			}
			if err := remove(able, s.SEID, 1); err != nil {
				t.Error(err)
			}
			checkEmpty(t, able, dp)
			can := everything
			tc.lack(&can)
			m, dp := newManagerOf(t, Config{MaxSessions: 8, Endpoints: []Endpoint{{IPv4: n3}}, Can: can})
			_, err = establish(m, req)
			checkError(t, err, tc.want)
			checkEmpty(t, m, dp)
		})
	}
}

// TestRareRefused: what makes no sense, whatever the datapath can do.
func TestRareRefused(t *testing.T) {
	far := func(err error) Error { return Error{CauseRuleFailure, 0, true, RuleFAR, 1, err} }
	for _, tc := range []struct {
		name   string
		change func(*Establishment)
		want   Error
	}{
		{"PDN Type 6", func(e *Establishment) { e.PDNType = 6 }, Error{CauseServiceNotSupported, IEPDNType, false, 0, 0, ErrUnsupported}},
		{"paging policy 8", func(e *Establishment) { e.CreateQERs[0].PagingPolicy = Some(uint8(8)) }, Error{CauseRuleFailure, 0, true, RuleQER, 1, ErrUnsupported}},
		{"copy to Access without a tunnel", func(e *Establishment) {
			e.CreateFARs[0].ApplyAction, e.CreateFARs[0].Duplicates = Forward|Copy, []Duplicate{{DestinationInterface: Access}}
		}, far(ErrUnsupported)},
		{"copy to interface 5", func(e *Establishment) {
			e.CreateFARs[0].ApplyAction, e.CreateFARs[0].Duplicates = Forward|Copy, []Duplicate{{DestinationInterface: 5}}
		}, far(ErrUnsupported)},
		{"copy into a tunnel to nowhere", func(e *Establishment) {
			e.CreateFARs[0].ApplyAction = Forward | Copy
			e.CreateFARs[0].Duplicates = []Duplicate{{DestinationInterface: Core, OuterHeaderCreation: OuterHeaderCreation{TEID: 3}}}
		}, far(ErrIncomplete)},
		{"UDP without a port", func(e *Establishment) {
			e.CreateFARs[0].Forwarding.OuterHeaderCreation = OuterHeaderCreation{Encapsulation: UDP, IPv4: IPv4{1, 2, 3, 4}}
		}, far(ErrIncomplete)},
		{"VLAN tags of packets", func(e *Establishment) {
			e.CreateFARs[0].Forwarding.OuterHeaderCreation = OuterHeaderCreation{Encapsulation: Tags, CTAG: Some(uint16(5))}
		}, far(ErrUnsupported)},
		{"S-TAG taken off packets", func(e *Establishment) { e.CreatePDRs[0].Unwrap = UnwrapSTAG }, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrUnsupported}},
		{"UDP/IP taken off a G-PDU", func(e *Establishment) {
			e.CreatePDRs[1].Unwrap = UnwrapUDP
		}, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrUnsupported}},
		{"frames of a session of packets", func(e *Establishment) { e.CreatePDRs[0].PDI.EthernetSession = true },
			Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrUnsupported}},
		{"Ethernet Filter ID of nothing", func(e *Establishment) {
			ethernet(e)
			e.CreatePDRs[0].PDI.Ethernet = []EthernetFilter{{ID: Some(uint32(3)), Reference: true}}
		}, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrReference}},
		{"second Traffic Endpoint that there is not", func(e *Establishment) {
			e.CreateEndpoints = []TrafficEndpoint{{ID: 1, Choose: Choose{CH: true}}}
			e.CreatePDRs[1].PDI = PDI{Endpoint: Some(uint8(1)), MoreEndpoints: []uint8{2}}
		}, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrReference}},
		{"second Traffic Endpoint without an F-TEID", func(e *Establishment) {
			e.CreateEndpoints = []TrafficEndpoint{{ID: 1, Choose: Choose{CH: true}}, {ID: 2}}
			e.CreatePDRs[1].PDI = PDI{Endpoint: Some(uint8(1)), MoreEndpoints: []uint8{2}}
		}, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrUnsupported}},
		{"MAC addresses of packets", func(e *Establishment) { e.CreateURRs = []URR{{ID: 4, Triggers: ReportMACAR}} },
			Error{CauseRuleFailure, 0, true, RuleURR, 4, ErrUnsupported}},
		{"an event threshold of volumes", func(e *Establishment) {
			e.CreateURRs = []URR{{ID: 4, Method: MeasureVolume, Events: EventLimits{Threshold: 1}}}
		}, Error{CauseRuleFailure, 0, true, RuleURR, 4, ErrUnsupported}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, dp := newManager(t, 8)
			req := establishment(IPv4{10, 45, 0, 2})
			tc.change(req)
			_, err := establish(m, req)
			checkError(t, err, tc.want)
			checkEmpty(t, m, dp)
		})
	}
}
