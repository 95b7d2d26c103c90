package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"plumbline/printable"
)

// table is columns for people: a heading, then rows, aligned.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, heading ...any) table {
	t := table{tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)}
	t.row(heading...)
	return t
}

// row adds a row; an empty cell shows as "-" so that every row has the same
// number of words.
func (t table) row(cells ...any) {
	text := make([]string, len(cells))
	for i, c := range cells {
		if text[i] = printable.Line(fmt.Sprint(c)); text[i] == "" { // a tab in it would be a cell more
			text[i] = "-"
		}
	}
	fmt.Fprintln(t.w, strings.Join(text, "\t"))
}

// flush writes the table out, and returns the first error of all its writes.
func (t table) flush() error { return t.w.Flush() }

// words puts the elements of list into one cell, without spaces.
func words[T any](list []T) string {
	text := make([]string, len(list))
	for i, v := range list {
		text[i] = fmt.Sprint(v)
	}
	return strings.Join(text, ",")
}
