package model

import (
	"encoding/binary"
	"net/netip"

	"plumbline/api"
	"plumbline/datapath"
)

// compile makes the rules of s, taking over counters and meters from old, which
// may be nil. It changes nothing.
func (u *UPF) compile(s *api.Session, old *session) (*session, error) {
	if err := datapath.Check(s); err != nil {
		return nil, err
	}
	made := &session{meters: map[meterKey]*Meter{}}
	for _, r := range s.GetRules() {
		b := newBound(s, r)
		if err := u.clash(b); err != nil {
			return nil, err
		}
		b.Counters = old.counters(b)
		b.Meters = made.bindMeters(s, r, old)
		made.rules = append(made.rules, b)
	}
	return made, nil
}

func newBound(s *api.Session, r *api.Rule) *bound {
	d, f := r.GetDetect(), r.GetForward()
	b := &bound{seid: s.GetSeid(), pdrID: r.GetPdrId()}
	b.Forward = f.GetAction() == api.Action_FORW
	b.DSCP = -1
	if f.Dscp != nil {
		b.DSCP = int(f.GetDscp())
	}
	b.TEID = f.GetOuterHeaderCreation().GetTeid()
	b.Peer = ipv4(f.GetOuterHeaderCreation().GetIpv4())
	for _, q := range d.GetQfis() {
		b.QFIs |= 1 << q
	}
	for _, id := range r.GetQerIds() {
		q := datapath.FindQER(s, id)
		b.Gate = b.Gate || datapath.GateClosed(q, d.GetSourceInterface())
		if b.QFI == 0 {
			b.QFI = byte(q.GetQfi())
		}
	}
	b.address(d)
	return b
}

// address sets what the packet's addresses are compared with.
func (b *bound) address(d *api.Detect) {
	v4, v6 := d.GetUeAddress().GetIpv4(), d.GetUeAddress().GetIpv6Prefix()
	var prefix [16]byte
	binary.BigEndian.PutUint64(prefix[:], v6)
	p6 := netip.PrefixFrom(netip.AddrFrom16(prefix), 64)
	if d.GetSourceInterface() == api.Interface_ACCESS {
		b.teid = d.GetFTeid().GetTeid()
		if v4 != 0 {
			b.UEIPv4 = ipv4(v4)
		}
		if v6 != 0 {
			b.UEIPv6 = p6
		}
		return
	}
	if v4 != 0 {
		b.ues = append(b.ues, netip.PrefixFrom(ipv4(v4), 32))
	}
	if v6 != 0 {
		b.ues = append(b.ues, p6)
	}
}

func ipv4(a uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, a)))
}

// clash reports whether another session already has what b matches.
func (u *UPF) clash(b *bound) error {
	others := []*bound{u.uplink[b.teid]}
	for _, p := range b.ues {
		others = append(others, u.downlink[p])
	}
	for _, o := range others {
		if o != nil && o.seid != b.seid {
			return &datapath.RuleError{Type: api.RuleType_PDR_RULE, ID: b.pdrID, Err: datapath.ErrClash}
		}
	}
	return nil
}

// counters returns those of the rule of s that matches what b does, or new ones.
func (s *session) counters(b *bound) *Counters {
	if s != nil {
		for _, o := range s.rules {
			if o.pdrID == b.pdrID && o.teid == b.teid && (len(o.ues) == 0) == (len(b.ues) == 0) &&
				(len(o.ues) == 0 || o.ues[0] == b.ues[0]) {
				return o.Counters
			}
		}
	}
	return &Counters{}
}

func (s *session) bindMeters(in *api.Session, r *api.Rule, old *session) []*Meter {
	source := r.GetDetect().GetSourceInterface()
	var meters []*Meter
	for _, id := range r.GetQerIds() {
		rate := datapath.MBR(datapath.FindQER(in, id), source)
		if rate == 0 {
			continue
		}
		key := meterKey{id, source == api.Interface_ACCESS}
		if s.meters[key] == nil {
			m := &Meter{}
			if old != nil && old.meters[key] != nil {
				*m = *old.meters[key]
			}
			m.SetRate(rate)
			s.meters[key] = m
		}
		meters = append(meters, s.meters[key])
	}
	return meters
}
