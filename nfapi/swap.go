package nfapi

import (
	"encoding/binary"
	"math/bits"
)

// swapWordsGo reverses the octets of each 32-bit word of src into dst; both have the
// same length, a multiple of 4.
func swapWordsGo(dst, src []byte) {
	for len(src) >= 8 && len(dst) >= 8 {
		v := binary.LittleEndian.Uint64(src)
		binary.LittleEndian.PutUint64(dst, bits.RotateLeft64(bits.ReverseBytes64(v), 32))
		src, dst = src[8:], dst[8:]
	}
	if len(src) >= 4 && len(dst) >= 4 {
		binary.LittleEndian.PutUint32(dst, bits.ReverseBytes32(binary.LittleEndian.Uint32(src)))
	}
}
