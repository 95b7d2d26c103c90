package vnet

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// frameOf puts an Ethernet header, with so many tags, in front of a packet.
func frameOf(packet []byte, tags int) []byte {
	f := make([]byte, 12)
	for range tags {
		f = append(f, 0x81, 0, 0, 7)
	}
	if packet[0]>>4 == 6 {
		return append(append(f, 0x86, 0xdd), packet...)
	}
	return append(append(f, 8, 0), packet...)
}

func headerOf(h header) []byte {
	b := make([]byte, HeaderLen)
	h.put(b)
	return b
}

// TestBeginFrame: what a device was to do is done to frames with tags and without.
func TestBeginFrame(t *testing.T) {
	for tags := range 3 {
		link := inet.LenEthernet + 4*tags
		for _, v6 := range []bool{false, true} {
			upper := link + inet.LenIPv4
			gso := byte(unix.VIRTIO_NET_HDR_GSO_TCPV4)
			if v6 {
				upper, gso = link+inet.LenIPv6, unix.VIRTIO_NET_HDR_GSO_TCPV6
			}
			about := header{flags: unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, csumStart: uint16(upper), csumOffset: 16}
			small := frameOf(unfinishedPacket(v6, unix.IPPROTO_TCP, 100), tags)
			var c Cutter
			if got := c.BeginFrame(headerOf(about), small); got != Whole {
				t.Errorf("%d tags, IPv6 %t: got %d, want %d", tags, v6, got, Whole)
			}
			checkTransport(t, small[link:])
			if got := c.BeginFrame(headerOf(header{}), small); got != Whole {
				t.Errorf("nothing to be done: got %d, want %d", got, Whole)
			}
			about.gsoType, about.gsoSize = gso|unix.VIRTIO_NET_HDR_GSO_ECN, 1000
			if got := c.BeginFrame(headerOf(about), frameOf(unfinishedPacket(v6, unix.IPPROTO_TCP, 2500), tags)); got != Cut {
				t.Fatalf("%d tags, IPv6 %t: got %d, want %d", tags, v6, got, Cut)
			}
			n := 0
			for out := make([]byte, c.Longest()); ; n++ {
				size := c.Next(out)
				if size == 0 {
					break
				}
				checkTransport(t, out[link:size])
			}
			if n != 3 {
				t.Errorf("%d frames, want 3", n)
			}
			about.csumStart = uint16(len(small))
			about.gsoType = 0
			if got := c.BeginFrame(headerOf(about), small); got != Senseless {
				t.Errorf("checksum behind the end: got %d, want %d", got, Senseless)
			}
		}
	}
}

// TestBeginFrameSCTP: the checksum of SCTP is a CRC.
func TestBeginFrameSCTP(t *testing.T) {
	packet := unfinishedPacket(false, unix.IPPROTO_UDP, 100)
	packet[9] = unix.IPPROTO_SCTP
	frame := frameOf(packet, 0)
	sctp := frame[inet.LenEthernet+inet.LenIPv4:]
	zeroed := bytes.Clone(sctp)
	clear(zeroed[8:12])
	var c Cutter
	got := c.BeginFrame(headerOf(header{flags: unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, csumStart: inet.LenEthernet + inet.LenIPv4, csumOffset: 8}), frame)
	if want := crc32.Checksum(zeroed, crc32.MakeTable(crc32.Castagnoli)); got != Whole || binary.LittleEndian.Uint32(sctp[8:]) != want {
		t.Errorf("got %d, %#x; want %d, %#x", got, binary.LittleEndian.Uint32(sctp[8:]), Whole, want)
	}
}
