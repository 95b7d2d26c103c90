package term

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

// ErrUnread is the end of a command whose output nobody reads any more. The exit code is
// 1, and nothing is said of it: whoever closed the pipe knows.
var ErrUnread = errors.New("standard output is closed")

// Stdout is standard output. When its reader has gone, as head does that has seen
// enough, the command ends as at a signal, and what it made is taken away. It is text, of
// which parts come from peers and files: what would move the cursor or change the terminal
// is shown as "?".
type Stdout struct {
	octets

	mu   sync.Mutex
	last byte // octet that was written
}

// octets is standard output as octets, for files.
type octets struct {
	out    io.Writer
	cancel context.CancelFunc
	unread atomic.Bool
}

// NewStdout calls cancel when out has no reader any more.
func NewStdout(out io.Writer, cancel context.CancelFunc) *Stdout {
	// As long as somebody waits for SIGPIPE, a write to a broken pipe is an error, also on
	// standard output, where it would end the process at once. What is sent here is not
	// looked at: sockets raise the signal, too. Ignored, it would be so in children.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return &Stdout{octets: octets{out: out, cancel: cancel}}
}

// Write implements [io.Writer].
func (p *Stdout) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := printable.Octets(b, p.last)
	if len(b) > 0 {
		p.last = b[len(b)-1]
	}
	return p.octets.Write(text)
}

// AsOctets is standard output for what is no text, if w is that; else w.
func AsOctets(w io.Writer) io.Writer {
	if p, is := w.(*Stdout); is {
		return &p.octets
	}
	return w
}

// Write implements [io.Writer].
func (p *octets) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.unread.Store(true)
		p.cancel()
	}
	return n, err
}

// End is what a command ended with, which returned err.
func (p *Stdout) End(err error) error {
	if p.unread.Load() && (err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled)) {
		return ErrUnread
	}
	return err
}
