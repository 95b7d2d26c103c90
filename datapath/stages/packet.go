package stages

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

const (
	flagDF       = 0x4000
	maskFragment = 0x3fff // more fragments, or an offset
	ttlOuter     = 64
)

// user is the IP packet of a UE, as long as its header says.
type user []byte

// parseUser returns the IP packet at the start of b without what follows it.
func parseUser(b []byte) (user, datapath.Reason) {
	if len(b) == 0 {
		return nil, datapath.DropIPShort
	}
	switch b[0] >> 4 {
	case 4:
		return parseIPv4(b)
	case 6:
		if len(b) < inet.LenIPv6 {
			return nil, datapath.DropIPShort
		}
		size := inet.LenIPv6 + int(binary.BigEndian.Uint16(b[4:]))
		if size > len(b) {
			return nil, datapath.DropIPShort
		}
		return user(b[:size]), datapath.ReasonNone
	}
	return nil, datapath.DropIPVersion
}

func parseIPv4(b []byte) (user, datapath.Reason) {
	if len(b) < inet.LenIPv4 {
		return nil, datapath.DropIPShort
	}
	header, size := 4*int(b[0]&0xf), int(binary.BigEndian.Uint16(b[2:]))
	if header < inet.LenIPv4 || size < header || size > len(b) {
		return nil, datapath.DropIPShort
	}
	return user(b[:size]), datapath.ReasonNone
}

func (u user) isIPv6() bool { return u[0]>>4 == 6 }

func (u user) source() netip.Addr {
	if u.isIPv6() {
		return netip.AddrFrom16([16]byte(u[8:24]))
	}
	return netip.AddrFrom4([4]byte(u[12:16]))
}

func (u user) destination() netip.Addr {
	if u.isIPv6() {
		return netip.AddrFrom16([16]byte(u[24:40]))
	}
	return netip.AddrFrom4([4]byte(u[16:20]))
}

// dscp returns the six bits of Differentiated Services.
func (u user) dscp() byte {
	if len(u) < inet.LenIPv4 {
		return 0 // of an unstructured PDU session
	}
	if u.isIPv6() {
		return byte(binary.BigEndian.Uint16(u)>>6) & 0x3f
	}
	return u[1] >> 2
}

func (u user) ttl() *byte {
	if u.isIPv6() {
		return &u[7]
	}
	return &u[8]
}

// hop takes one off TTL or Hop Limit. A wrong header checksum stays wrong.
// Source: RFC 1624, equation 3.
func (u user) hop() {
	ttl := u.ttl()
	if u.isIPv6() {
		*ttl--
		return
	}
	before := binary.BigEndian.Uint16(u[8:])
	*ttl--
	after := binary.BigEndian.Uint16(u[8:])
	sum := uint32(^binary.BigEndian.Uint16(u[10:])) + uint32(^before) + uint32(after)
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	binary.BigEndian.PutUint16(u[10:], ^uint16(sum))
}

// ports returns the first four octets behind the IP header if they are ports:
// what the source port of the outer header is made of. Options, extension
// headers and fragments have none here, so that a fast path need not look far.
func (u user) ports() uint32 {
	header, proto := inet.LenIPv6, u[6]
	if !u.isIPv6() {
		header, proto = inet.LenIPv4, u[9]
		if u[0] != 0x45 || binary.BigEndian.Uint16(u[6:])&maskFragment != 0 {
			return 0
		}
	}
	switch proto {
	case inet.ProtoTCP, inet.ProtoUDP, inet.ProtoSCTP:
		if len(u) >= header+4 {
			return binary.BigEndian.Uint32(u[header:])
		}
	}
	return 0
}

// FlowFactor spreads the bits of what a flow is known by: ports, addresses.
const FlowFactor uint32 = 0x9e3779b1

// flow returns a number that is the same for all packets of a flow of the user,
// its good bits first; 0 if there is no packet.
func (u user) flow() uint32 {
	if u == nil {
		return 0
	}
	h := u.ports()
	if u.isIPv6() {
		h ^= binary.BigEndian.Uint32(u[8:]) ^ binary.BigEndian.Uint32(u[12:]) ^ binary.BigEndian.Uint32(u[28:])
	} else {
		h ^= binary.BigEndian.Uint32(u[12:]) ^ binary.BigEndian.Uint32(u[16:])
	}
	return h * FlowFactor
}

// sourcePort returns the UDP source port of the outer header, one for each flow
// of the user. Source: TS 29.281 V18.1.0, 4.4.2.0.
func sourcePort(flow uint32) uint16 { return 0xc000 | uint16(flow>>18) }

// outerFlowLabel returns the Flow Label of the outer header, one for each flow
// of the user. Source: RFC 6438, 3.
func outerFlowLabel(flow uint32) uint32 { return flow >> 12 }

// parseGTPU returns the header of a G-PDU and its T-PDU.
func parseGTPU(b []byte) (gtpu.Header, []byte, datapath.Reason) {
	if len(b) >= 8 && b[0]&0xf0 == 0x30 && b[1] != gtpu.GPDU {
		if 8+int(binary.BigEndian.Uint16(b[2:])) > len(b) {
			return nil, nil, datapath.DropGTPUShort
		}
		return nil, nil, datapath.PassSignalling
	}
	h, err := gtpu.ParseRelayed(b)
	switch {
	case err == nil:
		return h, b[len(h) : 8+h.Length()], datapath.ReasonNone
	case errors.Is(err, gtpu.ErrVersion):
		return nil, nil, datapath.DropGTPUVersion
	case errors.Is(err, gtpu.ErrUnknown):
		return nil, nil, datapath.DropGTPUExtType
	case errors.Is(err, gtpu.ErrExtension):
		return nil, nil, datapath.DropGTPUExt
	}
	return nil, nil, datapath.DropGTPUShort
}

// UpperChecksum returns the checksum of what proto says stands at octet at of a
// whole IP packet, whose own is 0; never 0, which for UDP means that there is
// none and for the others is the same as this.
//
// Source: RFC 8200, 8.1; RFC 9293, 3.1; RFC 768.
func UpperChecksum(packet []byte, proto byte, at int) uint16 {
	pseudo := append([]byte(nil), user(packet).addresses()...)
	pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(len(packet)-at))
	pseudo = append(pseudo, 0, 0, 0, proto)
	pseudo = append(pseudo, packet[at:]...)
	sum := checksum.Of(pseudo)
	if sum == 0 {
		return 0xffff
	}
	return sum
}

// upperSumRight reports whether the checksum in what proto says stands at octet
// at is what it should be.
func (u user) upperSumRight(proto byte, at int) bool { return UpperChecksum(u, proto, at) == 0xffff }

// addresses returns source and destination as they stand in the header.
func (u user) addresses() []byte {
	if u.isIPv6() {
		return u[8:inet.LenIPv6]
	}
	return u[12:inet.LenIPv4]
}
