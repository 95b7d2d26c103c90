package p4rt

import (
	"bytes"
	"math/bits"
)

// number returns the shortest form of an octet string that is a number of at most this many bits. A
// number of any length is accepted if its value fits; an empty string is not a number. Source:
// P4Runtime Specification v1.4.1, 8.4.
func number(b []byte, width int) (short []byte, ok bool) {
	if len(b) == 0 {
		return nil, false
	}
	b = shortest(b)
	return b, bitLen(b) <= width
}

// shortest drops leading zeros, except the last octet.
func shortest(b []byte) []byte {
	for len(b) > 1 && b[0] == 0 {
		b = b[1:]
	}
	return b
}

// bitLen is the number of bits of a number in its shortest form.
func bitLen(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	return 8*(len(b)-1) + bits.Len8(b[0])
}

// isZero reports whether a number in its shortest form is 0.
func isZero(b []byte) bool { return len(b) == 1 && b[0] == 0 }

// within reports whether value has no bit that mask has not; both are in their shortest form.
func within(value, mask []byte) bool {
	if len(value) > len(mask) {
		return false
	}
	mask = mask[len(mask)-len(value):]
	for i, v := range value {
		if v&^mask[i] != 0 {
			return false
		}
	}
	return true
}

// greater reports whether a number is greater than another; both are in their shortest form.
func greater(a, b []byte) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return bytes.Compare(a, b) > 0
}

// allOnes reports whether a number in its shortest form has exactly this number of bits, all set.
func allOnes(b []byte, width int) bool {
	if bitLen(b) != width {
		return false
	}
	return bits.OnesCount8(b[0]) == bits.Len8(b[0]) && allFull(b[1:])
}

func allFull(b []byte) bool {
	for _, v := range b {
		if v != 0xff {
			return false
		}
	}
	return true
}

// ones is the number with this many bits, all set.
func ones(width int) []byte {
	b := bytes.Repeat([]byte{0xff}, max((width+7)/8, 1))
	if r := width % 8; r != 0 {
		b[0] = 1<<r - 1
	}
	return b
}

// trailingZeros counts the zero bits at the end of a number, at most as many as it has.
func trailingZeros(b []byte) int {
	n := 0
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != 0 {
			return n + bits.TrailingZeros8(b[i])
		}
		n += 8
	}
	return n
}

// getUint is the value of a number of at most 64 bits.
func getUint(b []byte) uint64 {
	var v uint64
	for _, x := range b {
		v = v<<8 | uint64(x)
	}
	return v
}
