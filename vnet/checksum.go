package vnet

import (
	"encoding/binary"
	"math/bits"
)

// sum adds the octets of b to a sum in ones' complement, as words of the machine:
// the byte order is set right in the end, by [fold]. A sum goes on only behind an
// even number of octets.
//
// Source: RFC 1071, 2 (B): the sum is the same in either byte order.
func sum(b []byte, acc uint64) uint64 {
	var carry uint64
	for len(b) >= 64 {
		w := b[:64:64]
		acc, carry = bits.Add64(acc, binary.NativeEndian.Uint64(w), carry)
		acc, carry = bits.Add64(acc, binary.NativeEndian.Uint64(w[8:]), carry)
		acc, carry = bits.Add64(acc, binary.NativeEndian.Uint64(w[16:]), carry)
		acc, carry = bits.Add64(acc, binary.NativeEndian.Uint64(w[24:]), carry)
		acc, carry = bits.Add64(acc, binary.NativeEndian.Uint64(w[32:]), carry)
		acc, carry = bits.Add64(acc, binary.NativeEndian.Uint64(w[40:]), carry)
		acc, carry = bits.Add64(acc, binary.NativeEndian.Uint64(w[48:]), carry)
		acc, carry = bits.Add64(acc, binary.NativeEndian.Uint64(w[56:]), carry)
		b = b[64:]
	}
	for len(b) >= 8 {
		acc, carry = bits.Add64(acc, binary.NativeEndian.Uint64(b), carry)
		b = b[8:]
	}
	if len(b) > 0 {
		var last [8]byte
		copy(last[:], b)
		acc, carry = bits.Add64(acc, binary.NativeEndian.Uint64(last[:]), carry)
	}
	acc, carry = bits.Add64(acc, 0, carry)
	return acc + carry
}

// fold returns a sum as the 16 bits that stand in a header, not complemented.
func fold(acc uint64) uint16 {
	acc = acc>>32 + acc&0xffffffff
	acc = acc>>32 + acc&0xffffffff
	acc = acc>>16 + acc&0xffff
	acc = acc>>16 + acc&0xffff
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], uint16(acc))
	return binary.BigEndian.Uint16(b[:])
}

// word is 16 bits of a header as part of a sum.
func word(v uint16) uint64 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], v)
	return uint64(binary.NativeEndian.Uint16(b[:]))
}

// pseudo is the sum of the pseudo header but its length, so small that words can be
// added to it. addresses are both of them.
// Source: RFC 9293, 3.1; RFC 768; RFC 8200, 8.1.
func pseudo(addresses []byte, protocol byte) uint64 {
	acc := sum(addresses, word(uint16(protocol)))
	return acc>>32 + acc&0xffffffff
}
