package term

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/internal/wordwrap"
)

// Columns is how wide tables are at most: any terminal shows that.
const Columns = 80

// Table is columns for people: a heading, then rows, aligned.
type Table struct {
	w io.Writer
	t *wordwrap.Table
}

// NewTable begins a table that is written to w.
func NewTable(w io.Writer, heading ...any) Table {
	return Table{w, wordwrap.NewTable(tableCells(heading)...)}
}

// Row adds a row; an empty cell shows as "-" so that every row has the same
// number of words.
func (t Table) Row(cells ...any) { t.t.Row(tableCells(cells)...) }

func tableCells(cells []any) []string {
	text := make([]string, len(cells))
	for i, c := range cells {
		if text[i] = printable.Line(fmt.Sprint(c)); text[i] == "" {
			text[i] = "-"
		}
	}
	return text
}

// Flush writes the table out.
func (t Table) Flush() error { return t.t.Write(t.w, Columns) }

// PrintLine prints a line, or several, of which all but the first are indented further, where it is too long for one.
func PrintLine(w io.Writer, text string) {
	const more = "  "
	text = printable.Line(text)
	if utf8.RuneCountInString(text) > Columns {
		body := strings.TrimLeft(text, " ")
		indent := text[:len(text)-len(body)]
		lines := wordwrap.Cell(body, max(Columns-len(indent+more), len(more)))
		text = indent + strings.Join(lines, "\n"+indent+more)
	}
	fmt.Fprintln(w, text)
}

// PrintLines does so with each line of a text.
func PrintLines(w io.Writer, text string) {
	for line := range strings.Lines(text) {
		PrintLine(w, strings.TrimSuffix(line, "\n"))
	}
}

// Words puts the elements of list into one cell, without spaces.
func Words[T any](list []T) string {
	text := make([]string, len(list))
	for i, v := range list {
		text[i] = fmt.Sprint(v)
	}
	return strings.Join(text, ",")
}
