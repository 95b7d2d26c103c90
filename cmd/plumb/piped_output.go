package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/plumbline-upf/plumbline/internal/printable"
)

// errUnread is the end of a command whose output nobody reads any more. The exit code is
// 1, and nothing is said of it: whoever closed the pipe knows.
var errUnread = errors.New("standard output is closed")

// pipedOutput is standard output. When its reader has gone, as head does that has seen
// enough, the command ends as at a signal, and what it made is taken away. It is text, of
// which parts come from peers and files: what would move the cursor or change the terminal
// is shown as "?".
type pipedOutput struct {
	rawOutput

	mu   sync.Mutex
	last byte // octet that was written
}

// rawOutput is standard output as octets, for files.
type rawOutput struct {
	out    io.Writer
	cancel context.CancelFunc
	unread atomic.Bool
}

// newPipedOutput calls cancel when out has no reader any more.
func newPipedOutput(out io.Writer, cancel context.CancelFunc) *pipedOutput {
	// As long as somebody waits for SIGPIPE, a write to a broken pipe is an error, also on
	// standard output, where it would end the process at once. What is sent here is not
	// looked at: sockets raise the signal, too. Ignored, it would be so in children.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return &pipedOutput{rawOutput: rawOutput{out: out, cancel: cancel}}
}

// Write implements [io.Writer].
func (p *pipedOutput) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := printable.Octets(b, p.last)
	if len(b) > 0 {
		p.last = b[len(b)-1]
	}
	return p.rawOutput.Write(text)
}

// asOctets is standard output for what is no text, if w is that; else w.
func asOctets(w io.Writer) io.Writer {
	if p, is := w.(*pipedOutput); is {
		return &p.rawOutput
	}
	return w
}

// Write implements [io.Writer].
func (p *rawOutput) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.unread.Store(true)
		p.cancel()
	}
	return n, err
}

// end is what a command ended with, which returned err.
func (p *pipedOutput) end(err error) error {
	if p.unread.Load() && (err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled)) {
		return errUnread
	}
	return err
}
