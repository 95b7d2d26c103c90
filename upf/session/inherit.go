package session

import (
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/internal/endpoint"
)

// This file completes PDIs that name neither F-TEID nor UE IP Address: they take those
// of the session's other PDRs. Open5GS's SMF sends such a PDR for the downlink of a QoS
// flow, with SDF filters alone.
// Source: TS 29.244 V18.6.0, 5.2.1A.2A and table 7.5.2.2-2.

// hasEnds reports whether the PDI itself names something by which packets are found.
func (d *PDI) hasEnds() bool {
	return d.Endpoint.Present || d.Choose.CH || d.ChooseUE != (ChooseUE{}) || d.FTEID != (FTEID{}) || !d.UEAddress.IsZero() ||
		len(d.Framed) > 0 || d.EthernetSession
}

// fromSession gives each PDI that inherits what the session's other PDRs have: bare
// packets are found by the session's UE addresses, packets from a tunnel by the
// F-TEID of the PDRs at the same interface. What the session does not have either,
// validatePDI reports as missing.
//
// Errors: the PDR that inherits, if the others disagree.
func (p *plan) fromSession() error {
	for i := range p.next.PDRs {
		r := &p.next.PDRs[i]
		d := &r.PDI
		if !d.Inherits {
			continue
		}
		d.Endpoint, d.MoreEndpoints, d.Choose, d.FTEID = Optional[uint8]{}, nil, Choose{}, FTEID{}
		d.ChooseUE, d.UEAddress, d.Framed = ChooseUE{}, UEAddress{}, nil
		inherit := p.inheritAddress
		if p.onlyTunnels(d.SourceInterface) {
			inherit = p.inheritTunnel
		}
		if err := inherit(r); err != nil {
			return err
		}
	}
	return nil
}

// onlyTunnels reports whether packets from that interface come through tunnels alone.
func (p *plan) onlyTunnels(from Interface) bool {
	if from == Access || from == CPFunction {
		return true
	}
	tunnels := false
	for i := range p.next.PDRs {
		if o := &p.next.PDRs[i].PDI; !o.Inherits && o.SourceInterface == from {
			if !p.tunnelled(o) {
				return false
			}
			tunnels = true
		}
	}
	return tunnels
}

// inheritAddress gives r the UE addresses of the session, of each IP version that any
// of its PDRs has, and the framed routes from r's interface.
func (p *plan) inheritAddress(r *PDR) error {
	d := &r.PDI
	for i := range p.next.PDRs {
		other := &p.next.PDRs[i]
		o := &other.PDI
		if o.Inherits || !p.addressed(o) {
			continue
		}
		a, has := &d.UEAddress, o.UEAddress
		if a.IPv4 != (IPv4{}) && has.IPv4 != (IPv4{}) && a.IPv4 != has.IPv4 ||
			a.IPv6Prefix != (IPv6Prefix{}) && has.IPv6Prefix != (IPv6Prefix{}) && a.IPv6Prefix != has.IPv6Prefix {
			return pdrError(r.ID, ErrDisagree, "no UE IP Address of its own, and PDR %d has another than the PDRs before it", other.ID)
		}
		if a.IPv4 == (IPv4{}) {
			a.IPv4 = has.IPv4
		}
		if a.IPv6Prefix == (IPv6Prefix{}) {
			a.IPv6Prefix = has.IPv6Prefix
		}
		choose := p.chooses(o)
		d.ChooseUE.V4, d.ChooseUE.V6 = d.ChooseUE.V4 || choose.V4, d.ChooseUE.V6 || choose.V6
		if o.SourceInterface == d.SourceInterface && len(d.Framed) == 0 {
			d.Framed = o.Framed
		}
	}
	return nil
}

// chooses is how the UE addresses of a PDI come about, those of its Traffic Endpoint
// included.
func (p *plan) chooses(d *PDI) ChooseUE {
	if d.Endpoint.Present {
		if e := p.next.Endpoint(d.Endpoint.Value); e != nil {
			return e.ChooseUE
		}
	}
	return d.ChooseUE
}

// inheritTunnel gives r the F-TEID of the session's PDRs with its Source Interface,
// with the UE addresses and framed routes there; if there are several, of those with
// its Network Instance or 3GPP Interface Type.
func (p *plan) inheritTunnel(r *PDR) error {
	d := &r.PDI
	var from []*PDI
	for i := range p.next.PDRs {
		o := &p.next.PDRs[i].PDI
		if !o.Inherits && o.SourceInterface == d.SourceInterface && p.tunnelled(o) && !slices.ContainsFunc(from, o.sameTunnel) {
			from = append(from, o)
		}
	}
	for _, differs := range [...]func(*PDI) bool{
		func(o *PDI) bool { return !endpoint.SameName(o.NetworkInstance, d.NetworkInstance) },
		func(o *PDI) bool { return o.InterfaceType != d.InterfaceType },
	} {
		if closer := slices.DeleteFunc(slices.Clone(from), differs); len(closer) > 0 {
			from = closer
		}
	}
	switch len(from) {
	case 0:
		return nil
	case 1:
		o := from[0]
		d.Endpoint, d.MoreEndpoints, d.Choose, d.FTEID = o.Endpoint, o.MoreEndpoints, o.Choose, o.FTEID
		d.UEAddress, d.ChooseUE, d.Framed = o.UEAddress, o.ChooseUE, o.Framed
		return nil
	}
	return pdrError(r.ID, ErrDisagree, "no F-TEID of its own, and the session has %d from %v", len(from), d.SourceInterface)
}

// sameTunnel reports whether both are found by one F-TEID, if only it is still to be
// chosen.
func (d *PDI) sameTunnel(o *PDI) bool {
	switch {
	case d.Endpoint.Present || o.Endpoint.Present:
		return d.Endpoint == o.Endpoint
	case d.Choose.CH && d.FTEID.TEID == 0:
		return d.Choose == o.Choose && d.Choose.CHID
	}
	return d.FTEID == o.FTEID
}

// checkAddresses refuses a session whose PDRs disagree about the UE's IPv4 address: a
// session has one. IPv6 prefixes may be several (multi-homing).
// Source: TS 23.501 V18.8.0, 5.8.2.2.
func (p *plan) checkAddresses() error {
	var first *PDR
	for i := range p.next.PDRs {
		r := &p.next.PDRs[i]
		a := r.PDI.UEAddress.IPv4
		if a == (IPv4{}) {
			continue
		}
		if first == nil {
			first = r
			continue
		}
		if has := first.PDI.UEAddress.IPv4; a != has && !r.PDI.frames(has) && !first.PDI.frames(a) {
			return pdrError(r.ID, ErrDisagree, "UE IP Address %v, PDR %d has %v", netip.AddrFrom4(a), first.ID, netip.AddrFrom4(has))
		}
	}
	return nil
}

// frames reports whether one of the PDI's prefixes beside its UE address has a in it.
func (d *PDI) frames(a IPv4) bool {
	return slices.ContainsFunc(d.Framed, func(f netip.Prefix) bool { return f.Contains(netip.AddrFrom4(a)) })
}
