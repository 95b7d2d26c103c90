package n4

import (
	"bytes"
	"net/netip"
	"net/url"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// outerHeaderCreation converts an Outer Header Creation. If a peer has both
// addresses, it is the IPv4 one. Of the descriptions one encapsulation counts, with
// VLAN tags beside it or alone; two of them, N19, N6 and Low Layer SSM are refused.
// Source: TS 29.244 V18.6.0, 8.2.56.
func (c *converter) outerHeaderCreation(far uint32, o *pfcp.OuterHeaderCreation) session.OuterHeaderCreation {
	out := session.OuterHeaderCreation{TEID: o.TEID, Port: o.Port}
	switch o.Description &^ (pfcp.CreateCTAG | pfcp.CreateSTAG) {
	case pfcp.CreateGTPUUDPIPv4, pfcp.CreateGTPUUDPIPv6, pfcp.CreateGTPUUDPIPv4 | pfcp.CreateGTPUUDPIPv6:
	case pfcp.CreateUDPIPv4, pfcp.CreateUDPIPv6, pfcp.CreateUDPIPv4 | pfcp.CreateUDPIPv6:
		out.Encapsulation = session.UDP
	case pfcp.CreateIPv4, pfcp.CreateIPv6, pfcp.CreateIPv4 | pfcp.CreateIPv6:
		out.Encapsulation = session.PlainIP
	case 0:
		out.Encapsulation = session.Tags
	default:
		c.refuseRule(session.RuleFAR, far, pfcp.IEOuterHeaderCreation)
		return session.OuterHeaderCreation{}
	}
	if o.IPv4.IsValid() {
		out.IPv4 = o.IPv4.As4()
	} else if o.IPv6.IsValid() {
		out.IPv6 = o.IPv6.As16()
	}
	if o.Description&pfcp.CreateCTAG != 0 {
		out.CTAG = session.Some(pfcp.NewVLANTag(o.CTAG).TCI())
	}
	if o.Description&pfcp.CreateSTAG != 0 {
		out.STAG = session.Some(pfcp.NewVLANTag(o.STAG).TCI())
	}
	return out
}

// dscp is the upper 6 bits of the ToS octet, as far as the mask has them.
func dscp(m pfcp.TransportLevelMarking) uint8 { return m.Value & m.Mask >> 2 }

// duplicate converts Duplicating Parameters.
func (c *converter) duplicate(far uint32, d *pfcp.DuplicatingParameters) session.Duplicate {
	out := session.Duplicate{
		DestinationInterface: session.Interface(d.DestinationInterface), ForwardingPolicy: c.text(d.ForwardingPolicy.Value),
	}
	if d.OuterHeaderCreation.Present {
		out.OuterHeaderCreation = c.outerHeaderCreation(far, &d.OuterHeaderCreation.Value)
	}
	if d.TransportLevelMarking.Present {
		out.DSCP = session.Some(dscp(d.TransportLevelMarking.Value))
	}
	return out
}

// updateDuplicate converts Update Duplicating Parameters.
func (c *converter) updateDuplicate(far uint32, d *pfcp.UpdateDuplicatingParameters) (out session.UpdateDuplicate) {
	if d.DestinationInterface.Present {
		out.DestinationInterface = session.Some(session.Interface(d.DestinationInterface.Value))
	}
	if d.OuterHeaderCreation.Present {
		out.OuterHeaderCreation = session.Some(c.outerHeaderCreation(far, &d.OuterHeaderCreation.Value))
	}
	if d.TransportLevelMarking.Present {
		out.DSCP = session.Some(dscp(d.TransportLevelMarking.Value))
	}
	if d.ForwardingPolicy.Present {
		out.ForwardingPolicy = session.Some(c.text(d.ForwardingPolicy.Value))
	}
	for _, ie := range d.Removed {
		switch ie {
		case pfcp.IEOuterHeaderCreation:
			out.OuterHeaderCreation = session.Some(session.OuterHeaderCreation{})
		case pfcp.IETransportLevelMarking:
			out.RemoveDSCP = true
		case pfcp.IEForwardingPolicy:
			out.ForwardingPolicy = session.Some("")
		default:
			c.refuseRule(session.RuleFAR, far, ie)
		}
	}
	return out
}

// redirect converts a Redirect Information: a URL of HTTP, or addresses. SIP URIs and
// ports are refused. Source: TS 29.244 V18.6.0, 8.2.20.
func (c *converter) redirect(far uint32, r *pfcp.RedirectInformation) *session.Redirect {
	out := new(session.Redirect)
	good := false
	switch r.Type {
	case pfcp.RedirectURL:
		u, err := url.Parse(string(r.Server))
		good = err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !bytes.ContainsAny(r.Server, "\r\n \t")
		out.URL = string(r.Server)
	case pfcp.RedirectIPv4, pfcp.RedirectIPv6:
		good = redirectAddress(out, r.Server)
	case pfcp.RedirectIPv4IPv6:
		good = redirectAddress(out, r.Server) && redirectAddress(out, r.Other) &&
			out.IPv4 != (session.IPv4{}) && out.IPv6 != (session.IPv6{})
	}
	if !good {
		c.refuseRule(session.RuleFAR, far, pfcp.IERedirectInformation)
	}
	return out
}

// redirectAddress reads an address of a Redirect Information, which is text, and
// reports whether it is one.
func redirectAddress(out *session.Redirect, text []byte) bool {
	a, err := netip.ParseAddr(string(text))
	switch {
	case err != nil || a.IsUnspecified() || a.IsMulticast() || a.Zone() != "":
		return false
	case a.Is4():
		out.IPv4 = a.As4()
	default:
		out.IPv6 = a.As16()
	}
	return true
}
