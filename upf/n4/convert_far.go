package n4

import (
	"math"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

func (c *converter) createFAR(out *session.FAR, f *pfcp.CreateFAR) {
	*out = session.FAR{ID: f.FARID, ApplyAction: session.ApplyAction(f.ApplyAction), BARID: optional(f.BARID)}
	if p := &f.ForwardingParameters.Value; f.ForwardingParameters.Present {
		out.HasForwarding = true
		out.Forwarding = session.ForwardingParameters{
			DestinationInterface: session.Interface(p.DestinationInterface), InterfaceType: interfaceType(p.InterfaceType),
			NetworkInstance: c.name(p.NetworkInstance),
			Endpoint:        optional(p.LinkedTrafficEndpointID),
		}
		if p.OuterHeaderCreation.Present {
			out.Forwarding.OuterHeaderCreation = c.outerHeaderCreation(f.FARID, &p.OuterHeaderCreation.Value)
		}
		if p.TransportLevelMarking.Present {
			out.Forwarding.DSCP = session.Some(dscp(p.TransportLevelMarking.Value))
		}
		if p.RedirectInformation.Present {
			out.Forwarding.Redirect = c.redirect(f.FARID, &p.RedirectInformation.Value)
		}
		if p.Replacement.Present {
			out.Forwarding.Replacement = c.replacement(f.FARID, &p.Replacement.Value)
		}
		out.Forwarding.ForwardingPolicy = c.text(p.ForwardingPolicy.Value)
		out.Forwarding.ProxyARP = p.Proxying&pfcp.ProxyingARP != 0
		out.Forwarding.ProxyND = p.Proxying&pfcp.ProxyingINS != 0
		c.refuseRule(session.RuleFAR, f.FARID, p.Noted)
	}
	for i := range f.Duplicating {
		out.Duplicates = append(out.Duplicates, c.duplicate(f.FARID, &f.Duplicating[i]))
	}
	c.refuseRule(session.RuleFAR, f.FARID, f.Noted)
}

func (c *converter) updateFAR(out *session.UpdateFAR, f *pfcp.UpdateFAR) {
	*out = session.UpdateFAR{
		ID: f.FARID, BARID: optional(f.BARID), HasForwarding: f.UpdateForwardingParameters.Present,
	}
	if f.ApplyAction.Present {
		out.ApplyAction = session.Some(session.ApplyAction(f.ApplyAction.Value))
	}
	if out.HasForwarding {
		c.updateForwarding(out, &f.UpdateForwardingParameters.Value)
	}
	for i := range f.UpdateDuplicating {
		out.Duplicates = append(out.Duplicates, c.updateDuplicate(f.FARID, &f.UpdateDuplicating[i]))
	}
	for _, ie := range f.Removed {
		if ie == pfcp.IEBARID {
			out.RemoveBAR = true
		} else {
			c.refuseRule(session.RuleFAR, f.FARID, ie)
		}
	}
	c.refuseRule(session.RuleFAR, f.FARID, f.Noted)
}

// updateForwarding converts Update Forwarding Parameters.
func (c *converter) updateForwarding(out *session.UpdateFAR, p *pfcp.UpdateForwardingParameters) {
	if p.DestinationInterface.Present {
		out.DestinationInterface = session.Some(session.Interface(p.DestinationInterface.Value))
	}
	out.InterfaceType = interfaceType(p.InterfaceType)
	if len(p.NetworkInstance) > 0 {
		out.NetworkInstance = session.Some(c.name(p.NetworkInstance))
	}
	if p.OuterHeaderCreation.Present {
		out.OuterHeaderCreation = session.Some(c.outerHeaderCreation(out.ID, &p.OuterHeaderCreation.Value))
	}
	if p.TransportLevelMarking.Present {
		out.DSCP = session.Some(dscp(p.TransportLevelMarking.Value))
	}
	if p.RedirectInformation.Present {
		out.Redirect = session.Some(c.redirect(out.ID, &p.RedirectInformation.Value))
	}
	if p.Replacement.Present {
		out.Replacement = session.Some(c.replacement(out.ID, &p.Replacement.Value))
	}
	if p.ForwardingPolicy.Present {
		out.ForwardingPolicy = session.Some(c.text(p.ForwardingPolicy.Value))
	}
	out.Endpoint = optional(p.LinkedTrafficEndpointID)
	out.SendEndMarkers = p.SMReqFlags&pfcp.SMReqSNDEM != 0
	for _, ie := range p.Removed {
		switch ie {
		case pfcp.IENetworkInstance:
			out.NetworkInstance = session.Some("")
		case pfcp.IEOuterHeaderCreation:
			out.OuterHeaderCreation = session.Some(session.OuterHeaderCreation{})
		case pfcp.IETransportLevelMarking:
			out.RemoveDSCP = true
		case pfcp.IE3GPPInterfaceType:
			out.RemoveInterfaceType = true
		case pfcp.IETrafficEndpointID:
			out.RemoveEndpoint = true
		case pfcp.IERedirectInformation:
			out.Redirect = session.Some[*session.Redirect](nil)
		case pfcp.IEIPAddressAndPortReplacement:
			out.Replacement = session.Some[*session.Replacement](nil)
		case pfcp.IEForwardingPolicy:
			out.ForwardingPolicy = session.Some("")
		default:
			c.refuseRule(session.RuleFAR, out.ID, ie)
		}
	}
	c.refuseRule(session.RuleFAR, out.ID, p.Noted)
}

// replacement converts an IP Address and Port number Replacement. One by which packets
// would go to no host, or to or from no port, is refused.
func (c *converter) replacement(far uint32, r *pfcp.AddressReplacement) *session.Replacement {
	out := new(session.Replacement)
	good := r.Destination != pfcp.ReplacedEnd{} || r.Source != pfcp.ReplacedEnd{}
	for _, e := range []struct {
		from *pfcp.ReplacedEnd
		ip4  *session.IPv4
		ip6  *session.IPv6
		port *uint16
	}{
		{&r.Destination, &out.DestinationIPv4, &out.DestinationIPv6, &out.DestinationPort},
		{&r.Source, &out.SourceIPv4, &out.SourceIPv6, &out.SourcePort},
	} {
		if a := e.from.IPv4; a.IsValid() {
			*e.ip4 = a.As4()
			good = good && !a.IsUnspecified() && !a.IsMulticast()
		}
		if a := e.from.IPv6; a.IsValid() {
			*e.ip6 = a.As16()
			good = good && !a.IsUnspecified() && !a.IsMulticast()
		}
		*e.port = e.from.Port.Value
		good = good && e.from.Port.Present == (*e.port != 0)
	}
	if !good {
		c.refuseRule(session.RuleFAR, far, pfcp.IEIPAddressAndPortReplacement)
	}
	return out
}

// createBAR converts a Create BAR. The smaller of the suggested counts holds.
func (c *converter) createBAR(out *session.BAR, b *pfcp.BAR) {
	*out = session.BAR{ID: b.BARID, NotificationDelay: b.NotificationDelay.Value.Duration()}
	if n := suggestedPackets(b); n.Present {
		out.Packets = n.Value
	}
	out.Duration = bufferingDuration(b).Value
	c.refuseRule(session.RuleBAR, uint32(b.BARID), b.Noted)
}

func (c *converter) updateBAR(out *session.UpdateBAR, b *pfcp.BAR) {
	*out = session.UpdateBAR{ID: b.BARID, Packets: suggestedPackets(b), Duration: bufferingDuration(b)}
	if b.NotificationDelay.Present {
		out.NotificationDelay = session.Some(b.NotificationDelay.Value.Duration())
	}
	for _, ie := range b.Removed {
		switch ie {
		case pfcp.IEDownlinkDataNotificationDelay:
			out.NotificationDelay = session.Some(pfcp.NotificationDelay(0).Duration())
		case pfcp.IESuggestedBufferingPacketsCount, pfcp.IEDLBufferingSuggestedPacketCount:
			out.Packets = session.Some(uint16(0))
		case pfcp.IEDLBufferingDuration:
			out.Duration = session.Some(time.Duration(0))
		default:
			c.refuseRule(session.RuleBAR, uint32(b.BARID), ie)
		}
	}
	c.refuseRule(session.RuleBAR, uint32(b.BARID), b.Noted)
}

// bufferingDuration is how long packets are to be kept. A duration of 0 is that of
// the datapath; one without end is longer than any datapath keeps them.
func bufferingDuration(b *pfcp.BAR) session.Optional[time.Duration] {
	d := b.BufferingDuration
	if !d.Present {
		return session.Optional[time.Duration]{}
	}
	if d.Value.Infinite() {
		return session.Some(time.Duration(math.MaxInt64))
	}
	return session.Some(d.Value.Duration())
}

// suggestedPackets is how many packets the CP function thinks worth buffering.
func suggestedPackets(b *pfcp.BAR) (n session.Optional[uint16]) {
	n = optional(b.BufferingSuggestedPackets)
	if b.SuggestedBufferingPackets.Present && (!n.Present || uint16(b.SuggestedBufferingPackets.Value) < n.Value) {
		n = session.Some(uint16(b.SuggestedBufferingPackets.Value))
	}
	return n
}
