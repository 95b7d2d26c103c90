package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/internal/wordwrap"
)

// tableColumns is how wide tables are at most: any terminal shows that.
const tableColumns = 80

// table is columns for people: a heading, then rows, aligned.
type table struct {
	w io.Writer
	t *wordwrap.Table
}

func newTable(w io.Writer, heading ...any) table {
	return table{w, wordwrap.NewTable(tableCells(heading)...)}
}

// row adds a row; an empty cell shows as "-" so that every row has the same
// number of words.
func (t table) row(cells ...any) { t.t.Row(tableCells(cells)...) }

func tableCells(cells []any) []string {
	text := make([]string, len(cells))
	for i, c := range cells {
		if text[i] = printable.Line(fmt.Sprint(c)); text[i] == "" {
			text[i] = "-"
		}
	}
	return text
}

// flush writes the table out.
func (t table) flush() error { return t.t.Write(t.w, tableColumns) }

// printLine prints a line, or several, of which all but the first are indented further, where it is too long for one.
func printLine(w io.Writer, text string) {
	const more = "  "
	text = printable.Line(text)
	if utf8.RuneCountInString(text) > tableColumns {
		body := strings.TrimLeft(text, " ")
		indent := text[:len(text)-len(body)]
		lines := wordwrap.Cell(body, max(tableColumns-len(indent+more), len(more)))
		text = indent + strings.Join(lines, "\n"+indent+more)
	}
	fmt.Fprintln(w, text)
}

// printLines does so with each line of a text.
func printLines(w io.Writer, text string) {
	for line := range strings.Lines(text) {
		printLine(w, strings.TrimSuffix(line, "\n"))
	}
}

// words puts the elements of list into one cell, without spaces.
func words[T any](list []T) string {
	text := make([]string, len(list))
	for i, v := range list {
		text[i] = fmt.Sprint(v)
	}
	return strings.Join(text, ",")
}
