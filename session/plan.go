package session

import (
	"cmp"
	"slices"
)

// plan is a change that has been worked out but not made: the session as it
// is and as it will be. What it takes and gives back follows: what the one holds
// and the other does not.
type plan struct {
	old  *Session // nil: an establishment
	next *Session
	n3   []IPv4 // addresses at which the datapath terminates GTP-U
}

// establish builds the session that req asks for.
func (p *plan) establish(req *Establishment, seid uint64) error {
	if err := checkSupported(req.Unsupported); err != nil {
		return err
	}
	s := new(Session)
	s.SEID, s.Owner, s.CP = seid, req.Owner, req.CP
	p.next = s
	if err := p.create(req.CreatePDRs, req.CreateFARs, req.CreateQERs); err != nil {
		return err
	}
	p.sort()
	return p.validate()
}

// modify builds the session that old becomes by req.
func (p *plan) modify(old *Session, req *Modification) error {
	if err := checkSupported(req.Unsupported); err != nil {
		return err
	}
	s := new(Session)
	s.SEID, s.Owner, s.CP = old.SEID, old.Owner, old.CP
	set(&s.CP, req.CP)
	s.PDRs = append(s.PDRs, old.PDRs...)
	s.FARs = append(s.FARs, old.FARs...)
	s.QERs = append(s.QERs, old.QERs...)
	p.old, p.next = old, s
	if err := p.remove(req); err != nil {
		return err
	}
	if err := p.update(req); err != nil {
		return err
	}
	if err := p.create(req.CreatePDRs, req.CreateFARs, req.CreateQERs); err != nil {
		return err
	}
	p.sort()
	return p.validate()
}

// create adds rules whose IDs the session does not have yet.
func (p *plan) create(pdrs []PDR, fars []FAR, qers []QER) error {
	s := p.next
	for i := range pdrs {
		r := &pdrs[i]
		if err := mayAdd(RulePDR, uint32(r.ID), len(s.PDRs), s.PDR(r.ID) != nil); err != nil {
			return err
		}
		s.PDRs = append(s.PDRs, *r)
		last := &s.PDRs[len(s.PDRs)-1]
		last.QERIDs = slices.Clone(last.QERIDs)
	}
	for i := range fars {
		if err := mayAdd(RuleFAR, fars[i].ID, len(s.FARs), s.FAR(fars[i].ID) != nil); err != nil {
			return err
		}
		s.FARs = append(s.FARs, fars[i])
	}
	for i := range qers {
		if err := mayAdd(RuleQER, qers[i].ID, len(s.QERs), s.QER(qers[i].ID) != nil); err != nil {
			return err
		}
		s.QERs = append(s.QERs, qers[i])
	}
	return nil
}

// mayAdd checks that a session with n rules of a kind may get one more.
func mayAdd(t RuleType, id uint32, n int, exists bool) error {
	if exists {
		return ruleError(t, id, ErrDuplicate)
	}
	if n >= maxRules {
		return &Error{Cause: CauseNoResources, HasRule: true, Rule: t, RuleID: id, Err: ErrFull}
	}
	return nil
}

// update changes rules that the session has.
func (p *plan) update(req *Modification) error {
	s := p.next
	for i := range req.UpdatePDRs {
		u := &req.UpdatePDRs[i]
		r := s.PDR(u.ID)
		if r == nil {
			return ruleError(RulePDR, uint32(u.ID), ErrNoRule)
		}
		u.apply(r)
		r.QERIDs = slices.Clone(r.QERIDs)
	}
	for i := range req.UpdateFARs {
		u := &req.UpdateFARs[i]
		f := s.FAR(u.ID)
		if f == nil {
			return ruleError(RuleFAR, u.ID, ErrNoRule)
		}
		u.apply(f)
	}
	for i := range req.UpdateQERs {
		u := &req.UpdateQERs[i]
		q := s.QER(u.ID)
		if q == nil {
			return ruleError(RuleQER, u.ID, ErrNoRule)
		}
		u.apply(q)
	}
	return nil
}

// remove takes out rules that the session has.
func (p *plan) remove(req *Modification) error {
	s := p.next
	for _, id := range req.RemovePDRs {
		if s.PDR(id) == nil {
			return ruleError(RulePDR, uint32(id), ErrNoRule)
		}
		s.PDRs = slices.DeleteFunc(s.PDRs, func(r PDR) bool { return r.ID == id })
	}
	for _, id := range req.RemoveFARs {
		if s.FAR(id) == nil {
			return ruleError(RuleFAR, id, ErrNoRule)
		}
		s.FARs = slices.DeleteFunc(s.FARs, func(f FAR) bool { return f.ID == id })
	}
	for _, id := range req.RemoveQERs {
		if s.QER(id) == nil {
			return ruleError(RuleQER, id, ErrNoRule)
		}
		s.QERs = slices.DeleteFunc(s.QERs, func(q QER) bool { return q.ID == id })
	}
	return nil
}

// sort puts PDRs in Precedence order and all else in the order of their IDs.
func (p *plan) sort() {
	slices.SortFunc(p.next.PDRs, func(a, b PDR) int {
		return cmp.Or(cmp.Compare(a.Precedence, b.Precedence), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(p.next.FARs, func(a, b FAR) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(p.next.QERs, func(a, b QER) int { return cmp.Compare(a.ID, b.ID) })
}

// isN3 reports whether the datapath terminates GTP-U at a.
func (p *plan) isN3(a IPv4) bool { return slices.Contains(p.n3, a) }
