// Package wordwrap breaks text into lines for a terminal.
package wordwrap

import (
	"strings"
	"unicode/utf8"
)

// Lines breaks text between words, and words that are too long, into lines of at most
// width characters. It returns at least one line.
func Lines(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		if *last != "" && utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= width {
			*last += " " + word
			continue
		}
		rest := []rune(word)
		for first := *last == ""; len(rest) > 0; first = false {
			part := string(rest[:min(width, len(rest))])
			rest = rest[min(width, len(rest)):]
			if first {
				*last = part
				continue
			}
			lines = append(lines, part)
		}
	}
	return lines
}
