package main

import (
	"errors"
	"os"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/probe/export"
)

// probeLive shows a probe on a terminal while it runs, with the last lines of its log
// below; where there is no terminal, the log alone.
type probeLive struct {
	*term.LiveLog
	screen probeScreen
}

const probeNotes = 3 // lines of the log that are shown

func newProbeLive(out *os.File, c *probeRunCommand) *probeLive {
	return &probeLive{term.NewLiveLog(out, !c.Plain), probeScreen{total: c.Duration}}
}

// show draws how things are now. It is for the goroutine that closes.
func (v *probeLive) show(r *probeRun) {
	if !v.Shown() {
		return
	}
	s := &v.screen
	s.upfs = r.watch.UPFs() // waits while the watch logs, which waits for the view
	s.elapsed, s.live, s.n4, s.samples = r.recorder.Elapsed(), r.recorder.Live(), r.n4, r.counted()
	v.Draw(func(width, height int, logged []string) []string {
		s.notes = logged[max(0, len(logged)-probeNotes):]
		return s.render(width, height)
	})
}

// hlogFile is an interval log while it is written.
type hlogFile struct {
	*export.IntervalLog
	file *os.File
}

func createHlog(name string, r *export.Recorder) (*hlogFile, error) {
	f, err := cli.Create(name, 0o644)
	if err != nil {
		return nil, err
	}
	l, err := export.NewIntervalLog(f, r)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &hlogFile{l, f}, nil
}

func (f *hlogFile) close() error { return f.file.Close() }
