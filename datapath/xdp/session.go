package xdp

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"

	"plumbline/api"
	"plumbline/datapath"
)

// session is what the tables hold of a PFCP session.
type session struct {
	pdrs   []uint32 // in the order of the session's rules
	rules  []placed
	meters []placedMeter
}

// placed is a rule in a slot.
type placed struct {
	uplink bool
	pdrID  uint32
	slot   uint32
	key    uint64
	peer   netip.Addr // not valid: none
}

type placedMeter struct {
	qerID  uint32
	uplink bool
	slot   uint32
}

// change is a replacement under way: what is reserved for it so far.
type change struct {
	d    *Driver
	old  *session // may be nil
	made *session
	// content of made.rules
	content []upfRule
}

// replace makes the tables hold s in place of old, or changes nothing.
func (d *Driver) replace(old *session, s *api.Session) (*session, error) {
	c := &change{d: d, old: old, made: &session{}}
	if old == nil {
		c.old = &session{}
	}
	for _, r := range s.GetRules() {
		if err := c.add(s, r); err != nil {
			c.abort()
			return nil, err
		}
	}
	c.commit(s)
	return c.made, nil
}

// add reserves all that rule r needs.
func (c *change) add(s *api.Session, r *api.Rule) error {
	c.made.pdrs = append(c.made.pdrs, r.GetPdrId())
	for _, k := range datapath.Keys(r) {
		p := placed{uplink: k.Interface == api.Interface_ACCESS, pdrID: r.GetPdrId(), key: ruleKey(k)}
		if err := c.place(&p); err != nil {
			return err
		}
		c.made.rules = append(c.made.rules, p)
		c.content = append(c.content, upfRule{Key: p.key})
		if err := c.fill(s, r, len(c.content)-1); err != nil {
			return err
		}
	}
	return nil
}

// place finds the slot of p: the one that the session has for this key, or a
// new one.
func (c *change) place(p *placed) error {
	t := c.d.table(p.uplink)
	slot, held := t.find(p.key)
	if held {
		if _, own := c.old.slot(p); !own {
			return &datapath.RuleError{Type: api.RuleType_PDR_RULE, ID: p.pdrID, Err: datapath.ErrClash}
		}
		p.slot = slot
		return nil
	}
	var err error
	p.slot, err = t.reserve(p.key)
	return err
}

func (d *Driver) table(uplink bool) *table {
	if uplink {
		return d.uplink
	}
	return d.downlink
}

func (s *session) slot(p *placed) (uint32, bool) {
	for i := range s.rules {
		if s.rules[i].uplink == p.uplink && s.rules[i].key == p.key {
			return s.rules[i].slot, true
		}
	}
	return 0, false
}

// ruleKey is the key of the rule in its table, as in bpf/rules.h.
func ruleKey(k datapath.Key) uint64 {
	switch {
	case k.Interface == api.Interface_ACCESS:
		return 1<<32 | uint64(k.TEID)
	case k.IPv6 != 0:
		return k.IPv6
	}
	return 1<<32 | uint64(k.IPv4)
}

// fill makes the content of rule i from PDR, FAR and QERs.
func (c *change) fill(s *api.Session, r *api.Rule, i int) error {
	e, p := &c.content[i], &c.made.rules[i]
	source := r.GetDetect().GetSourceInterface()
	qfi, meters := byte(0), 0
	for _, id := range r.GetQerIds() {
		q := datapath.FindQER(s, id)
		if datapath.GateClosed(q, source) {
			e.Ctl |= ruleGate
		}
		if qfi == 0 {
			qfi = byte(q.GetQfi())
		}
		if datapath.MBR(q, source) == 0 {
			continue
		}
		slot, err := c.meter(placedMeter{qerID: id, uplink: p.uplink})
		if err != nil {
			return &datapath.RuleError{Type: api.RuleType_QER_RULE, ID: id, Err: err}
		}
		e.Meter[meters] = slot
		meters++
	}
	if r.GetForward().GetAction() == api.Action_FORW {
		e.Ctl |= ruleForw
	}
	if p.uplink {
		fillUplink(e, r.GetDetect())
		return nil
	}
	return c.fillDownlink(e, p, r, qfi)
}

func fillUplink(e *upfRule, d *api.Detect) {
	if v4 := d.GetUeAddress().GetIpv4(); v4 != 0 {
		e.Ctl |= ruleMatchIP4
		e.UeIp4 = v4
	}
	if v6 := d.GetUeAddress().GetIpv6Prefix(); v6 != 0 {
		e.Ctl |= ruleMatchIP6
		e.UeIp6 = v6
	}
	for _, q := range d.GetQfis() {
		e.Qfis |= 1 << q
	}
}

func (c *change) fillDownlink(e *upfRule, p *placed, r *api.Rule, qfi byte) error {
	f := r.GetForward()
	var hop uint32
	if ohc := f.GetOuterHeaderCreation(); ohc != nil {
		var peer [4]byte
		binary.BigEndian.PutUint32(peer[:], ohc.GetIpv4())
		addr := netip.AddrFrom4(peer)
		var err error
		if hop, err = c.d.acquirePeer(addr); err != nil {
			return &datapath.RuleError{Type: api.RuleType_FAR_RULE, ID: r.GetFarId(), Err: err}
		}
		p.peer = addr
		e.UeIp4 = networkOrder(ohc.GetTeid())
	}
	var dscp byte
	if f.Dscp != nil {
		e.Ctl |= ruleDSCP
		dscp = byte(f.GetDscp())
	}
	e.UeIp6 = downlinkWord(uint16(hop), qfi, dscp)
	return nil
}

// downlinkWord is hop, qfi and dscp as struct rule has them in place of ue_ip6.
func downlinkWord(hop uint16, qfi, dscp byte) uint64 {
	var b [8]byte
	binary.NativeEndian.PutUint16(b[:], hop)
	b[2], b[3] = qfi, dscp
	return binary.NativeEndian.Uint64(b[:])
}

// networkOrder returns v such that the octets in memory are big endian.
func networkOrder(v uint32) uint32 {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], v)
	return binary.NativeEndian.Uint32(b[:])
}

// meter returns the slot of the QER's meter: the session's, or a new one.
func (c *change) meter(m placedMeter) (uint32, error) {
	for _, s := range []*session{c.made, c.old} {
		for _, have := range s.meters {
			if have.qerID != m.qerID || have.uplink != m.uplink {
				continue
			}
			if s == c.old {
				c.made.meters = append(c.made.meters, have)
			}
			return have.slot, nil
		}
	}
	slot, err := c.d.meters.reserve()
	if err != nil {
		return 0, err
	}
	c.d.meters.meter(slot).Reset()
	m.slot = slot
	c.made.meters = append(c.made.meters, m)
	return slot, nil
}

// commit makes the change visible; it cannot fail.
func (c *change) commit(s *api.Session) {
	for _, m := range c.made.meters {
		source := api.Interface_CORE
		if m.uplink {
			source = api.Interface_ACCESS
		}
		c.d.meters.meter(m.slot).SetRate(datapath.MBR(datapath.FindQER(s, m.qerID), source))
	}
	for i := range c.made.rules {
		p := &c.made.rules[i]
		c.d.table(p.uplink).write(p.slot, &c.content[i])
	}
	c.d.releaseAllBut(c.old, c.made)
	for i := range c.old.rules {
		c.d.releasePeer(c.old.rules[i].peer)
	}
}

// abort gives back what was reserved.
func (c *change) abort() {
	c.d.releaseAllBut(c.made, c.old)
	for i := range c.made.rules {
		c.d.releasePeer(c.made.rules[i].peer)
	}
}

// remove takes the session away.
func (d *Driver) remove(s *session) {
	d.releaseAllBut(s, &session{})
	for i := range s.rules {
		d.releasePeer(s.rules[i].peer)
	}
}

// releaseAllBut clears and gives back the slots of s that keep does not have.
func (d *Driver) releaseAllBut(s, keep *session) {
	for i := range s.rules {
		p := &s.rules[i]
		if _, kept := keep.slot(p); !kept {
			t := d.table(p.uplink)
			t.clear(p.slot)
			t.release(p.slot, p.key)
		}
	}
	for _, m := range s.meters {
		if !keep.hasMeter(m.slot) {
			d.meters.release(m.slot)
		}
	}
}

func (s *session) hasMeter(slot uint32) bool {
	for _, m := range s.meters {
		if m.slot == slot {
			return true
		}
	}
	return false
}

// usage sums up the counters of each PDR.
func (s *session) usage(d *Driver) []*api.Usage {
	usage := make([]*api.Usage, len(s.pdrs))
	for i, id := range s.pdrs {
		u := &api.Usage{PdrId: id}
		for j := range s.rules {
			if p := &s.rules[j]; p.pdrID == id {
				r := &d.table(p.uplink).slots[p.slot]
				u.Packets += atomic.LoadUint64(&r.Packets)
				u.Octets += atomic.LoadUint64(&r.Octets)
				u.DroppedPackets += atomic.LoadUint64(&r.Dropped)
			}
		}
		usage[i] = u
	}
	return usage
}
