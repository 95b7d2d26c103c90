package vnet

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// TestCutter cuts packets that were never on a wire: every piece is a whole packet with
// the right checksum, and together they have the payload.
func TestCutter(t *testing.T) {
	for _, tc := range []struct {
		name     string
		ipv6     bool
		protocol byte
		payload  int
		want     []int // payloads of what is cut; none: it goes as it is
	}{
		{"TCP of one segment", false, unix.IPPROTO_TCP, 1416, nil},
		{"TCP of two", false, unix.IPPROTO_TCP, 1417, []int{1416, 1}},
		{"TCP over IPv6 of three", true, unix.IPPROTO_TCP, 3000, []int{1396, 1396, 208}},
		{"UDP", false, unix.IPPROTO_UDP, 1000, nil},
		{"UDP over IPv6", true, unix.IPPROTO_UDP, 1000, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			packet := unfinishedPacket(tc.ipv6, tc.protocol, tc.payload)
			payload := bytes.Clone(packet[len(packet)-tc.payload:])
			var c Cutter
			s, ok := c.Begin(packet, testMTU)
			if ok != (tc.want != nil) {
				t.Fatalf("to be cut: %t", ok)
			}
			if !ok {
				checkTransport(t, packet)
				return
			}
			if packets, _ := s.Volume(len(packet)); packets != len(tc.want) {
				t.Errorf("it stands for %d packets, want %d", packets, len(tc.want))
			}
			var got []byte
			for _, want := range tc.want {
				out := make([]byte, testMTU)
				n := c.Next(out)
				checkTransport(t, out[:n])
				got = append(got, out[n-want:n]...)
			}
			if n := c.Next(make([]byte, testMTU)); n != 0 || !bytes.Equal(got, payload) {
				t.Errorf("%d octets more, payload right: %t", n, bytes.Equal(got, payload))
			}
		})
	}
}

// TestCutterWire leaves packets alone that have a checksum.
func TestCutterWire(t *testing.T) {
	packet := unfinishedPacket(false, unix.IPPROTO_TCP, 40000)
	packet[inet.LenIPv4+16]++
	before := bytes.Clone(packet)
	var c Cutter
	if _, ok := c.Begin(packet, testMTU); ok || !bytes.Equal(packet, before) {
		t.Errorf("cut: %t, changed: %t", ok, !bytes.Equal(packet, before))
	}
}

// checkTransport sums TCP or UDP by the book.
func checkTransport(t *testing.T, packet []byte) {
	t.Helper()
	upper, protocol, addresses := inet.LenIPv4, packet[9], packet[12:20]
	if packet[0]>>4 == 6 {
		upper, protocol, addresses = inet.LenIPv6, packet[6], packet[8:40]
	} else if got := naiveSum(packet[:inet.LenIPv4], 0); got != 0xffff && packet[10]|packet[11] != 0 {
		t.Errorf("the IPv4 header sums up to %#x", got)
	}
	pseudo := uint64(naiveSum(addresses, uint64(protocol)+uint64(len(packet)-upper)))
	if got := naiveSum(packet[upper:], pseudo); got != 0xffff {
		t.Errorf("packet of %d octets sums up to %#x, want 0xffff", len(packet), got)
	}
}
