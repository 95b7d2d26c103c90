package main

import (
	"fmt"
	"os"
	"strings"
)

// painter keeps writing the same lines of a terminal anew. It touches nothing else of
// the terminal, so that there is nothing to restore however the process ends.
type painter struct {
	out   *os.File
	lines int // that stand on the terminal
}

// Source: ECMA-48, 8.3.39 and 8.3.41.
const (
	eraseBelow = "\x1b[J"
	eraseRight = "\x1b[K" // before a line: after one as wide as the terminal it would take its last character
)

// home is what takes the cursor to the start of the first line.
func (p *painter) home() string {
	if p.lines == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", p.lines) // ECMA-48, 8.3.22: cursor up
}

// paint puts lines in the place of those before, in one write so that none is seen half.
func (p *painter) paint(lines []string) {
	var b strings.Builder
	b.WriteString(p.home())
	for _, line := range lines {
		b.WriteString(eraseRight + line + "\n")
	}
	b.WriteString(eraseBelow)
	p.lines = len(lines)
	fmt.Fprint(p.out, b.String())
}

// clear takes the lines away.
func (p *painter) clear() {
	fmt.Fprint(p.out, p.home()+eraseBelow)
	p.lines = 0
}
