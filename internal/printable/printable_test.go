package printable_test

import (
	"testing"
	"unicode/utf8"

	"github.com/plumbline-upf/plumbline/internal/printable"
)

func TestPrintable(t *testing.T) {
	for _, tc := range []struct{ in, line, lines, log, name string }{
		{"eth0", "eth0", "eth0", "eth0", "eth0"},
		{"größer → µs ─", "größer → µs ─", "größer → µs ─", "größer → µs ─", "größer → µs ─"},
		{"a\nb\tc\rd", "a?b?c?d", "a\nb?c?d", "a\nb\tc?d", `"a\nb\tc\rd"`},
		{"a\x1b[2Jb\x07", "a?[2Jb?", "a?[2Jb?", "ab?", `"a\x1b[2Jb\a"`},
		{"d\u009be\x7f", "d?e?", "d?e?", "d?e?", `"d\u009be\x7f"`},
		{"user\u202etxt.exe\u200b", "user?txt.exe?", "user?txt.exe?", "user?txt.exe?", `"user\u202etxt.exe\u200b"`},
		{"\xff\xfe", "??", "??", "??", `"\xff\xfe"`},
	} {
		for name, got := range map[string][2]string{
			"Line": {printable.Line(tc.in), tc.line}, "Lines": {printable.Lines(tc.in), tc.lines},
			"Log": {printable.Log(tc.in), tc.log}, "Name": {printable.Name(tc.in), tc.name},
		} {
			if got[0] != got[1] {
				t.Errorf("%s(%q): got %q, want %q", name, tc.in, got[0], got[1])
			}
		}
	}
}

// FuzzLine: what comes out stays as it is, and has no octet of a control character.
func FuzzLine(f *testing.F) {
	f.Add("a\x1b[2Jb\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		line := printable.Line(s)
		if printable.Line(line) != line || printable.Name(line) != line || string(printable.Octets([]byte(line), 0)) != line ||
			utf8.RuneCountInString(line) != utf8.RuneCountInString(s) {
			t.Errorf("%q of %q", line, s)
		}
	})
}
