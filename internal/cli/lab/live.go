package labcmd

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/method"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// liveView shows a run of the laboratory on a terminal while it goes on.
type liveView struct {
	stop    chan struct{}
	stopped sync.WaitGroup

	mu sync.Mutex
	term.Painter
	liveScreen
}

// newLiveView begins to show the run of a command.
func newLiveView(out *os.File, name string) *liveView {
	v := &liveView{Painter: term.Painter{Out: out}, stop: make(chan struct{}), liveScreen: liveScreen{name: name}}
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
	v.note(name, "is out: "+term.FirstLine(why))
}

// close takes the lines away.
func (v *liveView) close() {
	close(v.stop)
	v.stopped.Wait()
	v.Clear()
}

func (v *liveView) redraw() {
	ticker := time.NewTicker(term.RedrawEvery)
	defer ticker.Stop()
	for {
		select {
		case <-v.stop:
			return
		case <-ticker.C:
			v.draw(term.Size(v.Out))
		}
	}
}

// draw writes all lines anew.
func (v *liveView) draw(width, height int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.Paint(v.render(time.Now(), width, height-1))
}

// labView shows a run while it goes on.
type labView interface {
	method.Observer
	close()
}

// newLabView shows more on a terminal, unless it is to be plain.
func newLabView(out *os.File, name string, plain bool) labView {
	if term.IsTerminal(out) && !plain {
		return newLiveView(out, name)
	}
	return &plainView{out, name}
}

// plainView writes a line for each step, each turn and each system that is out.
type plainView struct {
	out  io.Writer
	name string // of the command
}

// Step implements [method.Observer].
func (v *plainView) Step(s report.Step) { v.say("%s (%s left)", s.Name, term.Left(s, 0)) }

// Detail shows nothing: it would be many lines.
func (v *plainView) Detail(string) {}

// Sample shows nothing, for the same reason.
func (v *plainView) Sample(string, system.Sample) {}

// Turn shows the main figure, or why there is none.
func (v *plainView) Turn(_ report.LabCell, turn report.Turn) {
	if text := turnText(turn); text != "" {
		v.say("%s: %s", turn.System, text)
	}
}

// Left says at once who is out: it may be worth an interruption.
func (v *plainView) Left(name, why string) { v.say("%s is out: %s", name, why) }

func (v *plainView) close() {}

func (v *plainView) say(format string, args ...any) {
	fmt.Fprintf(v.out, "%s: "+format+"\n", append([]any{v.name}, args...)...)
}
