package checksum

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// plain is the checksum as RFC 1071 words it, 16 bits at a time.
func plain(b []byte) uint16 {
	var sum uint64
	for ; len(b) > 1; b = b[2:] {
		sum += uint64(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// TestOf compares with RFC 1071's algorithm, and with its example (3).
func TestOf(t *testing.T) {
	if got := Of([]byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}); got != ^uint16(0xddf2) {
		t.Errorf("the example of RFC 1071 is %#x, want %#x", got, ^uint16(0xddf2))
	}
	draw := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 65535)
	for i := range b {
		b[i] = byte(draw.Uint32())
	}
	ones := make([]byte, 65535)
	for i := range ones {
		ones[i] = 0xff
	}
	for _, octets := range []int{0, 1, 2, 3, 7, 8, 9, 20, 63, 64, 65, 127, 128, 1500, 65534, 65535} {
		for _, all := range [][]byte{b, ones} {
			if got, want := Of(all[:octets]), plain(all[:octets]); got != want {
				t.Errorf("%d octets: %#x, want %#x", octets, got, want)
			}
		}
	}
}

// TestPseudo compares with the octets of RFC 8200's pseudo header.
func TestPseudo(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		addresses := make([]byte, 32)
		for i := range addresses {
			addresses[i] = byte(draw.Uint32())
		}
		payload := addresses[:draw.IntN(32)]
		header := append(append([]byte{}, addresses...), 0, 0, byte(len(payload)>>8), byte(len(payload)), 0, 0, 0, 17)
		want := plain(append(header, payload...))
		if got := ^Fold(Sum(payload, Pseudo(addresses, 17)+Word(uint16(len(payload))))); got != want {
			t.Fatalf("%x: %#x, want %#x", addresses, got, want)
		}
	}
}
