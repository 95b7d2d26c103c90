package generator

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// gtpuOctets are those of a GTP-U header with sequence number word and PDU Session Container.
const gtpuOctets = 16

// frame is a frame of one length of a stream, or of a replay, with the fields of the
// session and the stamp 0 but for its head, and what of its checksums does not change.
type frame struct {
	octets    []byte
	ipv6      bool   // the user packet is
	short     bool   // its stamp is
	headers   int    // octets before the stamp
	check     int    // where the checksum of the user packet's datagram or segment is
	ipSum     uint32 // of the user packet's IP header
	l4Sum     uint64 // of the user packet's pseudo header and datagram or segment
	pseudoSum uint32 // of the former alone
	outerSum  uint32 // of the outer pseudo header, UDP and GTP-U header; 0 downlink

	dscp uint8  // of a replay: the user packet's
	ue   int    // of a replay: number of the UE in the file
	gap  uint64 // of a replay: until the next frame, ns
}

// newFrame builds the frame of a stream with so much payload. c is valid.
func newFrame(c *Config, server netip.Addr, stream uint16, payload int) frame {
	user := userPacket(c, server, stream, payload)
	headers := len(user) - payload
	f := frame{headers: headers, check: headers - 2, short: payload < StampOctets}
	f.finish(c, server, inet.ProtoUDP, user, headers-inet.LenUDP)
	return f
}

// finish makes the frame of a user packet, in which headers and check are offsets, and the
// segment begins at l4.
func (f *frame) finish(c *Config, server netip.Addr, protocol uint8, user []byte, l4 int) {
	pseudo := pseudoSum(server, protocol, len(user)-l4)
	f.ipv6 = server.Is6()
	f.ipSum, f.pseudoSum = uint32(sum(user[:l4])), uint32(pseudo)
	f.l4Sum = pseudo + sum(user[l4:])
	ether := slices.Concat(c.Link.UPF.MAC, c.Link.Peer.MAC)
	f.headers, f.check = f.headers+c.offset(), f.check+c.offset()
	if c.Direction == Downlink {
		f.octets = append(appendEtherType(ether, server), user...)
		return
	}
	gnb, upf := c.Link.Peer.Address.Addr(), c.Link.UPF.Address.Addr()
	outer := ip4(gnb, upf, inet.LenUDP+gtpuOctets+len(user))
	mark(outer, f.dscp)
	fixIPv4(outer)
	outer = append(outer, udpHeader(gtpu.Port, gtpuOctets+len(user))...)
	outer = append(outer, gtpuHeader(len(user))...)
	f.outerSum = uint32(sum(gnb.AsSlice()) + pseudoSum(upf, inet.ProtoUDP, inet.LenUDP+gtpuOctets+len(user)) + sum(outer[inet.LenIPv4:]))
	f.octets = slices.Concat(appendEtherType(ether, gnb), outer, user)
}

// stampEnd is where the padding begins.
func (f *frame) stampEnd() int {
	if f.short {
		return f.headers + ShortStampOctets
	}
	return f.headers + StampOctets
}

const hopLimit = 64

// offset is where the user packet begins in a frame.
func (c *Config) offset() int {
	if c.Direction == Downlink {
		return inet.LenEthernet
	}
	return inet.LenEthernet + inet.LenIPv4 + inet.LenUDP + gtpuOctets
}

// userPacket returns the packet between UE and server, with the UE's address and
// the checksums 0 and the head of the stamp in place.
func userPacket(c *Config, server netip.Addr, stream uint16, payload int) []byte {
	src, dst, ip := netip.IPv4Unspecified(), server, ip4
	if server.Is6() {
		src, ip = netip.IPv6Unspecified(), ip6
	}
	if c.Direction == Downlink {
		src, dst = dst, src
	}
	packet := ip(src, dst, inet.LenUDP+payload)
	packet = append(packet, udpHeader(Port, payload)...)
	end := len(packet) + payload
	if payload < StampOctets {
		packet = ShortStamp{Head: ShortHead(c.Run) | uint32(stream)&maxShortStream}.Append(packet)
	} else {
		packet = Stamp{Run: c.Run}.Append(packet)
	}
	for len(packet) < end {
		packet = append(packet, byte(c.offset()+len(packet))) // the octet's place in the frame: shifted ones show
	}
	return packet
}

func appendEtherType(b []byte, a netip.Addr) []byte {
	if a.Is4() {
		return append(b, 0x08, 0x00)
	}
	return append(b, 0x86, 0xdd)
}

// ip4 returns an IPv4 header for UDP with checksum 0. Source: RFC 791, 3.1.
func ip4(src, dst netip.Addr, payload int) []byte {
	b := make([]byte, inet.LenIPv4)
	b[0] = 4<<4 | inet.LenIPv4/4
	binary.BigEndian.PutUint16(b[2:], uint16(inet.LenIPv4+payload))
	binary.BigEndian.PutUint16(b[6:], 1<<14) // don't fragment
	b[8], b[9] = hopLimit, inet.ProtoUDP
	copy(b[12:], src.AsSlice())
	copy(b[16:], dst.AsSlice())
	return b
}

// ip6 returns an IPv6 header for UDP. Source: RFC 8200, 3.
func ip6(src, dst netip.Addr, payload int) []byte {
	b := make([]byte, inet.LenIPv6)
	b[0] = 6 << 4
	binary.BigEndian.PutUint16(b[4:], uint16(payload))
	b[6], b[7] = inet.ProtoUDP, hopLimit
	copy(b[8:], src.AsSlice())
	copy(b[24:], dst.AsSlice())
	return b
}

// udpHeader returns a header with port at both ends and checksum 0.
func udpHeader(port uint16, payload int) []byte {
	b := make([]byte, 0, inet.LenUDP)
	b = binary.BigEndian.AppendUint16(b, port)
	b = binary.BigEndian.AppendUint16(b, port)
	b = binary.BigEndian.AppendUint16(b, uint16(inet.LenUDP+payload))
	return append(b, 0, 0)
}

// gtpuHeader returns the header of a G-PDU with an UL PDU SESSION INFORMATION of
// one word, TEID and QFI 0.
//
// Source: TS 29.281 V18.1.0, 5.1; TS 38.415 V18.0.0, 5.5.2.2.
func gtpuHeader(tpdu int) []byte {
	b := []byte{0x34, 255} // version 1, GTP, extension header; G-PDU
	b = binary.BigEndian.AppendUint16(b, uint16(gtpuOctets-8+tpdu))
	b = append(b, 0, 0, 0, 0)       // TEID
	b = append(b, 0, 0, 0, 0x85)    // no sequence number, no N-PDU number; PSC follows
	return append(b, 1, 1<<4, 0, 0) // one word; UL; QFI; no more
}

// sum adds the 16-bit words of b in the byte order of the machine, as the
// program does: a ones' complement sum comes out in the order it was read in.
// Source: RFC 1071, 2 (B).
func sum(b []byte) uint64 {
	total := uint64(0)
	for ; len(b) > 1; b = b[2:] {
		total += uint64(binary.NativeEndian.Uint16(b))
	}
	if len(b) == 1 {
		total += uint64(binary.NativeEndian.Uint16([]byte{b[0], 0}))
	}
	return total
}

// pseudoSum is the sum of the pseudo header without the UE's address.
// Source: RFC 768; RFC 8200, 8.1.
func pseudoSum(server netip.Addr, protocol uint8, length int) uint64 {
	b := append([]byte{}, server.AsSlice()...)
	b = binary.BigEndian.AppendUint32(b, uint32(length))
	return sum(append(b, 0, protocol))
}
