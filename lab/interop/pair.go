package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// planPairs plans packets from each UE to the next one.
func (b *bed) planPairs() {
	switch {
	case b.skips(UEToUE):
		b.untried(stepUEToUE, "", 0, whySkip)
		return
	case len(b.ues) < 2:
		b.untried(stepUEToUE, "", 0, "there is one UE")
		return
	}
	for i, from := range b.ues {
		to := b.ues[(i+1)%len(b.ues)]
		for _, p := range b.paths(from) {
			for _, q := range b.paths(to) {
				if p.version == q.version {
					b.add(stepUEToUE, p, pingTime, b.pair(p, q))
				}
			}
		}
	}
}

// pair sends echo requests to another UE, and counts those that arrive at its device:
// whether they can be answered is not asked, since two UEs in one namespace cannot.
func (b *bed) pair(p, q path) func(context.Context, *report.InteropStep) {
	return func(ctx context.Context, row *report.InteropStep) {
		if b.UEToUE == Deny { // what does not arrive anywhere proves nothing
			for _, end := range []path{p, q} {
				if e, err := end.uplink().run(ctx, mtuPings); err != nil || e.Received == 0 {
					row.Result, row.Seen = report.Fail, fmt.Sprintf("%s does not reach the data network", end.name)
					return
				}
			}
		}
		s := p.uplink()
		s.to = q.address
		arrived, e, err := arrivals(ctx, s, q.ue)
		if err != nil {
			fail(row, err)
			return
		}
		row.Echo = e
		row.Seen = fmt.Sprintf("sent %d to %s, %d arrived", e.Sent, q.name, arrived)
		switch {
		case b.UEToUE == Tell:
			row.Result = report.NotJudged
		case b.UEToUE == Deny && arrived == 0, b.UEToUE == Allow && arrived == e.Sent:
			row.Result = report.Pass
		default:
			row.Result = report.Fail
		}
	}
}

// arrivals runs a series, and counts its requests that the device of a UE has received.
func arrivals(ctx context.Context, s series, at *ue) (arrived int, e *report.InteropEcho, err error) {
	watch, err := newWatch(at)
	if err != nil {
		return 0, nil, err
	}
	p, err := s.start(ctx, pings)
	if err != nil {
		return 0, nil, errors.Join(err, watch.close())
	}
	watch.token.Store(&p.token)
	p.sending.Wait()
	e = p.end(ctx)
	return int(watch.seen.Load()), e, watch.close()
}

// watch counts packets with a token that a device has received.
type watch struct {
	socket  int
	token   atomic.Pointer[[lenToken]byte]
	seen    atomic.Int64
	closing atomic.Bool
	reading sync.WaitGroup
}

func newWatch(at *ue) (*watch, error) {
	w := &watch{socket: -1}
	err := at.namespace.Do(func() (err error) {
		w.socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("interop: packet socket: %w", err)
	}
	const all = unix.ETH_P_ALL
	err = errors.Join(
		unix.SetsockoptTimeval(w.socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: answerEvery.Microseconds()}),
		unix.Bind(w.socket, &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8, Ifindex: at.index}))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("interop: packet socket at %s: %w", at.Device, err), unix.Close(w.socket))
	}
	w.reading.Go(w.read)
	return w, nil
}

func (w *watch) read() {
	b := make([]byte, 1<<16)
	for !w.closing.Load() {
		n, from, err := unix.Recvfrom(w.socket, b, 0)
		l, ok := from.(*unix.SockaddrLinklayer)
		if err != nil || !ok || l.Pkttype == unix.PACKET_OUTGOING {
			continue // RCVTIMEO ends a wait
		}
		if token := w.token.Load(); token != nil && bytes.Contains(b[:n], token[:]) {
			w.seen.Add(1)
		}
	}
}

func (w *watch) close() error {
	w.closing.Store(true)
	w.reading.Wait()
	return unix.Close(w.socket)
}
