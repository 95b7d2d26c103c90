package vnet

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

const testMTU = 1456

// naiveSum is a folded sum by the book. Source: RFC 1071, 4.1.
func naiveSum(b []byte, from uint64) uint16 {
	for i, octet := range b {
		from += uint64(octet) << (8 * (1 - i%2))
	}
	for from>>16 != 0 {
		from = from>>16 + from&0xffff
	}
	return uint16(from)
}

// unfinishedPacket is an IPv4 or IPv6 packet of TCP or UDP whose checksum field has the
// sum of the pseudo header.
func unfinishedPacket(ipv6 bool, protocol byte, payload int) []byte {
	transport := inet.LenTCP
	if protocol == unix.IPPROTO_UDP {
		transport = inet.LenUDP
	}
	var b []byte
	addresses := 12
	if ipv6 {
		b = append(b, 0x60, 0, 0, 0, 0, 0, protocol, 64)
		binary.BigEndian.PutUint16(b[4:], uint16(transport+payload))
		b = append(b, bytes.Repeat([]byte{0xfd, 0x64}, 16)...)
		addresses = 8
	} else {
		b = append(b, 0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, protocol, 0, 0, 10, 6, 0, 2, 10, 64, 0, 1)
		binary.BigEndian.PutUint16(b[2:], uint16(inet.LenIPv4+transport+payload))
	}
	at := len(b)
	pseudo := naiveSum(b[addresses:], uint64(protocol)+uint64(transport+payload))
	b = append(b, make([]byte, transport+payload)...)
	field := 6
	if protocol == unix.IPPROTO_TCP {
		field = 16
		b[at+12] = inet.LenTCP / 4 << 4
	}
	binary.BigEndian.PutUint16(b[at:], 5001)
	binary.BigEndian.PutUint16(b[at+field:], pseudo)
	for i := at + transport; i < len(b); i++ {
		b[i] = byte(i * 7)
	}
	return b
}

func TestUnfinished(t *testing.T) {
	const tcp4, tcp6, ecn = unix.VIRTIO_NET_HDR_GSO_TCPV4, unix.VIRTIO_NET_HDR_GSO_TCPV6, unix.VIRTIO_NET_HDR_GSO_ECN
	withOptions := unfinishedPacket(false, unix.IPPROTO_TCP, 40000)
	withOptions[inet.LenIPv4+12] = 8 << 4
	withCWR := unfinishedPacket(true, unix.IPPROTO_TCP, 40000)
	withCWR[inet.LenIPv6+13] = flagCWR
	fragment := unfinishedPacket(false, unix.IPPROTO_TCP, 100)
	fragment[6] = 0x20
	noOffset := unfinishedPacket(false, unix.IPPROTO_TCP, 40000)
	noOffset[inet.LenIPv4+12] = 4 << 4
	other := unfinishedPacket(false, unix.IPPROTO_TCP, 100)
	other[inet.LenIPv4+16]++
	for _, tc := range []struct {
		name string
		in   []byte
		want header
		ok   bool
	}{
		{"TCP of one segment", unfinishedPacket(false, unix.IPPROTO_TCP, 1416), header{flags: 1, csumStart: 20, csumOffset: 16}, true},
		{"TCP of more", unfinishedPacket(false, unix.IPPROTO_TCP, 1417), header{1, tcp4, 40, 1416, 20, 16}, true},
		{"TCP with options", withOptions, header{1, tcp4, 52, 1404, 20, 16}, true},
		{"TCP over IPv6, CWR", withCWR, header{1, tcp6 | ecn, 60, 1396, 40, 16}, true},
		{"UDP", unfinishedPacket(false, unix.IPPROTO_UDP, 100), header{flags: 1, csumStart: 20, csumOffset: 6}, true},
		{"UDP over IPv6", unfinishedPacket(true, unix.IPPROTO_UDP, 0), header{flags: 1, csumStart: 40, csumOffset: 6}, true},
		{"another checksum", other, header{}, false},
		{"a fragment", fragment, header{}, false},
		{"another protocol", unfinishedPacket(false, unix.IPPROTO_ICMP, 100), header{}, false},
		{"TCP header of 16 octets", noOffset, header{}, false},
		{"octets behind the packet", append(unfinishedPacket(false, unix.IPPROTO_TCP, 100), 0), header{}, false},
		{"cut in the TCP header", unfinishedPacket(false, unix.IPPROTO_TCP, 0)[:39], header{}, false},
		{"cut in the IPv6 header", unfinishedPacket(true, unix.IPPROTO_TCP, 0)[:39], header{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := fake(true)
			s, ok := w.AddUnfinished(tc.in, 0, testMTU)
			if ok != tc.ok || ok && s.header != tc.want {
				t.Errorf("got %+v, %t; want %+v, %t", s.header, ok, tc.want, tc.ok)
			}
			headers, packets := written(w)
			if added := len(packets) == 1 && bytes.Equal(packets[0], tc.in) && headers[0] == tc.want; added != tc.ok {
				t.Errorf("written: %+v, %d packets", headers, len(packets))
			}
		})
	}
}

// TestUnfinishedOrder: what follows an unfinished packet of its flow is not joined to
// what was before it.
func TestUnfinishedOrder(t *testing.T) {
	f := flow{tcp: true}
	w := fake(true)
	w.Add(f.packet([]byte("one"), flagACK), 0)
	if _, ok := w.AddUnfinished(unfinishedPacket(false, unix.IPPROTO_TCP, 100), 0, testMTU); !ok {
		t.Fatal("not taken for unfinished")
	}
	w.Add(f.packet([]byte("two"), flagACK), 0)
	if _, packets := written(w); len(packets) != 3 {
		t.Errorf("got %d packets, want 3", len(packets))
	}
}

// TestUnfinishedFull takes a packet through all values of one 16-bit word, with
// its checksum complete. One of them has by chance the pseudo header's sum in the
// checksum field: then completing it again changes nothing.
func TestUnfinishedFull(t *testing.T) {
	taken := 0
	for word := range 1 << 16 {
		b := unfinishedPacket(false, unix.IPPROTO_TCP, 8)
		binary.BigEndian.PutUint16(b[inet.LenIPv4+inet.LenTCP:], uint16(word))
		complete(b, header{csumStart: inet.LenIPv4, csumOffset: 16})
		want := hex.EncodeToString(b)
		h, ok := unfinished(b, testMTU)
		if !ok {
			continue
		}
		taken++
		complete(b, h)
		if got := hex.EncodeToString(b); got != want {
			t.Errorf("word %#04x: got %s, want %s", word, got, want)
		}
	}
	if taken == 0 || taken > 2 {
		t.Errorf("got %d of 65536 packets for unfinished, want one, or two with both zeros", taken)
	}
}

// FuzzUnfinished: what the kernel is told of a packet lies within it, segments have
// the device's MTU, and a checksum that is completed is right.
func FuzzUnfinished(f *testing.F) {
	for _, size := range []int{0, 100, 40000} {
		f.Add(unfinishedPacket(false, unix.IPPROTO_TCP, size))
		f.Add(unfinishedPacket(true, unix.IPPROTO_TCP, size))
		f.Add(unfinishedPacket(true, unix.IPPROTO_UDP, size))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ok := unfinished(b, testMTU)
		if !ok {
			return
		}
		if h.flags != unix.VIRTIO_NET_HDR_F_NEEDS_CSUM || !complete(b, h) {
			t.Fatalf("%+v for %d octets", h, len(b))
		}
		if h.gsoType != unix.VIRTIO_NET_HDR_GSO_NONE && (int(h.hdrLen) >= len(b) || h.hdrLen+h.gsoSize != testMTU || h.gsoSize == 0) {
			t.Errorf("%+v for %d octets, MTU %d", h, len(b), testMTU)
		}
		upper, protocol, _, _ := upperOf(b)
		addresses := b[12:20]
		if b[0]>>4 == 6 {
			addresses = b[8:40]
		}
		pseudo := naiveSum(addresses, uint64(protocol)+uint64(len(b)-upper))
		if got := naiveSum(b[upper:], uint64(pseudo)); got != 0xffff {
			t.Errorf("checksum completed: sums to %#04x, want 0xffff", got)
		}
	})
}

func TestSuper(t *testing.T) {
	s := Super{header{1, unix.VIRTIO_NET_HDR_GSO_TCPV4, 40, 1400, 20, 16}}
	for _, tc := range []struct{ size, packets, octets int }{
		{41, 1, 41}, {1440, 1, 1440}, {1441, 2, 1481}, {40 + 3*1400, 3, 3 * 1440},
	} {
		if packets, octets := s.Volume(tc.size); packets != tc.packets || octets != tc.octets {
			t.Errorf("%d octets: got %d packets, %d octets; want %d, %d", tc.size, packets, octets, tc.packets, tc.octets)
		}
	}
	b := make([]byte, HeaderLen)
	s.Put(b, 50)
	var got header
	got.get(b)
	if want := (header{1, unix.VIRTIO_NET_HDR_GSO_TCPV4, 90, 1400, 70, 16}); got != want {
		t.Errorf("behind 50 octets: got %+v, want %+v", got, want)
	}
}

// TestKeepWhole: a reader that keeps super-packets whole gives them as the kernel did,
// and nothing that makes no sense.
func TestKeepWhole(t *testing.T) {
	r := NewReader(&Queue{device: &Device{}}, [][]byte{make([]byte, MaxPacket+HeaderLen), make([]byte, MaxPacket+HeaderLen), nil}, HeaderLen)
	r.supers = make([]header, len(r.sizes))
	packet := unfinishedPacket(false, unix.IPPROTO_TCP, 3000)
	kernel := header{1, unix.VIRTIO_NET_HDR_GSO_TCPV4, 100, 1400, 20, 16} // hdr_len is a hint only
	for _, h := range []header{kernel, {gsoType: unix.VIRTIO_NET_HDR_GSO_TCPV4}, {}} {
		h.put(r.bufs[r.n])
		r.take(r.bufs[r.n][:HeaderLen+copy(r.bufs[r.n][HeaderLen:], packet)])
	}
	if r.n != 2 || r.Senseless != 1 {
		t.Fatalf("got %d packets, %d senseless; want 2, 1", r.n, r.Senseless)
	}
	buf, start, end := r.Packet(0)
	s, ok := r.Super(0)
	if want := (header{1, unix.VIRTIO_NET_HDR_GSO_TCPV4, 40, 1400, 20, 16}); !ok || s.header != want || !bytes.Equal(buf[start:end], packet) {
		t.Errorf("got %+v, %t; want %+v", s.header, ok, want)
	}
	if _, ok := r.Super(1); ok {
		t.Error("packet 1 is no super-packet")
	}
}
