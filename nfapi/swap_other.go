//go:build !amd64

package nfapi

// swapWords reverses the octets of each 32-bit word of src into dst; both have the
// same length, a multiple of 4.
func swapWords(dst, src []byte) { swapWordsGo(dst, src) }
