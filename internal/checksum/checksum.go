// Package checksum computes the Internet checksum.
//
// Source: RFC 1071; RFC 9293, 3.1; RFC 768; RFC 8200, 8.1.
package checksum

import (
	"encoding/binary"
	"math/bits"
)

// Of returns the checksum of b whose checksum field is 0. If the field holds the right value, the
// result is 0.
func Of(b []byte) uint16 { return ^Fold(Sum(b, 0)) }

// Sum adds the octets of b to acc, a sum in ones' complement of words in host byte order, which
// [Fold] puts right. Only after an even number of octets more can be added.
//
// Source: RFC 1071, 2 (B): the sum is the same in either byte order.
func Sum(b []byte, acc uint64) uint64 {
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

// Fold reduces a sum to the 16 bits of a header field, without complementing them.
func Fold(acc uint64) uint16 {
	acc = acc>>32 + acc&0xffffffff
	acc = acc>>32 + acc&0xffffffff
	acc = acc>>16 + acc&0xffff
	acc = acc>>16 + acc&0xffff
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], uint16(acc))
	return binary.BigEndian.Uint16(b[:])
}

// Word is a 16-bit header field as part of a sum.
func Word(v uint16) uint64 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], v)
	return uint64(binary.NativeEndian.Uint16(b[:]))
}

// Pseudo is the sum of a pseudo header without its length field: of both addresses and the
// protocol. It is small enough for words to be added to it.
func Pseudo(addresses []byte, protocol byte) uint64 {
	acc := Sum(addresses, Word(uint16(protocol)))
	return acc>>32 + acc&0xffffffff
}
