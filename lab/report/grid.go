package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// column flags.
const (
	left = 1 << iota // text, not figures
	bar              // a line stands before it
)

// column of a grid; a group heading spans the columns up to the next bar.
type column struct {
	group, name string
	flags       int
}

type grid struct {
	columns []column
	rows    [][]string
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

func (g *grid) widths() []int {
	widths := make([]int, len(g.columns))
	for i, c := range g.columns {
		widths[i] = utf8.RuneCountInString(c.name)
		for _, row := range g.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	// The last column of a group takes what the group's heading wants more.
	for i := range g.columns {
		end, room := i, widths[i]
		for end+1 < len(widths) && g.columns[end+1].group == "" && g.columns[end+1].flags&bar == 0 {
			end++
			room += 1 + widths[end]
		}
		widths[i] += max(0, utf8.RuneCountInString(g.columns[i].group)-room)
	}
	return widths
}

func (g *grid) write(b *strings.Builder) {
	widths := g.widths()
	names := make([]string, len(g.columns))
	for i, c := range g.columns {
		names[i] = c.name
	}
	g.writeGroups(b, widths)
	g.writeCells(b, widths, names)
	for i, c := range g.columns {
		if c.flags&bar != 0 {
			b.WriteString("─┼")
		}
		b.WriteString(strings.Repeat("─", widths[i]+1))
	}
	b.WriteByte('\n')
	for _, row := range g.rows {
		g.writeCells(b, widths, row)
	}
}

func (g *grid) writeGroups(b *strings.Builder, widths []int) {
	var line strings.Builder
	for i := 0; i < len(g.columns); {
		c, room := g.columns[i], widths[i]
		for i++; i < len(g.columns) && g.columns[i].group == "" && g.columns[i].flags&bar == 0; i++ {
			room += 1 + widths[i]
		}
		if c.flags&bar != 0 {
			line.WriteString(" │")
		}
		before := (room - utf8.RuneCountInString(c.group)) / 2
		fmt.Fprintf(&line, " %-*s", room, strings.Repeat(" ", before)+c.group)
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

func (g *grid) writeCells(b *strings.Builder, widths []int, cells []string) {
	var line strings.Builder
	for i, c := range g.columns {
		if c.flags&bar != 0 {
			line.WriteString(" │")
		}
		if c.flags&left != 0 {
			fmt.Fprintf(&line, " %-*s", widths[i], cells[i])
		} else {
			fmt.Fprintf(&line, " %*s", widths[i], cells[i])
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

// split cuts a grid that is wider than that many characters into several under each
// other, each with the first columns of all and the rows that have something in it; it
// cuts before bars only.
func (g *grid) split(width, first int) []*grid {
	widths := g.widths()
	total := func(from, to int) int {
		sum := 0
		for i := from; i < to; i++ {
			sum += widths[i] + 1
			if g.columns[i].flags&bar != 0 {
				sum += 2
			}
		}
		return sum
	}
	var parts []*grid
	for from := first; from < len(g.columns) || len(parts) == 0; {
		to := g.nextBar(from)
		for to < len(g.columns) {
			next := g.nextBar(to)
			if total(0, first)+total(from, next) > width {
				break
			}
			to = next
		}
		parts = append(parts, g.part(first, from, to))
		from = to
	}
	return parts
}

// nextBar is the next column after i that a bar stands before, or the end.
func (g *grid) nextBar(i int) int {
	for i++; i < len(g.columns) && g.columns[i].flags&bar == 0; {
		i++
	}
	return min(i, len(g.columns))
}

// part has the first columns, and those from to to. Rows that have something only in
// another part are left out.
func (g *grid) part(first, from, to int) *grid {
	p := &grid{columns: slices.Concat(g.columns[:first], g.columns[from:to])}
	names := make([]string, first) // that rows left out have for those under them
	for _, row := range g.rows {
		if blank(row[from:to]) && !blank(row[first:]) {
			if i := slices.IndexFunc(row[:first], func(s string) bool { return s != "" }); i >= 0 {
				copy(names[i:], row[i:first])
			}
			continue
		}
		row = slices.Concat(row[:first], row[from:to])
		for i := 0; i < first && row[i] == ""; i++ {
			row[i] = names[i]
		}
		clear(names)
		p.rows = append(p.rows, row)
	}
	return p
}

func blank(cells []string) bool {
	return !slices.ContainsFunc(cells, func(s string) bool { return s != "" })
}
