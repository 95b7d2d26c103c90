package vector

import (
	"encoding/binary"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// rule is a PDR with what it names, as the stages have it.
type rule struct {
	flags   flags
	ue4     uint32 // UE IP address: IPv4; 0: none
	teid    uint32 // of the outer header
	network uint8  // from which packets come bare, from 1 on; 0: any
	way     uint8  // bare
	qfi     uint8  // of the container
	dscp    uint8  // of the outer header, with hasDSCP
	ue6     uint64 // IPv6 prefix; 0: none
	qfis    uint64 // bit n is QFI n; 0: any

	sdf      *[]filter // with filtered: one has to match
	model    [1]*stages.Rule
	counters *stages.Counters
	outer    *stages.Outer
	first    touched
}

// touched is what of a rule lies elsewhere, so that it can be on its way from
// memory before it is needed; nil: there is none.
type touched struct {
	meter  *stages.Meter
	volume *stages.Volume
}

type flags uint32

const (
	// The model has to say whether the PDR matches, or what to do.
	undetected flags = 1 << iota
	slow
	dropped // by the FAR, and nobody is told

	uplink   // the source is the UE
	address  // the UE address is compared
	routed   // and framed routes
	filtered // SDF filters are
	tunnel   // it leaves with an outer header
	outer6   // over IPv6
	own      // to an F-TEID of our own
	plain    // of GTP-U's header there is no more than TEID and, with qfi, that
	hasQFI
	hasDSCP   // of the outer header: else that of the user packet
	toAccess  // PDU type of the container
	natted    // IPv4 leaves through a NAT
	clamped   // the MSS of SYNs that leave is clamped
	accounted // there is a gate, a meter or a URR
	simple    // and no more than one MBR and one URR, which are those of first
)

func (r *rule) has(f flags) bool { return r.flags&f != 0 }

// compile makes the rule that the stages have of one of the model.
func (e *Engine) compile(m *stages.Rule) rule {
	r := rule{model: [1]*stages.Rule{m}, counters: m.Counters, outer: m.Outer, network: uint8(m.Network), way: uint8(m.Way), qfi: m.QFI, qfis: m.QFIs}
	r.set(uplink, m.Uplink)
	r.set(accounted, m.Gate || len(m.Limits)+len(m.URRs) > 0)
	r.set(simple, !m.Gate && len(m.URRs) <= 1 && (len(m.Limits) == 0 || len(m.Limits) == 1 && m.Limits[0].GBR == nil && m.Limits[0].Packets == nil))
	r.set(undetected, m.Opaque || m.Ethernet != nil || slices.ContainsFunc(m.Filters, func(f stages.Filter) bool { return f.Named() }))
	r.set(slow, m.Action != api.Action_FORW || m.SlowOnly || len(m.Copies) > 0)
	r.set(address, m.UEIPv4.IsValid() || m.UEIPv6.IsValid() || len(m.Routes) > 0)
	r.set(routed, len(m.Routes) > 0)
	r.set(dropped, m.Action == api.Action_DROP && !m.NotifyDiscarded && !m.CountsDropped() && m.Unwrap == api.Unwrap_UNWRAP_NONE)
	if a := m.UEIPv4; a.Is4() {
		b := a.As4()
		r.ue4 = binary.BigEndian.Uint32(b[:])
	}
	if p := m.UEIPv6; p.IsValid() {
		b := p.Addr().As16()
		r.ue6 = binary.BigEndian.Uint64(b[:])
	}
	if len(m.Filters) > 0 {
		r.flags |= filtered
		all := make([]filter, len(m.Filters))
		for i := range all {
			all[i] = newFilter(&m.Filters[i])
		}
		r.sdf = &all
	}
	if m.Outer != nil {
		r.compileOuter(m)
		r.set(own, e.stages.IsOwn(m.Outer))
	} else {
		e.compileBare(&r, m)
	}
	r.touch(m)
	return r
}

func (r *rule) set(f flags, is bool) {
	if is {
		r.flags |= f
	}
}

func (r *rule) compileOuter(m *stages.Rule) {
	r.flags |= tunnel
	r.teid = m.Outer.TEID
	r.set(outer6, m.Outer.Peer.Is6())
	r.set(toAccess, m.Outer.ToAccess)
	r.set(hasQFI, m.QFI != 0)
	r.set(slow, !m.Outer.Local.IsValid())
	r.set(plain, m.Marks == stages.Marks{})
	if m.Outer.DSCP >= 0 {
		r.flags |= hasDSCP
		r.dscp = m.OuterDSCP(0)
	}
}

// compileBare: what the way does with packets, beside routing them.
func (e *Engine) compileBare(r *rule, m *stages.Rule) {
	n6 := &e.cfg.N6
	if len(n6.Networks) == 0 {
		return
	}
	network := &n6.Networks[n6.Of(m.Way)]
	r.set(natted, network.NAT != nil)
	r.set(clamped, network.MSSClamp != 0)
	p := n6.Policy(m.Way)
	r.set(slow, p != nil && p.DSCP >= 0)
}

func (r *rule) touch(m *stages.Rule) {
	if len(m.Limits) > 0 {
		r.first.meter = m.Limits[0].MBR
	}
	if len(m.URRs) > 0 {
		r.first.volume = m.URRs[0].Volume
	}
}
