package afxdp

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"plumbline/datapath/vector"
)

// socket is an AF_XDP socket on one queue of a device, with its rings.
type socket struct {
	fd         int
	device     *device
	queue      int
	zero       bool // zero copy
	fill       fillRing
	completion completionRing
	rx         rxRing
	tx         txRing
	lent       int // frames that the kernel has of the fill ring, or has filled and we have not taken

	leaving []unix.XDPDesc // what the vector that is treated sends here
	lived   time.Time      // when frames left as XDP frames last
}

// openSocket makes a socket over the UMEM, which the first one of a worker
// registers; shared is that one's descriptor, or -1. flags are those of its bind:
// XDP_COPY, XDP_ZEROCOPY.
//
// Errors: those of the kernel, with what to do about them; [errors.ErrUnsupported]
// is wrapped where device or kernel cannot do it.
func openSocket(dev *device, queue int, u *umem, entries, shared int, flags uint16) (*socket, error) {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EAFNOSUPPORT):
		return nil, fmt.Errorf("afxdp: this kernel has no AF_XDP (CONFIG_XDP_SOCKETS): %w: %w", err, errors.ErrUnsupported)
	case err != nil:
		return nil, fmt.Errorf("afxdp: XDP socket (needs CAP_NET_RAW): %w", err)
	}
	s := &socket{fd: fd, device: dev, queue: queue}
	sa := &unix.SockaddrXDP{Flags: flags | unix.XDP_USE_NEED_WAKEUP, Ifindex: uint32(dev.index), QueueID: uint32(queue)}
	if shared < 0 {
		err = register(fd, u.mem, int(u.frame))
	} else {
		// Copy or not, and waking, are as for the first socket.
		sa.Flags, sa.SharedUmemFD = unix.XDP_SHARED_UMEM, uint32(shared)
	}
	if err == nil {
		err = s.openRings(entries)
	}
	if err == nil {
		err = bindError(bind(fd, sa), dev, queue)
	}
	if err == nil {
		s.zero, err = zeroCopy(fd)
		s.allowMore()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("afxdp: queue %d of %s: %w", queue, dev.name, err), s.close())
	}
	return s, nil
}

func (s *socket) openRings(entries int) error {
	for _, option := range []int{unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_RX_RING, unix.XDP_TX_RING} {
		if err := unix.SetsockoptInt(s.fd, unix.SOL_XDP, option, entries); err != nil {
			return fmt.Errorf("ring of %d entries: %w", entries, err)
		}
	}
	o, err := offsets(s.fd)
	if err != nil {
		return err
	}
	for _, r := range []struct {
		ring     *ring
		page     int64
		offset   unix.XDPRingOffset
		lenEntry int
	}{
		{&s.fill.ring, unix.XDP_UMEM_PGOFF_FILL_RING, o.Fr, lenAddress},
		{&s.completion.ring, unix.XDP_UMEM_PGOFF_COMPLETION_RING, o.Cr, lenAddress},
		{&s.rx.ring, unix.XDP_PGOFF_RX_RING, o.Rx, lenDescriptor},
		{&s.tx.ring, unix.XDP_PGOFF_TX_RING, o.Tx, lenDescriptor},
	} {
		if *r.ring, err = mapRing(s.fd, r.page, r.offset, entries, r.lenEntry); err != nil {
			return err
		}
	}
	s.fill.entries = addresses(s.fill.mem, o.Fr.Desc, entries)
	s.completion.entries = addresses(s.completion.mem, o.Cr.Desc, entries)
	s.rx.entries = descriptors(s.rx.mem, o.Rx.Desc, entries)
	s.tx.entries = descriptors(s.tx.mem, o.Tx.Desc, entries)
	return nil
}

// sendBuffer is how many octets may be on their way to the device in copy mode.
const sendBuffer = 8 << 20

// allowMore lets the kernel take a whole vector in one system call in copy mode, where
// it can, instead of 32 frames. The kernel may give less.
//
// Source: Linux 6.17, XDP_MAX_TX_SKB_BUDGET.
func (s *socket) allowMore() {
	_ = unix.SetsockoptInt(s.fd, unix.SOL_XDP, unix.XDP_MAX_TX_SKB_BUDGET, vector.MaxVector)
	if unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer) != nil {
		_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
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

func bindError(err error, dev *device, queue int) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("another XDP socket has it (see `ss --xdp -p`): %w", err)
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPROTONOSUPPORT):
		return fmt.Errorf("bind: %w: %w", err, errors.ErrUnsupported)
	case errors.Is(err, unix.ENETDOWN):
		return fmt.Errorf("%s is down (`ip link set %s up`): %w", dev.name, dev.name, err)
	}
	return fmt.Errorf("bind to queue %d: %w", queue, err)
}

// lost returns how many packets the kernel had for the socket and no room for.
func (s *socket) lost() (uint64, error) {
	st, err := statistics(s.fd)
	return st.Rx_dropped + st.Rx_ring_full, err // one without a frame to fill is among the dropped ones
}

// close ends the socket. What its rings held is nobody's any more.
func (s *socket) close() error {
	if s == nil {
		return nil
	}
	err := errors.Join(s.fill.unmap(), s.completion.unmap(), s.rx.unmap(), s.tx.unmap())
	return errors.Join(err, unix.Close(s.fd))
}
