package upf

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/plumbline-upf/plumbline/upf/session"
)

// FAR is a Forwarding Action Rule.
type FAR struct {
	ID                   uint32               `json:"id"`
	ApplyAction          string               `json:"apply_action"`         // flags, as TS 29.244 names them
	Incomplete           bool                 `json:"incomplete,omitempty"` // forwards to a tunnel that it does not name yet
	DestinationInterface string               `json:"destination_interface,omitempty"`
	InterfaceType        *uint8               `json:"interface_type,omitempty"` // 3GPP Interface Type
	OuterHeaderCreation  *OuterHeaderCreation `json:"outer_header_creation,omitempty"`
	NetworkInstance      string               `json:"network_instance,omitempty"`
	TrafficEndpoint      *uint8               `json:"linked_traffic_endpoint_id,omitempty"`
	DSCP                 *uint8               `json:"dscp,omitempty"` // Transport Level Marking
	ForwardingPolicy     string               `json:"forwarding_policy,omitempty"`
	Redirect             *Redirect            `json:"redirect,omitempty"`
	Replacement          *Replacement         `json:"ip_address_and_port_replacement,omitempty"`
	Proxying             []string             `json:"proxying,omitempty"` // "ARP", "INS" (IPv6 Neighbour Solicitation)
	Duplicates           []Duplicate          `json:"duplicating_parameters,omitempty"`
	BARID                *uint8               `json:"bar_id,omitempty"`
}

// OuterHeaderCreation is what is put around a packet.
type OuterHeaderCreation struct {
	Description string     `json:"description"`    // "GTP-U/UDP/IP", "UDP/IP", "IP" or "VLAN tags"
	TEID        *TEID      `json:"teid,omitempty"` // of GTP-U
	IPv4        netip.Addr `json:"ipv4,omitzero"`  // the peer
	IPv6        netip.Addr `json:"ipv6,omitzero"`
	Port        uint16     `json:"port,omitempty"`  // of UDP without GTP-U
	CTAG        *uint16    `json:"c_tag,omitempty"` // PCP, DEI and VID in 16 bits
	STAG        *uint16    `json:"s_tag,omitempty"`
}

// String is TEID@address for GTP-U; else what it is, and where to.
func (o *OuterHeaderCreation) String() string {
	at := o.peer()
	if o.TEID != nil {
		return fmt.Sprintf("%s@%s", *o.TEID, at)
	}
	var parts []string
	if at.IsValid() {
		to := at.String()
		if o.Port != 0 {
			to = netip.AddrPortFrom(at, o.Port).String()
		}
		parts = append(parts, o.Description+" "+to)
	}
	for _, tag := range []struct {
		name string
		tci  *uint16
	}{{"S-TAG", o.STAG}, {"C-TAG", o.CTAG}} {
		if tag.tci != nil {
			parts = append(parts, fmt.Sprintf("%s VID %d PCP %d", tag.name, *tag.tci&0xfff, *tag.tci>>13))
		}
	}
	return strings.Join(parts, ", ")
}

// explain is String in a sentence.
func (o *OuterHeaderCreation) explain() string {
	if o.TEID != nil {
		return fmt.Sprintf("GTP-U %s at %s", *o.TEID, o.peer())
	}
	return o.String()
}

// peer is where it goes; not valid: VLAN tags alone.
func (o *OuterHeaderCreation) peer() netip.Addr {
	if o.IPv4.IsValid() {
		return o.IPv4
	}
	return o.IPv6
}

// Redirect is Redirect Information.
type Redirect struct {
	URL  string     `json:"url,omitempty"`
	IPv4 netip.Addr `json:"ipv4,omitzero"`
	IPv6 netip.Addr `json:"ipv6,omitzero"`
}

// Replacement is an IP Address and Port number Replacement; what is absent stays.
type Replacement struct {
	DestinationIPv4 netip.Addr `json:"destination_ipv4,omitzero"`
	DestinationIPv6 netip.Addr `json:"destination_ipv6,omitzero"`
	DestinationPort uint16     `json:"destination_port,omitempty"`
	SourceIPv4      netip.Addr `json:"source_ipv4,omitzero"`
	SourceIPv6      netip.Addr `json:"source_ipv6,omitzero"`
	SourcePort      uint16     `json:"source_port,omitempty"`
}

// Duplicate is where copies of packets go.
type Duplicate struct {
	DestinationInterface string               `json:"destination_interface"`
	OuterHeaderCreation  *OuterHeaderCreation `json:"outer_header_creation,omitempty"`
	DSCP                 *uint8               `json:"dscp,omitempty"`
	ForwardingPolicy     string               `json:"forwarding_policy,omitempty"`
}

// Notes are what there is to say of a FAR beside its Apply Action, Destination Interface,
// Outer Header Creation, Network Instance, DSCP and BAR: pairs of a name and a value, which
// is "" if there is nothing.
func (f *FAR) Notes() [][2]string {
	list := [][2]string{{"Linked Traffic Endpoint"}, {"Forwarding Policy", f.ForwardingPolicy}, {"redirect to"}, {"Proxying", listed(f.Proxying...)}}
	if f.TrafficEndpoint != nil {
		list[0][1] = fmt.Sprint(*f.TrafficEndpoint)
	}
	if r := f.Redirect; r != nil {
		list[2][1] = listed(r.URL, addressText(r.IPv4), addressText(r.IPv6))
	}
	if r := f.Replacement; r != nil {
		list = append(list,
			[2]string{"destination becomes", listed(addressText(r.DestinationIPv4), addressText(r.DestinationIPv6), portText(r.DestinationPort))},
			[2]string{"source becomes", listed(addressText(r.SourceIPv4), addressText(r.SourceIPv6), portText(r.SourcePort))})
	}
	for i := range f.Duplicates {
		list = append(list, [2]string{"copies to", f.Duplicates[i].String()})
	}
	return list
}

// String is where copies go, and how.
func (d *Duplicate) String() string {
	text := d.DestinationInterface
	if d.OuterHeaderCreation != nil {
		text += " " + d.OuterHeaderCreation.String()
	}
	if d.DSCP != nil {
		text += fmt.Sprintf(", DSCP %d", *d.DSCP)
	}
	if d.ForwardingPolicy != "" {
		text += ", Forwarding Policy " + d.ForwardingPolicy
	}
	return text
}

// listed joins what is not "".
func listed(parts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(parts), func(s string) bool { return s == "" }), ",")
}

// addressText is "" if there is no address.
func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// portText is "" if there is no port.
func portText(port uint16) string {
	if port == 0 {
		return ""
	}
	return fmt.Sprintf("port %d", port)
}

func viewFAR(f *session.FAR) FAR {
	v := FAR{ID: f.ID, ApplyAction: f.ApplyAction.String(), Incomplete: f.Incomplete(), BARID: viewOptional(f.BARID)}
	for i := range f.Duplicates {
		d := &f.Duplicates[i]
		v.Duplicates = append(v.Duplicates, Duplicate{
			DestinationInterface: d.DestinationInterface.String(), OuterHeaderCreation: viewCreation(&d.OuterHeaderCreation),
			DSCP: viewOptional(d.DSCP), ForwardingPolicy: d.ForwardingPolicy,
		})
	}
	if !f.HasForwarding {
		return v
	}
	p := &f.Forwarding
	v.DestinationInterface, v.NetworkInstance = p.DestinationInterface.String(), p.NetworkInstance
	v.InterfaceType = viewInterfaceType(p.InterfaceType)
	v.OuterHeaderCreation, v.DSCP = viewCreation(&p.OuterHeaderCreation), viewOptional(p.DSCP)
	v.TrafficEndpoint, v.ForwardingPolicy = viewOptional(p.Endpoint), p.ForwardingPolicy
	if r := p.Redirect; r != nil {
		v.Redirect = &Redirect{URL: r.URL, IPv4: viewIPv4(r.IPv4), IPv6: viewIPv6(r.IPv6)}
	}
	if r := p.Replacement; r != nil {
		v.Replacement = &Replacement{
			DestinationIPv4: viewIPv4(r.DestinationIPv4), DestinationIPv6: viewIPv6(r.DestinationIPv6), DestinationPort: r.DestinationPort,
			SourceIPv4: viewIPv4(r.SourceIPv4), SourceIPv6: viewIPv6(r.SourceIPv6), SourcePort: r.SourcePort,
		}
	}
	if p.ProxyARP {
		v.Proxying = append(v.Proxying, "ARP")
	}
	if p.ProxyND {
		v.Proxying = append(v.Proxying, "INS")
	}
	return v
}

// viewInterfaceType is nil if none was given.
func viewInterfaceType(t session.Optional[session.InterfaceType]) *uint8 {
	return viewOptional(session.Optional[uint8]{Value: uint8(t.Value), Present: t.Present})
}

// viewCreation is nil if nothing is put around packets.
func viewCreation(o *session.OuterHeaderCreation) *OuterHeaderCreation {
	if !o.Creates() {
		return nil
	}
	v := &OuterHeaderCreation{
		Description: o.Encapsulation.String(), IPv4: viewIPv4(o.IPv4), IPv6: viewIPv6(o.IPv6), Port: o.Port,
		CTAG: viewOptional(o.CTAG), STAG: viewOptional(o.STAG),
	}
	if o.Encapsulation == session.GTPU {
		v.TEID = (*TEID)(&o.TEID)
	}
	return v
}

// viewIPv4 is not valid if there is no address.
func viewIPv4(a session.IPv4) (v netip.Addr) {
	if a != (session.IPv4{}) {
		v = netip.AddrFrom4(a)
	}
	return v
}

// viewIPv6 is not valid if there is no address.
func viewIPv6(a session.IPv6) (v netip.Addr) {
	if a != (session.IPv6{}) {
		v = netip.AddrFrom16(a)
	}
	return v
}
