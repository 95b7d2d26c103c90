package session

import "slices"

// validatePDI checks that a packet can be matched by what the PDI says.
func (p *plan) validatePDI(r *PDR) error {
	d := &r.PDI
	from, tunnel := d.SourceInterface, p.tunnelled(d)
	switch {
	case from > CPFunction:
		return pdrError(r.ID, ErrUnsupported, "Source Interface %d", from)
	case !tunnel && (from == Access || from == CPFunction):
		return pdrError(r.ID, ErrIncomplete, "from %v without F-TEID", from)
	case !tunnel && !p.addressed(d) && !d.EthernetSession && len(d.Ethernet) == 0:
		return pdrError(r.ID, ErrIncomplete, "from %v without F-TEID and UE IP Address", from)
	case !tunnel && d.QFIs != 0:
		return pdrError(r.ID, ErrUnsupported, "QFI in the PDI at %v, without F-TEID", from)
	case !tunnel && r.OuterHeaderRemoval:
		return pdrError(r.ID, ErrUnsupported, "Outer Header Removal at %v, without F-TEID", from)
	case tunnel && r.Unwrap != UnwrapNone:
		return pdrError(r.ID, ErrUnsupported, "Outer Header Removal other than GTP-U at %v, with F-TEID", from)
	case tunnel && d.FTEID.TEID != 0 && !p.m.config.terminates(d.FTEID):
		return pdrError(r.ID, ErrUnsupported, "F-TEID at %v, %x, which is no GTP-U endpoint here", d.FTEID.IPv4, d.FTEID.IPv6)
	}
	return p.validateRarePDI(r)
}

// validateRarePDI checks what few PDIs have.
func (p *plan) validateRarePDI(r *PDR) error {
	d := &r.PDI
	if (d.EthernetSession || len(d.Ethernet) > 0 || r.Unwrap > UnwrapIP) && p.next.PDNType != PDNTypeEth {
		return pdrError(r.ID, ErrUnsupported, "Ethernet in a session that is not of PDN Type Ethernet")
	}
	for _, id := range d.MoreEndpoints {
		e := p.next.Endpoint(id)
		if in := e.Choose.CH || e.FTEID.TEID != 0; in != p.tunnelled(d) || !in && !p.addressed(&PDI{Endpoint: Some(id), UEAddress: e.UEAddress, Framed: e.Framed}) {
			return pdrError(r.ID, ErrUnsupported, "Traffic Endpoints %d and %d, of which one alone has an F-TEID or none an address", d.Endpoint.Value, id)
		}
	}
	for i := range d.Ethernet {
		f := &d.Ethernet[i]
		if !f.Reference {
			continue
		}
		if to, _ := p.next.EthernetFilter(f.ID.Value); !f.ID.Present || to == nil {
			return pdrError(r.ID, ErrReference, "Ethernet Filter ID %d", f.ID.Value)
		}
	}
	return nil
}

// validateFilters checks SDF filters and the application.
func (p *plan) validateFilters(r *PDR) error {
	d := &r.PDI
	if d.ApplicationID == "" {
		return nil
	}
	matchAll := slices.ContainsFunc(d.Filters, func(f SDFFilter) bool { return f.MatchesAll() })
	if len(d.Filters) > 0 && !matchAll {
		return pdrError(r.ID, ErrUnsupported, "SDF filters and Application ID %q in one PDI", d.ApplicationID)
	}
	if p.old != nil {
		if was := p.old.PDR(r.ID); was != nil && was.PDI.ApplicationID == d.ApplicationID {
			return nil // its PDFs were removed meanwhile: it matches nothing
		}
	}
	if _, ok := p.m.tables.flows(d.ApplicationID); !ok {
		return withCause(CauseUnknownApplication, pdrError(r.ID, ErrReference, "Application ID %q", d.ApplicationID))
	}
	return nil
}
