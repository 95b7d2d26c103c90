package probetest

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

var be = binary.BigEndian

// header is what an IP packet begins with.
type header struct {
	from, to netip.Addr
	protocol byte   // above IP
	id       uint16 // IPv4
	fragment uint16 // IPv4: flags and offset as in the header
	options  []byte // IPv4: of a multiple of 4 octets
}

const dontFragment = 0x4000

// packet returns the IP packet of h that carries upper, with the checksums that belong to
// it. A fragment's checksum above IP stays as it is.
func (h *header) packet(upper []byte) []byte {
	if h.from.Is6() {
		b := make([]byte, inet.LenIPv6, inet.LenIPv6+len(upper))
		b[0], b[6], b[7] = 6<<4, h.protocol, 64
		be.PutUint16(b[4:], uint16(len(upper)))
		copy(b[8:], h.from.AsSlice())
		copy(b[24:], h.to.AsSlice())
		b = append(b, upper...)
		finish(b, inet.LenIPv6, h.protocol)
		return b
	}
	octets := inet.LenIPv4 + len(h.options)
	b := make([]byte, inet.LenIPv4, octets+len(upper))
	b[0], b[8], b[9] = byte(4<<4|octets/4), 64, h.protocol
	be.PutUint16(b[2:], uint16(octets+len(upper)))
	be.PutUint16(b[4:], h.id)
	be.PutUint16(b[6:], h.fragment)
	copy(b[12:], h.from.AsSlice())
	copy(b[16:], h.to.AsSlice())
	b = append(append(b, h.options...), upper...)
	be.PutUint16(b[10:], checksum.Of(b[:octets]))
	if h.fragment&^dontFragment == 0 {
		finish(b, octets, h.protocol)
	}
	return b
}

// finish writes the checksum of what is above IP, from octet at on.
func finish(b []byte, at int, protocol byte) {
	upper, field := b[at:], checksumAt(protocol)
	if field < 0 || len(upper) < field+2 {
		return
	}
	be.PutUint16(upper[field:], 0)
	total := checksum.Sum(upper, 0)
	if protocol != unix.IPPROTO_ICMP {
		total += pseudo(b, protocol, len(upper))
	}
	be.PutUint16(upper[field:], ^checksum.Fold(total))
}

// checksumAt is where a protocol has its checksum; -1: nowhere.
func checksumAt(protocol byte) int {
	switch protocol {
	case unix.IPPROTO_UDP:
		return 6
	case unix.IPPROTO_TCP:
		return 16
	case unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6:
		return 2
	}
	return -1
}

// pseudo is the sum of the pseudo header of the IP packet b.
func pseudo(b []byte, protocol byte, octets int) uint64 {
	addresses := b[12:20]
	if b[0]>>4 == 6 {
		addresses = b[8:40]
	}
	return checksum.Pseudo(addresses, protocol) + checksum.Word(uint16(octets))
}

func udp(source, destination uint16, payload []byte) []byte {
	b := be.AppendUint16(nil, source)
	b = be.AppendUint16(b, destination)
	b = be.AppendUint16(b, uint16(inet.LenUDP+len(payload)))
	return append(append(b, 0, 0), payload...)
}

const (
	flagACK = 0x10
	flagPSH = 0x08
)

func tcp(source, destination uint16, seq, ack uint32, flags byte, payload []byte) []byte {
	b := be.AppendUint16(nil, source)
	b = be.AppendUint16(b, destination)
	b = be.AppendUint32(b, seq)
	b = be.AppendUint32(b, ack)
	b = append(b, inet.LenTCP/4<<4, flags, 0xff, 0xff, 0, 0, 0, 0)
	return append(b, payload...)
}

// echo is an Echo Request of ICMP or ICMPv6.
func echo(kind byte, identifier, sequence uint16, payload []byte) []byte {
	b := []byte{kind, 0, 0, 0}
	b = be.AppendUint16(b, identifier)
	b = be.AppendUint16(b, sequence)
	return append(b, payload...)
}
