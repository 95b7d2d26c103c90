package vnet

import "golang.org/x/sys/unix"

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
