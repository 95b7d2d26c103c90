package session

// Several datapaths, each with GTP-U endpoints of its own: a session is on one of
// them, all its F-TEIDs are there, and the number of it is in its SEID.

// terminates reports whether GTP-U is terminated at all addresses of f, of which
// there is at least one.
func (c *Config) terminates(f FTEID) bool {
	v4, v6 := f.IPv4 == IPv4{}, f.IPv6 == IPv6{}
	if v4 && v6 {
		return false
	}
	for i := range c.Endpoints {
		v4 = v4 || c.Endpoints[i].IPv4 == f.IPv4
		v6 = v6 || c.Endpoints[i].IPv6 == f.IPv6
	}
	return v4 && v6
}

// terminatesAt reports whether that datapath terminates GTP-U at f, which is an
// address of some.
func (c *Config) terminatesAt(agent uint8, f FTEID) bool {
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		if e.Agent == agent && (f.IPv4 != IPv4{} && e.IPv4 == f.IPv4 || f.IPv6 != IPv6{} && e.IPv6 == f.IPv6) {
			return true
		}
	}
	return false
}

// givenAgent returns the datapath of the first F-TEID that the CP function gave; ok
// is false if it gave none.
func (p *plan) givenAgent() (agent uint8, ok bool) {
	c := &p.m.config
	for i := range p.next.PDRs {
		f := p.next.PDRs[i].PDI.FTEID
		if f.TEID == 0 {
			continue
		}
		for j := range c.Endpoints {
			if a := c.Endpoints[j].Agent; c.terminatesAt(a, f) {
				return a, true
			}
		}
	}
	return 0, false
}

// checkAgent checks that all F-TEIDs are at the session's datapath.
func (p *plan) checkAgent() error {
	if len(p.m.tables.slices.used) == 1 {
		return nil
	}
	agent := Agent(p.next.SEID)
	for i := range p.next.PDRs {
		r := &p.next.PDRs[i]
		if f := r.PDI.FTEID; f.TEID != 0 && !p.m.config.terminatesAt(agent, f) {
			return pdrError(r.ID, ErrUnsupported, "F-TEID at %v, %x, which is not at the session's datapath %d", f.IPv4, f.IPv6, agent)
		}
	}
	return nil
}
