package main

import (
	"os"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/internal/term"
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
