package session

import (
	"cmp"
	"fmt"
	"slices"
)

// plan is a change that is being worked out: the session as it is and as it will
// be. What it takes and gives back follows: what the one holds and the other
// does not.
type plan struct {
	m    *Manager
	r    *Result
	old  *Session // nil: an establishment
	next *Session
	now  int64 // Unix nanoseconds
	// clash is who holds what acquire could not have.
	clash   uint32
	clashAt resource
}

// establish builds the session that req asks for, but for its SEID.
func (p *plan) establish(req *Establishment) error {
	if err := checkSupported(req.Unsupported); err != nil {
		return err
	}
	s := p.next
	s.Owner, s.CP = req.Owner, req.CP
	s.PDNType, s.SNSSAI, s.DNN, s.InactivityTimer = req.PDNType, req.SNSSAI, req.DNN, req.InactivityTimer
	s.CSIDs = append(s.CSIDs, req.CSIDs...)
	if err := p.create(&rulesToCreate{
		req.CreatePDRs, req.CreateFARs, req.CreateQERs, req.CreateURRs, req.CreateBARs, req.CreateEndpoints,
	}); err != nil {
		return err
	}
	if err := p.finish(); err != nil {
		return err
	}
	s.Slice = p.m.tables.slices.of(s)
	return nil
}

// modify changes next, which is the session as it was, into what it becomes by
// req.
func (p *plan) modify(req *Modification) error {
	if err := checkSupported(req.Unsupported); err != nil {
		return err
	}
	s := p.next
	s.trim(p.now)
	set(&s.CP, req.CP)
	set(&s.InactivityTimer, req.InactivityTimer)
	if req.InactivityTimer.Present {
		s.Inactivity = Inactivity{}
	}
	if req.SNSSAI.Present {
		s.SNSSAI = req.SNSSAI
	}
	if req.NewOwner != 0 {
		s.Owner = req.NewOwner
	}
	s.CSIDs = slices.DeleteFunc(s.CSIDs, func(c FQCSID) bool { return req.DropCSIDs>>c.NodeType&1 == 1 })
	s.CSIDs = append(s.CSIDs, req.CSIDs...)
	if err := p.remove(req); err != nil {
		return err
	}
	if err := p.update(req); err != nil {
		return err
	}
	if err := p.create(&rulesToCreate{
		req.CreatePDRs, req.CreateFARs, req.CreateQERs, req.CreateURRs, req.CreateBARs, req.CreateEndpoints,
	}); err != nil {
		return err
	}
	for _, id := range req.QueryURRs {
		if s.URR(id) == nil && !slices.Contains(req.RemoveURRs, id) {
			return ruleError(RuleURR, id, ErrNoRule)
		}
	}
	p.r.change.DropBuffered = req.DropBuffered
	if err := p.finish(); err != nil {
		return err
	}
	p.endMarkers()
	return nil
}

// finish completes a planned session and checks it as a whole.
func (p *plan) finish() error {
	if err := p.resolve(); err != nil {
		return err
	}
	p.sort()
	return p.validate()
}

// rulesToCreate are those of either request.
type rulesToCreate struct {
	pdrs      []PDR
	fars      []FAR
	qers      []QER
	urrs      []URR
	bars      []BAR
	endpoints []TrafficEndpoint
}

// create adds rules whose IDs the session does not have yet.
func (p *plan) create(c *rulesToCreate) error {
	s, limit := p.next, p.m.config.MaxRules
	for i := range c.pdrs {
		r := &c.pdrs[i]
		if err := mayAdd(RulePDR, uint32(r.ID), len(s.PDRs), limit, s.PDR(r.ID) != nil); err != nil {
			return err
		}
		added := next(&s.PDRs)
		added.copy(r)
		added.PDI.Inherits = !r.PDI.hasEnds() && len(r.PDI.Ethernet) == 0
	}
	for i := range c.fars {
		if err := mayAdd(RuleFAR, c.fars[i].ID, len(s.FARs), limit, s.FAR(c.fars[i].ID) != nil); err != nil {
			return err
		}
		s.FARs = append(s.FARs, c.fars[i])
	}
	for i := range c.qers {
		if err := mayAdd(RuleQER, c.qers[i].ID, len(s.QERs), limit, s.QER(c.qers[i].ID) != nil); err != nil {
			return err
		}
		s.QERs = append(s.QERs, c.qers[i])
	}
	for i := range c.urrs {
		if err := mayAdd(RuleURR, c.urrs[i].ID, len(s.URRs), limit, s.URR(c.urrs[i].ID) != nil); err != nil {
			return err
		}
		u := next(&s.URRs)
		u.copy(&c.urrs[i])
		if p.old == nil { // else changeUsage does
			u.provision(p.now, Counts{})
		}
	}
	for i := range c.bars {
		if err := mayAdd(RuleBAR, uint32(c.bars[i].ID), len(s.BARs), limit, s.BAR(c.bars[i].ID) != nil); err != nil {
			return err
		}
		s.BARs = append(s.BARs, c.bars[i])
	}
	for i := range c.endpoints {
		if s.Endpoint(c.endpoints[i].ID) != nil || len(s.Endpoints) >= limit {
			return endpointError(IECreateTrafficEndpoint, c.endpoints[i].ID, ErrDuplicate)
		}
		s.Endpoints = append(s.Endpoints, c.endpoints[i])
	}
	return nil
}

// mayAdd checks that a session with n rules of a kind may get one more.
func mayAdd(t RuleType, id uint32, n, limit int, exists bool) error {
	if exists {
		return ruleError(t, id, ErrDuplicate)
	}
	if n >= limit {
		return &Error{Cause: CauseNoResources, HasRule: true, Rule: t, RuleID: id, Err: fmt.Errorf("%d already: %w", n, ErrFull)}
	}
	return nil
}

// copy makes s a copy of from that shares no memory with it.
func (s *Session) copy(from *Session) {
	s.reset()
	own := *s
	*s = *from
	s.PDRs, s.URRs = own.PDRs, own.URRs
	for i := range from.PDRs {
		next(&s.PDRs).copy(&from.PDRs[i])
	}
	for i := range from.URRs {
		next(&s.URRs).copy(&from.URRs[i])
	}
	s.FARs, s.QERs = append(own.FARs, from.FARs...), append(own.QERs, from.QERs...)
	s.BARs, s.Endpoints = append(own.BARs, from.BARs...), append(own.Endpoints, from.Endpoints...)
	s.CSIDs, s.Reports = append(own.CSIDs, from.CSIDs...), append(own.Reports, from.Reports...)
}

// copy makes r a copy of from that shares no memory with it.
func (r *PDR) copy(from *PDR) {
	qers, urrs, predefined, filters := r.QERIDs, r.URRIDs, r.Predefined, r.PDI.Filters
	*r = *from
	r.QERIDs = append(qers[:0], from.QERIDs...)
	r.URRIDs = append(urrs[:0], from.URRIDs...)
	r.Predefined = append(predefined[:0], from.Predefined...)
	r.PDI.Filters = copyFilters(filters, from.PDI.Filters)
}

// copyFilters copies from into the memory of to.
func copyFilters(to, from []SDFFilter) []SDFFilter {
	to = to[:0]
	for i := range from {
		next(&to).copy(&from[i])
	}
	return to
}

// copy makes f a copy of from that shares no memory with it.
func (f *SDFFilter) copy(from *SDFFilter) {
	remote, local := f.RemotePorts, f.LocalPorts
	*f = *from
	f.RemotePorts = append(remote[:0], from.RemotePorts...)
	f.LocalPorts = append(local[:0], from.LocalPorts...)
}

// copy makes u a copy of from that shares no memory with it.
func (u *URR) copy(from *URR) {
	linked := u.LinkedURRs
	*u = *from
	u.LinkedURRs = append(linked[:0], from.LinkedURRs...)
}

// sort puts PDRs in Precedence order and all else in the order of their IDs.
func (p *plan) sort() {
	s := p.next
	slices.SortFunc(s.PDRs, func(a, b PDR) int {
		return cmp.Or(cmp.Compare(a.Precedence, b.Precedence), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(s.FARs, func(a, b FAR) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.QERs, func(a, b QER) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.URRs, func(a, b URR) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.BARs, func(a, b BAR) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Endpoints, func(a, b TrafficEndpoint) int { return cmp.Compare(a.ID, b.ID) })
}
