package session

import "slices"

// remove takes out rules that the session has.
func (p *plan) remove(req *Modification) error {
	s := p.next
	if id, ok := take(&s.PDRs, req.RemovePDRs, (*PDR).id); !ok {
		return ruleError(RulePDR, uint32(id), ErrNoRule)
	}
	if id, ok := take(&s.FARs, req.RemoveFARs, (*FAR).id); !ok {
		return ruleError(RuleFAR, id, ErrNoRule)
	}
	if id, ok := take(&s.QERs, req.RemoveQERs, (*QER).id); !ok {
		return ruleError(RuleQER, id, ErrNoRule)
	}
	if id, ok := take(&s.URRs, req.RemoveURRs, (*URR).id); !ok {
		return ruleError(RuleURR, id, ErrNoRule)
	}
	if id, ok := take(&s.BARs, req.RemoveBARs, (*BAR).id); !ok {
		return ruleError(RuleBAR, uint32(id), ErrNoRule)
	}
	if id, ok := take(&s.Endpoints, req.RemoveEndpoints, (*TrafficEndpoint).id); !ok {
		return endpointError(IERemoveTrafficEndpoint, id, ErrNoRule)
	}
	p.dropReferences(req)
	return p.removeDependents(req)
}

// dropReferences takes the IDs of removed rules from the rules that name them, but for
// IDs that the request creates anew. A PDR without its FAR is one that names none yet.
// Source: TS 29.244 V18.6.0, 6.3.3.3.
func (p *plan) dropReferences(req *Modification) {
	if len(req.RemoveFARs)+len(req.RemoveQERs)+len(req.RemoveURRs)+len(req.RemoveBARs) == 0 {
		return
	}
	s := p.next
	far, qer := gone(req.RemoveFARs, req.CreateFARs, (*FAR).id), gone(req.RemoveQERs, req.CreateQERs, (*QER).id)
	urr, bar := gone(req.RemoveURRs, req.CreateURRs, (*URR).id), gone(req.RemoveBARs, req.CreateBARs, (*BAR).id)
	for i := range s.PDRs {
		r := &s.PDRs[i]
		if !r.NoFAR && far(r.FARID) {
			r.FARID, r.NoFAR = 0, true
		}
		r.QERIDs, r.URRIDs = slices.DeleteFunc(r.QERIDs, qer), slices.DeleteFunc(r.URRIDs, urr)
	}
	for i := range s.FARs {
		if f := &s.FARs[i]; f.BARID.Present && bar(f.BARID.Value) {
			f.BARID = Optional[uint8]{}
		}
	}
	for i := range s.URRs {
		u := &s.URRs[i]
		if u.QuotaFAR.Present && far(u.QuotaFAR.Value) {
			u.QuotaFAR = Optional[uint32]{}
		}
		u.LinkedURRs = slices.DeleteFunc(u.LinkedURRs, urr)
	}
}

// gone says of an ID whether its rule is removed and no other takes its place.
func gone[R any, I comparable](removed []I, created []R, idOf func(*R) I) func(I) bool {
	return func(id I) bool {
		return slices.Contains(removed, id) && !slices.ContainsFunc(created, func(r R) bool { return idOf(&r) == id })
	}
}

// removeDependents takes out the PDRs of Traffic Endpoints that are removed:
// "all the PDRs that refer to the removed Traffic Endpoint shall be deleted".
// Source: TS 29.244 V18.6.0, 7.5.4.14.
func (p *plan) removeDependents(req *Modification) error {
	if len(req.RemoveEndpoints) == 0 {
		return nil
	}
	var gone []uint16
	for i := range p.next.PDRs {
		d := &p.next.PDRs[i].PDI
		if !d.Inherits && slices.ContainsFunc(req.RemoveEndpoints, d.refersTo) {
			gone = append(gone, p.next.PDRs[i].ID)
		}
	}
	take(&p.next.PDRs, gone, (*PDR).id)
	return nil
}

// take removes the rules of these IDs from a list. It reports false and the ID
// if there is none of that ID. The memory of those that go moves to the end of
// the list, where next finds it again.
func take[R any, I comparable](list *[]R, ids []I, idOf func(*R) I) (I, bool) {
	for _, id := range ids {
		l := *list
		i := 0
		for i < len(l) && idOf(&l[i]) != id {
			i++
		}
		if i == len(l) {
			return id, false
		}
		gone := l[i]
		copy(l[i:], l[i+1:])
		l[len(l)-1] = gone
		*list = l[:len(l)-1]
	}
	var none I
	return none, true
}

// update changes rules that the session has.
func (p *plan) update(req *Modification) error {
	s := p.next
	for i := range req.UpdateEndpoints {
		u := &req.UpdateEndpoints[i]
		e := s.Endpoint(u.ID)
		if e == nil {
			return endpointError(IEUpdateTrafficEndpoint, u.ID, ErrNoRule)
		}
		u.apply(e)
		for j := range s.PDRs {
			if d := &s.PDRs[j].PDI; u.QFIs.Present && d.refersTo(u.ID) {
				d.QFIs = u.QFIs.Value
			}
		}
	}
	for i := range req.UpdatePDRs {
		u := &req.UpdatePDRs[i]
		r := s.PDR(u.ID)
		if r == nil {
			return ruleError(RulePDR, uint32(u.ID), ErrNoRule)
		}
		if err := u.apply(r); err != nil {
			return err
		}
	}
	for i := range req.UpdateFARs {
		u := &req.UpdateFARs[i]
		f := s.FAR(u.ID)
		if f == nil {
			return ruleError(RuleFAR, u.ID, ErrNoRule)
		}
		was := f.Forwarding
		u.apply(f)
		if u.SendEndMarkers || req.SendEndMarkers {
			p.leave(was.OuterHeaderCreation, f.Forwarding.OuterHeaderCreation, was.DestinationInterface)
		}
	}
	return p.updateOthers(req)
}

// updateOthers changes QERs, URRs and BARs.
func (p *plan) updateOthers(req *Modification) error {
	s := p.next
	for i := range req.UpdateQERs {
		u := &req.UpdateQERs[i]
		q := s.QER(u.ID)
		if q == nil {
			return ruleError(RuleQER, u.ID, ErrNoRule)
		}
		u.apply(q)
	}
	for i := range req.UpdateURRs {
		u := &req.UpdateURRs[i]
		r := s.URR(u.ID)
		if r == nil {
			return ruleError(RuleURR, u.ID, ErrNoRule)
		}
		u.apply(r)
	}
	for i := range req.UpdateBARs {
		u := &req.UpdateBARs[i]
		b := s.BAR(u.ID)
		if b == nil {
			return ruleError(RuleBAR, uint32(u.ID), ErrNoRule)
		}
		u.apply(b)
	}
	return nil
}

// leave notes that a FAR towards an interface has left the tunnel to was, which gets End
// Markers. Where the datapath sends none, EMPU is not advertised, and a CP function that
// asks all the same is not served worse than by asking nothing.
// Source: TS 29.244 V18.6.0, 5.2.4.2 and 8.2.31.
func (p *plan) leave(was, is OuterHeaderCreation, towards Interface) {
	m := EndMarker{Tunnel: was, DestinationInterface: towards}
	if was.Encapsulation == GTPU && was.TEID != 0 && was != is && !slices.Contains(p.r.left, m) {
		p.r.left = append(p.r.left, m)
	}
}

// endMarkers makes the End Markers of the tunnels that FARs have left. One into which
// other rules still send has not ended: QoS flows of which none goes there any more have.
// Source: TS 29.281 V18.1.0, 7.3.2.
func (p *plan) endMarkers() {
	list := &p.r.change.EndMarkers
	for _, m := range p.r.left {
		still := p.next.flowsInto(m.Tunnel)
		if still == 0 {
			*list = append(*list, m)
			continue
		}
		gone := p.old.flowsInto(m.Tunnel) &^ still
		for m.QFI = 1; m.QFI <= maxQFI; m.QFI++ {
			if gone.Has(m.QFI) {
				*list = append(*list, m)
			}
		}
	}
}

// flowsInto returns the QFIs with which rules of the session send into a tunnel, or will
// when they no longer buffer; bit 0: without.
func (s *Session) flowsInto(t OuterHeaderCreation) (flows QFISet) {
	for i := range s.PDRs {
		r := &s.PDRs[i]
		f := s.FAR(r.FARID)
		if r.NoFAR || f == nil || f.ApplyAction&(Forward|Buffer) == 0 || f.Forwarding.OuterHeaderCreation != t {
			continue
		}
		flows |= s.flowsOf(r)
	}
	return flows
}

// flowsOf returns the QFIs with which packets of a PDR leave; bit 0: without.
func (s *Session) flowsOf(r *PDR) QFISet {
	for _, id := range r.QERIDs {
		if q := s.QER(id); q != nil && q.QFI != 0 {
			return 1 << q.QFI
		}
	}
	if r.PDI.QFIs != 0 {
		return r.PDI.QFIs // which a relay leaves as they are
	}
	return 1
}

// keepEnds takes over what packets are found by from the PDI that d replaces, if
// d has nothing of the kind. A PDI without it would match nothing; Open5GS means
// one whose SDF filters alone have changed.
func (d *PDI) keepEnds(was *PDI) {
	if d.hasEnds() {
		return
	}
	d.Inherits = was.Inherits
	d.Endpoint, d.Choose, d.FTEID = was.Endpoint, was.Choose, was.FTEID
	d.UEAddress, d.ChooseUE = was.UEAddress, was.ChooseUE
	d.MoreEndpoints, d.Framed, d.EthernetSession = was.MoreEndpoints, was.Framed, was.EthernetSession
	if d.NetworkInstance == "" {
		d.NetworkInstance = was.NetworkInstance
	}
	if !d.InterfaceType.Present {
		d.InterfaceType = was.InterfaceType
	}
}

// apply changes p as u says.
func (u *UpdatePDR) apply(p *PDR) error {
	if r := u.OuterHeaderRemoval; r.Present {
		p.OuterHeaderRemoval, p.DropsContainer, p.Unwrap = r.Value.GTPU, r.Value.DropsContainer, r.Value.Unwrap
	}
	set(&p.Precedence, u.Precedence)
	set(&p.FARID, u.FARID)
	p.NoFAR = p.NoFAR && !u.FARID.Present
	if u.PDI.Present {
		filters, was := p.PDI.Filters, p.PDI
		p.PDI = u.PDI.Value
		p.PDI.Filters = copyFilters(filters, u.PDI.Value.Filters)
		p.PDI.keepEnds(&was)
	}
	if u.QERIDs != nil {
		p.QERIDs = append(p.QERIDs[:0], u.QERIDs...)
	}
	if u.URRIDs != nil {
		p.URRIDs = append(p.URRIDs[:0], u.URRIDs...)
	}
	for _, name := range u.Deactivate {
		i := slices.Index(p.Predefined, name)
		if i < 0 {
			return pdrError(p.ID, ErrNoRule, "predefined rule %q", name)
		}
		p.Predefined = slices.Delete(p.Predefined, i, i+1)
	}
	for _, name := range u.Activate {
		if !slices.Contains(p.Predefined, name) {
			p.Predefined = append(p.Predefined, name)
		}
	}
	return nil
}

// apply changes e as u says.
func (u *UpdateTrafficEndpoint) apply(e *TrafficEndpoint) {
	if u.Choose.CH {
		e.Choose, e.FTEID = u.Choose, FTEID{}
	}
	if u.FTEID.Present {
		e.Choose, e.FTEID = Choose{}, u.FTEID.Value
	}
	set(&e.NetworkInstance, u.NetworkInstance)
	if u.InterfaceType.Present {
		e.InterfaceType = u.InterfaceType
	}
	if u.UEAddress.Present {
		e.ChooseUE, e.UEAddress = ChooseUE{}, u.UEAddress.Value
	}
	set(&e.QFIs, u.QFIs)
	set(&e.Framed, u.Framed)
}

// apply changes r as u says; what follows of it for what is measured is rearm's.
func (u *UpdateURR) apply(r *URR) {
	set(&r.Method, u.Method)
	set(&r.Triggers, u.Triggers)
	set(&r.Information, u.Information)
	set(&r.MeasurementPeriod, u.MeasurementPeriod)
	set(&r.VolumeThreshold, u.VolumeThreshold)
	set(&r.VolumeQuota, u.VolumeQuota)
	set(&r.TimeThreshold, u.TimeThreshold)
	set(&r.QuotaHoldingTime, u.QuotaHoldingTime)
	set(&r.QuotaValidityTime, u.QuotaValidityTime)
	set(&r.InactivityDetectionTime, u.InactivityDetectionTime)
	set(&r.MonitoringTime, u.MonitoringTime)
	set(&r.DroppedThreshold, u.DroppedThreshold)
	set(&r.SubsequentVolumeThreshold, u.SubsequentVolumeThreshold)
	set(&r.SubsequentVolumeQuota, u.SubsequentVolumeQuota)
	set(&r.SubsequentTimeThreshold, u.SubsequentTimeThreshold)
	set(&r.Events.Threshold, u.EventThreshold)
	set(&r.Events.SubsequentThreshold, u.SubsequentEventThreshold)
	for _, o := range [...]struct {
		to, from *Optional[uint32]
		remove   bool
	}{
		{&r.TimeQuota, &u.TimeQuota, u.RemoveTimeQuota},
		{&r.SubsequentTimeQuota, &u.SubsequentTimeQuota, u.RemoveSubsequentTimeQuota},
		{&r.QuotaFAR, &u.QuotaFAR, u.RemoveQuotaFAR},
		{&r.Events.Quota, &u.EventQuota, u.RemoveEventQuota},
		{&r.Events.SubsequentQuota, &u.SubsequentEventQuota, u.RemoveSubsequentEventQuota},
	} {
		switch {
		case o.remove:
			*o.to = Optional[uint32]{}
		case o.from.Present:
			*o.to = *o.from
		}
	}
	if u.LinkedURRs != nil {
		r.LinkedURRs = append(r.LinkedURRs[:0], u.LinkedURRs...)
	}
}
