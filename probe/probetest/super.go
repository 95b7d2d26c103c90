package probetest

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// virtio is struct virtio_net_hdr, in front of what packet sockets and TUN devices get.
// Source: Virtual I/O Device (VIRTIO) 1.2, 5.1.6.
type virtio struct {
	flags, gsoType        byte
	hdrLen, gsoSize       uint16
	csumStart, csumOffset uint16
}

const lenVirtio = 10

func (v virtio) append(b []byte) []byte {
	b = append(b, v.flags, v.gsoType)
	for _, field := range []uint16{v.hdrLen, v.gsoSize, v.csumStart, v.csumOffset} {
		b = binary.NativeEndian.AppendUint16(b, field)
	}
	return b
}

// merge makes one packet of several with the same headers, which the kernel is to cut
// into these again: TCP segments or UDP datagrams, without IP options. All but the last
// have the same payload.
func merge(packets [][]byte) ([]byte, virtio) {
	first := packets[0]
	at, protocol := inet.LenIPv4, first[9]
	if first[0]>>4 == 6 {
		at, protocol = inet.LenIPv6, first[6]
	}
	headers := at + inet.LenUDP
	v := virtio{flags: unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, gsoType: unix.VIRTIO_NET_HDR_GSO_UDP_L4, csumStart: uint16(at)}
	if protocol == unix.IPPROTO_TCP {
		headers = at + inet.LenTCP
		v.gsoType = unix.VIRTIO_NET_HDR_GSO_TCPV4
		if at == inet.LenIPv6 {
			v.gsoType = unix.VIRTIO_NET_HDR_GSO_TCPV6
		}
	}
	v.hdrLen, v.gsoSize, v.csumOffset = uint16(headers), uint16(len(first)-headers), uint16(checksumAt(protocol))
	b := slices.Clone(first[:headers])
	for _, p := range packets {
		b = append(b, p[headers:]...)
	}
	lengthen(b, at, protocol)
	return b, v
}

// lengthen gives a packet that has grown the lengths that it has now, and the sum of the
// pseudo header for a checksum.
func lengthen(b []byte, at int, protocol byte) {
	upper := len(b) - at
	if at == inet.LenIPv6 {
		be.PutUint16(b[4:], uint16(upper))
	} else {
		be.PutUint16(b[2:], uint16(len(b)))
		be.PutUint16(b[10:], 0)
		be.PutUint16(b[10:], checksum.Of(b[:at]))
	}
	if protocol == unix.IPPROTO_UDP {
		be.PutUint16(b[at+4:], uint16(upper))
	}
	be.PutUint16(b[at+checksumAt(protocol):], checksum.Fold(pseudo(b, protocol, upper)))
}

// follows reports whether b can stand behind a in a super-packet: another TCP segment or
// UDP datagram of the same flow and length, next in its numbers.
func follows(a, b []byte) bool {
	if len(a) != len(b) || a[0] != b[0] {
		return false
	}
	at, protocol, same := inet.LenIPv4, a[9], string(a[6:10])+string(a[12:24]) == string(b[6:10])+string(b[12:24])
	if a[0] == 6<<4 {
		at, protocol, same = inet.LenIPv6, a[6], string(a[4:44]) == string(b[4:44])
	} else if a[0] != 4<<4|inet.LenIPv4/4 || be.Uint16(b[4:]) != be.Uint16(a[4:])+1 {
		return false
	}
	switch protocol {
	case unix.IPPROTO_UDP:
		return same
	case unix.IPPROTO_TCP:
		payload := uint32(len(a) - at - inet.LenTCP)
		return same && payload > 0 && be.Uint32(b[at+4:]) == be.Uint32(a[at+4:])+payload
	}
	return false
}
