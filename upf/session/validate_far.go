package session

import "fmt"

// validateFAR checks one FAR by itself.
func (p *plan) validateFAR(f *FAR) error {
	switch a := f.ApplyAction &^ NotifyDiscarded; {
	case a != f.ApplyAction && a&Forward != 0:
		return farError(f.ID, ErrUnsupported, "Apply Action %v", f.ApplyAction)
	case a == Drop, a == Forward:
	case a == Forward|Copy:
		if err := p.validateDuplicates(f); err != nil {
			return err
		}
	case a&^(Notify|NotifyBuffered) == Buffer:
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
	if f.ApplyAction&Forward == 0 {
		return nil
	}
	return &Error{
		Cause: CauseConditionalIEMissing, OffendingIE: IEForwardingParameters,
		Err: fmt.Errorf("FAR %d: FORW without Forwarding Parameters: %w", f.ID, ErrIncomplete),
	}
}

func (p *plan) validateForwarding(f *FAR) error {
	w := &f.Forwarding
	to, forwards := w.DestinationInterface, f.ApplyAction&Forward != 0
	switch {
	case to > CPFunction:
		return farError(f.ID, ErrUnsupported, "Destination Interface %d", to)
	case w.DSCP.Present && forwards && !f.Incomplete() && !w.OuterHeaderCreation.Creates():
		return farError(f.ID, ErrUnsupported, "Transport Level Marking without Outer Header Creation: there is no outer header to mark")
	case w.DSCP.Value > 63:
		return farError(f.ID, ErrUnsupported, "DSCP %d", w.DSCP.Value)
	case w.Endpoint.Present && p.next.Endpoint(w.Endpoint.Value) == nil:
		return farError(f.ID, ErrReference, "Linked Traffic Endpoint %d", w.Endpoint.Value)
	case (w.ProxyARP || w.ProxyND) && p.next.PDNType != PDNTypeEth:
		return farError(f.ID, ErrUnsupported, "Proxying")
	}
	// Of a tunnel that they do not know yet CP functions send a TEID of 0, an
	// address of 0, or nothing at all.
	if o := &w.OuterHeaderCreation; o.Creates() && !f.Incomplete() && (forwards || o.IPv4 != IPv4{} || o.IPv6 != IPv6{} || o.Encapsulation != GTPU) {
		if err := p.validateCreation(o); err != nil {
			return ruleError(RuleFAR, f.ID, err)
		}
	}
	return nil
}

// validateCreation checks an Outer Header Creation of which there is something.
func (p *plan) validateCreation(o *OuterHeaderCreation) error {
	v4, v6 := o.IPv4 != IPv4{}, o.IPv6 != IPv6{}
	switch {
	case o.Encapsulation == Tags && v4 == v6 && !v4: // needs no address
	case v4 == v6, o.Encapsulation == GTPU && o.TEID == 0, o.Encapsulation == UDP && o.Port == 0:
		return fmt.Errorf("Outer Header Creation with TEID %#x, port %d to %v, %x: %w", o.TEID, o.Port, o.IPv4, o.IPv6, ErrIncomplete)
	}
	if (o.CTAG.Present || o.STAG.Present) && p.next.PDNType != PDNTypeEth {
		return fmt.Errorf("Outer Header Creation with VLAN tags: %w", ErrUnsupported)
	}
	return nil
}

// validateDuplicates checks where copies go. What is not forwarded is not copied
// either: DUPL comes with FORW.
func (p *plan) validateDuplicates(f *FAR) error {
	if len(f.Duplicates) == 0 {
		return farError(f.ID, ErrIncomplete, "DUPL without Duplicating Parameters")
	}
	for i := range f.Duplicates {
		d := &f.Duplicates[i]
		o := &d.OuterHeaderCreation
		creates := *o != OuterHeaderCreation{}
		switch {
		case d.DestinationInterface > LIFunction:
			return farError(f.ID, ErrUnsupported, "copies to interface %d", d.DestinationInterface)
		case !creates && d.DestinationInterface != Core && d.DestinationInterface != SGiLAN:
			return farError(f.ID, ErrUnsupported, "copies towards %v without Outer Header Creation", d.DestinationInterface)
		case !creates && d.DSCP.Present:
			return farError(f.ID, ErrUnsupported, "Transport Level Marking of copies without Outer Header Creation")
		case creates:
			if err := p.validateCreation(o); err != nil {
				return ruleError(RuleFAR, f.ID, fmt.Errorf("copies: %w", err))
			}
		}
	}
	return nil
}

// validatePath checks that packets of r can go where f sends them. It is asked anew
// when f has become complete.
func (p *plan) validatePath(r *PDR, f *FAR) error {
	if f.ApplyAction&Forward == 0 || f.Incomplete() {
		return nil
	}
	in := p.tunnelled(&r.PDI)
	if in && !r.OuterHeaderRemoval {
		return pdrError(r.ID, ErrIncomplete, "from a tunnel at %v without Outer Header Removal", r.PDI.SourceInterface)
	}
	out := f.Forwarding.OuterHeaderCreation.Creates()
	if !in && !out {
		return pdrError(r.ID, ErrUnsupported, "from %v to %v (FAR %d), both without a tunnel",
			r.PDI.SourceInterface, f.Forwarding.DestinationInterface, f.ID)
	}
	return nil
}
