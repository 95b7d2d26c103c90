package report

import (
	"io"
	"strings"
)

// WriteText writes the table for a terminal, under its title; one that is too wide is
// cut where groups begin, and each part has the first column.
func (t *Sheet) WriteText(w io.Writer) error {
	g := &grid{}
	for i, c := range t.Columns {
		one := column{group: c.Group, name: c.Name}
		if c.Text {
			one.flags |= left
		}
		if i > 0 && c.Group != "" {
			one.flags |= bar
		}
		g.columns = append(g.columns, one)
	}
	for _, row := range t.Rows {
		cells := make([]string, len(t.Columns))
		copy(cells, row)
		g.add(cells...)
	}
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(" " + t.Title + "\n")
	}
	for _, part := range g.split(TableColumns, 1) {
		part.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
