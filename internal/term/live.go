package term

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"unicode/utf8"
)

// LiveLog takes a log, and shows lines on a terminal in its place: what is logged
// meanwhile is written when that is over. Where there is no terminal, the log is written
// as it comes, and nothing else.
type LiveLog struct {
	out *os.File

	mu      sync.Mutex
	open    bool // something is shown
	painter Painter
	logged  []string // while it is
}

// NewLiveLog shows something only if it is wanted.
func NewLiveLog(out *os.File, wanted bool) *LiveLog {
	return &LiveLog{out: out, painter: Painter{Out: out}, open: wanted && IsTerminal(out)}
}

// Shown reports whether something is.
func (v *LiveLog) Shown() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.open
}

// Draw puts lines in the place of those before. render is told how much room there is,
// and what was logged.
func (v *LiveLog) Draw(render func(width, height int, logged []string) []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.open {
		return
	}
	width, height := Size(v.out)
	v.painter.Paint(render(width, height-1, v.logged))
}

// Write takes a line of the log.
func (v *LiveLog) Write(line []byte) (int, error) {
	const longest = 1000 // lines that are kept
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.open {
		return v.out.Write(line)
	}
	if len(v.logged) < longest {
		v.logged = append(v.logged, strings.TrimSpace(string(line)))
	}
	return len(line), nil
}

// Close takes the lines away, and leaves those of the log.
func (v *LiveLog) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.open {
		return
	}
	v.open = false
	v.painter.Clear()
	for _, line := range v.logged {
		fmt.Fprintln(v.out, line)
	}
}

// Painter rewrites the same lines of a terminal, Out. It touches nothing else of
// the terminal, so that there is nothing to restore however the process ends.
type Painter struct {
	Out   *os.File
	lines int // that stand on the terminal
}

// Source: ECMA-48, 8.3.39 and 8.3.41.
const (
	eraseBelow = "\x1b[J"
	eraseRight = "\x1b[K" // before a line: after one as wide as the terminal it would take its last character
)

// home is what takes the cursor to the start of the first line.
func (p *Painter) home() string {
	if p.lines == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", p.lines) // ECMA-48, 8.3.22: cursor up
}

// Paint puts lines in the place of those before, in one write so that none is seen half.
func (p *Painter) Paint(lines []string) {
	var b strings.Builder
	b.WriteString(p.home())
	for _, line := range lines {
		b.WriteString(eraseRight + line + "\n")
	}
	b.WriteString(eraseBelow)
	p.lines = len(lines)
	fmt.Fprint(p.Out, b.String())
}

// Clear takes the lines away.
func (p *Painter) Clear() {
	fmt.Fprint(p.Out, p.home()+eraseBelow)
	p.lines = 0
}

// LiveColumn is one of a table that is shown while it changes.
type LiveColumn struct {
	Name  string
	Width int // at least; negative: aligned left
	Rank  int // 0: always shown; the higher, the sooner it is left out for want of room
}

// maxLiveText is the widest that a column of text gets.
const maxLiveText = 28

// LiveRows aligns rows under a heading, and leaves out the columns of the highest ranks
// until the rest fits into a width.
func LiveRows(width int, rows [][]string, columns []LiveColumn) []string {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = max(c.Width, -c.Width, utf8.RuneCountInString(c.Name))
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		if c.Width < 0 {
			widths[i] = min(widths[i], max(maxLiveText, -c.Width))
		}
	}
	shown := func(highest int) (list []int, total int) {
		total = 1
		for i, c := range columns {
			if c.Rank <= highest {
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
			if columns[i].Width < 0 {
				fmt.Fprintf(&b, " %-*s", widths[i], CutTo(cell(i), widths[i]))
			} else {
				fmt.Fprintf(&b, " %*s", widths[i], cell(i))
			}
		}
		return b.String()
	}
	lines := []string{line(func(i int) string { return columns[i].Name })}
	for _, row := range rows {
		lines = append(lines, line(func(i int) string { return row[i] }))
	}
	return lines
}
