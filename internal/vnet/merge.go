package vnet

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Limits of a super-packet: UDP_MAX_SEGMENTS (128 since Linux 6.9), and what fits
// into one IP packet.
const (
	maxSegments = 64
	maxOctets   = 65000
)

// shape is what of a packet decides with which others it can go: those of a flow,
// whose headers differ only where a super-packet's cutting makes them differ.
type shape struct {
	v6, udp bool
	upper   int // where TCP or UDP begins, from the IP header on
	headers int // octets of all headers
}

// look returns the shape of a packet, and whether it can go with others at all: TCP
// segments with payload and nothing rare, and UDP datagrams with a checksum; no
// fragments, no options of IPv4, no extension headers.
func look(p []byte, udp bool) (s shape, ok bool) {
	if len(p) < inet.LenIPv4+inet.LenUDP {
		return s, false
	}
	var protocol byte
	switch p[0] {
	case 0x45:
		if int(binary.BigEndian.Uint16(p[2:])) != len(p) || binary.BigEndian.Uint16(p[6:])&0xbfff != 0 {
			return s, false
		}
		s.upper, protocol = inet.LenIPv4, p[9]
	default:
		if p[0]>>4 != 6 || len(p) < inet.LenIPv6+inet.LenUDP || int(binary.BigEndian.Uint16(p[4:])) != len(p)-inet.LenIPv6 {
			return s, false
		}
		s.v6, s.upper, protocol = true, inet.LenIPv6, p[6]
	}
	upper := p[s.upper:]
	switch protocol {
	case unix.IPPROTO_UDP:
		s.udp, s.headers = true, s.upper+inet.LenUDP
		return s, udp && len(p) > s.headers && int(binary.BigEndian.Uint16(upper[4:])) == len(upper) && upper[6]|upper[7] != 0
	case unix.IPPROTO_TCP:
		if len(upper) < inet.LenTCP || upper[13]&^flagPSH != flagACK || upper[12]&0xf != 0 {
			return s, false
		}
		s.headers = s.upper + 4*int(upper[12]>>4)
		return s, s.headers >= s.upper+inet.LenTCP && len(p) > s.headers
	}
	return s, false
}

// whole reports whether the checksum of TCP or UDP is right. One that is wrong has to
// stay wrong, so such a packet goes alone.
func (s *shape) whole(p []byte) bool {
	addresses, protocol := p[12:20], byte(unix.IPPROTO_TCP)
	if s.v6 {
		addresses = p[8:40]
	}
	if s.udp {
		protocol = unix.IPPROTO_UDP
	}
	upper := p[s.upper:]
	return checksum.Fold(checksum.Sum(upper, checksum.Pseudo(addresses, protocol)+checksum.Word(uint16(len(upper))))) == 0xffff
}

// follows reports whether p, of the same shape, can stand behind count packets of which
// head is the first and which have size octets of payload each.
func (s *shape) follows(head, p []byte, count, size int) bool {
	if s.v6 {
		if !bytes.Equal(head[:4], p[:4]) || !bytes.Equal(head[6:40], p[6:40]) {
			return false
		}
	} else {
		// The kernel numbers what it cuts from the first one's Identification on. So numbers
		// stay, but for packets that had none, which DF allows: RFC 6864, 4.1.
		first, id, df := binary.BigEndian.Uint16(head[4:]), binary.BigEndian.Uint16(p[4:]), p[6]&0x40 != 0
		if head[1] != p[1] || !bytes.Equal(head[6:10], p[6:10]) || !bytes.Equal(head[12:20], p[12:20]) ||
			id != first+uint16(count) && !(df && first == 0 && id == 0) {
			return false
		}
	}
	h, u := head[s.upper:], p[s.upper:]
	if !bytes.Equal(h[:4], u[:4]) { // ports
		return false
	}
	if s.udp {
		return true
	}
	// Acknowledgment Number, window, urgent pointer and options are those of the first.
	return binary.BigEndian.Uint32(u[4:]) == binary.BigEndian.Uint32(h[4:])+uint32(count*size) &&
		bytes.Equal(h[8:13], u[8:13]) && bytes.Equal(h[14:16], u[14:16]) &&
		bytes.Equal(h[18:s.headers-s.upper], u[18:s.headers-s.upper])
}

// final reports whether nothing can stand behind p in a super-packet.
func (s *shape) final(p []byte) bool { return !s.udp && p[s.upper+13]&flagPSH != 0 }

// join makes of head the header of a super-packet with octets in all, and returns how it
// is to be cut.
func (s *shape) join(head []byte, octets, size, link int, last []byte) header {
	h := header{
		flags: unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, gsoType: unix.VIRTIO_NET_HDR_GSO_UDP_L4,
		hdrLen: uint16(link + s.headers), gsoSize: uint16(size), csumStart: uint16(link + s.upper), csumOffset: 6,
	}
	addresses, protocol, upper := head[12:20], byte(unix.IPPROTO_UDP), octets-s.upper
	if !s.udp {
		h.gsoType, h.csumOffset, protocol = unix.VIRTIO_NET_HDR_GSO_TCPV4, 16, unix.IPPROTO_TCP
		head[s.upper+13] |= last[s.upper+13] & flagPSH
	}
	if s.v6 {
		addresses = head[8:40]
		binary.BigEndian.PutUint16(head[4:], uint16(upper))
		if !s.udp {
			h.gsoType = unix.VIRTIO_NET_HDR_GSO_TCPV6
		}
	} else {
		binary.BigEndian.PutUint16(head[2:], uint16(octets))
		head[10], head[11] = 0, 0
		binary.BigEndian.PutUint16(head[10:], ^checksum.Fold(checksum.Sum(head[:inet.LenIPv4], 0)))
	}
	if s.udp {
		binary.BigEndian.PutUint16(head[s.upper+4:], uint16(upper))
	}
	at := s.upper + int(h.csumOffset)
	binary.BigEndian.PutUint16(head[at:], checksum.Fold(checksum.Pseudo(addresses, protocol)+checksum.Word(uint16(upper))))
	return h
}
