package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// progress shows on a terminal, in one line that it keeps writing anew, how far
// a run is, and what it does. Where there is no terminal it writes a line for
// each step.
type progress struct {
	out      *os.File
	name     string // of the command
	terminal bool
	stop     chan struct{}
	stopped  sync.WaitGroup

	mu     sync.Mutex
	now    report.Step
	since  time.Time
	detail string
}

const (
	progressCells = 28
	progressEvery = 200 * time.Millisecond
	clearLine     = "\r\x1b[K" // ECMA-48, 8.3.41: erase to the end of the line
)

// newProgress writes lines on a terminal, too, if it is to be plain.
func newProgress(out *os.File, name string, plain bool) *progress {
	p := &progress{out: out, name: name, terminal: isTerminal(out) && !plain, stop: make(chan struct{})}
	if p.terminal {
		p.stopped.Go(p.draw)
	}
	return p
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// step is called when a step begins.
func (p *progress) step(s report.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now, p.since, p.detail = s, time.Now(), ""
	if !p.terminal {
		fmt.Fprintf(p.out, "%s: %s (%s left)\n", p.name, s.Name, left(s, 0))
	}
}

// tell adds to the line how far the step is.
func (p *progress) tell(detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.detail = ": " + detail
}

// say writes a line that stays.
func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear := ""
	if p.terminal {
		clear = clearLine
	}
	fmt.Fprintf(p.out, "%s%s: %s\n", clear, p.name, text)
}

// close takes the line away.
func (p *progress) close() {
	close(p.stop)
	p.stopped.Wait()
	if p.terminal {
		fmt.Fprint(p.out, clearLine)
	}
}

func (p *progress) draw() {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.mu.Lock()
			width, _ := terminalSize(p.out)
			fmt.Fprint(p.out, clearLine+cutTo(progressLine(p.now, time.Since(p.since))+p.detail, width-1))
			p.mu.Unlock()
		}
	}
}

// progressLine shows step s after it has run for some time. A step that takes
// longer than expected stands still at its end.
func progressLine(s report.Step, elapsed time.Duration) string {
	bar := progressBar(s, elapsed)
	if bar == "" {
		return ""
	}
	return bar + "  " + s.Name
}

// progressBar is how far a run is, and how much is left.
func progressBar(s report.Step, elapsed time.Duration) string {
	if s.Total <= 0 {
		return ""
	}
	share := float64(s.Before+min(elapsed, s.Expected)) / float64(s.Total)
	full := min(progressCells, max(0, int(share*progressCells)))
	return fmt.Sprintf("[%s%s] %3.0f %%  %s left", strings.Repeat("=", full), strings.Repeat(" ", progressCells-full),
		100*share, left(s, elapsed))
}

func left(s report.Step, elapsed time.Duration) time.Duration {
	return (s.Total - s.Before - min(elapsed, s.Expected)).Round(time.Second)
}
