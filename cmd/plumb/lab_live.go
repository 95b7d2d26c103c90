package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"plumbline/lab/report"
	"plumbline/lab/system"
)

// liveView shows a run of the laboratory on a terminal while it goes on, in a few
// lines that it keeps writing anew. It touches nothing else of the terminal, so that
// there is nothing to restore however the process ends.
type liveView struct {
	out     *os.File
	stop    chan struct{}
	stopped sync.WaitGroup

	mu    sync.Mutex
	lines int // that stand on the terminal
	liveScreen
}

// newLiveView begins to show the run of a command.
func newLiveView(out *os.File, name string) *liveView {
	v := &liveView{out: out, stop: make(chan struct{}), liveScreen: liveScreen{name: name}}
	v.stopped.Go(v.redraw)
	return v
}

// Step implements [method.Observer].
func (v *liveView) Step(s report.Step) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.begin(s, time.Now())
}

// Detail implements [method.Observer].
func (v *liveView) Detail(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.detail = text
}

// Sample implements [method.Observer].
func (v *liveView) Sample(name string, s system.Sample) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sample(name, s)
}

// Turn implements [method.Observer].
func (v *liveView) Turn(cell report.LabCell, turn report.Turn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.turn(cell, turn)
}

// Left implements [method.Observer].
func (v *liveView) Left(name, why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.note(name, "is out: "+firstLine(why))
}

// close takes the lines away.
func (v *liveView) close() {
	close(v.stop)
	v.stopped.Wait()
	fmt.Fprint(v.out, v.home()+eraseBelow)
}

// Source: ECMA-48, 8.3.39 and 8.3.41.
const (
	eraseBelow = "\x1b[J"
	eraseRight = "\x1b[K"
)

// home is what takes the cursor to the start of the first line.
func (v *liveView) home() string {
	if v.lines == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", v.lines) // ECMA-48, 8.3.22: cursor up
}

func (v *liveView) redraw() {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-v.stop:
			return
		case <-ticker.C:
			v.draw(terminalSize(v.out))
		}
	}
}

// draw writes all lines anew, in one write so that none is seen half.
func (v *liveView) draw(width, height int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	lines := v.render(time.Now(), width, height-1)
	var b strings.Builder
	b.WriteString(v.home())
	for _, line := range lines {
		b.WriteString(line + eraseRight + "\n")
	}
	b.WriteString(eraseBelow)
	v.lines = len(lines)
	fmt.Fprint(v.out, b.String())
}

// terminalSize returns columns and lines, those of the oldest terminals if it is not
// known.
func terminalSize(out *os.File) (width, height int) {
	size, err := unix.IoctlGetWinsize(int(out.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
