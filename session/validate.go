package session

import (
	"fmt"
	"slices"
)

// defaultMaxRules is how many rules of a kind a session may have, so that one
// request cannot take F-TEIDs and memory without measure.
const defaultMaxRules = 64

// checkSupported refuses a request that asks for anything this UP function
// does not do.
func checkSupported(list []Unsupported) error {
	if len(list) == 0 {
		return nil
	}
	u := list[0]
	reason := u.Err
	if reason == nil {
		reason = ErrUnsupported
	}
	err := fmt.Errorf("%s (IE type %d): %w", u.What, u.IE, reason)
	if u.HasRule {
		return ruleError(u.Rule, u.RuleID, err)
	}
	return &Error{Cause: CauseServiceNotSupported, OffendingIE: u.IE, Err: err}
}

// validate checks a planned session as a whole, all that is to be allocated
// apart.
func (p *plan) validate() error {
	s := p.next
	for i := range s.QERs {
		if s.QERs[i].QFI > 63 {
			return qerError(s.QERs[i].ID, ErrUnsupported, "QFI %d", s.QERs[i].QFI)
		}
	}
	for i := range s.URRs {
		if err := p.validateURR(&s.URRs[i]); err != nil {
			return err
		}
	}
	if len(s.BARs) > 0 && !p.m.config.Can.Buffering {
		return ruleError(RuleBAR, uint32(s.BARs[0].ID), fmt.Errorf("buffering: %w", ErrUnsupported))
	}
	for i := range s.FARs {
		if err := p.validateFAR(&s.FARs[i]); err != nil {
			return err
		}
	}
	for i := range s.Endpoints {
		if err := p.validateEndpoint(&s.Endpoints[i]); err != nil {
			return err
		}
	}
	for i := range s.PDRs {
		if err := p.validatePDR(&s.PDRs[i]); err != nil {
			return err
		}
	}
	if !p.m.config.Can.Filters {
		return p.checkDetectable()
	}
	return nil
}

// notMeasured are triggers of what is not measured here: dropped packets,
// events, Ethernet, multicast.
const notMeasured = ReportDROTH | ReportENVCL | ReportMACAR | ReportEVETH | ReportEVEQU | ReportIPMJL | ReportREEMR | ReportUPINT

// validateURR checks one URR by itself.
func (p *plan) validateURR(u *URR) error {
	switch {
	case !p.m.config.Can.Usage:
		return urrError(u.ID, ErrUnsupported, "usage reporting")
	case u.Method&^(MeasureDuration|MeasureVolume|MeasureEvent) != 0,
		u.Method&MeasureEvent != 0 && u.Triggers&(ReportSTART|ReportSTOPT) == 0: // the only events there are
		return urrError(u.ID, ErrUnsupported, "Measurement Method %v", u.Method)
	case u.Triggers&notMeasured != 0:
		return urrError(u.ID, ErrUnsupported, "Reporting Triggers %v", u.Triggers)
	case u.Information&^(InfoRADI|InfoISTM|InfoMNOP) != 0: // before QoS enforcement, paused
		return urrError(u.ID, ErrUnsupported, "Measurement Information %#x", uint16(u.Information))
	case u.QuotaFAR.Present && p.next.FAR(u.QuotaFAR.Value) == nil:
		return urrError(u.ID, ErrReference, "FAR %d for Quota Action", u.QuotaFAR.Value)
	}
	for _, id := range u.LinkedURRs {
		if p.next.URR(id) == nil {
			return urrError(u.ID, ErrReference, "linked URR %d", id)
		}
	}
	return nil
}

// validateFAR checks one FAR by itself.
func (p *plan) validateFAR(f *FAR) error {
	switch f.ApplyAction {
	case Drop, Forward:
	case Buffer, Buffer | Notify:
		if !p.m.config.Can.Buffering {
			return farError(f.ID, ErrUnsupported, "Apply Action %v", f.ApplyAction)
		}
	default:
		return farError(f.ID, ErrUnsupported, "Apply Action %v", f.ApplyAction)
	}
	if f.BARID.Present && p.next.BAR(f.BARID.Value) == nil {
		if p.old != nil && p.old.BAR(f.BARID.Value) != nil {
			return ruleError(RuleBAR, uint32(f.BARID.Value), fmt.Errorf("removed, but FAR %d: %w", f.ID, ErrInUse))
		}
		return farError(f.ID, ErrReference, "BAR %d", f.BARID.Value)
	}
	if f.HasForwarding {
		return p.validateForwarding(f)
	}
	if f.ApplyAction != Forward {
		return nil
	}
	return &Error{
		Cause: CauseConditionalIEMissing, OffendingIE: IEForwardingParameters,
		Err: fmt.Errorf("FAR %d: FORW without Forwarding Parameters: %w", f.ID, ErrIncomplete),
	}
}

func (p *plan) validateForwarding(f *FAR) error {
	to := f.Forwarding.DestinationInterface
	o := &f.Forwarding.OuterHeaderCreation
	// Of a FAR that does not forward yet CP functions send addresses of 0, or a
	// TEID of 0 with an address.
	tunnel := *o != OuterHeaderCreation{} && (o.TEID != 0 || f.ApplyAction == Forward)
	v4, v6 := o.IPv4 != IPv4{}, o.IPv6 != IPv6{}
	switch {
	case to > CPFunction:
		return farError(f.ID, ErrUnsupported, "Destination Interface %d", to)
	case tunnel && (o.TEID == 0 || v4 == v6):
		return farError(f.ID, ErrIncomplete, "Outer Header Creation with TEID %#x to %v, %x", o.TEID, o.IPv4, o.IPv6)
	case v6 && !p.m.config.Can.IPv6Tunnels:
		return farError(f.ID, ErrUnsupported, "Outer Header Creation GTP-U/UDP/IPv6")
	case f.Forwarding.DSCP > 63:
		return farError(f.ID, ErrUnsupported, "DSCP %d", f.Forwarding.DSCP)
	case f.Forwarding.Endpoint.Present && p.next.Endpoint(f.Forwarding.Endpoint.Value) == nil:
		return farError(f.ID, ErrReference, "Linked Traffic Endpoint %d", f.Forwarding.Endpoint.Value)
	case f.ApplyAction == Forward && !tunnel && (to == Access || to == CPFunction):
		return farError(f.ID, ErrUnsupported, "FORW towards %v without Outer Header Creation", to)
	}
	return nil
}

// validateEndpoint checks one Traffic Endpoint by itself.
func (p *plan) validateEndpoint(e *TrafficEndpoint) error {
	if t := e.FTEID; t.TEID != 0 && !e.Choose.CH && !p.m.config.terminates(t) {
		return endpointError(IECreateTrafficEndpoint, e.ID, fmt.Errorf("F-TEID at %v, %x, which is no GTP-U endpoint here: %w", t.IPv4, t.IPv6, ErrUnsupported))
	}
	return nil
}

// validatePDR checks one PDR and what it names.
func (p *plan) validatePDR(r *PDR) error {
	if err := p.validatePDI(r); err != nil {
		return err
	}
	if err := p.validateFilters(r); err != nil {
		return err
	}
	for _, id := range r.QERIDs {
		if p.next.QER(id) == nil {
			return p.missing(r, RuleQER, id, p.old != nil && p.old.QER(id) != nil)
		}
	}
	for _, id := range r.URRIDs {
		if p.next.URR(id) == nil {
			return p.missing(r, RuleURR, id, p.old != nil && p.old.URR(id) != nil)
		}
	}
	for _, name := range r.Predefined {
		if p.m.tables.predefined[name] == nil {
			return withCause(CauseUnknownPredefinedRule, pdrError(r.ID, ErrReference, "predefined rule %q", name))
		}
	}
	f := p.next.FAR(r.FARID)
	if f == nil {
		return p.missing(r, RuleFAR, r.FARID, p.old != nil && p.old.FAR(r.FARID) != nil)
	}
	return p.validatePath(r, f)
}

// missing says which rule is at fault if a PDR names one that there is not: the
// one that the request removed, or the PDR.
func (p *plan) missing(r *PDR, t RuleType, id uint32, removed bool) error {
	if removed {
		return ruleError(t, id, fmt.Errorf("removed, but PDR %d: %w", r.ID, ErrInUse))
	}
	return pdrError(r.ID, ErrReference, "%v %d", t, id)
}

// validatePath checks that packets of r can go where f sends them.
func (p *plan) validatePath(r *PDR, f *FAR) error {
	if f.ApplyAction != Forward {
		return nil
	}
	in := p.tunnelled(&r.PDI)
	if in && !r.OuterHeaderRemoval {
		return pdrError(r.ID, ErrIncomplete, "from a tunnel at %v without Outer Header Removal", r.PDI.SourceInterface)
	}
	out := f.Forwarding.OuterHeaderCreation.TEID != 0
	switch {
	case in && out && !p.m.config.Can.TunnelToTunnel:
		return pdrError(r.ID, ErrUnsupported, "from tunnel to tunnel (FAR %d)", f.ID)
	case !in && !out:
		return pdrError(r.ID, ErrUnsupported, "from %v to %v (FAR %d), both without a tunnel",
			r.PDI.SourceInterface, f.Forwarding.DestinationInterface, f.ID)
	}
	return nil
}

// validatePDI checks that a packet can be matched by what the PDI says.
func (p *plan) validatePDI(r *PDR) error {
	d := &r.PDI
	from, tunnel := d.SourceInterface, p.tunnelled(d)
	switch {
	case from > CPFunction:
		return pdrError(r.ID, ErrUnsupported, "Source Interface %d", from)
	case !tunnel && (from == Access || from == CPFunction):
		return pdrError(r.ID, ErrIncomplete, "from %v without F-TEID", from)
	case !tunnel && !p.addressed(d):
		return pdrError(r.ID, ErrIncomplete, "from %v without F-TEID and UE IP Address", from)
	case !tunnel && d.QFIs != 0:
		return pdrError(r.ID, ErrUnsupported, "QFI in the PDI at %v, without F-TEID", from)
	case !tunnel && r.OuterHeaderRemoval:
		return pdrError(r.ID, ErrUnsupported, "Outer Header Removal at %v, without F-TEID", from)
	case tunnel && d.FTEID.TEID != 0 && !p.m.config.terminates(d.FTEID):
		return pdrError(r.ID, ErrUnsupported, "F-TEID at %v, %x, which is no GTP-U endpoint here", d.FTEID.IPv4, d.FTEID.IPv6)
	}
	return nil
}

// validateFilters checks SDF filters and the application.
func (p *plan) validateFilters(r *PDR) error {
	d := &r.PDI
	matchAll := slices.ContainsFunc(d.Filters, func(f SDFFilter) bool { return f.MatchesAll() })
	if (len(d.Filters) > 0 && !matchAll || len(r.Predefined) > 0 || d.ApplicationID != "") && !p.m.config.Can.Filters {
		return pdrError(r.ID, ErrUnsupported, "SDF filters")
	}
	if d.ApplicationID == "" {
		return nil
	}
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

// checkDetectable refuses what a datapath without filters cannot tell apart: it
// matches one PDR per F-TEID, and one per UE address.
func (p *plan) checkDetectable() error {
	s := p.next
	for i := range s.PDRs {
		for j := range i {
			a, b := &s.PDRs[j].PDI, &s.PDRs[i].PDI
			id, other := s.PDRs[i].ID, s.PDRs[j].ID
			at, bt := p.tunnelled(a), p.tunnelled(b)
			switch {
			case at != bt:
			case at && (a.FTEID.TEID != 0 && a.FTEID.TEID == b.FTEID.TEID || a.Endpoint.Present && a.Endpoint == b.Endpoint ||
				a.Choose.CHID && b.Choose.CHID && a.Choose.ID == b.Choose.ID):
				return pdrError(id, ErrUnsupported, "F-TEID is also that of PDR %d", other)
			case !at && (a.ChooseUE.V4 && b.ChooseUE.V4 || a.ChooseUE.V6 && b.ChooseUE.V6 || a.UEAddress.overlaps(b.UEAddress)):
				return pdrError(id, ErrUnsupported, "UE IP Address is also that of PDR %d", other)
			}
		}
	}
	return nil
}

// overlaps reports whether one packet can be matched by both addresses.
func (a UEAddress) overlaps(b UEAddress) bool {
	return a.IPv4 != IPv4{} && a.IPv4 == b.IPv4 ||
		a.IPv6Prefix != IPv6Prefix{} && a.IPv6Prefix == b.IPv6Prefix
}
