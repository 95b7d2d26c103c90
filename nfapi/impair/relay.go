package impair

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"syscall"
	"time"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/internal/udp"
)

// batch is how many datagrams are received or sent at once.
const batch = 32

// Relay is a box between two sockets.
type Relay struct {
	config Config
	log    *slog.Logger
	box    *Box
	begin  time.Time
	ends   [directions]*end // by the direction of what goes out there
	result Result
}

// end is a socket: what goes out there has one direction, what comes in the other.
type end struct {
	socket  *udp.Socket
	receive *mmsg.Receiver
	send    *mmsg.Sender
	buffers [][]byte
	peer    netip.AddrPort // not valid, or port 0: learned from its first datagram
	learned bool
}

func newEnd(local, peer netip.AddrPort) (*end, error) {
	s, err := udp.Open(local)
	if err != nil {
		return nil, fmt.Errorf("impair: %s: %w", local, err)
	}
	e := &end{socket: s, send: mmsg.NewSender(s, batch), peer: peer, learned: peer.IsValid() && peer.Port() != 0}
	for range batch {
		e.buffers = append(e.buffers, make([]byte, mmsg.MaxMessage))
	}
	e.receive = mmsg.NewReceiver(s.NoWait(), e.buffers)
	return e, nil
}

// NewRelay opens the sockets.
//
// Errors: those of [Config.ValidateRelay], and of the sockets.
func NewRelay(c Config, log *slog.Logger) (*Relay, error) {
	if err := c.ValidateRelay(); err != nil {
		return nil, err
	}
	box, err := New(c)
	if err != nil {
		return nil, err
	}
	r := &Relay{config: c, log: log, box: box}
	if r.ends[ToPNF], err = newEnd(c.AsVNF, c.PNF); err != nil {
		return nil, err
	}
	if r.ends[ToVNF], err = newEnd(c.AsPNF, c.VNF); err != nil {
		return nil, errors.Join(err, r.ends[ToPNF].socket.Close())
	}
	return r, nil
}

// AsVNF is the relay's address as VNF, with the assigned port if none was configured.
func (r *Relay) AsVNF() (netip.AddrPort, error) { return r.ends[ToPNF].socket.Local() }

// AsPNF is the relay's address as PNF.
func (r *Relay) AsPNF() (netip.AddrPort, error) { return r.ends[ToVNF].socket.Local() }

// Run relays until ctx is done, and returns the counts. It is called once.
func (r *Relay) Run(ctx context.Context) (*Result, error) {
	done := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		for _, e := range r.ends {
			e.socket.Stop()
		}
	})
	go func() { // a thread of its own, which ends with it
		release := clock.Urgent()
		defer release()
		done <- r.run(ctx)
	}()
	err := <-done
	stop()
	for _, e := range r.ends {
		err = errors.Join(err, e.socket.Close())
	}
	r.result.Counts, r.result.Waiting = r.box.Counts(), r.box.Waiting()
	return &r.result, err
}

func (r *Relay) run(ctx context.Context) error {
	r.begin = time.Now()
	for {
		timeout := time.Duration(-1)
		if at, ok := r.box.Next(); ok {
			timeout = max(at-time.Since(r.begin), 0)
		}
		if err := udp.Wait(timeout, r.ends[ToPNF].socket, r.ends[ToVNF].socket); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		for out, e := range r.ends {
			if err := r.take(e, directions-1-Direction(out)); err != nil {
				return err
			}
		}
		r.pass()
	}
}

// take gives the box what has come at an end.
func (r *Relay) take(e *end, d Direction) error {
	n, err := e.receive.Next()
	if errors.Is(err, syscall.EAGAIN) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("impair: %w", err)
	}
	now := time.Since(r.begin)
	for i := range n {
		if !r.knows(e, e.receive.Source(i)) {
			r.result.Strangers++
			continue
		}
		r.box.Take(d, e.buffers[i][:e.receive.Size(i)], now)
	}
	return nil
}

// knows reports whether a datagram is from the peer, whose address may be learned from it.
func (r *Relay) knows(e *end, from netip.AddrPort) bool {
	if e.learned {
		return e.peer == from
	}
	if e.peer.IsValid() && e.peer.Addr() != from.Addr() {
		return false
	}
	e.peer, e.learned = from, true
	r.log.Info("peer found by its first datagram", "address", from)
	return true
}

// pass sends what is due.
func (r *Relay) pass() {
	r.box.Due(time.Since(r.begin), func(d Direction, b []byte) {
		e := r.ends[d]
		if !e.learned || len(b) == 0 {
			r.result.NotSent++
			return
		}
		if e.send.Room() == 0 {
			r.flush(e)
		}
		e.send.AddTo(e.peer, b)
	})
	for _, e := range r.ends {
		r.flush(e)
	}
	r.box.Release()
}

func (r *Relay) flush(e *end) {
	for {
		_, err := e.send.Flush()
		if err == nil || e.socket.Stopped() {
			break
		}
		r.result.NotSent += uint64(e.send.Skip())
	}
	e.send.Reset()
}
