package session

import "fmt"

// maxRules is how many rules of a kind a session may have, so that one request
// cannot take F-TEIDs and memory without measure.
const maxRules = 16

// checkSupported refuses a request that asks for anything this UP function
// does not do.
func checkSupported(list []Unsupported) error {
	if len(list) == 0 {
		return nil
	}
	u := list[0]
	err := fmt.Errorf("%s (IE type %d): %w", u.What, u.IE, ErrUnsupported)
	if u.HasRule {
		return ruleError(u.Rule, u.RuleID, err)
	}
	return &Error{Cause: CauseServiceNotSupported, OffendingIE: u.IE, Err: err}
}

// validate checks a planned session as a whole, F-TEIDs to be allocated apart.
// removed says whether the request removed a FAR or QER: then that rule is at
// fault when a PDR still names it, and not the PDR.
func (p *plan) validate() error {
	s := p.next
	for i := range s.QERs {
		if err := validateQER(&s.QERs[i]); err != nil {
			return err
		}
	}
	for i := range s.FARs {
		if err := p.validateFAR(&s.FARs[i]); err != nil {
			return err
		}
	}
	for i := range s.PDRs {
		if err := p.validatePDR(&s.PDRs[i]); err != nil {
			return err
		}
	}
	return nil
}

func validateQER(q *QER) error {
	if q.QFI > 63 {
		return qerError(q.ID, ErrUnsupported, "QFI %d", q.QFI)
	}
	return nil
}

// validateFAR checks one FAR by itself.
func (p *plan) validateFAR(f *FAR) error {
	if f.ApplyAction != Forward && f.ApplyAction != Drop {
		return farError(f.ID, ErrUnsupported, "Apply Action %v", f.ApplyAction)
	}
	if !f.HasForwarding {
		if f.ApplyAction == Drop {
			return nil
		}
		return &Error{
			Cause: CauseConditionalIEMissing, OffendingIE: IEForwardingParameters,
			Err: fmt.Errorf("FAR %d: FORW without Forwarding Parameters: %w", f.ID, ErrIncomplete),
		}
	}
	fp := &f.Forwarding
	tunnel := fp.OuterHeaderCreation != OuterHeaderCreation{}
	switch {
	case fp.DestinationInterface > Core:
		return farError(f.ID, ErrUnsupported, "Destination Interface %d", fp.DestinationInterface)
	case fp.DestinationInterface == Core && tunnel:
		return farError(f.ID, ErrUnsupported, "Outer Header Creation towards Core (N9)")
	case tunnel && (fp.OuterHeaderCreation.TEID == 0 || fp.OuterHeaderCreation.IPv4 == IPv4{}):
		return farError(f.ID, ErrIncomplete, "Outer Header Creation with TEID %#x to %v",
			fp.OuterHeaderCreation.TEID, fp.OuterHeaderCreation.IPv4)
	case f.ApplyAction == Forward && fp.DestinationInterface == Access && !tunnel:
		return farError(f.ID, ErrUnsupported, "FORW towards Access without Outer Header Creation")
	}
	return nil
}

// validatePDR checks one PDR and what it names.
func (p *plan) validatePDR(r *PDR) error {
	if err := p.validatePDI(r); err != nil {
		return err
	}
	for _, id := range r.QERIDs {
		if p.next.QER(id) != nil {
			continue
		}
		if p.old != nil && p.old.QER(id) != nil {
			return qerError(id, ErrInUse, "removed, but PDR %d", r.ID)
		}
		return pdrError(r.ID, ErrReference, "QER %d", id)
	}
	f := p.next.FAR(r.FARID)
	if f == nil {
		if p.old != nil && p.old.FAR(r.FARID) != nil {
			return farError(r.FARID, ErrInUse, "removed, but PDR %d", r.ID)
		}
		return pdrError(r.ID, ErrReference, "FAR %d", r.FARID)
	}
	if f.ApplyAction != Forward {
		return nil
	}
	switch from, to := r.PDI.SourceInterface, f.Forwarding.DestinationInterface; {
	case from == to:
		return pdrError(r.ID, ErrUnsupported, "from %v to %v (FAR %d)", from, to, f.ID)
	case from == Access && !r.OuterHeaderRemoval:
		return pdrError(r.ID, ErrIncomplete, "from Access to Core without Outer Header Removal")
	}
	return nil
}

// validatePDI checks that a packet can be matched by what the PDI says.
func (p *plan) validatePDI(r *PDR) error {
	d := &r.PDI
	tunnel := d.Choose.CH || d.FTEID.TEID != 0
	switch {
	case d.SourceInterface > Core:
		return pdrError(r.ID, ErrUnsupported, "Source Interface %d", d.SourceInterface)
	case d.SourceInterface == Core && tunnel:
		return pdrError(r.ID, ErrUnsupported, "F-TEID at Core (N9)")
	case d.SourceInterface == Core && d.UEAddress.IsZero():
		return pdrError(r.ID, ErrIncomplete, "from Core without UE IP Address")
	case d.SourceInterface == Core && d.QFIs != 0:
		return pdrError(r.ID, ErrUnsupported, "QFI in the PDI at Core")
	case d.SourceInterface == Core && r.OuterHeaderRemoval:
		return pdrError(r.ID, ErrUnsupported, "Outer Header Removal at Core")
	case d.SourceInterface == Access && !tunnel:
		return pdrError(r.ID, ErrIncomplete, "from Access without F-TEID")
	case tunnel && !d.Choose.CH && !p.isN3(d.FTEID.IPv4):
		return pdrError(r.ID, ErrUnsupported, "F-TEID at %v, which is no N3 address of this UPF", d.FTEID.IPv4)
	}
	return nil
}

// checkDetectable refuses what the datapaths cannot tell apart yet: they match
// one PDR per F-TEID, and one per UE address and direction.
func checkDetectable(s *Session) error {
	for i := range s.PDRs {
		for j := range i {
			a, b := &s.PDRs[j].PDI, &s.PDRs[i].PDI
			id := s.PDRs[i].ID
			switch {
			case a.SourceInterface != b.SourceInterface:
			case a.SourceInterface == Access && a.FTEID.TEID == b.FTEID.TEID:
				return pdrError(id, ErrUnsupported, "F-TEID %#x is also that of PDR %d", b.FTEID.TEID, s.PDRs[j].ID)
			case a.SourceInterface == Core && a.UEAddress.overlaps(b.UEAddress):
				return pdrError(id, ErrUnsupported, "UE IP Address is also that of PDR %d", s.PDRs[j].ID)
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
