package gnb

import "encoding/binary"

// Offsets in IP, TCP and UDP headers, in octets.
const (
	offIPv4Length, offIPv4Fragment, offIPv4Protocol, offIPv4Source = 2, 6, 9, 12
	offIPv6Length, offIPv6Next, offIPv6Source                      = 4, 6, 8
	offTCPData, offTCPFlags, offTCPChecksum                        = 12, 13, 16
	offUDPChecksum                                                 = 6
	lenIPv6, lenTCP                                                = 40, 20
	protocolTCP, protocolUDP                                       = 6, 17
	flagCWR                                                        = 0x80
)

// transport is what is behind an IP header.
type transport struct {
	at       int // octets of the IP header
	protocol uint8
	pseudo   uint16 // sum of the pseudo header
}

// parseTransport finds what is behind the IP header of a whole packet. It knows
// no fragments and no extension headers, and b must be what the IP header says.
func parseTransport(b []byte) (h transport, ok bool) {
	var addresses []byte
	switch {
	case len(b) < lenIPv4:
		return h, false
	case b[0]>>4 == 4:
		h.at, h.protocol, addresses = int(b[0]&0x0f)*4, b[offIPv4Protocol], b[offIPv4Source:lenIPv4]
		fragment := binary.BigEndian.Uint16(b[offIPv4Fragment:]) &^ 0x4000 // but DF
		if h.at < lenIPv4 || fragment != 0 || int(binary.BigEndian.Uint16(b[offIPv4Length:])) != len(b) {
			return h, false
		}
	case b[0]>>4 == 6 && len(b) >= lenIPv6:
		h.at, h.protocol, addresses = lenIPv6, b[offIPv6Next], b[offIPv6Source:lenIPv6]
		if lenIPv6+int(binary.BigEndian.Uint16(b[offIPv6Length:])) != len(b) {
			return h, false
		}
	default:
		return h, false
	}
	if h.at > len(b) {
		return h, false
	}
	h.pseudo = fold(sum(addresses, uint64(h.protocol)+uint64(len(b)-h.at)))
	return h, true
}

// unfinished returns the virtio header of a user packet that a UPF on this
// machine took from a sender on this machine and that never was on a wire. Its
// checksum is left to whoever sends it on, and if it is TCP, it may be one that is
// to be cut to the device's MTU.
//
// The checksum field of such a packet has the sum of the pseudo header. Another
// packet has the same there once in 65536 times; its checksum is then not verified,
// but completing it gives what it was. That is why only packets that came over a
// veth are looked at.
func (u *ue) unfinished(b []byte) (v vnet, ok bool) {
	if !u.local {
		return v, false
	}
	h, ok := parseTransport(b)
	if !ok {
		return v, false
	}
	segment := b[h.at:]
	switch {
	case h.protocol == protocolTCP && len(segment) >= lenTCP:
		v.checksumOff = offTCPChecksum
	case h.protocol == protocolUDP && len(segment) >= lenUDP:
		v.checksumOff = offUDPChecksum
	default:
		return v, false
	}
	if binary.BigEndian.Uint16(segment[v.checksumOff:]) != h.pseudo {
		return v, false
	}
	v.flags, v.checksumAt = vnetNeedsChecksum, uint16(h.at)
	if h.protocol == protocolTCP && len(b) > u.mtu {
		ok = v.cut(b, u.mtu)
	}
	return v, ok
}

// cut has v say that the TCP packet b is to be cut to an MTU. It reports whether
// that can be.
func (v *vnet) cut(b []byte, mtu int) bool {
	tcp := b[v.checksumAt:]
	headers := int(v.checksumAt) + int(tcp[offTCPData]>>4)*4
	if headers < int(v.checksumAt)+lenTCP || headers >= mtu || headers >= len(b) {
		return false
	}
	v.headers, v.gsoSize, v.gsoType = uint16(headers), uint16(mtu-headers), vnetGSOTCPv4
	if b[0]>>4 == 6 {
		v.gsoType = vnetGSOTCPv6
	}
	if tcp[offTCPFlags]&flagCWR != 0 {
		v.gsoType |= vnetGSOECN
	}
	return true
}
