package term

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Progress shows on a terminal, in one line that it rewrites, how far
// a run is, and what it does. Where there is no terminal it writes a line for
// each step.
type Progress struct {
	out      *os.File
	name     string // of the command
	terminal bool
	stop     chan struct{}
	stopped  sync.WaitGroup

	mu     sync.Mutex
	now    Step
	since  time.Time
	detail string
}

// Step is a part of a run, for those who wait for it. It is an alias of a struct without a
// name, so that a step of lab/report can be given where a Step is wanted.
type Step = struct {
	Name     string
	Expected time.Duration // of this step
	Before   time.Duration // expected of all steps before it
	Total    time.Duration // expected of the whole run
}

// Steps returns [Progress.Begin] of p as a function that takes steps of another type, such as
// that of lab/report.
func Steps[S ~Step](p *Progress) func(S) { return func(s S) { p.Begin(Step(s)) } }

// RedrawEvery is how often what changes is redrawn.
const RedrawEvery = 200 * time.Millisecond

const (
	barCells  = 28
	clearLine = "\r\x1b[K" // ECMA-48, 8.3.41: erase to the end of the line
)

// NewProgress begins to show on out how far the command with this name is. On a terminal, too,
// it writes lines if it is to be plain. It has to be closed.
func NewProgress(out *os.File, name string, plain bool) *Progress {
	p := &Progress{out: out, name: name, terminal: IsTerminal(out) && !plain, stop: make(chan struct{})}
	if p.terminal {
		p.stopped.Go(p.draw)
	}
	return p
}

// Begin is called when a step begins.
func (p *Progress) Begin(s Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now, p.since, p.detail = s, time.Now(), ""
	if !p.terminal {
		fmt.Fprintf(p.out, "%s: %s (%s left)\n", p.name, s.Name, Left(s, 0))
	}
}

// Tell adds to the line how far the step is.
func (p *Progress) Tell(detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.detail = ": " + detail
}

// Say writes a line that stays.
func (p *Progress) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear := ""
	if p.terminal {
		clear = clearLine
	}
	fmt.Fprintf(p.out, "%s%s: %s\n", clear, p.name, text)
}

// Close takes the line away.
func (p *Progress) Close() {
	close(p.stop)
	p.stopped.Wait()
	if p.terminal {
		fmt.Fprint(p.out, clearLine)
	}
}

func (p *Progress) draw() {
	ticker := time.NewTicker(RedrawEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.mu.Lock()
			width, _ := Size(p.out)
			fmt.Fprint(p.out, clearLine+CutTo(progressLine(p.now, time.Since(p.since))+p.detail, width-1))
			p.mu.Unlock()
		}
	}
}

// progressLine shows step s after it has run for some time. A step that takes
// longer than expected stands still at its end.
func progressLine(s Step, elapsed time.Duration) string {
	bar := Bar(s, elapsed)
	if bar == "" {
		return ""
	}
	return bar + "  " + s.Name
}

// Bar is how far a run is, and how much is left.
func Bar(s Step, elapsed time.Duration) string {
	if s.Total <= 0 {
		return ""
	}
	share := float64(s.Before+min(elapsed, s.Expected)) / float64(s.Total)
	full := min(barCells, max(0, int(share*barCells)))
	return fmt.Sprintf("[%s%s] %3.0f %%  %s left", strings.Repeat("=", full), strings.Repeat(" ", barCells-full),
		100*share, Left(s, elapsed))
}

// Left is the time that a run still takes when step s has run for some time.
func Left(s Step, elapsed time.Duration) time.Duration {
	return (s.Total - s.Before - min(elapsed, s.Expected)).Round(time.Second)
}
