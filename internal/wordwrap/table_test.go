package wordwrap

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	for _, tc := range []struct {
		name string
		rows [][]string
		want string
	}{
		{"fits", [][]string{{"A", "B"}, {"1", "two"}, {"three", "4"}}, `
A      B
1      two
three  4
`},
		{"prose in the last column", [][]string{{"N", "WHAT IT MEANS"}, {"17", "a quota of the rules is used up by this and that"}}, `
N   WHAT IT MEANS
17  a quota of the rules is used up
    by this and that
`},
		{"more columns than a line has", [][]string{{"SEID", "ADDRESS", "LIST"}, {"0x1", "2001:db8:45:1::/64,10.45.0.2", "1,2"}, {"0x2", "-", "3"}}, `
SEID  ADDRESS
  LIST
0x1   2001:db8:45:1::/64,10.45.0.2
  1,2
0x2   -
  3
`},
		{"one that is longer than a line", [][]string{{"A", "LIST"}, {"first-second-third-fourth-fifth", "one,two,three,four,five,six,seven,eight"}}, `
A
  LIST
first-second-third-fourth-fifth
  one,two,three,four,five,six,seven,
  eight
`},
	} {
		table := NewTable(tc.rows[0]...)
		for _, row := range tc.rows[1:] {
			table.Row(row...)
		}
		var out bytes.Buffer
		if err := table.Write(&out, 36); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestCell(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 4, []string{""}},
		{"one two", 7, []string{"one two"}},
		{"one two", 6, []string{"one", "two"}},
		{"1,22,333", 5, []string{"1,22,", "333"}},
		{"2001:db8::1", 4, []string{"2001", ":db8", "::1"}},
		{"a überlange", 5, []string{"a", "überl", "ange"}},
	} {
		if diff := cmp.Diff(tc.want, Cell(tc.text, tc.width)); diff != "" {
			t.Errorf("%q, %d (-want +got):\n%s", tc.text, tc.width, diff)
		}
	}
}

// FuzzTable: no line is too long, and no character but spaces gets lost.
func FuzzTable(f *testing.F) {
	f.Add("a b,c", "0x1", "2001:db8::1,10.0.0.1", uint8(30))
	f.Fuzz(func(t *testing.T, a, b, c string, width uint8) {
		all := a + b + c
		if !utf8.ValidString(a) || !utf8.ValidString(b) || !utf8.ValidString(c) || strings.ContainsAny(all, "\n\r\t") || width < 8 {
			t.Skip()
		}
		table := NewTable("H", "I", "J")
		table.Row(a, b, c)
		var out bytes.Buffer
		if err := table.Write(&out, int(width)); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > int(width) {
				t.Errorf("%d characters, want %d: %q", n, width, line)
			}
		}
		count := func(s string) int { return utf8.RuneCountInString(strings.Join(strings.Fields(s), "")) }
		if got, want := count(out.String()), count(all)+3; got != want {
			t.Errorf("%d characters, want %d: %q", got, want, out.String())
		}
	})
}
