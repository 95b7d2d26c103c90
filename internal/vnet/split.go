package vnet

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

const flagFIN, flagPSH, flagACK, flagCWR = 0x01, 0x08, 0x10, 0x80

// splitter cuts a super-packet into packets.
type splitter struct {
	in       []byte // from the link header on; empty: there is none
	link     int    // octets of the link header
	upper    int    // where TCP or UDP begins
	headers  int    // octets of all headers
	size     int    // of a packet's payload
	at       int    // where in in the next payload begins
	v6, udp  bool
	id       uint16 // IPv4 Identification of the next packet
	seq      uint32 // TCP: Sequence Number of the next packet
	checksum int    // where that of TCP or UDP is
	fixed    uint64 // sum of the pseudo header but its length
}

// begin takes a super-packet, which must stay until all of it is cut, and reports
// whether it makes sense. A header that the kernel wrote is checked as if a stranger had.
func (s *splitter) begin(in []byte, link int, h header) bool {
	*s = splitter{link: link, upper: int(h.csumStart), size: int(h.gsoSize)}
	s.udp = h.gsoType == unix.VIRTIO_NET_HDR_GSO_UDP_L4
	known := s.udp || h.gsoType == unix.VIRTIO_NET_HDR_GSO_TCPV4 || h.gsoType == unix.VIRTIO_NET_HDR_GSO_TCPV6
	if !known || s.size == 0 || s.upper < link+inet.LenIPv4 || len(in) < s.upper+inet.LenUDP {
		return false
	}
	ip := in[link:]
	switch s.v6 = ip[0]>>4 == 6; {
	case s.v6:
		if s.upper < link+inet.LenIPv6 || h.gsoType == unix.VIRTIO_NET_HDR_GSO_TCPV4 {
			return false
		}
		s.fixed = checksum.Pseudo(ip[8:40], s.protocol())
	case ip[0]>>4 == 4:
		if s.upper != link+4*int(ip[0]&0xf) || h.gsoType == unix.VIRTIO_NET_HDR_GSO_TCPV6 {
			return false
		}
		s.id = binary.BigEndian.Uint16(ip[4:])
		s.fixed = checksum.Pseudo(ip[12:20], s.protocol())
	default:
		return false
	}
	s.headers, s.checksum = s.upper+inet.LenUDP, s.upper+6
	if !s.udp {
		if len(in) < s.upper+inet.LenTCP {
			return false
		}
		s.headers, s.checksum = s.upper+4*int(in[s.upper+12]>>4), s.upper+16
		s.seq = binary.BigEndian.Uint32(in[s.upper+4:])
	}
	if s.headers < s.upper+inet.LenUDP || !s.udp && s.headers < s.upper+inet.LenTCP || s.headers >= len(in) {
		return false
	}
	s.in, s.at = in, s.headers
	return true
}

func (s *splitter) protocol() byte {
	if s.udp {
		return unix.IPPROTO_UDP
	}
	return unix.IPPROTO_TCP
}

// next writes the next packet to out and returns how many octets it has; 0: there
// is none left.
func (s *splitter) next(out []byte) int {
	if len(s.in) == 0 {
		return 0
	}
	end := min(s.at+s.size, len(s.in))
	first, last := s.at == s.headers, end == len(s.in)
	copy(out, s.in[:s.headers])
	n := s.headers + copy(out[s.headers:], s.in[s.at:end])
	out = out[:n]
	s.network(out[s.link:])
	upper := out[s.upper:]
	if s.udp {
		binary.BigEndian.PutUint16(upper[4:], uint16(len(upper)))
	} else {
		s.transmission(upper, first, last)
	}
	out[s.checksum], out[s.checksum+1] = 0, 0
	c := ^checksum.Fold(checksum.Sum(upper, s.fixed+checksum.Word(uint16(len(upper)))))
	if c == 0 && s.udp {
		c = 0xffff // 0 says that there is none
	}
	binary.BigEndian.PutUint16(out[s.checksum:], c)
	if s.at = end; last {
		s.in = nil
	}
	return n
}

// network sets what of the IP header is each packet's own.
func (s *splitter) network(ip []byte) {
	if s.v6 {
		binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-inet.LenIPv6))
		return
	}
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	binary.BigEndian.PutUint16(ip[4:], s.id)
	s.id++
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], ^checksum.Fold(checksum.Sum(ip[:s.upper-s.link], 0)))
}

// transmission sets what of the TCP header is each packet's own: FIN and PSH are of the
// last, CWR is of the first.
func (s *splitter) transmission(tcp []byte, first, last bool) {
	binary.BigEndian.PutUint32(tcp[4:], s.seq)
	s.seq += uint32(s.size)
	if !last {
		tcp[13] &^= flagFIN | flagPSH
	}
	if !first {
		tcp[13] &^= flagCWR
	}
}
