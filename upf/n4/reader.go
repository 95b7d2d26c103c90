package n4

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
)

const (
	// maxDatagram is one octet more than any PFCP message over IPv4 has, so
	// that one that is too long is seen.
	maxDatagram = 65508
	// maxFailures is how often a read may fail before the reader gives up.
	maxFailures = 100
)

// reader reads one socket, in batches.
type reader struct {
	*worker
	in   *mmsg.Receiver
	bufs [][]byte
}

func newReader(e *Endpoint, s *socket) *reader {
	r := &reader{worker: newWorker(e, s), bufs: make([][]byte, batchSize)}
	memory := make([]byte, batchSize*maxDatagram) // the kernel gives pages as they are used
	for i := range r.bufs {
		r.bufs[i] = memory[i*maxDatagram : (i+1)*maxDatagram]
	}
	r.in = mmsg.NewReceiver(s.raw, r.bufs)
	r.in.BusyPoll = e.config.BusyPoll
	return r
}

// serve answers datagrams until the socket is closed.
func (r *reader) serve() error {
	failures := 0 // one after the other
	for {
		n, err := r.in.Next()
		if err != nil {
			if r.e.run.Err() != nil {
				return ErrClosed
			}
			// Want of memory passes; what stays is reported.
			if failures++; failures > maxFailures || errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("n4: read: %w", err)
			}
			time.Sleep(time.Millisecond)
			continue
		}
		failures = 0
		r.batch(n)
	}
}

// batch answers the n datagrams that were read.
func (r *reader) batch(n int) {
	r.begin(time.Now())
	for i := range n {
		size := r.in.Size(i)
		if size == maxDatagram {
			r.e.counters.drop(DropTruncated)
			continue
		}
		r.handle(r.in.Source(i), r.bufs[i][:size], r.now)
	}
	if r.hand != nil {
		r.hand.dispatch()
	}
	r.e.counters.busy.Add(int64(r.finish()))
}
