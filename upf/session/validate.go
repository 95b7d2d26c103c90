package session

import "fmt"

// defaultMaxRules is how many rules of a kind a session may have, so that one
// request cannot take F-TEIDs and memory without measure.
const defaultMaxRules = 128

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
// apart. It is the one judge of what TS 29.244 allows, and of what no datapath
// here does. What one datapath can do and another cannot is judged by
// datapath.Check when the session gets there.
func (p *plan) validate() error {
	s := p.next
	if t := s.PDNType; t > PDNTypeEth {
		return &Error{Cause: CauseServiceNotSupported, OffendingIE: IEPDNType, Err: fmt.Errorf("PDN Type %d: %w", t, ErrUnsupported)}
	}
	for i := range s.QERs {
		if err := p.validateQER(&s.QERs[i]); err != nil {
			return err
		}
	}
	for i := range s.URRs {
		if err := p.validateURR(&s.URRs[i]); err != nil {
			return err
		}
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
	return p.checkAddresses()
}

// validateQER checks one QER by itself.
func (p *plan) validateQER(q *QER) error {
	switch {
	case q.QFI > maxQFI:
		return qerError(q.ID, ErrUnsupported, "QFI %d", q.QFI)
	case q.PagingPolicy.Value > 7:
		return qerError(q.ID, ErrUnsupported, "Paging Policy Indicator %d", q.PagingPolicy.Value)
	}
	return nil
}

// notMeasured are triggers of what is not measured here: envelopes, multicast, End
// Markers, inactivity of a URR.
const notMeasured = ReportENVCL | ReportIPMJL | ReportREEMR | ReportUPINT

// validateURR checks one URR by itself.
func (p *plan) validateURR(u *URR) error {
	switch {
	case u.Method&^(MeasureDuration|MeasureVolume|MeasureEvent) != 0,
		u.Method&MeasureEvent != 0 && u.Triggers&(ReportSTART|ReportSTOPT) == 0 && !u.Events.any(),
		u.Method&MeasureEvent == 0 && u.Events.any(): // starts of traffic are the only events there are
		return urrError(u.ID, ErrUnsupported, "Measurement Method %v", u.Method)
	case u.Triggers&notMeasured != 0:
		return urrError(u.ID, ErrUnsupported, "Reporting Triggers %v", u.Triggers)
	case u.Triggers&ReportMACAR != 0 && p.next.PDNType != PDNTypeEth:
		return urrError(u.ID, ErrUnsupported, "Reporting Triggers %v of a session that is not of PDN Type Ethernet", u.Triggers)
	case u.Information&^(InfoMBQE|InfoRADI|InfoISTM|InfoMNOP) != 0: // paused
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
	if r.NoFAR {
		return nil
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
