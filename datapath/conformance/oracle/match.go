package oracle

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// anyNetwork: no Network Instance is said.
const anyNetwork conformance.Port = -1

// networkOf returns where packets of a Network Instance arrive.
func networkOf(name string) conformance.Port {
	for i, n := range conformance.DataNetworks.Networks {
		if slices.Contains(n.NetworkInstances, name) {
			return conformance.N6 + conformance.Port(i)
		}
	}
	return anyNetwork
}

// all returns the rules of all sessions, those of a session in Precedence order.
func (o *Oracle) all() (all []*rule) {
	for _, s := range o.sessions {
		all = append(all, s.rules...)
	}
	return all
}

// ofTunnel returns the PDRs of an F-TEID.
func (o *Oracle) ofTunnel(teid uint32, local netip.Addr) (found []*rule) {
	for _, r := range o.all() {
		f := r.Detect.FTeid
		if f.GetTeid() == teid && f != nil && (local.Is4() && f.Ipv4 == number(local) || local.Is6() && slices.Equal(f.Ipv6, local.AsSlice())) {
			found = append(found, r)
		}
	}
	return found
}

// destinations returns the prefixes to which bare packets of a PDI go.
func destinations(d *api.Detect) (all []netip.Prefix) {
	all = own(d)
	for _, f := range d.FramedRoutes {
		a, _ := netip.AddrFromSlice(f.Address)
		all = append(all, netip.PrefixFrom(a, int(f.Bits)).Masked())
	}
	return all
}

// own returns the UE's addresses.
func own(d *api.Detect) (all []netip.Prefix) {
	if n := d.GetUeAddress().GetIpv4(); n != 0 {
		all = append(all, netip.PrefixFrom(netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n))), 32))
	}
	if n := d.GetUeAddress().GetIpv6Prefix(); n != 0 {
		all = append(all, netip.PrefixFrom(netip.AddrFrom16([16]byte(append(binary.BigEndian.AppendUint64(nil, n), make([]byte, 8)...))), 64))
	}
	return all
}

// towards returns the PDRs that a bare packet may match: those of the session that has the longest
// prefix to which it goes. Among these Precedence decides, and not the prefix.
// Source: TS 29.244 V18.6.0, 5.2.1A, 8.2.109 and 8.2.111.
func (o *Oracle) towards(dst netip.Addr) []*rule {
	longest := -1
	found := map[uint64][]*rule{}
	var owner uint64
	for _, r := range o.all() {
		if r.Detect.FTeid != nil {
			continue
		}
		most := -1
		for _, p := range destinations(r.Detect) {
			if p.Contains(dst) {
				most = max(most, p.Bits())
			}
		}
		if seid := r.session.Seid; most >= 0 {
			found[seid] = append(found[seid], r)
			if most > longest {
				longest, owner = most, seid
			}
		}
	}
	return found[owner]
}

// detect returns the first PDR that matches, or why that which comes nearest does not.
// Source: TS 29.244 V18.6.0, 5.2.1A.
func (o *Oracle) detect(all []*rule, in arrived) (*rule, datapath.Reason) {
	nearest := datapath.DropUEAddress
	for _, r := range all {
		ue := in.dst
		if r.uplink() {
			ue = in.src
		}
		from := destinations(r.Detect)
		switch {
		case len(from) > 0 && !slices.ContainsFunc(from, func(p netip.Prefix) bool { return p.Contains(ue) }):
		case len(r.Detect.Qfis) > 0 && !(in.marked && slices.Contains(r.Detect.Qfis, uint32(in.qfi))):
			nearest = max(nearest, datapath.DropQFI)
		case !o.filtered(r, in):
			nearest = datapath.DropSDFFilter
		default:
			return r, datapath.ReasonNone
		}
	}
	return nil, nearest
}

// datagram names the fragments of a packet.
type datagram struct {
	src, dst netip.Addr
	id       uint32
	protocol uint8 // of IPv4
}

// seen is what a first fragment has and the others have not.
type seen struct {
	upper []byte
	at    time.Duration
}

// fragmentsFor is how long what a first fragment has is known.
const fragmentsFor = 30 * time.Second

// filtered reports whether one of a PDI's SDF filters matches.
func (o *Oracle) filtered(r *rule, in arrived) bool {
	if len(r.Detect.Filters) == 0 {
		return true
	}
	upper := in.upper
	if in.fragment {
		k := datagram{in.src, in.dst, in.id, in.protocol}
		if in.v6 {
			k.protocol = 0
		}
		s := r.session
		if in.later {
			upper = nil
			if first, ok := s.fragments[k]; ok && o.now-first.at < fragmentsFor {
				upper = first.upper
			}
		} else if _, hasPorts := portsOf(in.protocol, upper); hasPorts || spiOf(in.protocol, upper) != nil {
			s.fragments[k] = seen{upper, o.now}
		}
	}
	return slices.ContainsFunc(r.Detect.Filters, func(f *api.Filter) bool { return matches(f, in, upper, r.uplink()) })
}

// portsOf returns source and destination port.
func portsOf(protocol uint8, upper []byte) (p [2]uint32, ok bool) {
	switch protocol {
	case 6, 17, 132: // TCP, UDP, SCTP
	default:
		return p, false
	}
	if len(upper) < 4 {
		return p, false
	}
	return [2]uint32{uint32(binary.BigEndian.Uint16(upper)), uint32(binary.BigEndian.Uint16(upper[2:]))}, true
}

// spiOf returns the SPI of ESP or AH.
func spiOf(protocol uint8, upper []byte) *uint32 {
	at := map[uint8]int{50: 0, 51: 4}
	n, ok := at[protocol]
	if !ok || len(upper) < n+4 {
		return nil
	}
	spi := binary.BigEndian.Uint32(upper[n:])
	return &spi
}

// matches compares a packet with a filter: "remote" is the end that is not the UE.
// Source: TS 29.244 V18.6.0, 8.2.5; TS 29.212 V18, 5.4.2.
func matches(f *api.Filter, in arrived, upper []byte, uplink bool) bool {
	local, remote := in.dst, in.src
	ports, hasPorts := portsOf(in.protocol, upper)
	localPort, remotePort := ports[1], ports[0]
	if uplink {
		local, remote, localPort, remotePort = remote, local, remotePort, localPort
	}
	if f.Protocol != nil && *f.Protocol != uint32(in.protocol) || f.TosMask != 0 && (uint32(in.tos)^f.Tos)&f.TosMask != 0 {
		return false
	}
	for prefix, a := range map[*api.Prefix]netip.Addr{f.Remote: remote, f.Local: local} {
		if prefix == nil {
			continue
		}
		p, _ := netip.AddrFromSlice(prefix.Address)
		if !netip.PrefixFrom(p, int(prefix.Bits)).Masked().Contains(a) {
			return false
		}
	}
	in1 := func(all []*api.PortRange, port uint32) bool {
		return len(all) == 0 || hasPorts && slices.ContainsFunc(all, func(r *api.PortRange) bool { return r.First <= port && port <= r.Last })
	}
	if !in1(f.RemotePorts, remotePort) || !in1(f.LocalPorts, localPort) {
		return false
	}
	if f.Spi != nil {
		if spi := spiOf(in.protocol, upper); spi == nil || *spi != *f.Spi {
			return false
		}
	}
	return f.FlowLabel == nil || in.v6 && *f.FlowLabel == in.label
}
