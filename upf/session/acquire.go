package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/internal/endpoint"
)

// choice is an F-TEID that was chosen for a CHOOSE ID in this request.
type choice struct {
	id    uint8
	fteid FTEID
}

// acquire takes all that the planned session needs and does not have yet: it
// allocates F-TEIDs and UE addresses, and claims those that the CP function
// chose. On an error nothing is taken.
func (p *plan) acquire() error {
	r := p.r
	r.before, r.after, r.taken, r.chosen = r.before[:0], r.after[:0], r.taken[:0], r.chosen[:0]
	p.clash = 0
	if err := p.checkAgent(); err != nil {
		return err
	}
	if p.old != nil {
		r.before = p.old.resources(r.before)
	}
	err := p.allocate()
	if err == nil {
		err = p.checkAddresses() // those that were chosen, too
	}
	if err == nil {
		err = p.claim()
	}
	if err != nil {
		p.m.claims.release(r.taken)
		r.taken = r.taken[:0]
		p.forgetAllocated()
	}
	return err
}

// forgetAllocated makes allocate allocate anew, if it is tried again.
func (p *plan) forgetAllocated() {
	if p.old != nil {
		return
	}
	for i := range p.next.PDRs {
		d := &p.next.PDRs[i].PDI
		forget(&d.Choose, &d.ChooseUE, &d.FTEID, &d.UEAddress)
	}
	for i := range p.next.Endpoints {
		e := &p.next.Endpoints[i]
		forget(&e.Choose, &e.ChooseUE, &e.FTEID, &e.UEAddress)
	}
}

func forget(c *Choose, u *ChooseUE, f *FTEID, a *UEAddress) {
	if c.CH {
		*f = FTEID{}
	}
	if u.V4 {
		a.IPv4 = IPv4{}
	}
	if u.V6 {
		a.IPv6Prefix = IPv6Prefix{}
	}
}

// allocate chooses F-TEIDs and UE addresses for those Traffic Endpoints and PDRs
// that ask for them and have none yet.
func (p *plan) allocate() error {
	s := p.next
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if e.Choose.CH && e.FTEID.TEID == 0 {
			from, kind := p.interfaceOf(e)
			f, err := p.chooseFTEID(e.Choose, e.NetworkInstance, from, kind)
			if err != nil {
				return &Error{Cause: causeOf(err), OffendingIE: IEFTEID, Err: fmt.Errorf("Traffic Endpoint %d: %w", e.ID, err)}
			}
			e.FTEID = f
		}
		if err := p.chooseUE(e.ChooseUE, &e.UEAddress); err != nil {
			return &Error{Cause: causeOf(err), OffendingIE: IEUEIPAddress, Err: fmt.Errorf("Traffic Endpoint %d: %w", e.ID, err)}
		}
	}
	for i := range s.PDRs {
		r := &s.PDRs[i]
		d := &r.PDI
		if d.Inherits {
			continue
		}
		if d.Choose.CH && d.FTEID.TEID == 0 {
			f, err := p.chooseFTEID(d.Choose, d.NetworkInstance, d.SourceInterface, d.InterfaceType)
			if err != nil {
				return withCause(causeOf(err), ruleError(RulePDR, uint32(r.ID), err))
			}
			d.FTEID = f
		}
		if err := p.chooseUE(d.ChooseUE, &d.UEAddress); err != nil {
			return withCause(causeOf(err), ruleError(RulePDR, uint32(r.ID), err))
		}
	}
	return p.fill()
}

// causeOf is the Cause of an allocation that failed.
func causeOf(err error) Cause {
	switch {
	case errors.Is(err, ErrUnsupported):
		return CauseRuleFailure
	case errors.Is(err, errPool):
		return CauseAddressesOccupied
	}
	return CauseNoResources
}

// interfaceOf is the Source Interface of the first PDR of a Traffic Endpoint, and the
// 3GPP Interface Type of either.
func (p *plan) interfaceOf(e *TrafficEndpoint) (Interface, Optional[InterfaceType]) {
	for i := range p.next.PDRs {
		if d := &p.next.PDRs[i].PDI; d.Endpoint == Some(e.ID) {
			if e.InterfaceType.Present {
				return d.SourceInterface, e.InterfaceType
			}
			return d.SourceInterface, d.InterfaceType
		}
	}
	return Access, e.InterfaceType
}

// chooseFTEID allocates an F-TEID. PDRs that ask with the same CHOOSE ID get the
// same one. TS 29.244 says so of one request; Open5GS's SMF means the session: the
// CHOOSE ID of a QoS flow that it adds is that of the default flow. So an F-TEID that
// the session has for that CHOOSE ID at the same endpoint is given again.
// Source: TS 29.244 V18.6.0, 5.5.3.
func (p *plan) chooseFTEID(c Choose, instance string, from Interface, kind Optional[InterfaceType]) (FTEID, error) {
	r := p.r
	if c.CHID {
		if i := slices.IndexFunc(r.chosen, func(x choice) bool { return x.id == c.ID }); i >= 0 {
			return r.chosen[i].fteid, nil
		}
	}
	e := p.m.config.endpoint(Agent(p.next.SEID), instance, from, kind)
	if f, ok := p.chosenBefore(c, e); ok {
		r.chosen = append(r.chosen, choice{c.ID, f})
		return f, nil
	}
	if e == nil {
		return FTEID{}, fmt.Errorf("no GTP-U endpoint of Network Instance %q, Source Interface %v: %w", instance, from, ErrUnsupported)
	}
	f := FTEID{}
	if c.V4 || !c.V6 {
		f.IPv4 = e.IPv4
	}
	if c.V6 {
		f.IPv6 = e.IPv6
	}
	// Asked for both, one is enough: many CP functions set both flags and take
	// what they get.
	if f == (FTEID{}) {
		return FTEID{}, fmt.Errorf("GTP-U endpoint %q has no such address: %w", e.Name, ErrUnsupported)
	}
	teid, err := p.m.claims.teids.allocate(f.locals(), holderOf(p.next.SEID))
	if err != nil {
		return FTEID{}, fmt.Errorf("%w: %w", err, ErrFull)
	}
	f.TEID = teid
	r.taken = append(r.taken, f.resource())
	if c.CHID {
		r.chosen = append(r.chosen, choice{c.ID, f})
	}
	return f, nil
}

// chosenBefore returns the F-TEID that a rule of the session has by that CHOOSE ID since
// an earlier request, and keeps, with the IP versions that c asks for, at endpoint e.
func (p *plan) chosenBefore(c Choose, e *Endpoint) (FTEID, bool) {
	if !c.CHID || e == nil {
		return FTEID{}, false
	}
	fits := func(had Choose, f FTEID) bool {
		return had == c && f.TEID != 0 && (f.IPv4 == e.IPv4 || f.IPv4 == IPv4{}) && (f.IPv6 == e.IPv6 || f.IPv6 == IPv6{})
	}
	for i := range p.next.PDRs {
		if d := &p.next.PDRs[i].PDI; fits(d.Choose, d.FTEID) {
			return d.FTEID, true
		}
	}
	for i := range p.next.Endpoints {
		if t := &p.next.Endpoints[i]; fits(t.Choose, t.FTEID) {
			return t.FTEID, true
		}
	}
	return FTEID{}, false
}

// endpoint returns the GTP-U endpoint for an F-TEID: the first of those that fit
// best, by 3GPP Interface Type, then by Network Instance, then by Source Interface. It
// returns nil if the agent has none.
func (c *Config) endpoint(agent uint8, instance string, from Interface, kind Optional[InterfaceType]) *Endpoint {
	best, at := -1, -1
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		if fit := e.fit(instance, from, kind); e.Agent == agent && fit > best {
			best, at = fit, i
		}
	}
	if at < 0 {
		return nil
	}
	return &c.Endpoints[at]
}

// fit says how well F-TEIDs of that kind belong at the endpoint; more is better.
func (e *Endpoint) fit(instance string, from Interface, kind Optional[InterfaceType]) int {
	p := endpoint.Properties[InterfaceType, Interface]{
		InterfaceTypes: e.InterfaceTypes, NetworkInstances: e.NetworkInstances, Interfaces: e.Interfaces,
	}
	if kind.Present {
		return p.Fit(&kind.Value, instance, from)
	}
	return p.Fit(nil, instance, from)
}

// chooseUE allocates the UE addresses that are asked for. A session has one of
// each family: all that ask get the same.
// Source: TS 29.244 V18.6.0, 5.21.
func (p *plan) chooseUE(c ChooseUE, a *UEAddress) error {
	if c.V4 && a.IPv4 == (IPv4{}) {
		r, err := p.address(resourceUEIPv4, c)
		if err != nil {
			return err
		}
		binary.BigEndian.PutUint32(a.IPv4[:], uint32(r.value))
	}
	if c.V6 && a.IPv6Prefix == (IPv6Prefix{}) {
		r, err := p.address(resourceUEIPv6, c)
		if err != nil {
			return err
		}
		binary.BigEndian.PutUint64(a.IPv6Prefix[:], r.value)
	}
	return nil
}

// address is the session's address of that kind out of our pools, a new one if
// it has none.
func (p *plan) address(kind resourceKind, c ChooseUE) (resource, error) {
	for _, list := range [...][]resource{p.r.before, p.r.taken} {
		for _, r := range list {
			if r.kind == kind && p.m.claims.pools.of(r) != nil {
				return r, nil
			}
		}
	}
	names := p.m.tables.slices.pools(p.next)
	if c.Pool != "" {
		names = []string{c.Pool}
	}
	r, err := p.m.claims.pools.allocate(kind, names, holderOf(p.next.SEID))
	if err != nil {
		return r, err
	}
	p.r.taken = append(p.r.taken, r)
	return r, nil
}

// claim takes what the planned session needs and neither the old one holds nor
// allocate took, and appends it to taken.
func (p *plan) claim() error {
	r := p.r
	r.after = p.next.resources(r.after)
	for _, res := range r.after {
		if slices.Contains(r.before, res) || slices.Contains(r.taken, res) {
			continue
		}
		if h := p.m.claims.take(res, holderOf(p.next.SEID)); h != holderOf(p.next.SEID) {
			p.clash, p.clashAt = h, res
			return p.heldError(res)
		}
		r.taken = append(r.taken, res)
	}
	return nil
}

// heldError names the first PDR that needs what another session holds.
func (p *plan) heldError(res resource) error {
	for i := range p.next.PDRs {
		if r := &p.next.PDRs[i]; slices.Contains(r.PDI.resources(nil), res) {
			return pdrError(r.ID, ErrHeld, "%v", res)
		}
	}
	return &Error{Cause: CauseRuleFailure, Err: fmt.Errorf("%v: %w", res, ErrHeld)}
}

// freed lists what the old session holds and the planned one does not need any
// more.
func (p *plan) freed() []resource {
	after := p.r.after
	return slices.DeleteFunc(p.r.before, func(r resource) bool { return slices.Contains(after, r) })
}
