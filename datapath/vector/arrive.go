package vector

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

const extFragment = 44 // IPv6: Fragment Header

// TakeOuter takes the outer header off an IP packet that came where GTP-U does, for
// a datapath that reads IP packets, and notes who sent it: what is left is a GTP-U
// message. The UDP checksum is not looked at: the user packet has its own.
//
// What is not [datapath.ReasonNone] is not for the engine: PassHost is no GTP-U
// message to one of our addresses, PassFragment part of one, perhaps. What is
// dropped is to be counted with [Worker.Refuse].
func (e *Engine) TakeOuter(p *Packet) datapath.Reason {
	b := p.Octets()
	switch {
	case len(b) >= inet.LenIPv4 && b[0]>>4 == 4:
		return e.takeOuter4(p, b)
	case len(b) >= inet.LenIPv6 && b[0]>>4 == 6:
		return e.takeOuter6(p, b)
	}
	return datapath.PassHost
}

func (e *Engine) takeOuter4(p *Packet, b []byte) datapath.Reason {
	to := netip.AddrFrom4([4]byte(b[16:20]))
	if b[9] != inet.ProtoUDP || !e.local(to) {
		return datapath.PassHost
	}
	if binary.BigEndian.Uint16(b[6:])&maskFragment != 0 {
		return datapath.PassFragment
	}
	header, size := 4*int(b[0]&0xf), int(binary.BigEndian.Uint16(b[2:]))
	if header < inet.LenIPv4 || size < header || size > len(b) {
		return datapath.DropIPShort
	}
	return p.takeUDP(header, size, netip.AddrFrom4([4]byte(b[12:16])), to)
}

// takeOuter6 takes datagrams without extension headers: those with some are left to
// the host, which steps over them.
func (e *Engine) takeOuter6(p *Packet, b []byte) datapath.Reason {
	to := netip.AddrFrom16([16]byte(b[24:40]))
	if b[6] != inet.ProtoUDP && b[6] != extFragment || !e.local(to) {
		return datapath.PassHost
	}
	if b[6] == extFragment {
		return datapath.PassFragment
	}
	size := inet.LenIPv6 + int(binary.BigEndian.Uint16(b[4:]))
	if size > len(b) {
		return datapath.DropIPShort
	}
	return p.takeUDP(inet.LenIPv6, size, netip.AddrFrom16([16]byte(b[8:24])), to)
}

// takeUDP makes the payload of the datagram what counts. Its header is at octet at of
// a packet of size octets.
func (p *Packet) takeUDP(at, size int, from, to netip.Addr) datapath.Reason {
	udp := p.Buf[p.Start+at : p.Start+size]
	if len(udp) < inet.LenUDP || binary.BigEndian.Uint16(udp[2:]) != gtpu.Port {
		return datapath.PassHost
	}
	p.From, p.To = netip.AddrPortFrom(from, binary.BigEndian.Uint16(udp)), to
	p.Network, p.Outside = 0, uint8(at+inet.LenUDP)
	p.Start, p.End = p.Start+at+inet.LenUDP, p.Start+size
	return datapath.ReasonNone
}

// local reports whether a is an address of an endpoint.
func (e *Engine) local(a netip.Addr) bool { return datapath.Has(e.cfg.Endpoints, a) }

// Refuse counts a packet that does not get into a vector, or does not leave.
func (w *Worker) Refuse(r datapath.Reason) { w.count(r) }
