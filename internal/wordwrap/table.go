package wordwrap

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is columns for people: a heading, then rows, aligned. Where it is wider than a line may be, its last
// column is broken into lines if enough is left for it; else each row takes several lines, of which
// all but the first are indented, and so does the heading.
type Table struct {
	rows [][]string // the heading first
}

// NewTable begins a table.
func NewTable(heading ...string) *Table { return &Table{[][]string{heading}} }

// Row adds a row, of as many cells as the heading has.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

const (
	gap    = 2  // between columns
	indent = 2  // of further lines of a row
	narrow = 28 // what a last column has at least
)

// Write writes the table, in lines of at most width characters.
func (t *Table) Write(w io.Writer, width int) error {
	out := bufio.NewWriter(w)
	lines, widths := t.layout(width)
	for _, row := range t.rows {
		for i, line := range lines {
			before := ""
			if i > 0 {
				before = strings.Repeat(" ", indent)
			}
			writeCells(out, before, row, line, widths)
		}
	}
	return out.Flush()
}

// columns are some of a table: those from first on, up to last, without it.
type columns struct{ first, last int }

// layout says which columns stand in which line of a row, and how wide each is.
func (t *Table) layout(width int) (lines []columns, widths []int) {
	widths = make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	at, line := 0, columns{}
	for i, n := range widths {
		final := i == len(widths)-1
		switch left := width - at; {
		case n <= left:
		case final && left >= narrow:
			widths[i] = left
		case i > line.first:
			line.last = i
			lines = append(lines, line)
			line = columns{first: i}
			at = indent
			widths[i] = min(n, width-indent)
		default: // alone in its line, and too long for it
			widths[i] = left
		}
		at += widths[i] + gap
	}
	line.last = len(widths)
	return append(lines, line), widths
}

// writeCells writes some cells of a row, as many lines as the longest takes.
func writeCells(out *bufio.Writer, before string, row []string, of columns, widths []int) {
	var cells [][]string
	most := 0
	for i := of.first; i < of.last; i++ {
		broken := Cell(row[i], widths[i])
		cells = append(cells, broken)
		most = max(most, len(broken))
	}
	for l := range most {
		var text strings.Builder
		text.WriteString(before)
		for i, broken := range cells {
			part := ""
			if l < len(broken) {
				part = broken[l]
			}
			text.WriteString(part)
			text.WriteString(strings.Repeat(" ", widths[of.first+i]-utf8.RuneCountInString(part)+gap))
		}
		_, _ = out.WriteString(strings.TrimRight(text.String(), " ") + "\n") // an error is Flush's
	}
}

// Cell breaks text between words and behind commas, and what is too long then, into lines of at most width characters. It
// returns at least one line.
func Cell(text string, width int) []string {
	var lines []string
	line := ""
	for text != "" {
		n := strings.IndexAny(text, " ,") + 1
		if n == 0 {
			n = len(text)
		}
		part := []rune(text[:n])
		text = text[n:]
		if utf8.RuneCountInString(line)+len(trimmed(part)) <= width {
			line += string(part)
			continue
		}
		if line != "" {
			lines = append(lines, strings.TrimRight(line, " "))
		}
		for len(trimmed(part)) > width {
			lines, part = append(lines, string(part[:width])), part[width:]
		}
		line = string(part)
	}
	return append(lines, strings.TrimRight(line, " "))
}

// trimmed is part without a space at its end.
func trimmed(part []rune) []rune {
	if n := len(part); n > 0 && part[n-1] == ' ' {
		return part[:n-1]
	}
	return part
}
