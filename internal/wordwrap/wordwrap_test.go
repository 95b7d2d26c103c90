package wordwrap

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"  two  words ", 9, []string{"two words"}},
		{"two words", 8, []string{"two", "words"}},
		{"a longer word", 4, []string{"a", "long", "er", "word"}},
		{"überlänge", 5, []string{"überl", "änge"}},
	} {
		if diff := cmp.Diff(tc.want, Lines(tc.text, tc.width)); diff != "" {
			t.Errorf("%q, %d (-want +got):\n%s", tc.text, tc.width, diff)
		}
	}
}

// FuzzLines: no line is too long, and nothing but spaces is lost.
func FuzzLines(f *testing.F) {
	f.Add("a longer word", uint8(4))
	f.Fuzz(func(t *testing.T, text string, width uint8) {
		if width == 0 || !utf8.ValidString(text) {
			return
		}
		lines := Lines(text, int(width))
		for _, l := range lines {
			if utf8.RuneCountInString(l) > int(width) {
				t.Errorf("line of %d characters, want at most %d: %q", utf8.RuneCountInString(l), width, l)
			}
		}
		bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := bare(strings.Join(lines, "")); got != bare(text) {
			t.Errorf("got %q, want %q", got, bare(text))
		}
	})
}
