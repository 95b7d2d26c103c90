package main

import (
	"bytes"
	"strings"
)

// printable keeps names and reasons of others from moving the cursor.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}

// printableLines is [printable] of text that may have several lines.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// printableOctets is the same for UTF-8 that comes in pieces, in which lines end and tabs
// stand; last is the octet before it. Nothing gets shorter or longer. It changes b only if
// it returns another slice.
func printableOctets(b []byte, last byte) []byte {
	const firstOfC1 = 0xc2 // of U+0080 to U+00BF
	own := false
	for i, c := range b {
		if c >= ' ' && c != 0x7f && (last != firstOfC1 || c >= 0xa0) || c == '\n' || c == '\t' {
			last = c
			continue
		}
		if !own {
			b, own = bytes.Clone(b), true
		}
		b[i] = '?'
		last = '?'
	}
	return b
}
