package n4

import (
	"fmt"
	"net/netip"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

func (c *converter) createPDR(out *session.PDR, p *pfcp.CreatePDR) {
	names := c.predefined(out.Predefined, p.PredefinedRules.Activate)
	filters := out.PDI.Filters
	removal := c.outerHeaderRemoval(p.PDRID, p.OuterHeaderRemoval)
	*out = session.PDR{
		ID: p.PDRID, Precedence: p.Precedence, FARID: p.FARID.Value, NoFAR: !p.FARID.Present, QERIDs: p.QERIDs, URRIDs: p.URRIDs,
		Predefined: names, OuterHeaderRemoval: removal.GTPU, DropsContainer: removal.DropsContainer, Unwrap: removal.Unwrap,
	}
	c.pdi(&out.PDI, filters, p.PDRID, &p.PDI)
	out.PDI.ChooseUE.Pool = c.pool(p.PDRID, p.UEIPPoolIdentities)
	c.refuseTimes(p.PDRID, &p.PredefinedRules)
	c.refuseRule(session.RulePDR, uint32(p.PDRID), p.Noted)
}

func (c *converter) updatePDR(out *session.UpdatePDR, p *pfcp.UpdatePDR) {
	filters := out.PDI.Value.Filters
	*out = session.UpdatePDR{
		ID: p.PDRID, Precedence: optional(p.Precedence), FARID: optional(p.FARID),
		Activate:   c.predefined(out.Activate, p.PredefinedRules.Activate),
		Deactivate: c.predefined(out.Deactivate, p.PredefinedRules.Deactivate),
	}
	if p.OuterHeaderRemoval.Present {
		out.OuterHeaderRemoval = session.Some(c.outerHeaderRemoval(p.PDRID, p.OuterHeaderRemoval))
	}
	out.PDI.Present = p.PDI.Present
	out.PDI.Value.Filters = filters[:0]
	if p.PDI.Present {
		c.pdi(&out.PDI.Value, filters, p.PDRID, &p.PDI.Value)
	}
	if len(p.QERIDs) > 0 {
		out.QERIDs = p.QERIDs
	}
	if len(p.URRIDs) > 0 {
		out.URRIDs = p.URRIDs
	}
	for _, ie := range p.Removed {
		switch ie {
		case pfcp.IEOuterHeaderRemoval:
			out.OuterHeaderRemoval = session.Some(session.Removal{})
		case pfcp.IEQERID:
			out.QERIDs = emptyIDs
		case pfcp.IEURRID:
			out.URRIDs = emptyIDs
		default:
			c.refuseRule(session.RulePDR, uint32(p.PDRID), ie)
		}
	}
	c.refuseTimes(p.PDRID, &p.PredefinedRules)
	c.refuseRule(session.RulePDR, uint32(p.PDRID), p.Noted)
}

// emptyIDs is a list that is there, and empty.
var emptyIDs = []uint32{}

// predefined converts the names of predefined rules, into the memory of list.
func (c *converter) predefined(list []string, names [][]byte) []string {
	list = list[:0]
	for _, n := range names {
		list = append(list, c.text(n))
	}
	return list
}

// refuseTimes refuses rules that are to begin or to end at a time.
func (c *converter) refuseTimes(pdr uint16, p *pfcp.PredefinedRules) {
	if p.ActivationTime.Present {
		c.refuseRule(session.RulePDR, uint32(pdr), pfcp.IEActivationTime)
	}
	if p.DeactivationTime.Present {
		c.refuseRule(session.RulePDR, uint32(pdr), pfcp.IEDeactivationTime)
	}
}

// pool is the UE IP Address Pool Identity: one for both families.
func (c *converter) pool(pdr uint16, list [][]byte) string {
	for _, b := range list {
		if string(b) != string(list[0]) {
			c.refuseRule(session.RulePDR, uint32(pdr), pfcp.IEUEIPAddressPoolIdentity)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return c.text(list[0])
}

// outerHeaderRemoval converts an Outer Header Removal: GTP-U/UDP/IP, which of the
// IP versions a packet came over, with all extension headers; or what is around
// packets that come in no tunnel.
// Source: TS 29.244 V18.6.0, 8.2.64.
func (c *converter) outerHeaderRemoval(pdr uint16, r pfcp.Optional[pfcp.OuterHeaderRemoval]) (out session.Removal) {
	if !r.Present {
		return out
	}
	switch r.Value.Description {
	case pfcp.RemoveGTPUUDPIPv4, pfcp.RemoveGTPUUDPIPv6, pfcp.RemoveGTPUUDPIP:
		out.GTPU, out.DropsContainer = true, r.Value.Extensions.Value&1 != 0
	case pfcp.RemoveUDPIPv4, pfcp.RemoveUDPIPv6:
		out.Unwrap = session.UnwrapUDP
	case pfcp.RemoveIPv4, pfcp.RemoveIPv6:
		out.Unwrap = session.UnwrapIP
	case pfcp.RemoveSTAG:
		out.Unwrap = session.UnwrapSTAG
	case pfcp.RemoveSTAGCTAG:
		out.Unwrap = session.UnwrapSTAGCTAG
	default:
		c.refuseRule(session.RulePDR, uint32(pdr), pfcp.IEOuterHeaderRemoval)
	}
	return out
}

// pdi converts a PDI, its SDF filters into the memory of filters.
func (c *converter) pdi(out *session.PDI, filters []session.SDFFilter, pdr uint16, d *pfcp.PDI) {
	*out = session.PDI{
		SourceInterface: session.Interface(d.SourceInterface), InterfaceType: interfaceType(d.InterfaceType),
		QFIs:            session.QFISet(d.QFIs),
		NetworkInstance: c.name(d.NetworkInstance),
		ApplicationID:   c.text(d.ApplicationID),
		Filters:         filters[:0],
	}
	refuse := func(ie pfcp.IEType) { c.refuseRule(session.RulePDR, uint32(pdr), ie) }
	if !ueAddress(&out.UEAddress, &out.ChooseUE, &out.Framed, d.UEIPAddresses) {
		refuse(pfcp.IEUEIPAddress)
	}
	if hasFramedRoutes(&d.FramedRoutes) {
		ie, err := framedRoutes(&out.Framed, &d.FramedRoutes)
		c.refuseRuleFor(session.RulePDR, uint32(pdr), ie, err)
	}
	if d.QFIs.Has(0) {
		refuse(pfcp.IEQFI)
	}
	if d.FTEID.Present {
		out.Choose, out.FTEID = fteid(&d.FTEID.Value)
	}
	if ids := d.TrafficEndpointIDs; len(ids) > 0 {
		out.Endpoint = session.Some(ids[0])
		out.MoreEndpoints = append(out.MoreEndpoints, ids[1:]...)
	}
	for i := range d.SDFFilters {
		if err := sdfFilter(next(&out.Filters), &d.SDFFilters[i]); err != nil {
			c.refuseRuleFor(session.RulePDR, uint32(pdr), pfcp.IESDFFilter, err)
		}
	}
	out.EthernetSession = d.EthernetSession&pfcp.EthernetETHI != 0
	for i := range d.EthernetFilters {
		f, err := ethernetFilter(&d.EthernetFilters[i])
		if err != nil {
			c.refuseRuleFor(session.RulePDR, uint32(pdr), pfcp.IEEthernetPacketFilter, err)
		}
		out.Ethernet = append(out.Ethernet, f)
	}
	refuse(d.Noted)
}

// interfaceType converts a 3GPP Interface Type.
func interfaceType(t pfcp.Optional[pfcp.InterfaceType]) session.Optional[session.InterfaceType] {
	return session.Optional[session.InterfaceType]{Value: session.InterfaceType(t.Value), Present: t.Present}
}

// sdfFilter converts an SDF Filter. One of an ID alone refers to another.
// Source: TS 29.244 V18.6.0, 8.2.5.
func sdfFilter(out *session.SDFFilter, f *pfcp.SDFFilter) error {
	*out = session.SDFFilter{
		ID: optional(f.FilterID), SPI: optional(f.SPI), FlowLabel: optional(f.FlowLabel),
		TOS: f.TrafficClass.Value.Value & f.TrafficClass.Value.Mask, TOSMask: f.TrafficClass.Value.Mask,
		RemotePorts: out.RemotePorts[:0], LocalPorts: out.LocalPorts[:0],
	}
	if f.FlowDescription != nil {
		return session.ParseFlow(f.FlowDescription, out)
	}
	alone := !f.TrafficClass.Present && !f.SPI.Present && !f.FlowLabel.Present
	out.Reference = alone && f.FilterID.Present
	if alone && !f.FilterID.Present {
		return fmt.Errorf("it says nothing: %w", session.ErrIncomplete)
	}
	return nil
}

// fteid converts an F-TEID.
func fteid(f *pfcp.FTEID) (session.Choose, session.FTEID) {
	if f.CH {
		return session.Choose{CH: true, CHID: f.CHID.Present, ID: f.CHID.Value, V4: f.V4, V6: f.V6}, session.FTEID{}
	}
	out := session.FTEID{TEID: f.TEID}
	if f.IPv4.IsValid() {
		out.IPv4 = f.IPv4.As4()
	}
	if f.IPv6.IsValid() {
		out.IPv6 = f.IPv6.As16()
	}
	return session.Choose{}, out
}

func (c *converter) createEndpoint(out *session.TrafficEndpoint, e *pfcp.TrafficEndpoint) {
	*out = session.TrafficEndpoint{
		ID: e.TrafficEndpointID, InterfaceType: interfaceType(e.InterfaceType),
		NetworkInstance: c.name(e.NetworkInstance), QFIs: session.QFISet(e.QFIs),
		EthernetSession: e.EthernetSession&pfcp.EthernetETHI != 0,
	}
	if e.FTEID.Present {
		out.Choose, out.FTEID = fteid(&e.FTEID.Value)
	}
	if !ueAddress(&out.UEAddress, &out.ChooseUE, &out.Framed, e.UEIPAddresses) {
		c.refuse(pfcp.IEUEIPAddress)
	}
	if hasFramedRoutes(&e.FramedRoutes) {
		ie, err := framedRoutes(&out.Framed, &e.FramedRoutes)
		c.refuseFor(ie, err)
	}
	c.refuse(e.Noted)
}

func (c *converter) updateEndpoint(out *session.UpdateTrafficEndpoint, e *pfcp.TrafficEndpoint) {
	*out = session.UpdateTrafficEndpoint{ID: e.TrafficEndpointID, InterfaceType: interfaceType(e.InterfaceType)}
	if e.FTEID.Present {
		choose, f := fteid(&e.FTEID.Value)
		out.Choose, out.FTEID = choose, session.Optional[session.FTEID]{Value: f, Present: !choose.CH}
	}
	if len(e.NetworkInstance) > 0 {
		out.NetworkInstance = session.Some(c.name(e.NetworkInstance))
	}
	var framed []netip.Prefix
	if len(e.UEIPAddresses) > 0 {
		out.UEAddress.Present = true
		var choose session.ChooseUE
		if !ueAddress(&out.UEAddress.Value, &choose, &framed, e.UEIPAddresses) || choose != (session.ChooseUE{}) {
			c.refuse(pfcp.IEUEIPAddress)
		}
	}
	if hasFramedRoutes(&e.FramedRoutes) {
		ie, err := framedRoutes(&framed, &e.FramedRoutes)
		c.refuseFor(ie, err)
	}
	if len(framed) > 0 { // all prefixes beside the UE's address are one list, which it replaces
		out.Framed = session.Some(framed)
	}
	if e.QFIs != 0 {
		out.QFIs = session.Some(session.QFISet(e.QFIs))
	}
	for _, ie := range e.Removed {
		switch ie {
		case pfcp.IENetworkInstance:
			out.NetworkInstance = session.Some("")
		case pfcp.IEQFI:
			out.QFIs = session.Some(session.QFISet(0))
		case pfcp.IEUEIPAddress:
			out.UEAddress = session.Some(session.UEAddress{})
		case pfcp.IEFramedRoute, pfcp.IEFramedIPv6Route:
			out.Framed = session.Some(framed)
		case pfcp.IEFramedRouting: // of which there is nothing but that there is none
		default:
			c.refuse(ie)
		}
	}
	c.refuse(e.Noted)
}
