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

	forwardFields forwardFields

	qers    []uint32
	filters boxes[filter]
	framed  boxes[prefix]
}

// compile makes r that of a PDR, but for its QERs and its FAR.
func (r *rule) compile(p *session.PDR, id, precedence uint32, filters []session.SDFFilter) {
	ruleFields{}.set(&r.Rule, p)
	r.PdrId, r.Precedence, r.Detect = id, precedence, &r.detect
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
		r.fteid.Teid, r.fteid.Ipv4, r.fteid.Ipv6 = f.TEID, ipv4(f.IPv4), ipv6(&f.IPv6)
		d.FTeid = &r.fteid
	}
	if !a.IsZero() {
		r.ue.Ipv4, r.ue.Ipv6Prefix = ipv4(a.IPv4), binary.BigEndian.Uint64(a.IPv6Prefix[:])
		d.UeAddress = &r.ue
	}
	r.framed.used = 0
	for i := range framed {
		d.FramedRoutes = append(d.FramedRoutes, r.framed.next().compile(&framed[i]))
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
	out, parameters := &r.far, &none
	r.Forward = out
	out.Action, out.Notify, out.BarId, out.Duplicates = api.Action_DROP, false, 0, nil
	out.NotifyBuffered, out.NotifyDiscarded, out.Incomplete = false, false, held
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
		out.Action, parameters = api.Action_FORW, &f.Forwarding
		if f.ApplyAction&session.Copy != 0 {
			out.Duplicates = duplicates(f.Duplicates)
		}
	}
	r.forwardFields.set(out, parameters)
	out.Spent = spent && !held && out.Action == api.Action_DROP
	// Towards a data network no extension header goes on, and the fast path does it.
	tunnel := out.OuterHeaderCreation != nil && out.OuterHeaderCreation.Encapsulation == api.Encapsulation_GTPU
	r.DropsContainer = r.DropsContainer && (tunnel || len(out.Duplicates) > 0)
}

// none are the Forwarding Parameters of a FAR that does not forward.
var none session.ForwardingParameters

// outerHeader is an Outer Header Creation and what it points to.
type outerHeader struct {
	api.OuterHeaderCreation
	fields outerHeaderCreationFields
}

// compile returns nil if nothing is put around packets.
func (t *outerHeader) compile(o *session.OuterHeaderCreation) *api.OuterHeaderCreation {
	if !o.Creates() {
		return nil
	}
	t.fields.set(&t.OuterHeaderCreation, o)
	return &t.OuterHeaderCreation
}

// endMarker is an End Marker and its tunnel.
type endMarker struct {
	api.EndMarker
	tunnel outerHeader
}

func (e *endMarker) compile(m *session.EndMarker) *api.EndMarker {
	e.Tunnel, e.Qfi, e.DestinationInterface = e.tunnel.compile(&m.Tunnel), uint32(m.QFI), api.Interface(m.DestinationInterface)
	return &e.EndMarker
}

// filter is an SDF filter and all that it points to.
type filter struct {
	api.Filter
	fields filterFields
	ports  boxes[api.PortRange]
}

func (f *filter) compile(from *session.SDFFilter) *api.Filter {
	f.ports.used = 0
	f.RemotePorts = f.compilePorts(f.RemotePorts, from.RemotePorts)
	f.LocalPorts = f.compilePorts(f.LocalPorts, from.LocalPorts)
	f.fields.set(&f.Filter, from)
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
func (p *prefix) compile(from *netip.Prefix) *api.Prefix {
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

// optional is o as the datapaths' API has it, in memory of the caller's: nil if it is absent.
func optional[T ~uint8 | ~uint16 | ~uint32](o session.Optional[T], at *uint32) *uint32 {
	if !o.Present {
		return nil
	}
	*at = uint32(o.Value)
	return at
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
