package port

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/vnet"
)

// finisher completes checksums that a sender on this machine has offloaded to its device. An AF_XDP
// socket gets no metadata about this, but the checksum field then holds the sum of the pseudo
// header. A frame that has this value by chance keeps it, if it is correct.
type finisher struct {
	cutter vnet.Cutter
	about  [vnet.HeaderLen]byte
}

// finish makes the checksum of a TCP segment or a UDP datagram whole if it is not.
func (f *finisher) finish(frame []byte) {
	start, offset, ok := unfinished(frame)
	if !ok {
		return
	}
	f.about[0] = unix.VIRTIO_NET_HDR_F_NEEDS_CSUM
	binary.NativeEndian.PutUint16(f.about[6:], uint16(start))
	binary.NativeEndian.PutUint16(f.about[8:], uint16(offset))
	f.cutter.BeginFrame(f.about[:], frame)
}

// unfinished returns the offset of the TCP or UDP header of a frame and that of the checksum in it;
// ok: it is not complete yet.
func unfinished(frame []byte) (start, offset int, ok bool) {
	at := inet.LenEthernet
	if len(frame) < at+inet.LenIPv4 {
		return 0, 0, false
	}
	etherType := binary.BigEndian.Uint16(frame[at-2:])
	for tags := 0; tags < 2 && (etherType == unix.ETH_P_8021Q || etherType == unix.ETH_P_8021AD); tags++ {
		if at += inet.LenTag; len(frame) < at+inet.LenIPv4 {
			return 0, 0, false
		}
		etherType = binary.BigEndian.Uint16(frame[at-2:])
	}
	ip := frame[at:]
	var addresses []byte
	var protocol byte
	var head, octets int
	switch {
	case etherType == inet.EtherIPv4 && ip[0]>>4 == 4:
		head, octets = int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
		if binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 { // a fragment
			return 0, 0, false
		}
		addresses, protocol = ip[12:20], ip[9]
	case etherType == inet.EtherIPv6 && ip[0]>>4 == 6 && len(ip) >= inet.LenIPv6:
		head, octets = inet.LenIPv6, inet.LenIPv6+int(binary.BigEndian.Uint16(ip[4:]))
		addresses, protocol = ip[8:40], ip[6]
	default:
		return 0, 0, false
	}
	return atTransport(at, ip, head, octets, addresses, protocol)
}

// atTransport is unfinished for the IP packet at an offset of a frame, with a header of head octets.
func atTransport(at int, ip []byte, head, octets int, addresses []byte, protocol byte) (start, offset int, ok bool) {
	least := 0
	switch protocol {
	case unix.IPPROTO_SCTP: // of which nothing is left there
		if head < inet.LenIPv4 || octets < head+12 || octets > len(ip) {
			return 0, 0, false
		}
		return at + head, 8, binary.BigEndian.Uint32(ip[head+8:]) == 0
	case unix.IPPROTO_TCP:
		offset, least = 16, 20
	case unix.IPPROTO_UDP:
		offset, least = 6, 8
	default:
		return 0, 0, false
	}
	if head < inet.LenIPv4 || octets < head+least || octets > len(ip) {
		return 0, 0, false
	}
	sum := uint32(protocol) + uint32(octets-head)
	for i := 0; i < len(addresses); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(addresses[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return at + head, offset, uint32(binary.BigEndian.Uint16(ip[head+offset:])) == sum
}
