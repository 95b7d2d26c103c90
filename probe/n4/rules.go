package n4

import (
	"bytes"
	"net/netip"
	"slices"
	"unique"

	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/probe"
)

// ruleID names a PDR or a Traffic Endpoint of a session.
type ruleID struct {
	endpoint bool
	id       uint16
}

// rule is what a PDR or Traffic Endpoint says that matters here.
type rule struct {
	id      ruleID
	keys    []probe.Key // of packets that it detects
	qfis    pfcp.QFISet // that it detects
	qers    []uint32    // QER with the QFI of its packets
	network string      // Network Instance
	core    bool        // towards N6
}

// qfisOfUnit is how many QFIs take as much room as a key.
const qfisOfUnit = 8

// size is about how much room a rule takes, in keys.
func (r *rule) size() int { return 2 + len(r.keys) + len(r.qers)/qfisOfUnit }

// maxName is the length of a name beyond which it is none. A DNN has up to 100 octets.
// Source: TS 23.003 V18, 9.1.
const maxName = 255

// nameOf is a name that a stranger has sent, kept once, and fit for a terminal.
func nameOf(n pfcp.Name) string {
	if len(n) > maxName {
		return ""
	}
	return unique.Make(printable.Line(n.String())).Value()
}

// detect takes what a PDI says.
func (r *rule) detect(d *pfcp.PDI) {
	r.keys = addTunnel(r.keys, d.FTEID)
	r.keys = addUEs(r.keys, d.UEIPAddresses)
	r.keys = addFramed(r.keys, &d.FramedRoutes)
	r.qfis = d.QFIs
	r.network = nameOf(d.NetworkInstance)
	r.core = d.SourceInterface == pfcp.InterfaceCore || d.SourceInterface == pfcp.InterfaceSGiLAN
}

// createRule is the rule of a Create PDR.
func createRule(p *pfcp.CreatePDR) rule {
	r := rule{id: ruleID{id: p.PDRID}, qers: slices.Clone(p.QERIDs)}
	r.detect(&p.PDI)
	return r
}

// endpointRule is the rule of a Create Traffic Endpoint.
func endpointRule(p *pfcp.TrafficEndpoint) rule {
	r := rule{id: ruleID{endpoint: true, id: uint16(p.TrafficEndpointID)}}
	r.endpoint(p)
	return r
}

// endpoint takes what a Traffic Endpoint says; what is absent stays as it is.
func (r *rule) endpoint(p *pfcp.TrafficEndpoint) {
	if p.FTEID.Present {
		r.keys = slices.DeleteFunc(r.keys, func(k probe.Key) bool { return k.TEID != 0 })
		r.keys = addTunnel(r.keys, p.FTEID)
	}
	if len(p.UEIPAddresses)+len(p.FramedRoutes.IPv4)+len(p.FramedRoutes.IPv6) > 0 {
		r.keys = slices.DeleteFunc(r.keys, func(k probe.Key) bool { return k.TEID == 0 })
		r.keys = addUEs(r.keys, p.UEIPAddresses)
		r.keys = addFramed(r.keys, &p.FramedRoutes)
	}
	if p.QFIs != 0 {
		r.qfis = p.QFIs
	}
	if len(p.NetworkInstance) > 0 {
		r.network = nameOf(p.NetworkInstance)
	}
}

// chosen takes what the UP function chose. F-TEIDs replace those of before.
func (r *rule) chosen(tunnels []pfcp.FTEID, ues []pfcp.UEIPAddress) {
	if len(tunnels) > 0 {
		r.keys = slices.DeleteFunc(r.keys, func(k probe.Key) bool { return k.TEID != 0 })
	}
	for _, f := range tunnels {
		r.keys = addTunnel(r.keys, pfcp.Some(f))
	}
	r.keys = addUEs(r.keys, ues)
}

// addTunnel adds the TEID of an F-TEID. One that is to be chosen has none yet.
func addTunnel(keys []probe.Key, f pfcp.Optional[pfcp.FTEID]) []probe.Key {
	if f.Present && f.Value.TEID != 0 {
		return addKey(keys, probe.Key{TEID: f.Value.TEID})
	}
	return keys
}

// ue6Bits is the prefix of a UE on N6, unless PFCP says another one.
// Source: TS 29.244 V18.6.0, 8.2.62.
const ue6Bits = 64

// addUEs adds the addresses and prefixes of UEs. Those that are to be chosen are not
// known yet.
func addUEs(keys []probe.Key, list []pfcp.UEIPAddress) []probe.Key {
	for _, a := range list {
		if a.IPv4.Is4() && !a.IPv4.IsUnspecified() {
			keys = addPrefix(keys, netip.PrefixFrom(a.IPv4, 32))
		}
		if !a.IPv6.Is6() || a.IPv6.IsUnspecified() {
			continue
		}
		bits := ue6Bits - int(a.IPv6Delegate.Value)
		if a.IPv6Length.Present {
			bits = int(a.IPv6Length.Value)
		}
		keys = addPrefix(keys, netip.PrefixFrom(a.IPv6, min(bits, ue6Bits)))
	}
	return keys
}

// addFramed adds the networks behind a UE: "10.60.0.0/16 0.0.0.0 1".
// Source: RFC 2865, 5.22; RFC 3162, 2.5.
func addFramed(keys []probe.Key, routes *pfcp.FramedRoutes) []probe.Key {
	for _, text := range slices.Concat(routes.IPv4, routes.IPv6) {
		first, _, _ := bytes.Cut(text, []byte(" "))
		if p, err := netip.ParsePrefix(string(first)); err == nil && !p.Addr().Is4In6() && (p.Addr().Is4() || p.Bits() <= ue6Bits) {
			keys = addPrefix(keys, p)
		}
	}
	return keys
}

// addPrefix adds a prefix. One that holds everything tells nothing apart.
func addPrefix(keys []probe.Key, p netip.Prefix) []probe.Key {
	if p.Bits() <= 0 {
		return keys
	}
	return addKey(keys, probe.Key{UE: p.Masked()})
}

func addKey(keys []probe.Key, k probe.Key) []probe.Key {
	if slices.Contains(keys, k) {
		return keys
	}
	return append(keys, k)
}
