package vector

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// filter is an SDF filter of the model, with addresses as numbers.
type filter struct {
	remote, local           prefix
	protocol                int16 // -1: any
	tos, tosMask            byte
	rare                    bool // the SPI or the Flow Label is compared
	spi                     int64
	flowLabel               int32
	remotePorts, localPorts []stages.Ports
}

// prefix is what an address is compared with: IPv4 addresses are the low 32 bits.
type prefix struct {
	version      byte // 4 or 6; 0: any address
	hi, lo       uint64
	maskHi, mask uint64
}

func newFilter(f *stages.Filter) filter {
	return filter{
		remote: newPrefix(f.Remote), local: newPrefix(f.Local), protocol: int16(f.Protocol), tos: f.TOS & f.TOSMask, tosMask: f.TOSMask,
		rare: f.SPI >= 0 || f.FlowLabel >= 0, spi: f.SPI, flowLabel: f.FlowLabel,
		remotePorts: f.RemotePorts, localPorts: f.LocalPorts,
	}
}

func newPrefix(p netip.Prefix) prefix {
	switch {
	case !p.IsValid():
		return prefix{}
	case p.Addr().Is4():
		b := p.Addr().As4()
		return prefix{version: 4, lo: uint64(binary.BigEndian.Uint32(b[:])), mask: uint64(^uint32(0) << (32 - p.Bits()))}
	}
	b := p.Addr().As16()
	out := prefix{version: 6, hi: binary.BigEndian.Uint64(b[:]), lo: binary.BigEndian.Uint64(b[8:])}
	out.maskHi = ^uint64(0) << max(64-p.Bits(), 0)
	out.mask = ^uint64(0) << min(128-p.Bits(), 64)
	return out
}

// fields is what filters look at. Source and destination are the packet's.
type fields struct {
	version          byte
	protocol         byte
	tos              byte
	hasPorts         bool
	srcPort, dstPort uint16
	flowLabel        int32 // -1: IPv4
	spi              int64 // -1: none
	src, dst         [2]uint64
}

// read reads them, or reports that the model has to: extension headers of IPv6
// are in between, or it is a fragment.
func (f *fields) read(u []byte) bool {
	var upper []byte
	f.spi, f.flowLabel = -1, -1
	if u[0]>>4 == 6 {
		f.version, f.protocol, f.tos = 6, u[6], byte(binary.BigEndian.Uint16(u)>>4)
		f.flowLabel = int32(binary.BigEndian.Uint32(u) & 0xfffff)
		f.src = [2]uint64{binary.BigEndian.Uint64(u[8:]), binary.BigEndian.Uint64(u[16:])}
		f.dst = [2]uint64{binary.BigEndian.Uint64(u[24:]), binary.BigEndian.Uint64(u[32:])}
		upper = u[inet.LenIPv6:]
		switch f.protocol {
		case 0, 43, extFragment, 60, 135, 139, 140:
			return false
		}
	} else {
		f.version, f.protocol, f.tos = 4, u[9], u[1]
		f.src = [2]uint64{1: uint64(binary.BigEndian.Uint32(u[12:]))}
		f.dst = [2]uint64{1: uint64(binary.BigEndian.Uint32(u[16:]))}
		if binary.BigEndian.Uint16(u[6:])&maskFragment != 0 {
			return false
		}
		upper = u[4*int(u[0]&0xf):]
	}
	switch f.protocol {
	case inet.ProtoTCP, inet.ProtoUDP, inet.ProtoSCTP:
		if f.hasPorts = len(upper) >= 4; f.hasPorts {
			f.srcPort, f.dstPort = binary.BigEndian.Uint16(upper), binary.BigEndian.Uint16(upper[2:])
		}
	case protoESP:
		if len(upper) >= 4 {
			f.spi = int64(binary.BigEndian.Uint32(upper))
		}
	case protoAH:
		if len(upper) >= 8 {
			f.spi = int64(binary.BigEndian.Uint32(upper[4:]))
		}
	}
	return true
}

// match compares all that the filter has: f is seen from the UE if it sent the packet.
func (g *filter) match(f *fields, uplink bool) bool {
	remote, local, remotePort, localPort := &f.src, &f.dst, f.srcPort, f.dstPort
	if uplink {
		remote, local, remotePort, localPort = &f.dst, &f.src, f.dstPort, f.srcPort
	}
	switch {
	case g.protocol >= 0 && g.protocol != int16(f.protocol),
		!g.remote.contains(f.version, remote), !g.local.contains(f.version, local),
		!matchPorts(g.remotePorts, f.hasPorts, remotePort), !matchPorts(g.localPorts, f.hasPorts, localPort),
		g.tos != f.tos&g.tosMask:
		return false
	}
	return !g.rare || (g.spi < 0 || g.spi == f.spi) && (g.flowLabel < 0 || g.flowLabel == f.flowLabel)
}

func (p *prefix) contains(version byte, a *[2]uint64) bool {
	return p.version == 0 || p.version == version && a[0]&p.maskHi == p.hi && a[1]&p.mask == p.lo
}

func matchPorts(ranges []stages.Ports, has bool, port uint16) bool {
	if len(ranges) == 0 {
		return true
	}
	if !has {
		return false
	}
	for _, r := range ranges {
		if r.First <= port && port <= r.Last {
			return true
		}
	}
	return false
}
