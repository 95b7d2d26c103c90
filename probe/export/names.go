package export

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// printed is a name that others have chosen, fit for a terminal and for metrics, which
// panic at what is not UTF-8: whoever has a namespace names devices with any octets. It
// is quoted if it has to be, so that different names stay different.
func printed(name string) string {
	if utf8.ValidString(name) && strings.IndexFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) < 0 {
		return name
	}
	return strconv.QuoteToASCII(name)
}

// SliceName is what stands where a slice has no name: packets of no known one.
func SliceName(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
