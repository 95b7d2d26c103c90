package stages

import (
	"encoding/binary"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// upper is what comes behind the IP header and its extension headers.
type upper struct {
	protocol byte
	// payload starts with the upper-layer header; nil: it is not there, because
	// the packet is a fragment but not the first, or ends before.
	payload []byte
	// plain: it is right behind an IP header with no options and no extension
	// headers, and all of it is there.
	plain bool
}

// Protocol numbers that filters have to know more of than their number.
const (
	protoESP, protoAH = 50, 51

	extHopByHop, extRouting, extFragment, extDestination = 0, 43, 44, 60
	extMobility, extHIP, extShim6                        = 135, 139, 140

	maskOffset4 = 0x1fff
	maskOffset6 = 0xfff8
)

// upper steps over IPv6 extension headers. AH and ESP are upper layers here, as
// they are in IPv4: filters name them by their numbers, and by their SPI.
//
// Source: RFC 8200, 4; RFC 7045 (list of extension headers).
func (u user) upper() upper {
	if u.isIPv6() {
		return u.upper6()
	}
	p := upper{protocol: u[9]}
	fragment := binary.BigEndian.Uint16(u[6:]) & maskFragment
	if fragment&maskOffset4 == 0 {
		p.payload = u[4*int(u[0]&0xf):]
		p.plain = fragment == 0 && u[0] == 0x45
	}
	return p
}

func (u user) upper6() upper {
	next, at := u[6], inet.LenIPv6
	for {
		size := 8
		switch next {
		case extHopByHop, extRouting, extDestination, extMobility, extHIP, extShim6:
			if len(u) >= at+8 {
				size = 8 * (int(u[at+1]) + 1)
			}
		case extFragment:
			if len(u) >= at+8 && binary.BigEndian.Uint16(u[at+2:])&maskOffset6 != 0 {
				return upper{protocol: u[at]}
			}
		default:
			return upper{next, u[at:], at == inet.LenIPv6}
		}
		if len(u) < at+size {
			return upper{protocol: next}
		}
		next, at = u[at], at+size
	}
}

func (p upper) hasPorts() bool {
	switch p.protocol {
	case inet.ProtoTCP, inet.ProtoUDP, inet.ProtoSCTP:
		return len(p.payload) >= 4
	}
	return false
}

// spi returns the Security Parameters Index, or -1.
//
// Source: RFC 4302, 2; RFC 4303, 2.
func (p upper) spi() int64 {
	switch {
	case p.protocol == protoESP && len(p.payload) >= 4:
		return int64(binary.BigEndian.Uint32(p.payload))
	case p.protocol == protoAH && len(p.payload) >= 8:
		return int64(binary.BigEndian.Uint32(p.payload[4:]))
	}
	return -1
}

// tos returns ToS or Traffic Class, DSCP and ECN.
func (u user) tos() byte {
	if u.isIPv6() {
		return byte(binary.BigEndian.Uint16(u) >> 4)
	}
	return u[1]
}

// flowLabel returns that of an IPv6 packet, or -1.
func (u user) flowLabel() int32 {
	if u.isIPv6() {
		return int32(binary.BigEndian.Uint32(u) & 0xfffff)
	}
	return -1
}
