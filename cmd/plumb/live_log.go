package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// liveLog takes a log, and shows lines on a terminal in its place: what is logged
// meanwhile is written when that is over. Where there is no terminal, the log is written
// as it comes, and nothing else.
type liveLog struct {
	out *os.File

	mu      sync.Mutex
	open    bool // something is shown
	painter painter
	logged  []string // while it is
}

// newLiveLog shows something only if it is wanted.
func newLiveLog(out *os.File, wanted bool) *liveLog {
	return &liveLog{out: out, painter: painter{out: out}, open: wanted && isTerminal(out)}
}

// shown reports whether something is.
func (v *liveLog) shown() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.open
}

// draw puts lines in the place of those before. render is told how much room there is,
// and what was logged.
func (v *liveLog) draw(render func(width, height int, logged []string) []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.open {
		return
	}
	width, height := terminalSize(v.out)
	v.painter.paint(render(width, height-1, v.logged))
}

// Write takes a line of the log.
func (v *liveLog) Write(line []byte) (int, error) {
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

// close takes the lines away, and leaves those of the log.
func (v *liveLog) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.open {
		return
	}
	v.open = false
	v.painter.clear()
	for _, line := range v.logged {
		fmt.Fprintln(v.out, line)
	}
}
