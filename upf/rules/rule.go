package rules

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// rule is a rule and all that it points to.
type rule struct {
	api.Rule
	detect api.Detect
	fteid  api.FTEID
	ue     api.UEAddress
	far    api.Forward
	peer   outerHeader
	local6 session.IPv6
	dscp   uint32

	interfaceType uint32

	qers    []uint32
	filters boxes[filter]
	framed  boxes[prefix]
}

// compile makes r that of a PDR, but for its QERs and its FAR.
func (r *rule) compile(p *session.PDR, id, precedence uint32, filters []session.SDFFilter) {
	r.PdrId, r.Precedence, r.FarId = id, precedence, p.FARID
	r.OuterHeaderRemoval, r.UrrIds, r.Detect = p.OuterHeaderRemoval, p.URRIDs, &r.detect
	r.Unwrap, r.DropsContainer = api.Unwrap(p.Unwrap), p.DropsContainer
	from, d := &p.PDI, &r.detect
	d.SourceInterface = api.Interface(from.SourceInterface)
	// Bare frames are found by the UE's MAC addresses, and then looked at by filters.
	d.EthernetSession = from.EthernetSession || from.FTEID.TEID == 0 && len(from.Ethernet) > 0
	d.Qfis, d.Filters, d.EthernetFilters = d.Qfis[:0], d.Filters[:0], d.EthernetFilters[:0]
	r.ends(from.NetworkInstance, &from.FTEID, &from.UEAddress, from.Framed)
	if from.QFIs != 0 {
		for q := uint8(1); q < 64; q++ {
			if from.QFIs.Has(q) {
				d.Qfis = append(d.Qfis, uint32(q))
			}
		}
	}
	r.detectFilters(filters)
}

// ends compiles by what packets of the rule are found.
func (r *rule) ends(instance string, f *session.FTEID, a *session.UEAddress, framed []netip.Prefix) {
	d := &r.detect
	d.NetworkInstance, d.FTeid, d.UeAddress, d.FramedRoutes = instance, nil, nil, d.FramedRoutes[:0]
	if f.TEID != 0 {
		r.local6 = f.IPv6
		r.fteid.Teid, r.fteid.Ipv4, r.fteid.Ipv6 = f.TEID, ipv4(f.IPv4), ipv6(&r.local6)
		d.FTeid = &r.fteid
	}
	if !a.IsZero() {
		r.ue.Ipv4, r.ue.Ipv6Prefix = ipv4(a.IPv4), binary.BigEndian.Uint64(a.IPv6Prefix[:])
		d.UeAddress = &r.ue
	}
	r.framed.used = 0
	for _, p := range framed {
		d.FramedRoutes = append(d.FramedRoutes, r.framed.next().compile(p))
	}
}

// copy makes r a copy of from, but for its ends, that shares memory with it.
func (r *rule) copy(from *rule) {
	r.PdrId, r.Precedence, r.FarId, r.QerIds, r.UrrIds = from.PdrId, from.Precedence, from.FarId, from.QerIds, from.UrrIds
	r.OuterHeaderRemoval, r.Unwrap, r.DropsContainer, r.Forward, r.Detect = from.OuterHeaderRemoval, from.Unwrap, from.DropsContainer, from.Forward, &r.detect
	d, f := &r.detect, &from.detect
	d.SourceInterface, d.EthernetSession = f.SourceInterface, f.EthernetSession
	d.Qfis = append(d.Qfis[:0], f.Qfis...)
	d.Filters = append(d.Filters[:0], f.Filters...)
	d.EthernetFilters = append(d.EthernetFilters[:0], f.EthernetFilters...)
}

// detectFilters compiles SDF filters. If one matches all packets, none is needed.
func (r *rule) detectFilters(filters []session.SDFFilter) {
	r.filters.used = 0
	for i := range filters {
		if filters[i].MatchesAll() {
			return
		}
	}
	for i := range filters {
		r.detect.Filters = append(r.detect.Filters, r.filters.next().compile(&filters[i]))
	}
}

// forward compiles the FAR; nil: DROP. Of one that does not forward, the
// Forwarding Parameters are left out; one that is held does not forward yet. spent: a quota is
// used up.
func (r *rule) forward(f *session.FAR, held, spent bool) {
	out := &r.far
	r.Forward = out
	out.Action, out.DestinationInterface, out.NetworkInstance = api.Action_DROP, 0, ""
	out.OuterHeaderCreation, out.Dscp, out.Notify, out.BarId = nil, nil, false, 0
	out.NotifyBuffered, out.NotifyDiscarded = false, false
	out.Duplicates, out.Redirect, out.ForwardingPolicy, out.ProxyArp, out.ProxyNd = nil, nil, "", false, false
	out.Incomplete, out.Spent, out.InterfaceType = held, false, nil
	switch {
	case f == nil, held:
	case f.ApplyAction&session.Drop != 0:
		out.NotifyDiscarded = f.ApplyAction&session.NotifyDiscarded != 0
	case f.ApplyAction&session.Buffer != 0:
		out.NotifyBuffered = f.ApplyAction&session.NotifyBuffered != 0
		out.NotifyDiscarded = f.ApplyAction&session.NotifyDiscarded != 0
		out.Action, out.Notify, out.BarId = api.Action_BUFF, f.ApplyAction&session.Notify != 0, uint32(f.BARID.Value)
		// A PDR may get its Outer Header Removal with the FAR that forwards, as
		// SGW-Cs do; what is buffered is forwarded by the rules of then.
		r.OuterHeaderRemoval = r.detect.FTeid != nil
	case f.ApplyAction&session.Forward != 0:
		p := &f.Forwarding
		out.Action, out.DestinationInterface = api.Action_FORW, api.Interface(p.DestinationInterface)
		out.NetworkInstance = p.NetworkInstance
		if p.InterfaceType.Present {
			r.interfaceType = uint32(p.InterfaceType.Value)
			out.InterfaceType = &r.interfaceType
		}
		if p.OuterHeaderCreation.Creates() {
			out.OuterHeaderCreation = r.peer.compile(p.OuterHeaderCreation)
		}
		if p.HasDSCP {
			r.dscp = uint32(p.DSCP)
			out.Dscp = &r.dscp
		}
		out.ForwardingPolicy, out.ProxyArp, out.ProxyNd = p.ForwardingPolicy, p.ProxyARP, p.ProxyND
		out.Redirect = redirect(p.Redirect)
		if f.ApplyAction&session.Copy != 0 {
			out.Duplicates = duplicates(f.Duplicates)
		}
	}
	out.Spent = spent && !held && out.Action == api.Action_DROP
	// Towards a data network no extension header goes on, and the fast path does it.
	tunnel := out.OuterHeaderCreation != nil && out.OuterHeaderCreation.Encapsulation == api.Encapsulation_GTPU
	r.DropsContainer = r.DropsContainer && (tunnel || len(out.Duplicates) > 0)
}

// outerHeader is an Outer Header Creation and its IPv6 address.
type outerHeader struct {
	api.OuterHeaderCreation
	ip6        session.IPv6
	ctag, stag uint32
}

func (t *outerHeader) compile(o session.OuterHeaderCreation) *api.OuterHeaderCreation {
	t.ip6 = o.IPv6
	t.Teid, t.Ipv4, t.Ipv6 = o.TEID, ipv4(o.IPv4), ipv6(&t.ip6)
	t.Encapsulation, t.Port, t.CTag, t.STag = api.Encapsulation(o.Encapsulation), uint32(o.Port), nil, nil
	if o.CTAG.Present {
		t.ctag = uint32(o.CTAG.Value)
		t.CTag = &t.ctag
	}
	if o.STAG.Present {
		t.stag = uint32(o.STAG.Value)
		t.STag = &t.stag
	}
	return &t.OuterHeaderCreation
}

// endMarker is an End Marker and its tunnel.
type endMarker struct {
	api.EndMarker
	tunnel outerHeader
}

func (e *endMarker) compile(m session.EndMarker) *api.EndMarker {
	e.Tunnel, e.Qfi, e.DestinationInterface = e.tunnel.compile(m.Tunnel), uint32(m.QFI), api.Interface(m.DestinationInterface)
	return &e.EndMarker
}

// filter is an SDF filter and all that it points to.
type filter struct {
	api.Filter
	remote, local            prefix
	protocol, spi, flowLabel uint32
	ports                    boxes[api.PortRange]
}

func (f *filter) compile(from *session.SDFFilter) *api.Filter {
	f.ports.used = 0
	f.RemotePorts = f.compilePorts(f.RemotePorts, from.RemotePorts)
	f.LocalPorts = f.compilePorts(f.LocalPorts, from.LocalPorts)
	f.Remote, f.Local = f.remote.compile(from.Remote), f.local.compile(from.Local)
	f.Tos, f.TosMask = uint32(from.TOS), uint32(from.TOSMask)
	f.Protocol, f.Spi, f.FlowLabel, f.Host, f.Path = nil, nil, nil, from.Host, from.Path
	if from.Protocol.Present {
		f.protocol = uint32(from.Protocol.Value)
		f.Protocol = &f.protocol
	}
	if from.SPI.Present {
		f.spi = from.SPI.Value
		f.Spi = &f.spi
	}
	if from.FlowLabel.Present {
		f.flowLabel = from.FlowLabel.Value
		f.FlowLabel = &f.flowLabel
	}
	return &f.Filter
}

func (f *filter) compilePorts(list []*api.PortRange, from []session.PortRange) []*api.PortRange {
	list = list[:0]
	for _, p := range from {
		out := f.ports.next()
		out.First, out.Last = uint32(p.First), uint32(p.Last)
		list = append(list, out)
	}
	return list
}

// prefix is an IP prefix and its octets.
type prefix struct {
	api.Prefix
	octets [16]byte
}

// compile returns nil for any address.
func (p *prefix) compile(from netip.Prefix) *api.Prefix {
	if !from.IsValid() {
		return nil
	}
	p.Bits = uint32(from.Bits())
	if a := from.Addr(); a.Is4() {
		v := a.As4()
		p.Address = append(p.octets[:0], v[:]...)
	} else {
		p.octets = a.As16()
		p.Address = p.octets[:]
	}
	return &p.Prefix
}

// ipv4 is a as the datapaths' API has it: the first octet on the wire highest.
func ipv4(a session.IPv4) uint32 { return binary.BigEndian.Uint32(a[:]) }

// ipv6 is a as the datapaths' API has it: nil for none.
func ipv6(a *session.IPv6) []byte {
	if *a == (session.IPv6{}) {
		return nil
	}
	return a[:]
}
