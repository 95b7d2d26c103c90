package port

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/xsk"
)

// xdpReceiver is some of the queues of a port.
type xdpReceiver struct {
	port   *xdpPort
	queues []*queue
	held   [][]uint64 // by queue: frames that are given away until Release
	next   int        // queue that is looked at first
	finish *finisher  // nil: checksums are whole

	fd      int // -1: closed
	owns    bool
	arrived [xdpBurst]unix.XDPDesc
}

// xdpBurst is how many frames are taken or sent at once, at most.
const xdpBurst = 64

// newReceiver gives a worker its queues. local: senders on this machine may leave checksums to the device.
func (x *xdpPort) newReceiver(worker, workers int, local bool) (*xdpReceiver, error) {
	r := &xdpReceiver{port: x, fd: -1}
	if local {
		r.finish = &finisher{}
	}
	for i := worker; i < len(x.queues); i += workers {
		r.queues = append(r.queues, x.queues[i])
		r.held = append(r.held, make([]uint64, 0, len(x.queues[i].in.Unused)))
	}
	r.Release() // all frames are to be filled
	if len(r.queues) == 1 {
		r.fd = r.queues[0].FD
		return r, nil
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	r.fd, r.owns = fd, true
	for _, q := range r.queues {
		if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, q.FD, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
			return nil, errors.Join(os.NewSyscallError("epoll_ctl", err), r.close())
		}
	}
	return r, nil
}

func (r *xdpReceiver) close() error {
	if !r.owns {
		return nil
	}
	r.owns = false
	return unix.Close(r.fd)
}

// Descriptor is that of the socket, or of an epoll instance that has all of them.
func (r *xdpReceiver) Descriptor() int { return r.fd }

// Woken takes the errors of the sockets.
func (r *xdpReceiver) Woken() {
	for _, q := range r.queues {
		_, _ = unix.GetsockoptInt(q.FD, unix.SOL_SOCKET, unix.SO_ERROR)
	}
}

// Receive returns frames that are there.
func (r *xdpReceiver) Receive(frames []Frame) int {
	n, octets := 0, 0
	for range r.queues {
		at := r.next
		if r.next++; r.next == len(r.queues) {
			r.next = 0
		}
		n += r.take(at, frames[n:])
	}
	for i := range frames[:n] {
		octets += frames[i].End - frames[i].Start
	}
	if n > 0 {
		r.port.counters.rxFrames.Add(uint64(n))
		r.port.counters.rxOctets.Add(uint64(octets))
	}
	return n
}

// take returns what has come to a queue.
func (r *xdpReceiver) take(at int, frames []Frame) int {
	q := r.queues[at]
	n := q.RX.Take(r.arrived[:min(len(frames), xdpBurst)])
	for i := range r.arrived[:n] {
		d, f := &r.arrived[i], &frames[i]
		base := q.in.Base(d.Addr)
		q.in.Give(base, xsk.Held)
		r.held[at] = append(r.held[at], base)
		f.Buf = q.in.Bytes(base)
		f.Start = int(d.Addr - base)
		f.End = f.Start + int(d.Len)
		if r.finish != nil {
			r.finish.finish(f.Buf[f.Start:f.End])
		}
	}
	return n
}

// Release has the kernel fill the frames again.
func (r *xdpReceiver) Release() {
	for i, q := range r.queues {
		for _, base := range r.held[i] {
			q.in.Put(base)
		}
		r.held[i] = r.held[i][:0]
		if len(q.in.Unused) == 0 {
			continue
		}
		for _, base := range q.in.Unused {
			q.in.Give(base, xsk.Kernel)
		}
		n := q.Fill.Put(q.in.Unused) // all: the ring has as many entries
		q.in.Unused = q.in.Unused[:copy(q.in.Unused, q.in.Unused[n:])]
		if q.Fill.Asleep() {
			_ = q.Poke() // the next frame reports it again
		}
	}
}
