package stages

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

const maxPacket = 65535 // octets of an IPv4 packet, and of an IPv6 payload

// emit makes the packet that leaves, or several if it has to be cut: inside the
// tunnel, so that the UE puts it together and not the gNB.
func (s *Stages) emit(r *Rule, a arrived) []Sent {
	switch {
	case r.Ethernet != nil:
		return r.emitEthernet(a)
	case r.departs(a):
		sent, _ := s.emitBare(r, a)
		return sent
	case !r.routes(a) && r.Outer != nil:
		return []Sent{{Packet: r.encapsulate(a, a.user), Outer: r.Outer}}
	case !r.routes(a) && r.Wrap != nil:
		return []Sent{{Packet: s.wrap(r, a.user, a.user), Way: r.Way}}
	case !r.routes(a): // a copy on another data network: as it came
		return []Sent{{Packet: append([]byte(nil), a.user...), Way: r.Way}}
	}
	pieces := []user{append(user(nil), a.user...)}
	if limit := s.limit(r, a); len(a.user) > limit {
		pieces = a.user.fragments(limit)
	}
	var out []Sent
	for _, piece := range pieces {
		piece.hop()
		switch {
		case r.Outer != nil:
			out = append(out, Sent{Packet: r.encapsulate(arrived{user: piece, header: a.header}, a.user), Outer: r.Outer})
		default:
			out = append(out, Sent{Packet: s.wrap(r, piece, a.user), Way: r.Way})
		}
	}
	return out
}

// outerSize returns how many octets the packet with its outer header has.
func (r *Rule) outerSize(a arrived) int {
	size := inet.LenIPv4
	if r.Outer.Peer.Is6() {
		size = inet.LenIPv6
	}
	return size + inet.LenUDP + len(r.header(a)) + len(a.user)
}

// encapsulate is Outer Header Creation with GTP-U/UDP/IP. All pieces of a packet
// go the way of the whole one.
//
// Source: TS 29.244 V18.6.0, 8.2.56; TS 29.281 V18.1.0, 4.4.2.
func (r *Rule) encapsulate(a arrived, whole user) []byte {
	o, flow := r.Outer, r.inner(whole).flow()
	d := Datagram{
		From: netip.AddrPortFrom(o.Local, sourcePort(flow)), To: netip.AddrPortFrom(o.Peer, gtpu.Port),
		DSCP: r.OuterDSCP(r.dscp(a)), FlowLabel: outerFlowLabel(flow),
		Payload: append(r.header(a), a.user...),
	}
	return d.Packet()
}

// OuterDSCP returns the DSCP of the outer header of a packet that has this one.
func (r *Rule) OuterDSCP(user byte) byte {
	if r.Outer.DSCP >= 0 {
		user = byte(r.Outer.DSCP)
	}
	return r.Marks.dscp(user)
}

// Datagram is a GTP-U message and how it goes over IP.
type Datagram struct {
	From, To  netip.AddrPort // of the same IP version
	DSCP      byte
	FlowLabel uint32 // IPv6
	Payload   []byte
	Passes    int // as in [Sent]
}

// Packet returns the IP packet. The UDP checksum is 0 over IPv4, where the user
// packet has its own. Over IPv6 it is computed: RFC 6935 lets tunnels leave it
// out, but only where the receiver is known to take it, and a receiver takes
// none by default.
func (d *Datagram) Packet() []byte {
	if d.To.Addr().Is6() {
		return d.packet6()
	}
	size := inet.LenIPv4 + inet.LenUDP + len(d.Payload)
	from, to := d.From.Addr().As4(), d.To.Addr().As4()
	b := make([]byte, 0, size)
	b = append(b, 0x45, d.DSCP<<2)
	b = binary.BigEndian.AppendUint16(b, uint16(size))
	b = append(b, 0, 0, flagDF>>8, 0, ttlOuter, inet.ProtoUDP, 0, 0)
	b = append(b, from[:]...)
	b = append(b, to[:]...)
	binary.BigEndian.PutUint16(b[10:], checksum.Of(b[:inet.LenIPv4]))
	return d.appendUDP(b)
}

func (d *Datagram) packet6() []byte {
	size := inet.LenUDP + len(d.Payload)
	from, to := d.From.Addr().As16(), d.To.Addr().As16()
	b := make([]byte, 0, inet.LenIPv6+size)
	b = binary.BigEndian.AppendUint32(b, 6<<28|uint32(d.DSCP)<<22|d.FlowLabel&0xfffff)
	b = binary.BigEndian.AppendUint16(b, uint16(size))
	b = append(b, inet.ProtoUDP, ttlOuter)
	b = append(b, from[:]...)
	b = append(b, to[:]...)
	b = d.appendUDP(b)
	binary.BigEndian.PutUint16(b[inet.LenIPv6+6:], UpperChecksum(b, inet.ProtoUDP, inet.LenIPv6))
	return b
}

func (d *Datagram) appendUDP(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, d.From.Port())
	b = binary.BigEndian.AppendUint16(b, d.To.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(inet.LenUDP+len(d.Payload)))
	b = append(b, 0, 0)
	return append(b, d.Payload...)
}
