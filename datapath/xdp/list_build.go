package xdp

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

const (
	meterQERShift  = 26
	meterKindShift = 30
	urrBefore      = 1 << 31

	qfiRQI = 0x40 // in the PDU Session Container
)

// listBuilder makes a list for the programs of the rules that the slow path has
// of a key. A rule that they cannot do stands there as one of the slow path.
type listBuilder struct {
	d         *Driver
	tunnelled bool                                // packets come out of a tunnel
	urr       func(id uint32) *api.URR            // of the session
	hop       func(r *stages.Rule) (uint32, bool) // of its Outer Header Creation
	rare      func(r *stages.Rule) bool           // whether only the slow path does it
	hosts     *hostSet                            // of the session; nil: its filters name none

	ues     []upfEntry
	sets    map[string]uint8 // number of a set of UE addresses by its prefixes
	entries []upfEntry       // whose pdr is an index in pdrs
	pdrs    []upfPdr
	named   bool // an entry has a host
	fast    bool // there is a rule that the programs can do
}

// shape returns how long the list is, without places.
func (b *listBuilder) shape() list {
	before := b.before()
	var upper uint32
	if slices.ContainsFunc(b.entries, func(e upfEntry) bool { return e.Flags&(entryRemotePort|entryLocalPort|entrySPI|entryHost) != 0 }) {
		upper = 1
	}
	return list{
		ues: uint32(len(b.ues)), hosts: uint32(len(before) - len(b.ues)), upper: upper,
		entries: run{length: uint32(len(before) + len(b.entries))}, pdrs: run{length: uint32(len(b.pdrs))},
	}
}

// before returns the entries that stand before those that match.
func (b *listBuilder) before() []upfEntry {
	if !b.named {
		return b.ues
	}
	return append(b.ues[:len(b.ues):len(b.ues)], upfEntry{Flags: entryHosts, Qfis: b.hosts.number})
}

// build makes the list of rules, which are those of a key in their order. With
// ue the UE address is compared. It reports false if they do not fit.
func (b *listBuilder) build(rules []*stages.Rule, ue bool) bool {
	for _, r := range rules {
		var set uint8
		if ue {
			var ok bool
			if set, ok = b.ueSet(r); !ok {
				return false
			}
		}
		if r.Ethernet != nil {
			b.addFrames(r)
		} else {
			b.add(r, set)
		}
		if len(b.before())+len(b.entries) > listMax {
			return false
		}
	}
	return b.fast && len(b.entries) > 0
}

// ueSet returns the number of the set of r's UE addresses; 0: any.
func (b *listBuilder) ueSet(r *stages.Rule) (uint8, bool) {
	var prefixes []netip.Prefix
	if r.UEIPv4.IsValid() {
		prefixes = append(prefixes, netip.PrefixFrom(r.UEIPv4, 32))
	}
	if r.UEIPv6.IsValid() {
		prefixes = append(prefixes, r.UEIPv6)
	}
	prefixes = append(prefixes, r.Routes...)
	if len(prefixes) == 0 {
		return 0, true
	}
	var name []byte
	for _, p := range prefixes {
		name, _ = p.AppendBinary(name)
	}
	if n := b.sets[string(name)]; n != 0 {
		return n, true
	}
	if len(b.sets) == entryUES || len(b.ues)+len(prefixes) > listMax {
		return 0, false
	}
	n := uint8(len(b.sets) + 1)
	if b.sets == nil {
		b.sets = map[string]uint8{}
	}
	b.sets[string(name)] = n
	for _, p := range prefixes {
		e := upfEntry{Flags: entryUE, Ue: n}
		e.prefix(&e.Remote, &e.RemoteBits, p)
		b.ues = append(b.ues, e)
	}
	return n, true
}

// add adds the entries of r: one for each filter and each pair of port ranges.
func (b *listBuilder) add(r *stages.Rule, set uint8) {
	e := upfEntry{Qfis: r.QFIs, Ue: set, Pdr: uint32(len(b.pdrs))}
	b.addPDR(r)
	if len(r.Filters) == 0 {
		b.entries = append(b.entries, e)
	}
	for i := range r.Filters {
		f := &r.Filters[i]
		e := b.host(e, f)
		for _, remote := range anyPorts(f.RemotePorts) {
			for _, local := range anyPorts(f.LocalPorts) {
				if len(b.entries) > listMax {
					return
				}
				b.entries = append(b.entries, e.filter(f, remote, local))
			}
		}
	}
}

// addPDR adds what is done by r.
func (b *listBuilder) addPDR(r *stages.Rule) {
	p, ok := b.pdr(r)
	if !ok {
		p = upfPdr{Ctl: ruleList | ruleSlow, Counter: p.Counter, PdrId: p.PdrId}
	}
	b.fast = b.fast || ok
	b.pdrs = append(b.pdrs, p)
}

// host returns e with the host of a filter, if it has one. Without a number for it
// the slow path does what might match: see [listBuilder.pdr].
func (b *listBuilder) host(e upfEntry, f *stages.Filter) upfEntry {
	if n, ok := b.hosts.place(f); ok && f.Named() {
		b.named = true
		e.Flags |= entryHost
		e.FlowLabel = n << entryHostShift
	}
	return e
}

// anyPorts returns the ranges, or one that is no range, if there are none.
func anyPorts(ranges []stages.Ports) []stages.Ports {
	if len(ranges) == 0 {
		return []stages.Ports{{First: 1, Last: 0}}
	}
	return ranges
}

// filter returns e with an SDF filter and one range of ports on each side.
func (e upfEntry) filter(f *stages.Filter, remote, local stages.Ports) upfEntry {
	if f.Protocol >= 0 {
		e.Flags |= entryProtocol
		e.Protocol = byte(f.Protocol)
	}
	if f.Remote.IsValid() {
		e.Flags |= entryRemote
		e.prefix(&e.Remote, &e.RemoteBits, f.Remote)
	}
	if f.Local.IsValid() {
		e.Flags |= entryLocal
		e.prefix(&e.Local, &e.LocalBits, f.Local)
	}
	if remote.First <= remote.Last {
		e.Flags |= entryRemotePort
		e.Port[0], e.Port[1] = remote.First, remote.Last
	}
	if local.First <= local.Last {
		e.Flags |= entryLocalPort
		e.Port[2], e.Port[3] = local.First, local.Last
	}
	e.Tos, e.TosMask = f.TOS&f.TOSMask, f.TOSMask
	if f.SPI >= 0 {
		if e.Flags&(entryRemotePort|entryLocalPort) != 0 { // no packet has both
			e.Flags |= entryIP4 | entryIP6
			return e
		}
		e.Flags |= entrySPI
		e.setSPI(uint32(f.SPI))
	}
	if f.FlowLabel >= 0 {
		e.Flags |= entryFlowLabel
		e.FlowLabel |= uint32(f.FlowLabel)
	}
	return e
}

// setSPI writes the word that has the place of the ports.
func (e *upfEntry) setSPI(spi uint32) {
	var b [4]byte
	binary.NativeEndian.PutUint32(b[:], spi)
	e.Port[0], e.Port[1] = binary.NativeEndian.Uint16(b[:]), binary.NativeEndian.Uint16(b[2:])
}

// prefix writes an address in host order and says that no other version matches.
func (e *upfEntry) prefix(to *[2]uint64, bits *uint8, p netip.Prefix) {
	*bits = uint8(p.Bits())
	if p.Addr().Is4() {
		e.Flags |= entryIP4
		a := p.Addr().As4()
		to[1] = uint64(binary.BigEndian.Uint32(a[:]))
		return
	}
	e.Flags |= entryIP6
	a := p.Addr().As16()
	to[0], to[1] = binary.BigEndian.Uint64(a[:]), binary.BigEndian.Uint64(a[8:])
}

// pdr makes the record of a rule, or reports false if the programs cannot do it.
func (b *listBuilder) pdr(r *stages.Rule) (upfPdr, bool) {
	p := upfPdr{Ctl: ruleList, PdrId: uint16(r.PDRID), Counter: b.d.lists.counterSlot(r.Counters)}
	unknown := slices.ContainsFunc(r.Filters, func(f stages.Filter) bool {
		_, ok := b.hosts.place(&f)
		return f.Named() && !ok
	})
	if p.Counter == 0 || unknown || r.Action == api.Action_BUFF || r.NotifyDiscarded || b.rare(r) {
		return p, false
	}
	if r.Uplink {
		p.Ctl |= ruleUplink
	}
	if r.Gate {
		p.Ctl |= ruleGate
	}
	if !b.meters(&p, r) || !b.urrs(&p, r) {
		return p, false
	}
	if r.Action != api.Action_FORW {
		if r.Incomplete {
			p.Ctl |= ruleIncomplete
		}
		if r.Spent {
			p.Ctl |= ruleSpent
		}
		return p, true
	}
	p.Ctl |= ruleForw
	if len(r.Copies) > 0 {
		p.Ctl |= ruleCopy
	}
	if r.Outer != nil {
		return p, b.outer(&p, r)
	}
	p.Ctl |= b.d.numbers.inRule(r.Way)
	return p, true
}

// outer is Outer Header Creation with what is marked. A container that is longer
// than one word is made by the slow path. In one that came with the packet the
// programs look themselves whether it is a downlink one, which has RQI.
func (b *listBuilder) outer(p *upfPdr, r *stages.Rule) bool {
	hop, ok := b.hop(r)
	if !ok || r.Marks.HasPaging || r.Marks.HasServiceClass {
		return false
	}
	p.Ctl |= ruleOuter | b.d.numbers.inRule(r.Network)
	if r.Outer.ToAccess {
		p.Ctl |= ruleToAccess
	}
	p.Out.Hop, p.Out.Qfi = uint16(hop), r.QFI
	if r.Marks.RQI && (b.tunnelled || r.QFI != 0 && r.Outer.ToAccess) {
		p.Out.Qfi |= qfiRQI
	}
	var teid [4]byte
	binary.BigEndian.PutUint32(teid[:], r.Outer.TEID)
	p.Out.Teid = binary.NativeEndian.Uint32(teid[:])
	mask, dscp := r.Marks.TOSMask>>2, r.Marks.TOS>>2
	switch {
	case r.Outer.DSCP >= 0:
		p.Ctl |= ruleDSCP
		p.Out.Dscp = byte(r.Outer.DSCP)&^mask | dscp
	case mask != 0:
		p.Ctl |= ruleDSCP
		p.Out.Dscp, p.DscpCopied = dscp, 0x3f&^mask
	}
	return true
}

// meters writes the references to meters: Packet Rates, GBRs, MBRs.
func (b *listBuilder) meters(p *upfPdr, r *stages.Rule) bool {
	for _, kind := range []stages.MeterKind{stages.PacketRate, stages.GBR, stages.MBR} {
		for qer, l := range r.Limits {
			m := [...]*stages.Meter{stages.MBR: l.MBR, stages.GBR: l.GBR, stages.PacketRate: l.Packets}[kind]
			if m == nil {
				continue
			}
			slot := b.d.meters.slotOf(m)
			if slot == 0 || slot >= 1<<meterQERShift || p.Meters == pdrMeters || qer > 15 {
				return false
			}
			p.Refs[p.Meters] = slot | uint32(qer)<<meterQERShift | uint32(kind)<<meterKindShift
			p.Meters++
		}
	}
	return true
}

func (b *listBuilder) urrs(p *upfPdr, r *stages.Rule) bool {
	for _, u := range r.URRs {
		slot, in := b.d.volumeSlot(u), b.urr(u.ID)
		counts := in.GetDroppedDownlinkPackets() != 0 || in.GetDroppedDownlinkOctets() != 0
		if slot == 0 || counts && r.Action == api.Action_DROP || p.Urrs == pdrUrrs || int(p.Meters)+int(p.Urrs) == pdrRefs {
			return false
		}
		if in.GetBeforeEnforcement() {
			slot |= urrBefore
		}
		p.Refs[p.Meters+p.Urrs] = slot
		p.Urrs++
	}
	return true
}
