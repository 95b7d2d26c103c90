// Package xsk is AF_XDP sockets: each is on one queue of a device, with four rings that it
// shares with the kernel, over memory of frames (the UMEM).
//
//	free ─► fill ring ─► kernel ─► RX ring ─► ... ─► TX ring ─► kernel ─► completion ring ─► free
//
// What comes to a socket an XDP program says, which is the caller's. Lengths are in octets.
//
// Source: Linux, Documentation/networking/af_xdp.rst.
package xsk

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Socket is an AF_XDP socket, with its rings. It is for one goroutine.
type Socket struct {
	FD         int
	Zero       bool // zero copy
	Fill       FillRing
	Completion CompletionRing
	RX         RXRing
	TX         TXRing
}

// Config says where a socket is.
type Config struct {
	Device string // name, for errors
	Index  int    // interface index
	Queue  int
	// UMEM is registered by the first socket that uses it; Shared is that one, or nil.
	UMEM    *UMEM
	Shared  *Socket
	Entries int    // of each ring, a power of two
	Flags   uint16 // of the bind of a first socket: XDP_COPY, XDP_ZEROCOPY
	// Burst is how many frames one system call may send in copy mode, where the kernel
	// lets that be said; 0: as many as it likes.
	Burst int
}

// Open makes a socket.
//
// Errors: those of the kernel, with what to do about them; [errors.ErrUnsupported]
// is wrapped where device or kernel cannot do it.
func Open(c Config) (*Socket, error) {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EAFNOSUPPORT):
		return nil, fmt.Errorf("this kernel has no AF_XDP (CONFIG_XDP_SOCKETS): %w: %w", err, errors.ErrUnsupported)
	case err != nil:
		return nil, fmt.Errorf("XDP socket (needs CAP_NET_RAW): %w", err)
	}
	s := &Socket{FD: fd}
	sa := &unix.SockaddrXDP{Flags: c.Flags | unix.XDP_USE_NEED_WAKEUP, Ifindex: uint32(c.Index), QueueID: uint32(c.Queue)}
	if c.Shared == nil {
		err = register(fd, c.UMEM.Memory, int(c.UMEM.Frame))
	} else {
		// Copy or not, and waking, are as for the first socket.
		sa.Flags, sa.SharedUmemFD = unix.XDP_SHARED_UMEM, uint32(c.Shared.FD)
	}
	if err == nil {
		err = s.openRings(c.Entries)
	}
	if err == nil {
		err = bindError(bind(fd, sa), c.Device, c.Queue)
	}
	if err == nil {
		s.Zero, err = zeroCopy(fd)
		s.allowMore(c.Burst)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("queue %d of %s: %w", c.Queue, c.Device, err), s.Close())
	}
	return s, nil
}

func (s *Socket) openRings(entries int) error {
	for _, option := range []int{unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_RX_RING, unix.XDP_TX_RING} {
		if err := unix.SetsockoptInt(s.FD, unix.SOL_XDP, option, entries); err != nil {
			return fmt.Errorf("ring of %d entries: %w", entries, err)
		}
	}
	o, err := offsets(s.FD)
	if err != nil {
		return err
	}
	for _, r := range []struct {
		ring     *Ring
		page     int64
		offset   unix.XDPRingOffset
		lenEntry int
	}{
		{&s.Fill.Ring, unix.XDP_UMEM_PGOFF_FILL_RING, o.Fr, lenAddress},
		{&s.Completion.Ring, unix.XDP_UMEM_PGOFF_COMPLETION_RING, o.Cr, lenAddress},
		{&s.RX.Ring, unix.XDP_PGOFF_RX_RING, o.Rx, lenDescriptor},
		{&s.TX.Ring, unix.XDP_PGOFF_TX_RING, o.Tx, lenDescriptor},
	} {
		if *r.ring, err = mapRing(s.FD, r.page, r.offset, entries, r.lenEntry); err != nil {
			return err
		}
	}
	s.Fill.Entries = addresses(s.Fill.mem, o.Fr.Desc, entries)
	s.Completion.Entries = addresses(s.Completion.mem, o.Cr.Desc, entries)
	s.RX.Entries = descriptors(s.RX.mem, o.Rx.Desc, entries)
	s.TX.Entries = descriptors(s.TX.mem, o.Tx.Desc, entries)
	return nil
}

// sendBuffer is how many octets may be on their way to the device in copy mode.
const sendBuffer = 8 << 20

// allowMore lets the kernel take a whole burst in one system call in copy mode, where
// it can, instead of 32 frames. The kernel may give less.
//
// Source: Linux 6.17, XDP_MAX_TX_SKB_BUDGET.
func (s *Socket) allowMore(burst int) {
	if burst > 0 {
		_ = unix.SetsockoptInt(s.FD, unix.SOL_XDP, unix.XDP_MAX_TX_SKB_BUDGET, burst)
	}
	if unix.SetsockoptInt(s.FD, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer) != nil {
		_ = unix.SetsockoptInt(s.FD, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
	}
}

// bind binds the socket to its queue. One of before that was just closed may have it yet
// for a moment: the kernel frees it later.
func bind(fd int, sa *unix.SockaddrXDP) error {
	err := unix.Bind(fd, sa)
	for deadline := time.Now().Add(bindPatience); errors.Is(err, unix.EBUSY) && time.Now().Before(deadline); err = unix.Bind(fd, sa) {
		time.Sleep(bindPatience / 50)
	}
	return err
}

const bindPatience = 500 * time.Millisecond

func bindError(err error, device string, queue int) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("another XDP socket has it (see `ss --xdp -p`): %w", err)
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPROTONOSUPPORT):
		return fmt.Errorf("bind: %w: %w", err, errors.ErrUnsupported)
	case errors.Is(err, unix.ENETDOWN):
		return fmt.Errorf("%s is down (`ip link set %s up`): %w", device, device, err)
	}
	return fmt.Errorf("bind to queue %d: %w", queue, err)
}

// How the kernel is to poll a device for us.
const (
	busyPoll   = 20 // microseconds in a system call that finds nothing
	busyBudget = 64 // packets in one
)

// Busy lets the kernel poll the device when we ask, and not interrupt us. It is no
// error if it cannot: then it interrupts.
func (s *Socket) Busy() error {
	return errors.Join(
		unix.SetsockoptInt(s.FD, unix.SOL_SOCKET, unix.SO_PREFER_BUSY_POLL, 1),
		unix.SetsockoptInt(s.FD, unix.SOL_SOCKET, unix.SO_BUSY_POLL, busyPoll),
		unix.SetsockoptInt(s.FD, unix.SOL_SOCKET, unix.SO_BUSY_POLL_BUDGET, busyBudget))
}

// Lost returns how many packets the kernel had for the socket and no room for.
func (s *Socket) Lost() (uint64, error) {
	st, err := s.Statistics()
	return st.Rx_dropped + st.Rx_ring_full, err // one without a frame to fill is among the dropped ones
}

// Close closes the socket. The frames in its rings have no owner afterwards.
func (s *Socket) Close() error {
	if s == nil {
		return nil
	}
	err := errors.Join(s.Fill.unmap(), s.Completion.unmap(), s.RX.unmap(), s.TX.unmap())
	return errors.Join(err, unix.Close(s.FD))
}
