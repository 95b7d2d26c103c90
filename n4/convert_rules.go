package n4

import (
	"plumbline/pfcp"
	"plumbline/session"
)

func (c *converter) createPDR(out *session.PDR, p *pfcp.CreatePDR) {
	*out = session.PDR{
		ID: p.PDRID, Precedence: p.Precedence, FARID: p.FARID.Value, QERIDs: p.QERIDs,
		OuterHeaderRemoval: c.outerHeaderRemoval(p.PDRID, p.OuterHeaderRemoval),
		PDI:                c.pdi(p.PDRID, &p.PDI),
	}
	if len(p.URRIDs) > 0 {
		c.refuseRule(session.RulePDR, uint32(p.PDRID), pfcp.IEURRID)
	}
	c.refuseRule(session.RulePDR, uint32(p.PDRID), p.Noted)
}

func (c *converter) updatePDR(out *session.UpdatePDR, p *pfcp.UpdatePDR) {
	*out = session.UpdatePDR{
		ID: p.PDRID, Precedence: session.Optional[uint32](p.Precedence), FARID: session.Optional[uint32](p.FARID),
	}
	if p.OuterHeaderRemoval.Present {
		out.OuterHeaderRemoval = session.Some(c.outerHeaderRemoval(p.PDRID, p.OuterHeaderRemoval))
	}
	if p.PDI.Present {
		out.PDI = session.Some(c.pdi(p.PDRID, &p.PDI.Value))
	}
	if len(p.QERIDs) > 0 {
		out.QERIDs = p.QERIDs
	}
	if len(p.URRIDs) > 0 {
		c.refuseRule(session.RulePDR, uint32(p.PDRID), pfcp.IEURRID)
	}
	c.refuseRule(session.RulePDR, uint32(p.PDRID), removed(p.Removed))
	c.refuseRule(session.RulePDR, uint32(p.PDRID), p.Noted)
}

// outerHeaderRemoval reports whether GTP-U/UDP/IPv4 is removed. "GTP-U/UDP/IP"
// says the same here, as N3 is IPv4. All extension headers go with it.
// Source: TS 29.244 V18.6.0, 8.2.64.
func (c *converter) outerHeaderRemoval(pdr uint16, r pfcp.Optional[pfcp.OuterHeaderRemoval]) bool {
	if !r.Present {
		return false
	}
	if d := r.Value.Description; d != pfcp.RemoveGTPUUDPIPv4 && d != pfcp.RemoveGTPUUDPIP {
		c.refuseRule(session.RulePDR, uint32(pdr), pfcp.IEOuterHeaderRemoval)
	}
	return true
}

// pdi converts a PDI.
func (c *converter) pdi(pdr uint16, d *pfcp.PDI) session.PDI {
	out := session.PDI{
		SourceInterface: session.Interface(d.SourceInterface),
		QFIs:            session.QFISet(d.QFIs),
		NetworkInstance: c.name(d.NetworkInstance),
		UEAddress:       c.ueAddress(pdr, d.UEIPAddresses),
	}
	refuse := func(ie pfcp.IEType) { c.refuseRule(session.RulePDR, uint32(pdr), ie) }
	if d.QFIs.Has(0) {
		refuse(pfcp.IEQFI)
	}
	if f := &d.FTEID.Value; d.FTEID.Present {
		out.Choose = session.Choose{CH: f.CH, CHID: f.CHID.Present, ID: f.CHID.Value}
		if f.V6 {
			refuse(pfcp.IEFTEID)
		}
		if f.IPv4.IsValid() {
			out.FTEID = session.FTEID{TEID: f.TEID, IPv4: f.IPv4.As4()}
		}
	}
	for i := range d.SDFFilters {
		f := &d.SDFFilters[i]
		if f.TrafficClass.Present || f.SPI.Present || f.FlowLabel.Present || string(f.FlowDescription) != "permit out ip from any to assigned" {
			refuse(pfcp.IESDFFilter)
		}
	}
	if len(d.ApplicationID) > 0 {
		refuse(pfcp.IEApplicationID)
	}
	if len(d.TrafficEndpointIDs) > 0 {
		refuse(pfcp.IETrafficEndpointID)
	}
	refuse(d.Noted)
	return out
}

// ueAddress converts the UE IP Addresses of a PDI: at most one IPv4 address and
// one IPv6 prefix of 64 bits.
func (c *converter) ueAddress(pdr uint16, list []pfcp.UEIPAddress) (out session.UEAddress) {
	for i := range list {
		a := &list[i]
		bad := a.CHV4 || a.CHV6 || a.IPv6Delegate.Value != 0 || a.IPv6Length.Present && a.IPv6Length.Value != 64
		if a.IPv4.IsValid() {
			bad = bad || out.IPv4 != session.IPv4{}
			out.IPv4 = a.IPv4.As4()
		}
		if a.IPv6.IsValid() {
			bad = bad || out.IPv6Prefix != session.IPv6Prefix{}
			octets := a.IPv6.As16()
			out.IPv6Prefix = session.IPv6Prefix(octets[:8])
		}
		if bad {
			c.refuseRule(session.RulePDR, uint32(pdr), pfcp.IEUEIPAddress)
		}
	}
	return out
}

func (c *converter) createFAR(out *session.FAR, f *pfcp.CreateFAR) {
	*out = session.FAR{ID: f.FARID, ApplyAction: session.ApplyAction(f.ApplyAction)}
	if p := &f.ForwardingParameters.Value; f.ForwardingParameters.Present {
		out.HasForwarding = true
		out.Forwarding = session.ForwardingParameters{
			DestinationInterface: session.Interface(p.DestinationInterface),
			NetworkInstance:      c.name(p.NetworkInstance),
		}
		if p.OuterHeaderCreation.Present {
			out.Forwarding.OuterHeaderCreation = c.outerHeaderCreation(f.FARID, &p.OuterHeaderCreation.Value)
		}
		if p.TransportLevelMarking.Present {
			out.Forwarding.HasDSCP, out.Forwarding.DSCP = true, dscp(p.TransportLevelMarking.Value)
		}
		if p.LinkedTrafficEndpointID.Present {
			c.refuseRule(session.RuleFAR, f.FARID, pfcp.IETrafficEndpointID)
		}
		c.refuseRule(session.RuleFAR, f.FARID, p.Noted)
	}
	if f.BARID.Present {
		c.refuseRule(session.RuleFAR, f.FARID, pfcp.IEBARID)
	}
	c.refuseRule(session.RuleFAR, f.FARID, f.Noted)
}

func (c *converter) updateFAR(out *session.UpdateFAR, f *pfcp.UpdateFAR) {
	*out = session.UpdateFAR{ID: f.FARID, HasForwarding: f.UpdateForwardingParameters.Present}
	if f.ApplyAction.Present {
		out.ApplyAction = session.Some(session.ApplyAction(f.ApplyAction.Value))
	}
	if p := &f.UpdateForwardingParameters.Value; out.HasForwarding {
		if p.DestinationInterface.Present {
			out.DestinationInterface = session.Some(session.Interface(p.DestinationInterface.Value))
		}
		if len(p.NetworkInstance) > 0 {
			out.NetworkInstance = session.Some(c.name(p.NetworkInstance))
		}
		if p.OuterHeaderCreation.Present {
			out.OuterHeaderCreation = session.Some(c.outerHeaderCreation(f.FARID, &p.OuterHeaderCreation.Value))
		}
		if p.TransportLevelMarking.Present {
			out.DSCP = session.Some(dscp(p.TransportLevelMarking.Value))
		}
		if p.LinkedTrafficEndpointID.Present {
			c.refuseRule(session.RuleFAR, f.FARID, pfcp.IETrafficEndpointID)
		}
		c.refuseRule(session.RuleFAR, f.FARID, removed(p.Removed))
		c.refuseRule(session.RuleFAR, f.FARID, p.Noted)
	}
	if f.BARID.Present {
		c.refuseRule(session.RuleFAR, f.FARID, pfcp.IEBARID)
	}
	c.refuseRule(session.RuleFAR, f.FARID, removed(f.Removed))
	c.refuseRule(session.RuleFAR, f.FARID, f.Noted)
}

// outerHeaderCreation takes GTP-U/UDP/IPv4 and nothing else.
func (c *converter) outerHeaderCreation(far uint32, o *pfcp.OuterHeaderCreation) session.OuterHeaderCreation {
	if o.Description != pfcp.CreateGTPUUDPIPv4 {
		c.refuseRule(session.RuleFAR, far, pfcp.IEOuterHeaderCreation)
		return session.OuterHeaderCreation{}
	}
	return session.OuterHeaderCreation{TEID: o.TEID, IPv4: o.IPv4.As4()}
}

// dscp is the upper 6 bits of the ToS octet, as far as the mask has them.
func dscp(m pfcp.TransportLevelMarking) uint8 { return m.Value & m.Mask >> 2 }

func (c *converter) createQER(out *session.QER, q *pfcp.CreateQER) {
	*out = session.QER{
		ID:               q.QERID,
		UplinkGateClosed: q.GateStatus.UplinkClosed, DownlinkGateClosed: q.GateStatus.DownlinkClosed,
		QFI: uint8(q.QFI.Value), HasMBR: q.MBR.Present, HasGBR: q.GBR.Present,
		MBR: bitRate(q.MBR.Value), GBR: bitRate(q.GBR.Value),
	}
	if q.QERCorrelationID.Present {
		c.refuseRule(session.RuleQER, q.QERID, pfcp.IEQERCorrelationID)
	}
	if q.RQI.Value {
		c.refuseRule(session.RuleQER, q.QERID, pfcp.IERQI)
	}
	c.refuseRule(session.RuleQER, q.QERID, q.Noted)
}

func (c *converter) updateQER(out *session.UpdateQER, q *pfcp.UpdateQER) {
	*out = session.UpdateQER{ID: q.QERID}
	if q.GateStatus.Present {
		out.Gates = session.Some(session.GateStatus(q.GateStatus.Value))
	}
	if q.MBR.Present {
		out.MBR = session.Some(bitRate(q.MBR.Value))
	}
	if q.GBR.Present {
		out.GBR = session.Some(bitRate(q.GBR.Value))
	}
	if q.QFI.Present {
		out.QFI = session.Some(uint8(q.QFI.Value))
	}
	if q.QERCorrelationID.Present {
		c.refuseRule(session.RuleQER, q.QERID, pfcp.IEQERCorrelationID)
	}
	if q.RQI.Value {
		c.refuseRule(session.RuleQER, q.QERID, pfcp.IERQI)
	}
	c.refuseRule(session.RuleQER, q.QERID, removed(q.Removed))
	c.refuseRule(session.RuleQER, q.QERID, q.Noted)
}

// bitRate converts kbit/s, which are 40 bits, to bit/s.
func bitRate(r pfcp.BitRates) session.Rate {
	return session.Rate{
		Uplink:   session.BitsPerSecond(r.UplinkKbps) * 1000,
		Downlink: session.BitsPerSecond(r.DownlinkKbps) * 1000,
	}
}
