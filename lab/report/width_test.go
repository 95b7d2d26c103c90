package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// unbroken is text without its lines: words follow each other with a space.
func unbroken(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestFit wants grids of any width in lines of 80 characters, with all that is in them: cut
// before bars, within a group that is too wide by itself, and text in several lines.
func TestFit(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("no word of this may be lost ", 8))
	g := &grid{columns: []column{{"", "system", left}, {"", "version", left}, {"uplink, kpps", "a", bar}}}
	row := []string{"upf", strings.Repeat("v1.2 ", 9) + "end", "0000001"}
	for range 12 {
		g.columns = append(g.columns, column{"", "median", 0})
		row = append(row, "123,456.7")
	}
	g.columns, row = append(g.columns, column{"", "why", left | bar}), append(row, long)
	g.add(row...)
	var b strings.Builder
	g.fit(&b, g.nextBar(0))
	text := b.String()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > TableColumns {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if got := strings.Count(text, "123,456.7"); got != 12 {
		t.Errorf("%d of 12 figures in\n%s", got, text)
	}
	if got := strings.Count(text, "uplink, kpps"); got < 2 {
		t.Errorf("the group's heading stands %d times, want it in each part of\n%s", got, text)
	}
	if got := strings.Count(text, "lost"); got != 8 {
		t.Errorf("%d of 8 words in\n%s", got, text)
	}
}
