package xdp

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
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
	models []*stages.Rule // of all PDRs, if the slow path does or did any of them
	routes []netip.Prefix // framed routes
	fresh  []netip.Prefix // those of them that were not there before
	hosts  *hostSet       // that filters name; nil: none
}

// placed is a rule in a slot.
type placed struct {
	held
	key     uint64
	rule    *api.Rule // the first one on this key
	slow    bool      // one line does not hold it: a list, or the slow path
	list    list      // that content names
	hop     uint32    // that the rule refers to; 0: none
	content upfRule
}

// tableKey is a key and the table that it is of.
type tableKey struct {
	kind kind
	key  uint64
}

// tableKeys appends those of a rule: its [datapath.Keys], but for framed routes,
// which have one key in all, as have the frames to an Ethernet PDU session.
func tableKeys(keys []tableKey, seid uint64, r *api.Rule) []tableKey {
	d := r.GetDetect()
	if d.GetFTeid() != nil {
		for _, k := range datapath.Keys(r) {
			keys = append(keys, placeOf(seid, k))
		}
		return keys
	}
	if a := d.GetUeAddress().GetIpv4(); a != 0 {
		keys = append(keys, tableKey{ruleByUE, 1<<32 | uint64(a)})
	}
	if p := d.GetUeAddress().GetIpv6Prefix(); p != 0 {
		keys = append(keys, tableKey{ruleByUE, p})
	}
	if d.GetEthernetSession() {
		keys = append(keys, tableKey{ruleByUE, routesKey(seid)})
	}
	if len(d.GetFramedRoutes()) == 0 {
		return keys
	}
	for _, k := range datapath.Keys(r) {
		if key := placeOf(seid, k); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// placeOf returns where the programs look for k.
func placeOf(seid uint64, k datapath.Key) tableKey {
	switch {
	case k.TEID != 0:
		return tableKey{ruleByTEID, k.FTEID()}
	case k.IPv4 != 0:
		return tableKey{ruleByUE, 1<<32 | uint64(k.IPv4)}
	case k.IPv6 != 0:
		return tableKey{ruleByUE, k.IPv6}
	}
	return tableKey{ruleByUE, routesKey(seid)}
}

// covers reports whether r is a candidate for packets that are found by the key
// of p: see [datapath.Covers].
func (c *change) covers(r *api.Rule, p *placed) bool {
	var buf [4]tableKey
	own := tableKey{p.kind(), p.key}
	if slices.Contains(tableKeys(buf[:0], c.in.GetSeid(), r), own) {
		return true
	}
	if len(c.routes) == 0 || own.kind == ruleByTEID || r.GetDetect().GetFTeid() != nil {
		return false
	}
	switch {
	case own.key == routesKey(c.in.GetSeid()):
		return false
	case own.key>>32 == 1:
		return datapath.Covers(r, datapath.Key{IPv4: uint32(own.key)})
	}
	return datapath.Covers(r, datapath.Key{IPv6: own.key})
}

// plan reserves all that the session needs. After an error nothing is.
func (c *change) plan() error {
	for _, step := range []func() error{c.placeAll, c.placeRoutes, c.reserveURRs, c.fillAll} {
		if err := step(); err != nil {
			c.abort()
			return err
		}
	}
	return nil
}

// placeAll finds a slot for each key, and which keys are for the slow path.
func (c *change) placeAll() error {
	c.routes = routesOf(c.in)
	var buf [4]tableKey
	for _, r := range c.in.GetRules() {
		slow := !fast(c.in, r)
		for _, k := range tableKeys(buf[:0], c.in.GetSeid(), r) {
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
	if len(c.routes) == 0 {
		return nil
	}
	for i := range c.rules {
		p := &c.rules[i]
		for _, r := range c.in.GetRules() {
			p.slow = p.slow || r != p.rule && c.covers(r, p)
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
	case rare(s, r), s.GetPduType() == api.PDUType_ETHERNET: // whose rules are lists
		return false
	case len(f.GetDuplicates()) > 0, len(d.GetFilters()) > 0, len(d.GetQfis()) > maxQFIs, len(r.GetUrrIds()) > 1, len(d.GetFramedRoutes()) > 0:
		return false
	case len(r.GetUrrIds()) == 1 && datapath.FindURR(s, r.GetUrrIds()[0]).GetBeforeEnforcement():
		return false
	case f.GetAction() == api.Action_BUFF:
		return false
	case f.GetAction() == api.Action_DROP && (f.GetNotifyDiscarded() || countsDropped(s, r)):
		return false
	case f.GetAction() != api.Action_DROP && ohc != nil && d.GetFTeid() != nil && d.GetUeAddress().GetIpv6Prefix() != 0:
		return false
	}
	n, source := 0, d.GetSourceInterface()
	for _, id := range r.GetQerIds() {
		q := datapath.FindQER(s, id)
		if datapath.GBR(q, source) != 0 || datapath.PacketRate(q, source) != nil || !datapath.Uplink(source) && marks(q) {
			return false
		}
		if datapath.MBR(q, source) != 0 {
			n++
		}
	}
	return n <= maxMeters
}

// marks reports whether q writes more than a QFI into downlink packets.
func marks(q *api.QER) bool {
	return q.GetRqi() || q.GetDownlinkTosMask() != 0 || q.ServiceClass != nil || q.PagingPolicy != nil
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
			if slot, err = c.d.urrs.reserve(c.in.GetSeid(), u.GetId(), c.homeURR()); err != nil {
				return &datapath.RuleError{Type: api.RuleType_URR_RULE, ID: u.GetId(), Err: err}
			}
		}
		c.others = append(c.others, hold(urr, u.GetId(), slot))
	}
	return nil
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
func (c *change) meter(q *api.QER, limit stages.MeterKind, uplink bool, before uint32) (uint32, error) {
	k, id := meterKind(q, limit, uplink)
	if slot, ok := c.find(k, id); ok {
		return slot, nil
	}
	slot, ok := c.old.find(k, id)
	if !ok && k.isShared() {
		slot, ok = c.d.meters.findShared(k, id)
	}
	if !ok && before != 0 && c.d.meters.orphans.has(before) && !c.holds(before) {
		slot, ok = before, true
	}
	if !ok {
		var err error
		home := uint32(0)
		if limit == stages.MBR && !k.isShared() {
			home = c.homeMeter(uplink)
		}
		if slot, err = c.d.meters.reserve(home); err != nil {
			return 0, err
		}
	}
	h := hold(k, id, slot)
	c.others = append(c.others, h)
	if k.isShared() && !c.old.has(h) {
		c.d.meters.shared[h]++
	}
	return slot, nil
}

// holds reports whether the new session holds this slot for a meter.
func (c *change) holds(meter uint32) bool {
	for _, h := range c.others {
		if h.kind().isMeter() && h.slot() == meter {
			return true
		}
	}
	return false
}

func meterKind(q *api.QER, limit stages.MeterKind, uplink bool) (k kind, id uint32) {
	k, id = meters+kind(limit)*meterKinds, q.GetId()
	if q.GetShared() != 0 {
		k, id = k+sharedMeters, q.GetShared()
	}
	if !uplink {
		k++
	}
	return k, id
}

// slots is how many there are for rules, of each table, that keys have as their home.
func (d *Driver) slots() uint32 { return tableSize(d.cfg.MaxSessions) }

// more is how many slots there are behind them for guests of rule_by_teid: as many, if an
// F-TEID can have two addresses, each of which is a key.
func (d *Driver) more() uint32 {
	if slices.ContainsFunc(d.cfg.Endpoints, func(e datapath.Endpoint) bool { return e.Address.IsValid() && e.Address6.IsValid() }) {
		return d.slots()
	}
	return 0
}

// tableSize returns how many slots hold n rules: a power of two.
func tableSize(n int) uint32 { return 1 << bits.Len(uint(n-1)) }
