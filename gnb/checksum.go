package gnb

import (
	"encoding/binary"
	"math/bits"
)

// sum adds the octets of b to the ones' complement sum from, as 16-bit words of
// network byte order, an odd octet at the end being the high one of its word. b
// must begin at an even octet of what is summed. Source: RFC 1071.
func sum(b []byte, from uint64) uint64 {
	var carry uint64
	for len(b) >= 32 {
		from, carry = bits.Add64(from, binary.BigEndian.Uint64(b), 0)
		from, carry = bits.Add64(from, binary.BigEndian.Uint64(b[8:]), carry)
		from, carry = bits.Add64(from, binary.BigEndian.Uint64(b[16:]), carry)
		from, carry = bits.Add64(from, binary.BigEndian.Uint64(b[24:]), carry)
		from, carry = bits.Add64(from, 0, carry)
		from += carry
		b = b[32:]
	}
	for len(b) >= 2 {
		from, carry = bits.Add64(from, uint64(binary.BigEndian.Uint16(b)), 0)
		from += carry
		b = b[2:]
	}
	if len(b) == 1 {
		from, carry = bits.Add64(from, uint64(b[0])<<8, 0)
		from += carry
	}
	return from
}

// fold makes 16 bits of a sum.
func fold(s uint64) uint16 {
	s = s>>32 + s&0xffffffff
	s = s>>32 + s&0xffffffff
	s = s>>16 + s&0xffff
	s = s>>16 + s&0xffff
	return uint16(s)
}

// complete puts the checksum where v says that the pseudo header's sum is. It
// reports whether b is long enough for that. Of the two zeros it takes the one
// that does not mean to UDP that there is none.
func (v vnet) complete(b []byte) bool {
	at := int(v.checksumAt) + int(v.checksumOff)
	if at+2 > len(b) {
		return false
	}
	checksum := ^fold(sum(b[v.checksumAt:], 0))
	if checksum == 0 {
		checksum = 0xffff
	}
	binary.BigEndian.PutUint16(b[at:], checksum)
	return true
}
