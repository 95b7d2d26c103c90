// Package printable makes text of others fit for a terminal, for tables and for results: names
// of devices, processes and slices, reasons in messages, logs of other programs. What could move
// the cursor, change colours or turn the direction of writing becomes a question mark.
//
// Source: ECMA-48, 5.4 (control sequences); Unicode Standard Annex #9, 2 (directional formatting
// characters, which Go's unicode.IsPrint leaves out with all others of category Cf).
package printable

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is a text without what cannot be printed, ends of lines and tabs among it. It has as many
// runes as before.
func Line(s string) string { return without(s, "") }

// Lines is [Line] of a text that may have several lines.
func Lines(s string) string { return without(s, "\n") }

// sequences are those of terminals, as in logs.
var sequences = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)

// Log is the text of a log, whose lines and tabs stay. Control sequences go as a whole.
func Log(s string) string { return without(sequences.ReplaceAllString(s, ""), "\n\t") }

// Name is a name, quoted if it has what cannot be printed, so that different names stay
// different.
func Name(name string) string {
	if Line(name) == name {
		return name
	}
	return strconv.QuoteToASCII(name)
}

func without(s, but string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) && !strings.ContainsRune(but, r) {
			return '?'
		}
		return r
	}, s)
}

// Octets is UTF-8 that comes in pieces, without control characters, but for ends of lines and
// tabs; last is the octet before it. Nothing gets shorter or longer. It changes b only if it
// returns another slice.
func Octets(b []byte, last byte) []byte {
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
