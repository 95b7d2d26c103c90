package nfapi

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// TestSwapWords: both ways of reversing words are the plain one, at any length, and
// write nothing beyond.
func TestSwapWords(t *testing.T) {
	for n := 0; n <= 600; n += 4 {
		src := make([]byte, n)
		for i := range src {
			src[i] = byte(i*13 + 1)
		}
		want := make([]byte, n+32)
		for i := 0; i < n; i += 4 {
			binary.LittleEndian.PutUint32(want[i:], binary.BigEndian.Uint32(src[i:]))
		}
		for name, swap := range map[string]func(dst, src []byte){"swapWords": swapWords, "swapWordsGo": swapWordsGo} {
			got := make([]byte, n+32)
			if swap(got[:n], src); !bytes.Equal(got, want) {
				t.Errorf("%s of %d octets\n got %x\nwant %x", name, n, got, want)
			}
		}
	}
}
