package gnb

import (
	"encoding/binary"
)

// vnetHeader is the size in octets of struct virtio_net_hdr, which lies before a
// packet of a TUN device and before a frame of a packet socket: how the kernel is
// told that a checksum is not complete, and that a packet is to be cut.
//
//	0      1         2        4         6           8            10
//	│flags │GSO type │hdr_len │gso_size │csum_start │csum_offset │
//
// Numbers are of the machine's byte order. Source: linux/virtio_net.h.
const vnetHeader = 10

// Values of a virtio header.
const (
	vnetNeedsChecksum = 1    // flags: the checksum field has the pseudo header's sum
	vnetGSONone       = 0    // GSO types
	vnetGSOTCPv4      = 1    //
	vnetGSOTCPv6      = 4    //
	vnetGSOUDP        = 5    // datagrams of one size (VIRTIO_NET_HDR_GSO_UDP_L4, Linux 6.2)
	vnetGSOECN        = 0x80 // with one of these: CWR is of the first segment only
)

// vnet is a virtio header. Its zero value says: a whole packet.
type vnet struct {
	flags, gsoType          uint8
	headers                 uint16 // octets before the payload
	gsoSize                 uint16 // octets of payload in each segment
	checksumAt, checksumOff uint16 // from where on it is summed, and the field from there on
}

// parseVnet reads the header at the start of b.
//
// Precondition: b has vnetHeader octets.
func parseVnet(b []byte) vnet {
	n := binary.NativeEndian
	return vnet{b[0], b[1], n.Uint16(b[2:]), n.Uint16(b[4:]), n.Uint16(b[6:]), n.Uint16(b[8:])}
}

// put writes v to the start of b.
//
// Precondition: b has vnetHeader octets.
func (v vnet) put(b []byte) {
	n := binary.NativeEndian
	b[0], b[1] = v.flags, v.gsoType
	n.PutUint16(b[2:], v.headers)
	n.PutUint16(b[4:], v.gsoSize)
	n.PutUint16(b[6:], v.checksumAt)
	n.PutUint16(b[8:], v.checksumOff)
}

// segments returns how many packets v makes of one of size octets.
func (v vnet) segments(size int) int {
	payload := size - int(v.headers)
	if v.gsoType == vnetGSONone || v.gsoSize == 0 || payload <= int(v.gsoSize) {
		return 1
	}
	return (payload + int(v.gsoSize) - 1) / int(v.gsoSize)
}

// volume returns how many packets and octets, from the IP header on, v makes of
// one packet of size octets.
func (v vnet) volume(size int) (packets, octets uint64) {
	n := v.segments(size)
	return uint64(n), uint64(size + (n-1)*int(v.headers))
}
