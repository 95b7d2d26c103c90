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

// TestRareRefused: what makes no sense.
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
