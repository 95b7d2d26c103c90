package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// liveColumn is one of a table that is shown while it changes.
type liveColumn struct {
	name  string
	width int // at least; negative: aligned left
	rank  int // 0: always shown; the higher, the sooner it is left out for want of room
}

// maxLiveText is the widest that a column of text gets.
const maxLiveText = 28

// liveRows aligns rows under a heading, and leaves out the columns of the highest ranks
// until the rest fits into a width.
func liveRows(width int, rows [][]string, columns []liveColumn) []string {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = max(c.width, -c.width, utf8.RuneCountInString(c.name))
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		if c.width < 0 {
			widths[i] = min(widths[i], max(maxLiveText, -c.width))
		}
	}
	shown := func(highest int) (list []int, total int) {
		total = 1
		for i, c := range columns {
			if c.rank <= highest {
				list, total = append(list, i), total+1+widths[i]
			}
		}
		return list, total
	}
	list, total := shown(len(columns))
	for highest := len(columns) - 1; highest >= 0 && total > width; highest-- {
		list, total = shown(highest)
	}
	line := func(cell func(int) string) string {
		var b strings.Builder
		b.WriteByte(' ')
		for _, i := range list {
			if columns[i].width < 0 {
				fmt.Fprintf(&b, " %-*s", widths[i], cutTo(cell(i), widths[i]))
			} else {
				fmt.Fprintf(&b, " %*s", widths[i], cell(i))
			}
		}
		return b.String()
	}
	lines := []string{line(func(i int) string { return columns[i].name })}
	for _, row := range rows {
		lines = append(lines, line(func(i int) string { return row[i] }))
	}
	return lines
}
