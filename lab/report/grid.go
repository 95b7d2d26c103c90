package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plumbline-upf/plumbline/internal/wordwrap"
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

// leastText is how narrow a column of text may get, in characters.
const leastText = 12

// total is how many characters the columns from to to take.
func (g *grid) total(widths []int, from, to int) int {
	sum := 0
	for i := from; i < to; i++ {
		sum += widths[i] + 1
		if g.columns[i].flags&bar != 0 {
			sum += 2
		}
	}
	return sum
}

// narrow makes columns of text among the first ones narrower, the widest first, until they
// take no more than width characters, or cannot.
func (g *grid) narrow(widths []int, first, width int) {
	for g.total(widths, 0, first) > width {
		widest := -1
		for i, c := range g.columns[:first] {
			if c.flags&left != 0 && widths[i] > leastText && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// writeTitle writes what stands above a table.
func writeTitle(b *strings.Builder, title string) {
	for _, line := range wordwrap.Lines(title, TableColumns-1) {
		b.WriteString(" " + line + "\n")
	}
	b.WriteByte('\n')
}

// fit writes the grid into lines of [TableColumns] at most: as several under each other,
// each with the first columns of all, if it must be.
func (g *grid) fit(b *strings.Builder, first int) {
	for _, part := range g.split(TableColumns, first) {
		part.write(b)
		b.WriteByte('\n')
	}
}

func (g *grid) write(b *strings.Builder) {
	widths := g.widths()
	g.narrow(widths, len(widths), TableColumns)
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

// writeCells writes a row, with text that is wider than its column in lines of their own.
func (g *grid) writeCells(b *strings.Builder, widths []int, cells []string) {
	cells, more := slices.Clone(cells), make([]string, len(cells))
	again := false
	for i, c := range g.columns {
		if c.flags&left == 0 || utf8.RuneCountInString(cells[i]) <= widths[i] {
			continue
		}
		lines := wordwrap.Lines(cells[i], widths[i])
		cells[i], more[i] = lines[0], strings.Join(lines[1:], " ")
		again = again || more[i] != ""
	}
	g.writeLine(b, widths, cells)
	if again {
		g.writeCells(b, widths, more)
	}
}

func (g *grid) writeLine(b *strings.Builder, widths []int, cells []string) {
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
// cuts before bars, and elsewhere only what is too wide between two of them.
func (g *grid) split(width, first int) []*grid {
	widths := g.widths()
	g.narrow(widths, first, width/2)
	total := func(from, to int) int { return g.total(widths, from, to) }
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
		room := width
		if from < to && g.columns[from].flags&bar == 0 {
			room -= barOctets // it gets one
		}
		for to > from+1 && total(0, first)+total(from, to) > room {
			to-- // within a group that is too wide by itself
		}
		parts = append(parts, g.part(first, from, to))
		from = to
	}
	return parts
}

const barOctets = 2 // that a bar takes: one begins a part

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
	if first > 0 && from > first && from < to && g.columns[from].flags&bar == 0 { // it goes on with a group
		begin := from
		for begin > first && g.columns[begin].group == "" && g.columns[begin].flags&bar == 0 {
			begin--
		}
		p.columns[first].group, p.columns[first].flags = g.columns[begin].group, g.columns[from].flags|bar
	}
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
