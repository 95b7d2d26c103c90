package timestamp

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

const (
	look     = 10 // ms, how often a reader looks whether it is to end
	patience = 10 // looks without a stamp, after which those that are missing do not come
	octets   = 16 << 20
)

// Sending has a packet socket hand over the stamps of frames that it sends with
// [Source.Request]: number returns the mark of a frame, 0 if it is none of the run. stop
// waits for the stamps that are on their way.
func (c *Collector) Sending(fd int, number func(frame []byte) uint32) (stop func() error, err error) {
	if err := options(fd, c.source.report()); err != nil {
		return nil, err
	}
	return read(&reader{
		fds: []int{fd}, flags: unix.MSG_ERRQUEUE, complete: c.all,
		take: func(m message, frame []byte) {
			if mark, ns := number(frame), m.ns(c.source); mark != 0 && ns != 0 {
				c.put(c.sent, mark, ns)
			}
		},
	}), nil
}

// Receive takes the frames that a meter at a port has marked. stop ends that, once all
// that has arrived is taken.
func (c *Collector) Receive(port topology.Port) (stop func() error, err error) {
	flags := unix.SOF_TIMESTAMPING_RX_SOFTWARE
	if c.source == Hardware {
		flags = unix.SOF_TIMESTAMPING_RX_HARDWARE
	}
	r := &reader{complete: func() bool { return true }, take: func(m message, _ []byte) {
		if ns := m.ns(c.source); m.mark>>31 == 1 && ns != 0 {
			c.put(c.received, m.mark, ns)
		}
	}}
	err = port.Namespace.Do(func() error {
		// A socket of all protocols would take frames before the meter.
		for _, protocol := range []uint16{unix.ETH_P_IP, unix.ETH_P_IPV6} {
			fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				return fmt.Errorf("packet socket (needs CAP_NET_RAW): %w", err)
			}
			r.fds = append(r.fds, fd)
			if err := errors.Join(
				unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVMARK, 1), options(fd, c.source.report()|flags),
				unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: bits.ReverseBytes16(protocol), Ifindex: port.Index}),
			); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("timestamp: %s: %w", port.Device, errors.Join(err, r.close()))
	}
	end := read(r)
	return func() error { return errors.Join(end(), r.close()) }, nil
}

func options(fd, flags int) error {
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, octets) // stamps that find no room are missing
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags); err != nil {
		return fmt.Errorf("timestamp: SO_TIMESTAMPING %#x: %w", flags, err)
	}
	return nil
}

// reader takes messages off sockets.
type reader struct {
	fds      []int
	flags    int // of recvmsg(2)
	take     func(m message, frame []byte)
	complete func() bool // nothing is on its way any more
	ending   atomic.Bool
}

// read begins to read. stop ends it.
func read(r *reader) (stop func() error) {
	done := make(chan error, 1)
	go func() { done <- r.run() }()
	return func() error {
		r.ending.Store(true)
		return <-done
	}
}

func (r *reader) run() error {
	events := int16(unix.POLLIN)
	if r.flags&unix.MSG_ERRQUEUE != 0 {
		events = 0 // errors are always told
	}
	list := make([]unix.PollFd, len(r.fds))
	frame, control := make([]byte, 256), make([]byte, 512)
	for quiet := 0; ; {
		for i, fd := range r.fds {
			list[i] = unix.PollFd{Fd: int32(fd), Events: events}
		}
		ending := r.ending.Load()
		if _, err := unix.Poll(list, look); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("timestamp: %w", err)
		}
		taken := 0
		for _, fd := range r.fds {
			n, err := r.drain(fd, frame, control)
			if err != nil {
				return err
			}
			taken += n
		}
		if quiet++; taken > 0 || !ending {
			quiet = 0
		}
		if quiet > 0 && (r.complete() || quiet > patience) {
			return nil
		}
	}
}

// drain takes what a socket has, and returns how much that was.
func (r *reader) drain(fd int, frame, control []byte) (taken int, err error) {
	for ; ; taken++ {
		n, oob, _, _, err := unix.Recvmsg(fd, frame, control, r.flags|unix.MSG_DONTWAIT)
		switch {
		case err == nil:
			r.take(parse(control[:oob]), frame[:n])
		case errors.Is(err, unix.EAGAIN):
			return taken, nil
		case errors.Is(err, unix.ENETDOWN), errors.Is(err, unix.EINTR): // told once, of a device that goes down
		default:
			return taken, fmt.Errorf("timestamp: receive: %w", err)
		}
	}
}

func (r *reader) close() error {
	var errs []error
	for _, fd := range r.fds {
		errs = append(errs, unix.Close(fd))
	}
	r.fds = nil
	return errors.Join(errs...)
}
