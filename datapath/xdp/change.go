package xdp

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"plumbline/api"
	"plumbline/datapath"
	"plumbline/datapath/model"
)

// change is a replacement of a session under way: what is reserved for it so
// far. Its memory is used again for the next one.
type change struct {
	d   *Driver
	in  *api.Session
	old *session // may be empty

	rules  []placed // one for each key
	others []held   // meters and URRs
	slow   []slowRule
	hops   []uint32
	models []*model.Rule // of all PDRs, if the slow path does or did any of them
}

// placed is a rule in a slot.
type placed struct {
	held
	key     uint64
	rule    *api.Rule // the first one on this key
	slow    bool
	hop     uint32 // that the rule refers to; 0: none
	content upfRule
}

// tableKey is a key and the table that it is of.
type tableKey struct {
	kind kind
	key  uint64
}

// tableKeys returns those of a rule, as [datapath.Keys].
func tableKeys(r *api.Rule) (keys [2]tableKey, n int) {
	d := r.GetDetect()
	if f := d.GetFTeid(); f != nil {
		keys[0] = tableKey{ruleByTEID, 1<<32 | uint64(f.GetTeid())}
		return keys, 1
	}
	if a := d.GetUeAddress().GetIpv4(); a != 0 {
		keys[n] = tableKey{ruleByUE, 1<<32 | uint64(a)}
		n++
	}
	if p := d.GetUeAddress().GetIpv6Prefix(); p != 0 {
		keys[n] = tableKey{ruleByUE, p}
		n++
	}
	return keys, n
}

// plan reserves all that the session needs. After an error nothing is.
func (c *change) plan() error {
	for _, step := range []func() error{c.placeAll, c.reserveURRs, c.fillAll} {
		if err := step(); err != nil {
			c.abort()
			return err
		}
	}
	return nil
}

// placeAll finds a slot for each key, and which keys are for the slow path.
func (c *change) placeAll() error {
	for _, r := range c.in.GetRules() {
		slow := !fast(c.in, r)
		keys, n := tableKeys(r)
		for _, k := range keys[:n] {
			if p := c.placedAt(k); p != nil {
				p.slow = true // another PDR of the session is there
				continue
			}
			slot, err := c.place(k)
			if err != nil {
				return &datapath.RuleError{Type: api.RuleType_PDR_RULE, ID: r.GetPdrId(), Err: err}
			}
			c.rules = append(c.rules, placed{held: hold(k.kind, r.GetPdrId(), slot), key: k.key, rule: r, slow: slow})
		}
	}
	return nil
}

func (c *change) placedAt(k tableKey) *placed {
	for i := range c.rules {
		if p := &c.rules[i]; p.key == k.key && p.kind() == k.kind {
			return p
		}
	}
	return nil
}

// place returns the slot of k: the one that the session has, also from before
// the start, or a new one.
func (c *change) place(k tableKey) (uint32, error) {
	t := c.d.table(k.kind)
	slot, there := t.find(k.key)
	if !there {
		return t.reserve(k.key)
	}
	if !t.orphans.has(slot) && !c.old.has(hold(k.kind, 0, slot)) {
		return 0, datapath.ErrClash
	}
	return slot, nil
}

// maxQFIs and maxMeters are how many a rule in the tables has.
const maxQFIs, maxMeters = 4, 2

// fast reports whether the programs can do all that r asks for, if it is alone
// on its keys.
func fast(s *api.Session, r *api.Rule) bool {
	d, f := r.GetDetect(), r.GetForward()
	ohc := f.GetOuterHeaderCreation()
	switch {
	case rare(s, r):
		return false
	case len(d.GetFilters()) > 0, len(d.GetQfis()) > maxQFIs, len(r.GetUrrIds()) > 1:
		return false
	case f.GetAction() == api.Action_BUFF:
		return false
	case f.GetAction() == api.Action_DROP && (f.GetNotifyDiscarded() || countsDropped(s, r)):
		return false
	case f.GetAction() != api.Action_DROP && ohc != nil && d.GetFTeid() != nil && d.GetUeAddress().GetIpv6Prefix() != 0:
		return false
	}
	meters := 0
	for _, id := range r.GetQerIds() {
		if datapath.MBR(datapath.FindQER(s, id), d.GetSourceInterface()) != 0 {
			meters++
		}
	}
	return meters <= maxMeters
}

// countsDropped reports whether a URR of r is to know of packets that are
// dropped instead of buffered.
func countsDropped(s *api.Session, r *api.Rule) bool {
	return slices.ContainsFunc(r.GetUrrIds(), func(id uint32) bool {
		u := datapath.FindURR(s, id)
		return u.GetDroppedDownlinkPackets() != 0 || u.GetDroppedDownlinkOctets() != 0
	})
}

// reserveURRs finds a record for each URR: the one that it has, also from before
// the start, or a new one.
func (c *change) reserveURRs() error {
	for _, u := range c.in.GetUrrs() {
		slot, ok := c.old.find(urr, u.GetId())
		if !ok {
			slot = c.d.urrs.adopt(c.in.GetSeid(), u.GetId())
		}
		if slot == 0 {
			var err error
			if slot, err = c.d.urrs.reserve(c.in.GetSeid(), u.GetId()); err != nil {
				return &datapath.RuleError{Type: api.RuleType_URR_RULE, ID: u.GetId(), Err: err}
			}
		}
		c.others = append(c.others, hold(urr, u.GetId(), slot))
	}
	return nil
}

// fillAll makes the content of all rules.
func (c *change) fillAll() error {
	for i := range c.rules {
		p := &c.rules[i]
		p.content = upfRule{Key: p.key, Ctl: ruleSlow}
		if p.slow {
			continue
		}
		if err := c.fill(p); err != nil {
			return err
		}
	}
	return c.fillSlow()
}

// fill makes the content of p from PDR, FAR, QERs and URR.
func (c *change) fill(p *placed) error {
	e, r := &p.content, p.rule
	e.Ctl = 0
	source := r.GetDetect().GetSourceInterface()
	if datapath.Uplink(source) {
		e.Ctl |= ruleUplink
	}
	qfi, meters := byte(0), 0
	before := c.d.table(p.kind()).slots[p.slot()].Meter
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
		slot, err := c.meter(q, datapath.Uplink(source), before[meters])
		if err != nil {
			return &datapath.RuleError{Type: api.RuleType_QER_RULE, ID: id, Err: err}
		}
		e.Meter[meters] = slot
		meters++
	}
	for _, id := range r.GetUrrIds() {
		e.Urr, _ = c.find(urr, id)
	}
	c.fillDetect(e, r)
	return c.fillForward(p, qfi)
}

// fillDetect sets what is compared beside the key: of a bare packet, the data
// network that it came from.
func (c *change) fillDetect(e *upfRule, r *api.Rule) {
	d := r.GetDetect()
	if d.GetFTeid() == nil {
		e.Ctl |= uint32(c.d.cfg.N6.Network(d.GetNetworkInstance())) << ruleN6Shift
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
		return nil
	}
	e.Ctl |= ruleForw
	ohc := f.GetOuterHeaderCreation()
	if ohc == nil {
		e.Ctl |= uint32(c.d.cfg.N6.Way(f.GetNetworkInstance(), f.GetForwardingPolicy())) << ruleN6Shift
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

// peer returns the hop of the FAR's Outer Header Creation.
func (c *change) peer(r *api.Rule) (uint32, error) {
	f := r.GetForward()
	addr := peerOf(f.GetOuterHeaderCreation())
	i, err := c.d.ports.toward(c.d.cfg.Endpoints, f.GetNetworkInstance(), f.GetDestinationInterface(), addr)
	if err == nil {
		var hop uint32
		if hop, err = c.d.acquirePeer(i, addr); err == nil {
			return hop, nil
		}
	}
	return 0, &datapath.RuleError{Type: api.RuleType_FAR_RULE, ID: r.GetFarId(), Err: err}
}

// outerWord is struct out of struct rule, which has the place of ue_ip6.
type outerWord struct {
	hop       uint16
	qfi, dscp byte
	teid      uint32
}

func (o outerWord) pack() uint64 {
	var b [8]byte
	binary.NativeEndian.PutUint16(b[:], o.hop)
	b[2], b[3] = o.qfi, o.dscp
	binary.BigEndian.PutUint32(b[4:], o.teid)
	return binary.NativeEndian.Uint64(b[:])
}

func unpackOuter(word uint64) outerWord {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], word)
	return outerWord{binary.NativeEndian.Uint16(b[:]), b[2], b[3], binary.BigEndian.Uint32(b[4:])}
}

// find returns the slot of a meter or URR in the new session.
func (c *change) find(k kind, id uint32) (uint32, bool) {
	for _, h := range c.others {
		if h.kind() == k && h.id == id {
			return h.slot(), true
		}
	}
	return 0, false
}

// meter returns the slot of the QER's meter: the session's, also from before the
// start, when the rule named the slot before, or a new one.
func (c *change) meter(q *api.QER, uplink bool, before uint32) (uint32, error) {
	k, id := meterKind(q, uplink)
	if slot, ok := c.find(k, id); ok {
		return slot, nil
	}
	slot, ok := c.old.find(k, id)
	if !ok && k >= sharedUplinkMeter {
		slot, ok = c.d.meters.findShared(k, id)
	}
	if !ok && before != 0 && c.d.meters.orphans.has(before) && !c.holds(before) {
		slot, ok = before, true
	}
	if !ok {
		var err error
		if slot, err = c.d.meters.reserve(); err != nil {
			return 0, err
		}
	}
	h := hold(k, id, slot)
	c.others = append(c.others, h)
	if k >= sharedUplinkMeter && !c.old.has(h) {
		c.d.meters.shared[h]++
	}
	return slot, nil
}

// holds reports whether the new session holds this slot for a meter.
func (c *change) holds(meter uint32) bool {
	for _, h := range c.others {
		if h.kind() != urr && h.slot() == meter {
			return true
		}
	}
	return false
}

func meterKind(q *api.QER, uplink bool) (k kind, id uint32) {
	k, id = uplinkMeter, q.GetId()
	if q.GetShared() != 0 {
		k, id = sharedUplinkMeter, q.GetShared()
	}
	if !uplink {
		k++
	}
	return k, id
}

// tableSize returns how many slots hold n rules: a power of two.
func tableSize(n int) uint32 { return 1 << bits.Len(uint(n-1)) }
