package xdp

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// fillAll makes the content of all rules.
func (c *change) fillAll() error {
	for i := range c.rules {
		p := &c.rules[i]
		p.content = upfRule{Key: p.key, Ctl: ruleSlow}
		if c.ethernet() {
			p.content.Ctl |= ruleEther
		}
		if p.slow {
			continue
		}
		if err := c.fill(p); err != nil {
			return err
		}
	}
	if err := c.fillSlow(); err != nil {
		return err
	}
	c.fillLists()
	return nil
}

// ethernet reports whether the session's T-PDUs are frames.
func (c *change) ethernet() bool { return c.in.GetPduType() == api.PDUType_ETHERNET }

// fill makes the content of p from PDR, FAR, QERs and URR.
func (c *change) fill(p *placed) error {
	e, r := &p.content, p.rule
	e.Ctl = 0
	source := r.GetDetect().GetSourceInterface()
	if datapath.Uplink(source) {
		e.Ctl |= ruleUplink
	}
	qfi, n := byte(0), 0
	var before [maxMeters]uint32
	if had := &c.d.table(p.kind()).slots[p.slot()]; had.Ctl&ruleList == 0 {
		before = had.Meter
	}
	for _, id := range r.GetQerIds() {
		q := datapath.FindQER(c.in, id)
		if datapath.GateClosed(q, source) {
			e.Ctl |= ruleGate
		}
		if qfi == 0 {
			qfi = byte(q.GetQfi())
		}
		if datapath.MBR(q, source) == 0 {
			continue
		}
		slot, err := c.meter(q, stages.MBR, datapath.Uplink(source), before[n])
		if err != nil {
			return &datapath.RuleError{Type: api.RuleType_QER_RULE, ID: id, Err: err}
		}
		e.Meter[n] = slot
		n++
	}
	for _, id := range r.GetUrrIds() {
		e.Urr, _ = c.find(urr, id)
	}
	c.fillDetect(e, r)
	if c.atHome(p) {
		e.Ctl |= ruleAtHome
	}
	return c.fillForward(p, qfi)
}

// fillDetect sets what is compared beside the key: of a bare packet, the data
// network that it came from.
func (c *change) fillDetect(e *upfRule, r *api.Rule) {
	d := r.GetDetect()
	if d.GetFTeid() == nil {
		e.Ctl |= c.d.numbers.inRule(c.d.cfg.N6.Network(d.GetNetworkInstance()))
		return
	}
	if v4 := d.GetUeAddress().GetIpv4(); v4 != 0 {
		e.Ctl |= ruleMatchIP4
		e.UeIp4 = v4
	}
	if v6 := d.GetUeAddress().GetIpv6Prefix(); v6 != 0 {
		e.Ctl |= ruleMatchIP6
		e.UeIp6 = v6
	}
	for i, q := range d.GetQfis() {
		e.Qfis[i] = byte(q)
	}
}

func (c *change) fillForward(p *placed, qfi byte) error {
	e, f := &p.content, p.rule.GetForward()
	if f.GetAction() != api.Action_FORW {
		if f.GetIncomplete() {
			e.Ctl |= ruleIncomplete
		}
		if f.GetSpent() {
			e.Ctl |= ruleSpent
		}
		return nil
	}
	e.Ctl |= ruleForw
	ohc := f.GetOuterHeaderCreation()
	if ohc == nil {
		e.Ctl |= c.d.numbers.inRule(c.d.cfg.N6.Way(f.GetNetworkInstance(), f.GetForwardingPolicy()))
		return nil
	}
	var err error
	if p.hop, err = c.peer(p.rule); err != nil {
		return err
	}
	e.Ctl |= ruleOuter
	if f.GetDestinationInterface() == api.Interface_ACCESS {
		e.Ctl |= ruleToAccess
	}
	var dscp byte
	if f.Dscp != nil {
		e.Ctl |= ruleDSCP
		dscp = byte(f.GetDscp())
	}
	e.UeIp6 = outerWord{uint16(p.hop), qfi, dscp, ohc.GetTeid()}.pack()
	return nil
}

// peer returns the hop of the FAR's Outer Header Creation. Frames to an F-TEID of our own
// are the slow path's: hop 0 is never resolved.
func (c *change) peer(r *api.Rule) (uint32, error) {
	f := r.GetForward()
	addr := peerOf(f.GetOuterHeaderCreation())
	if c.ethernet() && datapath.Has(c.d.cfg.Endpoints, addr) {
		return 0, nil
	}
	i, err := c.d.ports.toward(c.d.cfg.Endpoints, datapath.DirectionOf(f), addr)
	if err == nil {
		var hop uint32
		if hop, err = c.d.acquirePeer(i, addr); err == nil {
			return hop, nil
		}
	}
	return 0, &datapath.RuleError{Type: api.RuleType_FAR_RULE, ID: r.GetFarId(), Err: err}
}
