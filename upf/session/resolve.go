package session

import "slices"

// resolve fills in what rules say by reference: SDF filters by their ID, and
// what PDIs have from their Traffic Endpoints.
func (p *plan) resolve() error {
	noURR := p.next.URR(0) == nil && (p.old == nil || p.old.URR(0) == nil)
	for i := range p.next.PDRs {
		r := &p.next.PDRs[i]
		if noURR { // that of a PDR which OAI's SMF does not measure
			r.URRIDs = slices.DeleteFunc(r.URRIDs, func(id uint32) bool { return id == 0 })
		}
		for j := range r.PDI.Filters {
			f := &r.PDI.Filters[j]
			if !f.ID.Present {
				continue
			}
			d := p.definition(f.ID.Value)
			if d == nil {
				return pdrError(r.ID, ErrReference, "SDF Filter ID %d", f.ID.Value)
			}
			if d != f {
				f.copy(d)
			}
		}
	}
	return p.fill()
}

// fill gives PDIs what they have by reference: from their Traffic Endpoints, or from
// the session.
func (p *plan) fill() error {
	if err := p.fromEndpoints(); err != nil {
		return err
	}
	return p.fromSession()
}

// definition returns what the SDF Filter ID stands for: if the request gives it
// anew, that, and it holds for all PDRs that have it.
// Source: TS 29.244 V18.6.0, 5.2.1A.2A and 8.2.5.
func (p *plan) definition(id uint32) *SDFFilter {
	var was *SDFFilter
	if p.old != nil {
		was = p.old.filter(id, func(*SDFFilter) bool { return true })
	}
	if was != nil {
		if d := p.next.filter(id, func(f *SDFFilter) bool { return !f.equal(was) }); d != nil {
			return d
		}
		return was
	}
	return p.next.filter(id, func(*SDFFilter) bool { return true })
}

// filter returns a filter with that ID that says what it is and is wanted, or nil.
func (s *Session) filter(id uint32, wanted func(*SDFFilter) bool) *SDFFilter {
	for i := range s.PDRs {
		for j := range s.PDRs[i].PDI.Filters {
			f := &s.PDRs[i].PDI.Filters[j]
			if f.ID.Present && f.ID.Value == id && !f.Reference && wanted(f) {
				return f
			}
		}
	}
	return nil
}

func (f *SDFFilter) equal(g *SDFFilter) bool {
	return f.ID == g.ID && f.Reference == g.Reference && f.Protocol == g.Protocol && f.Remote == g.Remote &&
		f.Local == g.Local && f.TOS == g.TOS && f.TOSMask == g.TOSMask && f.SPI == g.SPI && f.FlowLabel == g.FlowLabel && f.Host == g.Host && f.Path == g.Path &&
		slices.Equal(f.RemotePorts, g.RemotePorts) && slices.Equal(f.LocalPorts, g.LocalPorts)
}

// MatchesAll reports whether every packet matches.
func (f *SDFFilter) MatchesAll() bool {
	return !f.Protocol.Present && !f.Remote.IsValid() && !f.Local.IsValid() && len(f.RemotePorts)+len(f.LocalPorts) == 0 &&
		f.TOSMask == 0 && !f.SPI.Present && !f.FlowLabel.Present && f.Host == "" && f.Path == ""
}

// fromEndpoints copies what PDIs have from their Traffic Endpoints: "the PDI shall
// not contain the Local F-TEID, Network Instance, UE IP Address, Framed-Route"
// beside it. The QFIs may be in either.
// Source: TS 29.244 V18.6.0, 5.2.1A.3 and table 7.5.2.2-2.
func (p *plan) fromEndpoints() error {
	for i := range p.next.PDRs {
		r := &p.next.PDRs[i]
		d := &r.PDI
		if !d.Endpoint.Present || d.Inherits {
			continue
		}
		e := p.next.Endpoint(d.Endpoint.Value)
		if e == nil {
			return pdrError(r.ID, ErrReference, "Traffic Endpoint %d", d.Endpoint.Value)
		}
		d.Choose, d.ChooseUE = Choose{}, ChooseUE{}
		d.FTEID, d.NetworkInstance, d.UEAddress = e.FTEID, e.NetworkInstance, e.UEAddress
		d.Framed, d.EthernetSession = e.Framed, e.EthernetSession
		if e.InterfaceType.Present {
			d.InterfaceType = e.InterfaceType
		}
		if e.QFIs != 0 {
			d.QFIs = e.QFIs
		}
		for _, id := range d.MoreEndpoints {
			if p.next.Endpoint(id) == nil {
				return pdrError(r.ID, ErrReference, "Traffic Endpoint %d", id)
			}
		}
	}
	return nil
}

// refersTo reports whether the PDI has that Traffic Endpoint ID.
func (d *PDI) refersTo(endpoint uint8) bool {
	return d.Endpoint == Some(endpoint) || slices.Contains(d.MoreEndpoints, endpoint)
}

// tunnelled reports whether packets of the PDI come through a tunnel, if only its
// F-TEID is still to be chosen.
func (p *plan) tunnelled(d *PDI) bool {
	if d.Endpoint.Present {
		if e := p.next.Endpoint(d.Endpoint.Value); e != nil {
			return e.Choose.CH || e.FTEID.TEID != 0
		}
	}
	return d.Choose.CH || d.FTEID.TEID != 0
}

// addressed reports whether the PDI has a UE address, if it is only to be chosen.
func (p *plan) addressed(d *PDI) bool {
	choose := d.ChooseUE
	if d.Endpoint.Present {
		if e := p.next.Endpoint(d.Endpoint.Value); e != nil {
			choose = e.ChooseUE
		}
	}
	return choose.V4 || choose.V6 || !d.UEAddress.IsZero() || len(d.Framed) > 0
}
