package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shortNames are names that have room in a chart, by the whole ones: no two are the same.
// What is too long loses what it has in common with the others that are; of what still is
// too long both ends stay.
func shortNames(names []string) map[string]string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	var long []string
	short := map[string]string{}
	for _, name := range names {
		if short[name] = name; !fits(name) {
			long = append(long, name)
		}
	}
	head, tail := common(long)
	used := map[string]bool{}
	for _, name := range names {
		if fits(name) {
			used[name] = true
		}
	}
	for _, name := range long {
		text := stripped(name, head, 0)
		if !fits(text) {
			text = middleCut(stripped(name, head, tail), maxName)
		}
		for n, base := 2, text; used[text]; n++ {
			number := fmt.Sprintf("~%d", n)
			text = middleCut(base, maxName-len(number)) + number
		}
		short[name], used[text] = text, true
	}
	return short
}

func fits(name string) bool { return utf8.RuneCountInString(name) <= maxName }

// stripped is a name without so many octets at its ends.
func stripped(name string, head, tail int) string {
	text := name[head : len(name)-tail]
	if head > 0 {
		text = "…" + text
	}
	if tail > 0 {
		text += "…"
	}
	return text
}

// middleCut leaves the ends of a text that is longer than so many characters.
func middleCut(text string, most int) string {
	all := []rune(text)
	if len(all) <= most {
		return text
	}
	tail := (most - 1) / 2
	return string(all[:most-1-tail]) + "…" + string(all[len(all)-tail:])
}

// common is how many octets all of several names begin and end with: whole words, with
// what separates them from the rest, which is never empty.
func common(names []string) (head, tail int) {
	if len(names) < 2 {
		return 0, 0
	}
	first := names[0]
	for i, r := range first {
		if end := i + utf8.RuneLen(r); isSeparator(r) && every(names, func(s string) bool { return strings.HasPrefix(s, first[:end]) && len(s) > end }) {
			head = end
		}
	}
	for i, r := range first[head:] {
		rest := first[head+i:]
		if isSeparator(r) && every(names, func(s string) bool { return strings.HasSuffix(s, rest) && len(s) > head+len(rest) }) {
			return head, len(rest)
		}
	}
	return head, 0
}

func isSeparator(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func every(names []string, holds func(string) bool) bool {
	return !slices.ContainsFunc(names, func(s string) bool { return !holds(s) })
}
