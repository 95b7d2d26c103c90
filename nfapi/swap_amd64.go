package nfapi

import "golang.org/x/sys/cpu"

// swapWordsAVX2 is swapWordsGo for n octets, a multiple of 32.
//
//go:noescape
func swapWordsAVX2(dst, src *byte, n int)

// swapWords reverses the octets of each 32-bit word of src into dst; both have the
// same length, a multiple of 4.
func swapWords(dst, src []byte) {
	if n := len(src) &^ 31; n > 0 && len(dst) >= n && cpu.X86.HasAVX2 {
		swapWordsAVX2(&dst[0], &src[0], n)
		dst, src = dst[n:], src[n:]
	}
	swapWordsGo(dst, src)
}
