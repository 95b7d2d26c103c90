package vnet

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Super says of a packet what its octets do not: that its checksum has still to be
// completed, and that it may stand for many, which are to be cut from it.
type Super struct{ header header }

// HeaderLen is how many octets [Super.Put] writes.
const HeaderLen = lenHeader

// Put writes struct virtio_net_hdr of a frame that has so many octets in front of the
// packet, for a packet socket with PACKET_VNET_HDR.
//
// Precondition: b has HeaderLen octets.
func (s Super) Put(b []byte, before int) {
	h := s.header
	h.csumStart += uint16(before)
	if h.hdrLen > 0 {
		h.hdrLen += uint16(before)
	}
	h.put(b)
}

// Volume returns how many packets there are in one of so many octets, and the octets
// of them all.
func (s Super) Volume(octets int) (packets, total int) {
	h := s.header
	if h.gsoType == unix.VIRTIO_NET_HDR_GSO_NONE {
		return 1, octets
	}
	payload := octets - int(h.hdrLen)
	packets = (payload + int(h.gsoSize) - 1) / int(h.gsoSize)
	return packets, octets + (packets-1)*int(h.hdrLen)
}

// KeepWhole has super-packets of TCP come as they are, up to 64 KiB: [Reader.Super]
// tells of them. The kernel no longer gives super-packets of UDP to the queue, from now on.
// It is for TUN devices, before the first Next.
func (r *Reader) KeepWhole() error {
	const tcp = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6
	var err error
	control := r.queue.conn.Control(func(fd uintptr) { err = unix.IoctlSetInt(int(fd), unix.TUNSETOFFLOAD, tcp) })
	if control != nil {
		return control
	}
	r.supers = make([]header, len(r.sizes))
	return os.NewSyscallError("TUNSETOFFLOAD", err)
}

// Super returns what is to be known of packet i if it is a super-packet.
func (r *Reader) Super(i int) (s Super, ok bool) {
	if r.supers == nil || r.supers[i].gsoType == unix.VIRTIO_NET_HDR_GSO_NONE {
		return Super{}, false
	}
	return Super{r.supers[i]}, true
}

// keep takes the super-packet in buffer r.n as it is, and reports whether it makes sense.
func (r *Reader) keep(packet []byte, h header) bool {
	var s splitter
	if !s.begin(packet, 0, h) || s.udp {
		return false
	}
	h.hdrLen = uint16(s.headers)
	r.sizes[r.n], r.supers[r.n] = len(packet), h
	r.n++
	return true
}

// AddUnfinished is Add for packets that may never have been on a wire, and a device of
// so many octets of MTU. Who sent such a packet on this machine left its checksum to
// a device that computes it, and, if it is TCP, may have left it to be cut, too; the
// kernel is told so. ok is false if the packet is like any other, and not added.
//
// The checksum field of such a packet has the sum of the pseudo header. Another packet has
// the same there once in 65536 times; its checksum is then not verified, but completing
// it gives what it was. So this is only for what came by ways without wires.
//
// Preconditions: those of Add; the device is a TUN.
func (w *Writer) AddUnfinished(packet []byte, flow uint32, mtu int) (s Super, ok bool) {
	if s.header, ok = unfinished(packet, mtu); !ok {
		return s, false
	}
	w.flows[flow>>24] = -1 // nothing behind it is joined to what is in front of it
	s.header.put(w.begin(packet).header[:])
	return s, true
}

// unfinished returns the header of a packet whose checksum is still to be completed.
func unfinished(p []byte, mtu int) (h header, ok bool) {
	upper, protocol, acc, ok := upperOf(p)
	if !ok {
		return h, false
	}
	segment := p[upper:]
	switch {
	case protocol == unix.IPPROTO_TCP && len(segment) >= inet.LenTCP:
		h.csumOffset = 16
	case protocol == unix.IPPROTO_UDP && len(segment) >= inet.LenUDP:
		h.csumOffset = 6
	default:
		return h, false
	}
	if binary.BigEndian.Uint16(segment[h.csumOffset:]) != checksum.Fold(acc+checksum.Word(uint16(len(segment)))) {
		return h, false
	}
	h.flags, h.csumStart = unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, uint16(upper)
	if protocol == unix.IPPROTO_TCP && len(p) > mtu {
		ok = h.cut(p, mtu)
	}
	return h, ok
}

// upperOf finds what is behind the IP header of a whole packet, and sums the pseudo
// header but its length. It knows no fragments and no extension headers.
func upperOf(p []byte) (upper int, protocol byte, acc uint64, ok bool) {
	switch {
	case len(p) >= inet.LenIPv4 && p[0]>>4 == 4:
		upper, protocol = 4*int(p[0]&0xf), p[9]
		acc, ok = checksum.Pseudo(p[12:20], protocol), int(binary.BigEndian.Uint16(p[2:])) == len(p)
		ok = ok && upper >= inet.LenIPv4 && binary.BigEndian.Uint16(p[6:])&0xbfff == 0
	case len(p) >= inet.LenIPv6 && p[0]>>4 == 6:
		upper, protocol = inet.LenIPv6, p[6]
		acc, ok = checksum.Pseudo(p[8:40], protocol), int(binary.BigEndian.Uint16(p[4:])) == len(p)-inet.LenIPv6
	}
	return upper, protocol, acc, ok && upper <= len(p)
}

// cut has h say that the TCP packet p is to be cut to an MTU. It reports whether that can
// be.
func (h *header) cut(p []byte, mtu int) bool {
	tcp := p[h.csumStart:]
	size := 4 * int(tcp[12]>>4)
	headers := int(h.csumStart) + size
	if size < inet.LenTCP || headers >= mtu || headers >= len(p) {
		return false
	}
	h.hdrLen, h.gsoSize, h.gsoType = uint16(headers), uint16(mtu-headers), unix.VIRTIO_NET_HDR_GSO_TCPV4
	if p[0]>>4 == 6 {
		h.gsoType = unix.VIRTIO_NET_HDR_GSO_TCPV6
	}
	if tcp[13]&flagCWR != 0 {
		h.gsoType |= unix.VIRTIO_NET_HDR_GSO_ECN
	}
	return true
}
