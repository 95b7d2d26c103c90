package xdp

// home returns the home among the rules of bare packets of the UE's address, the
// first one that a PDR has; false: none has any.
func (c *change) home() (uint32, bool) {
	for _, r := range c.in.GetRules() {
		a := r.GetDetect().GetUeAddress()
		switch {
		case a.GetIpv4() != 0:
			return a.GetIpv4() & c.d.ues.mask, true
		case a.GetIpv6Prefix() != 0:
			return uint32(a.GetIpv6Prefix()) & c.d.ues.mask, true
		}
	}
	return 0, false
}

// homeURR returns where the session's URR is best, or 0.
func (c *change) homeURR() uint32 {
	if home, ok := c.home(); ok {
		return homeAccount(home)
	}
	return 0
}

// homeMeter returns where the session's meter of an MBR is best, or 0.
func (c *change) homeMeter(uplink bool) uint32 {
	if home, ok := c.home(); ok {
		return homeMeter(home, uplink)
	}
	return 0
}

// atHome reports whether meter and URR of p stand where packets of p find them by
// their UE address.
func (c *change) atHome(p *placed) bool {
	e := &p.content
	ue := uint32(p.key)
	switch {
	case p.kind() == ruleByUE && (e.Ctl&ruleUplink != 0 || p.key == routesKey(c.in.GetSeid())):
		return false // the key is not the UE address of the packet
	case p.kind() == ruleByTEID:
		switch e.Ctl & (ruleMatchIP4 | ruleMatchIP6) {
		case ruleMatchIP4:
			ue = e.UeIp4
		case ruleMatchIP6:
			ue = uint32(p.rule.GetDetect().GetUeAddress().GetIpv6Prefix())
		default:
			return false
		}
	}
	home := ue & c.d.ues.mask
	meter := e.Meter[0] == 0 || e.Meter[0] == homeMeter(home, e.Ctl&ruleUplink != 0)
	return meter && e.Meter[1] == 0 && (e.Urr == 0 || e.Urr == homeAccount(home)) && e.Meter[0]|e.Urr != 0
}
