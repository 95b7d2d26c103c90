package stages

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Filter is one SDF filter. Remote and local are as in [api.Filter]: the local
// end is the UE's.
//
// Source: TS 29.244 V18.6.0, 8.2.5; RFC 6733, 4.3.1.
type Filter struct {
	Protocol                int          // -1: any
	Remote, Local           netip.Prefix // not valid: any
	RemotePorts, LocalPorts []Ports      // none: any
	TOS, TOSMask            byte
	SPI                     int64 // -1: not compared
	FlowLabel               int32 // -1: not compared
	Host, Path              string
}

// Named reports whether the filter has to know what the packet's flow is called.
func (f *Filter) Named() bool { return f.Host != "" || f.Path != "" }

// Ports is a range with both ends in it.
type Ports struct{ First, Last uint16 }

func newFilter(in *api.Filter) Filter {
	f := Filter{
		Protocol: -1, SPI: -1, FlowLabel: -1,
		Remote: newPrefix(in.GetRemote()), Local: newPrefix(in.GetLocal()),
		RemotePorts: newPorts(in.GetRemotePorts()), LocalPorts: newPorts(in.GetLocalPorts()),
		TOS: byte(in.GetTos()), TOSMask: byte(in.GetTosMask()),
	}
	f.Host, f.Path = in.GetHost(), decoded(in.GetPath())
	if f.Path != "" {
		f.Protocol = inet.ProtoTCP // flows of others show none
	}
	if in.Protocol != nil {
		f.Protocol = int(in.GetProtocol())
	}
	if in.Spi != nil {
		f.SPI = int64(in.GetSpi())
	}
	if in.FlowLabel != nil {
		f.FlowLabel = int32(in.GetFlowLabel())
	}
	return f
}

func newPrefix(p *api.Prefix) netip.Prefix {
	a, ok := netip.AddrFromSlice(p.GetAddress())
	if !ok {
		return netip.Prefix{} // absent; datapath.Check let only whole ones pass
	}
	return netip.PrefixFrom(a, int(p.GetBits())).Masked()
}

func newPorts(in []*api.PortRange) []Ports {
	var out []Ports
	for _, p := range in {
		out = append(out, Ports{uint16(p.GetFirst()), uint16(p.GetLast())})
	}
	return out
}

// fields is what filters look at, seen from the UE.
type fields struct {
	remote, local         netip.Addr
	remotePort, localPort uint16
	hasPorts              bool
	protocol              byte
	tos                   byte
	spi                   int64                   // -1: none
	flowLabel             int32                   // -1: IPv4
	name                  func() (flowName, bool) // of the flow; nil: none
}

func fieldsOf(u user, uplink bool) fields {
	p := u.upper()
	f := fields{
		remote: u.source(), local: u.destination(), protocol: p.protocol,
		tos: u.tos(), spi: p.spi(), flowLabel: u.flowLabel(),
	}
	if p.hasPorts() {
		f.hasPorts = true
		f.remotePort, f.localPort = binary.BigEndian.Uint16(p.payload), binary.BigEndian.Uint16(p.payload[2:])
	}
	if uplink {
		f.remote, f.local = f.local, f.remote
		f.remotePort, f.localPort = f.localPort, f.remotePort
	}
	return f
}

// match compares all that f has. A packet without ports never matches a filter with ports
// (RFC 6733, 4.3.1): of fragments only one that comes before the first is such, see
// [datagrams].
func (f *Filter) match(p *fields) bool {
	switch {
	case f.Protocol >= 0 && f.Protocol != int(p.protocol),
		f.Remote.IsValid() && !f.Remote.Contains(p.remote),
		f.Local.IsValid() && !f.Local.Contains(p.local),
		!matchPorts(f.RemotePorts, p.hasPorts, p.remotePort),
		!matchPorts(f.LocalPorts, p.hasPorts, p.localPort),
		f.TOS&f.TOSMask != p.tos&f.TOSMask,
		f.SPI >= 0 && f.SPI != p.spi,
		f.FlowLabel >= 0 && f.FlowLabel != p.flowLabel:
		return false
	}
	if !f.Named() {
		return true
	}
	if p.name == nil {
		return false
	}
	name, known := p.name()
	return known && name.match(f.Host, f.Path)
}

func matchPorts(ranges []Ports, has bool, port uint16) bool {
	if len(ranges) == 0 {
		return true
	}
	for _, r := range ranges {
		if has && r.First <= port && port <= r.Last {
			return true
		}
	}
	return false
}
