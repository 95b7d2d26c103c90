package upf

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/upf/session"
)

// PDR is a Packet Detection Rule and what it counted. Lists of octets are of 16
// bits, as package json would make a string of them.
type PDR struct {
	ID               uint16   `json:"id"`
	Precedence       uint32   `json:"precedence"`
	SourceInterface  string   `json:"source_interface"`
	InterfaceType    *uint8   `json:"interface_type,omitempty"` // 3GPP Interface Type
	Inherits         bool     `json:"inherits,omitempty"`       // F-TEID or UE address are those of the session's other PDRs
	TrafficEndpoints []uint16 `json:"traffic_endpoint_ids,omitempty"`
	FTEID            *FTEID   `json:"f_teid,omitempty"`
	UEAddresses      []string `json:"ue_addresses,omitempty"`
	// FramedRoutes are prefixes behind the UE: framed routes, delegated prefixes and
	// further UE addresses.
	FramedRoutes    []netip.Prefix `json:"framed_routes,omitempty"`
	QFIs            []uint16       `json:"qfis,omitempty"` // empty: any
	NetworkInstance string         `json:"network_instance,omitempty"`
	Filters         []string       `json:"filters,omitempty"`              // SDF filters; empty: any packet
	EthernetSession bool           `json:"ethernet_pdu_session,omitempty"` // ETHI
	EthernetFilters []string       `json:"ethernet_filters,omitempty"`     // empty: any frame
	ApplicationID   string         `json:"application_id,omitempty"`
	Predefined      []string       `json:"predefined_rules,omitempty"`
	// OuterHeaderRemoval is what is taken off: "GTP-U/UDP/IP", "UDP/IP", "IP",
	// "S-TAG", "S-TAG and C-TAG"; empty: nothing.
	OuterHeaderRemoval string   `json:"outer_header_removal,omitempty"`
	FARID              *uint32  `json:"far_id,omitempty"` // absent: none yet
	QERIDs             []uint32 `json:"qer_ids,omitempty"`
	URRIDs             []uint32 `json:"urr_ids,omitempty"`
	Usage              Usage    `json:"usage"`
}

// TrafficEndpoint is what several PDRs have in common.
type TrafficEndpoint struct {
	ID              uint8          `json:"id"`
	FTEID           *FTEID         `json:"f_teid,omitempty"`
	UEAddresses     []string       `json:"ue_addresses,omitempty"`
	FramedRoutes    []netip.Prefix `json:"framed_routes,omitempty"` // as [PDR.FramedRoutes]
	QFIs            []uint16       `json:"qfis,omitempty"`
	NetworkInstance string         `json:"network_instance,omitempty"`
	EthernetSession bool           `json:"ethernet_pdu_session,omitempty"` // ETHI
}

func viewPDR(p *session.PDR, usage Usage) PDR {
	d := &p.PDI
	v := PDR{
		ID: p.ID, Precedence: p.Precedence, SourceInterface: d.SourceInterface.String(), InterfaceType: viewInterfaceType(d.InterfaceType), Inherits: d.Inherits,
		FTEID: viewFTEID(d.FTEID.TEID, d.FTEID.IPv4, d.FTEID.IPv6), UEAddresses: viewUEAddress(d.UEAddress),
		FramedRoutes: d.Framed, QFIs: viewQFIs(d.QFIs), NetworkInstance: d.NetworkInstance, EthernetSession: d.EthernetSession,
		ApplicationID: d.ApplicationID, Predefined: p.Predefined,
		OuterHeaderRemoval: p.Unwrap.String(), QERIDs: p.QERIDs, URRIDs: p.URRIDs, Usage: usage,
	}
	if !p.NoFAR {
		v.FARID = &p.FARID
	}
	if p.OuterHeaderRemoval {
		v.OuterHeaderRemoval = session.GTPU.String()
	}
	if d.Endpoint.Present {
		v.TrafficEndpoints = []uint16{uint16(d.Endpoint.Value)}
		for _, id := range d.MoreEndpoints {
			v.TrafficEndpoints = append(v.TrafficEndpoints, uint16(id))
		}
	}
	for i := range d.Filters {
		v.Filters = append(v.Filters, d.Filters[i].String())
	}
	for i := range d.Ethernet {
		v.EthernetFilters = append(v.EthernetFilters, d.Ethernet[i].String())
	}
	return v
}

func viewEndpoint(e *session.TrafficEndpoint) TrafficEndpoint {
	return TrafficEndpoint{
		ID: e.ID, FTEID: viewFTEID(e.FTEID.TEID, e.FTEID.IPv4, e.FTEID.IPv6), UEAddresses: viewUEAddress(e.UEAddress),
		FramedRoutes: e.Framed, QFIs: viewQFIs(e.QFIs), NetworkInstance: e.NetworkInstance, EthernetSession: e.EthernetSession,
	}
}

func viewQFIs(set session.QFISet) []uint16 {
	var list []uint16
	for q := uint16(1); q < 64; q++ {
		if set.Has(uint8(q)) {
			list = append(list, q)
		}
	}
	return list
}
