package vnet

import (
	"encoding/binary"
	"hash/crc32"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Cutter makes packets of the size of a wire of those that never were on one. The zero
// value is ready to use.
type Cutter struct{ cut splitter }

// Begin looks at a packet whose sender on this machine may have left its checksum, and
// its cutting, to a device. A checksum that is missing is written. It reports whether
// the packet is longer than an MTU in octets, and is to be taken by [Cutter.Next]; it
// has to stay until then, and s says for how many it stands. Any other packet may go
// as it is.
//
// A packet of a wire has what says that the checksum is missing once in 65536 times;
// writing it then changes nothing.
func (c *Cutter) Begin(packet []byte, mtu int) (s Super, ok bool) {
	if s.header, ok = unfinished(packet, mtu); !ok {
		return s, false
	}
	if s.header.gsoType == unix.VIRTIO_NET_HDR_GSO_NONE {
		complete(packet, s.header)
		return s, false
	}
	return s, c.cut.begin(packet, 0, s.header)
}

// Next writes the next packet to out, which has room for an MTU, and returns how many
// octets it has; 0: there is none left.
func (c *Cutter) Next(out []byte) int { return c.cut.next(out) }

// Frame says what is to become of a frame: see [Cutter.BeginFrame].
type Frame uint8

// What may become of a frame.
const (
	Senseless Frame = iota // what is said of it contradicts what is in it
	Whole                  // it may go as it is
	Cut                    // it is to be taken by [Cutter.Next]
)

// BeginFrame looks at an Ethernet frame and at the struct virtio_net_hdr of it, of HeaderLen octets, which a packet socket
// with PACKET_VNET_HDR gives. A checksum that was left to a device is written. A frame that stands for many is to be cut; it
// has to stay until then. Tags of VLANs may be in the frame; those that the kernel keeps beside it are not.
func (c *Cutter) BeginFrame(about, frame []byte) Frame {
	var h header
	h.get(about)
	switch {
	case h.gsoType != unix.VIRTIO_NET_HDR_GSO_NONE:
		h.gsoType &^= unix.VIRTIO_NET_HDR_GSO_ECN
		if !c.cut.begin(frame, linkHeader(frame), h) {
			return Senseless
		}
		return Cut
	case h.flags&unix.VIRTIO_NET_HDR_F_NEEDS_CSUM == 0:
		return Whole
	case h.csumOffset == offsetSCTP && protocolOf(frame) == unix.IPPROTO_SCTP:
		return completeSCTP(frame, int(h.csumStart))
	case complete(frame, h):
		return Whole
	}
	return Senseless
}

// Longest is how long the packets of what is being cut are at most.
func (c *Cutter) Longest() int { return c.cut.headers + c.cut.size }

// offsetSCTP is where in SCTP's header its checksum is, which is a CRC. Source: RFC 9260, 3.1.
const offsetSCTP = 8

// linkHeader is how many octets are in front of the IP header.
func linkHeader(frame []byte) int {
	n := inet.LenEthernet
	for n+4 <= len(frame) && isTag(binary.BigEndian.Uint16(frame[n-2:])) {
		n += 4
	}
	return n
}

func isTag(etherType uint16) bool {
	return etherType == unix.ETH_P_8021Q || etherType == unix.ETH_P_8021AD
}

// protocolOf is the protocol behind the IP header; 0: it is not known.
func protocolOf(frame []byte) byte {
	ip := linkHeader(frame)
	switch {
	case len(frame) >= ip+inet.LenIPv6 && frame[ip]>>4 == 6:
		return frame[ip+6]
	case len(frame) >= ip+inet.LenIPv4 && frame[ip]>>4 == 4:
		return frame[ip+9]
	}
	return 0
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// completeSCTP writes the CRC of the packet that begins there.
func completeSCTP(frame []byte, start int) Frame {
	if start+offsetSCTP+4 > len(frame) {
		return Senseless
	}
	at := frame[start+offsetSCTP:]
	clear(at[:4])
	binary.LittleEndian.PutUint32(at, crc32.Checksum(frame[start:], castagnoli))
	return Whole
}
