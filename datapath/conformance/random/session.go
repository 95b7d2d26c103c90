package random

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// maker makes sessions of what a datapath can do.
type maker struct {
	dice
	has *api.Capabilities
}

// ends is what the rules of a session mostly have in common.
type ends struct {
	teid uint32
	ue   *api.UEAddress
	peer *api.OuterHeaderCreation
	// Network Instances of N6, where packets leave and come from; "": none is said.
	network, arrival string
}

// network returns a Network Instance of N6, or none.
func (m maker) network() string {
	if m.one(2) || len(m.has.GetNetworkInstances()) == 0 {
		return ""
	}
	for {
		n := pick(m.dice, conformance.DataNetworks.Networks...)
		if !isLAN(n) || m.one(10) {
			return pick(m.dice, n.NetworkInstances...)
		}
	}
}

func isLAN(n datapath.DataNetwork) bool { return n.Ethernet }

// session makes a session: mostly one that makes sense, now and then anything.
func (m maker) session(seid uint64) *api.Session {
	s := &api.Session{Seid: seid}
	if m.has.GetUnstructured() && m.one(16) {
		s.PduType = api.PDUType_UNSTRUCTURED
	}
	if m.has.GetEthernet() && m.one(2) {
		s.PduType = api.PDUType_ETHERNET
	}
	for id := range uint32(pick(m.dice, 0, 1, 1, 2, 3, 4)) {
		s.Qers = append(s.Qers, m.qer(id+1))
	}
	for id := range uint32(pick(m.dice, 0, 0, 1, 1, 2, 3, 5)) {
		s.Urrs = append(s.Urrs, m.urr(id+1))
	}
	if m.has.GetBuffering() && m.one(3) {
		s.Bars = []*api.BAR{m.bar(1)}
	}
	e := ends{own(m, teids, seid), m.ue(seid), m.peer(), m.network(), ""}
	if m.one(2) {
		e.arrival = e.network
	}
	n := pick(m.dice, 1, 2, 2, 2, 3, 4, 6, 8)
	if m.has.GetFilters() && m.one(12) {
		n = 20 // more than are looked at one by one
	}
	for id := range uint32(n) {
		s.Rules = append(s.Rules, m.rule(s, id+1, e))
	}
	slices.SortStableFunc(s.Rules, func(a, b *api.Rule) int { return int(a.Precedence) - int(b.Precedence) })
	return s
}

// own returns one of list that is mostly this session's, so that sessions clash
// now and then.
func own[T any](m maker, list []T, seid uint64) T {
	if m.one(12) {
		return pick(m.dice, list...)
	}
	mine := int(seid-1) % sessions
	return list[mine+sessions*m.IntN((len(list)-mine+sessions-1)/sessions)]
}

func (m maker) ue(seid uint64) *api.UEAddress {
	ue := &api.UEAddress{}
	kind := m.IntN(4)
	if kind != 1 {
		ue.Ipv4 = ipv4(own(m, ues4, seid))
	}
	if kind <= 1 {
		ue.Ipv6Prefix = upper64(own(m, ues6, seid))
	}
	return ue
}

// peer is where a rule sends to: a gNB, or now and then the UPF itself.
func (m maker) peer() *api.OuterHeaderCreation {
	if m.one(8) {
		return m.here()
	}
	return m.gnb(pick(m.dice, uint32(0x101), 0x102))
}

func (m maker) gnb(teid uint32) *api.OuterHeaderCreation {
	if len(m.has.GetN3Ipv6()) > 0 && m.one(6) {
		return &api.OuterHeaderCreation{Teid: teid, Ipv6: conformance.GNBAddress6.AsSlice()}
	}
	return &api.OuterHeaderCreation{Teid: teid, Ipv4: ipv4(pick(m.dice, peers4...))}
}

// here is an F-TEID at an address of the UPF, which some rule may have.
func (m maker) here() *api.OuterHeaderCreation {
	o := &api.OuterHeaderCreation{Teid: pick(m.dice, teids...) ^ pick(m.dice, uint32(0), 0x40)}
	if len(m.has.GetN3Ipv6()) > 0 && m.one(6) {
		o.Ipv6 = conformance.N3Address6.AsSlice()
	} else {
		o.Ipv4 = ipv4(pick(m.dice, conformance.N3Address, conformance.N3Address, conformance.N9Address))
	}
	return o
}

func isHere(o *api.OuterHeaderCreation) bool {
	return o.GetIpv4() == ipv4(conformance.N3Address) || o.GetIpv4() == ipv4(conformance.N9Address) ||
		bytes.Equal(o.GetIpv6(), conformance.N3Address6.AsSlice())
}

// rule makes a PDR: uplink, downlink or a relay's.
func (m maker) rule(s *api.Session, id uint32, e ends) *api.Rule {
	r := &api.Rule{PdrId: id, FarId: id, Precedence: uint32(m.IntN(4)), Detect: &api.Detect{}, Forward: &api.Forward{Action: api.Action_FORW}}
	if m.one(6) {
		e.ue = m.ue(s.Seid)
	}
	if m.one(6) {
		e.teid = own(m, teids, s.Seid)
	}
	if m.one(6) {
		e.peer = m.peer()
	}
	opaque := s.PduType == api.PDUType_UNSTRUCTURED
	switch kind := m.IntN(8); {
	case s.PduType == api.PDUType_ETHERNET && !m.one(12):
		m.frames(r, e)
		m.refer(r, s)
		return r
	case kind < 3:
		m.uplink(r, e, opaque)
	case kind < 6:
		m.downlink(r, e, opaque)
	default:
		m.relay(r, e)
	}
	if m.has.GetFilters() {
		m.filters(r)
	}
	if m.has.GetFramedRoutes() && m.one(4) {
		for range 1 + m.IntN(2) {
			r.Detect.FramedRoutes = append(r.Detect.FramedRoutes, prefixOf(pick(m.dice, routes...)))
		}
	}
	m.refer(r, s)
	return r
}

// refer lets a rule name QERs and URRs, and do something else, now and then.
func (m maker) refer(r *api.Rule, s *api.Session) {
	for _, q := range some(m.dice, s.Qers) {
		if len(r.QerIds) == 0 || m.has.GetGbr() { // who has no GBR need not charge several as one
			r.QerIds = append(r.QerIds, q.Id)
		}
	}
	for _, u := range some(m.dice, s.Urrs) {
		r.UrrIds = append(r.UrrIds, u.Id)
	}
	m.act(r, s)
	if m.one(40) {
		m.senseless(r, s)
	}
}

// uplink makes a PDR from N3 to N6.
func (m maker) uplink(r *api.Rule, e ends, opaque bool) {
	m.tunnelled(r, e.teid, api.Interface_ACCESS)
	if !m.one(4) {
		r.Detect.UeAddress = e.ue
	}
	r.Forward.DestinationInterface = pick(m.dice, api.Interface_CORE, api.Interface_CORE, api.Interface_SGI_LAN)
	r.Forward.NetworkInstance = e.network
	if names := m.has.GetForwardingPolicies(); len(names) > 0 && m.one(10) {
		r.Forward.ForwardingPolicy = pick(m.dice, names...)
	}
	if m.has.GetEncapsulations() && (opaque || m.one(14)) {
		r.Forward.OuterHeaderCreation = m.wrap()
		r.Forward.ForwardingPolicy = ""
		m.mark(r)
	}
	if m.has.GetRedirect() && m.one(12) {
		r.Forward.Redirect = m.redirect()
	}
}

// wrap is an outer header that is not GTP-U, towards a host of a data network.
func (m maker) wrap() *api.OuterHeaderCreation {
	o := &api.OuterHeaderCreation{Encapsulation: api.Encapsulation_UDP, Port: pick(m.dice, uint32(9), 5683)}
	if m.one(2) {
		o.Encapsulation, o.Port = api.Encapsulation_PLAIN_IP, 0
	}
	if m.one(2) {
		o.Ipv6 = pick(m.dice, remotes6...).AsSlice()
	} else {
		o.Ipv4 = ipv4(pick(m.dice, remotes4...))
	}
	return o
}

// downlink makes a PDR from N6 to N3.
func (m maker) downlink(r *api.Rule, e ends, opaque bool) {
	r.Detect.SourceInterface = pick(m.dice, api.Interface_CORE, api.Interface_CORE, api.Interface_SGI_LAN)
	r.Detect.UeAddress = e.ue
	r.Detect.NetworkInstance = e.arrival
	if m.one(16) {
		r.Detect.NetworkInstance = m.network()
	}
	if m.has.GetEncapsulations() && (opaque || m.one(14)) {
		r.Unwrap = pick(m.dice, api.Unwrap_UNWRAP_UDP, api.Unwrap_UNWRAP_UDP, api.Unwrap_UNWRAP_IP)
	}
	r.Forward.DestinationInterface, r.Forward.OuterHeaderCreation = api.Interface_ACCESS, e.peer
	m.mark(r)
}

// relay makes a PDR from tunnel to tunnel.
func (m maker) relay(r *api.Rule, e ends) {
	source := pick(m.dice, api.Interface_ACCESS, api.Interface_CORE, api.Interface_CP_FUNCTION)
	if source != api.Interface_ACCESS && !m.one(8) {
		e.teid ^= 0x40 // another F-TEID than that of N3, as it should be
	}
	m.tunnelled(r, e.teid, source)
	if m.one(2) {
		r.Detect.UeAddress = e.ue
	}
	r.Forward.OuterHeaderCreation = e.peer
	r.Forward.DestinationInterface = pick(m.dice, api.Interface_ACCESS, api.Interface_CORE, api.Interface_CP_FUNCTION)
	if m.one(3) {
		r.Forward.NetworkInstance = "n9"
		r.Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: 0x103, Ipv4: ipv4(conformance.PeerAddress)}
	}
	r.DropsContainer = m.one(6)
	m.mark(r)
}

func (m maker) tunnelled(r *api.Rule, teid uint32, source api.Interface) {
	r.OuterHeaderRemoval = true
	r.Detect.SourceInterface = source
	r.Detect.FTeid = &api.FTEID{Teid: teid, Ipv4: ipv4(conformance.N3Address)}
	if len(m.has.GetN3Ipv6()) > 0 && m.one(3) {
		r.Detect.FTeid.Ipv6 = conformance.N3Address6.AsSlice()
	}
	if m.one(3) {
		r.Detect.Qfis = some(m.dice, qfis)
	}
	if m.one(20) {
		r.Detect.Qfis = []uint32{9, 20, 21, 22, 23, 24, 25}
	}
}

// asNetIP returns the addresses of the UE of r that packets may have.
func asNetIP(r *api.Rule) (all []netip.Addr) {
	ue := r.GetDetect().GetUeAddress()
	for _, a := range ues4 {
		if ue.GetIpv4() == ipv4(a) {
			all = append(all, a)
		}
	}
	for _, a := range ues6 {
		if ue.GetIpv6Prefix() == upper64(a) {
			all = append(all, a)
		}
	}
	if len(r.GetDetect().GetFramedRoutes()) > 0 {
		all = append(all, behind...)
	}
	return all
}
