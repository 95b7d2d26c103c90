package stages

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// A problem is why a packet does not go on, as ICMP and ICMPv6 say it.
type problem struct {
	type4, code4, type6, code6 byte
	multicast6                 bool // ICMPv6 tells it about multicast packets, too
}

// A router that does not let a packet pass says that this is prohibited; only the
// host to which it was says that a port is unreachable.
//
// Source: RFC 792 and RFC 1191, 4; RFC 1812, 5.2.7.1; RFC 4443, 3.1 to 3.3.
var (
	tooBig  = problem{type4: 3, code4: 4, type6: 2, multicast6: true}
	expired = problem{type4: 11, code4: 0, type6: 3}

	prohibited = problem{type4: 3, code4: 13, type6: 1, code6: 1}
)

const (
	// The most octets that an error has, so that it gets through anywhere.
	// Source: RFC 1812, 4.3.2.3; RFC 4443, 2.4 (c).
	maxError4, maxError6 = 576, 1280

	tosControl = 0xc0 // CS6, network control. Source: RFC 1812, 4.3.2.5; RFC 4594, 3.1.
)

// noAddress4 is the source of ICMP errors of a router that has no IPv4 address.
// Source: RFC 7600, 4.8.
var noAddress4 = netip.AddrFrom4([4]byte{192, 0, 0, 8})

// report makes the ICMP or ICMPv6 error from router that tells u's sender of p,
// with an MTU in octets, which only [tooBig] has. It quotes as much of u as it
// may.
func (p problem) report(u user, router netip.Addr, mtu int) user {
	if u.isIPv6() {
		quoted := u[:min(len(u), maxError6-inet.LenIPv6-inet.LenICMP)]
		body := append([]byte{p.type6, p.code6, 0, 0}, binary.BigEndian.AppendUint32(nil, uint32(mtu))...)
		return packet6(inet.ProtoICMPv6, tosControl, router, u.source(), ttlOuter, append(body, quoted...), 2)
	}
	quoted := u[:min(len(u), maxError4-inet.LenIPv4-inet.LenICMP)]
	body := append([]byte{p.type4, p.code4, 0, 0}, binary.BigEndian.AppendUint32(nil, uint32(mtu))...)
	body = append(body, quoted...)
	binary.BigEndian.PutUint16(body[2:], checksum.Of(body))
	return packet4(inet.ProtoICMP, tosControl, router, u.source(), body)
}

// packet4 makes an IPv4 packet of the UPF's own around a payload.
func packet4(proto, tos byte, from, to netip.Addr, payload []byte) user {
	src, dst := from.As4(), to.As4()
	size := inet.LenIPv4 + len(payload)
	b := make([]byte, 0, size)
	b = append(b, 0x45, tos)
	b = binary.BigEndian.AppendUint16(b, uint16(size))
	b = append(b, 0, 0, 0, 0, ttlOuter, proto, 0, 0)
	b = append(b, src[:]...)
	b = append(b, dst[:]...)
	binary.BigEndian.PutUint16(b[10:], checksum.Of(b))
	return append(b, payload...)
}

// packet6 makes an IPv6 packet of the UPF's own around a payload whose checksum,
// at octet sum, is 0, and computes that.
func packet6(proto, tos byte, from, to netip.Addr, hopLimit byte, payload []byte, sum int) user {
	b := header6(proto, tos, from, to, hopLimit, payload)
	binary.BigEndian.PutUint16(b[inet.LenIPv6+sum:], UpperChecksum(b, proto, inet.LenIPv6))
	return b
}

// header6 makes an IPv6 packet around a payload.
func header6(proto, tos byte, from, to netip.Addr, hopLimit byte, payload []byte) user {
	src, dst := from.As16(), to.As16()
	b := make([]byte, 0, inet.LenIPv6+len(payload))
	b = binary.BigEndian.AppendUint32(b, 6<<28|uint32(tos)<<20)
	b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
	b = append(b, proto, hopLimit)
	b = append(b, src[:]...)
	b = append(b, dst[:]...)
	return append(b, payload...)
}

// mayReport reports whether u's sender may be told of p at all: not of a packet
// that is an error itself, not of one to many or from nobody, not of a fragment
// behind the first, not of one whose header may be wrong.
//
// Source: RFC 1812, 4.3.2.7; RFC 4443, 2.4 (e).
func (p problem) mayReport(u user) bool {
	from, to := u.source(), u.destination()
	switch {
	case !isHost(from), from.IsLinkLocalUnicast():
		return false
	case !isHost(to) && !(to.IsMulticast() && u.isIPv6() && p.multicast6):
		return false
	case !u.isIPv6() && !u.sumRight():
		return false
	}
	up := u.upper()
	return up.payload != nil && !up.isError(u.isIPv6())
}

// isHost reports whether a can be the address of one host beyond this one.
func isHost(a netip.Addr) bool {
	if a.Is4() {
		first := a.As4()[0]
		return first != 0 && first != 127 && first < 224 // else multicast, reserved or broadcast
	}
	return !a.IsUnspecified() && !a.IsLoopback() && !a.IsMulticast()
}

// isError reports whether p is an ICMP error, or a Redirect, of which no error
// is told either, or may be: a type that is not there is none to answer.
func (p upper) isError(v6 bool) bool {
	switch {
	case v6 && p.protocol == inet.ProtoICMPv6:
		return len(p.payload) == 0 || p.payload[0] < 128 || p.payload[0] == 137
	case !v6 && p.protocol == inet.ProtoICMP:
		if len(p.payload) == 0 {
			return true
		}
		switch p.payload[0] {
		case 0, 8, 9, 10, 13, 14, 15, 16, 17, 18: // queries: RFC 1122, 3.2.2
			return false
		}
		return true
	}
	return false
}

// sumRight reports whether the checksum of an IPv4 header is what it should be.
func (u user) sumRight() bool { return checksum.Of(u[:4*int(u[0]&0xf)]) == 0 }
