package generator

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// xdpOutput sends by an AF_XDP socket on the first queue of a device, without a copy where the
// driver can. Nothing is received.
//
// Frame i of the UMEM is on its way from put until the completion ring brings it back.
//
// Source: Linux, Documentation/networking/af_xdp.rst.
type xdpOutput struct {
	fd         int
	memory     []byte
	free       []uint64 // offsets of frames that are not on their way
	tx         xdpRing
	completion xdpRing
	made       uint32 // frames that are put and not yet handed over
}

const (
	xdpFrames   = 1024
	xdpPatience = time.Second // for a device that takes nothing
)

// openXDP opens a socket on the port.
//
// Errors: [errors.ErrUnsupported] is wrapped where the kernel has no AF_XDP.
func openXDP(port topology.Port) (*xdpOutput, error) {
	o := &xdpOutput{fd: -1}
	err := port.Namespace.Do(func() error { return o.open(port.Index) })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("AF_XDP on %s of %s: %w", port.Device, port.Namespace.Name, err), o.close())
	}
	return o, nil
}

func (o *xdpOutput) open(device int) (err error) {
	o.fd, err = unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		return fmt.Errorf("this kernel has none (CONFIG_XDP_SOCKETS): %w: %w", err, errors.ErrUnsupported)
	}
	if err != nil {
		return fmt.Errorf("socket (needs CAP_NET_RAW): %w", err)
	}
	o.memory, err = unix.Mmap(-1, 0, xdpFrames*frameOctets, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("memory for %d frames: %w", xdpFrames, err)
	}
	for i := range uint64(xdpFrames) {
		o.free = append(o.free, i*frameOctets)
	}
	if err := registerUMEM(o.fd, o.memory, frameOctets); err != nil {
		return err
	}
	if err := o.openRings(); err != nil {
		return err
	}
	_ = unix.SetsockoptInt(o.fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 8<<20) // in copy mode; the usual size does too
	if err := o.bind(device); err != nil {
		return fmt.Errorf("bind to queue 0: %w", err)
	}
	return nil
}

// bind binds the socket to the device's first queue. A socket of before that was just
// closed may have it yet for a moment: the kernel frees it later.
func (o *xdpOutput) bind(device int) error {
	address := &unix.SockaddrXDP{Flags: unix.XDP_USE_NEED_WAKEUP, Ifindex: uint32(device)}
	err := unix.Bind(o.fd, address)
	for deadline := time.Now().Add(xdpPatience); errors.Is(err, unix.EBUSY) && time.Now().Before(deadline); err = unix.Bind(o.fd, address) {
		time.Sleep(xdpPatience / 100)
	}
	return err
}

// openRings makes the rings. A socket must have a fill ring, which stays empty.
func (o *xdpOutput) openRings() error {
	for _, option := range []int{unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_TX_RING} {
		if err := unix.SetsockoptInt(o.fd, unix.SOL_XDP, option, xdpFrames); err != nil {
			return fmt.Errorf("ring of %d entries: %w", xdpFrames, err)
		}
	}
	offsets, err := xdpOffsets(o.fd)
	if err != nil {
		return err
	}
	if o.tx, err = mapXDPRing(o.fd, unix.XDP_PGOFF_TX_RING, offsets.Tx, xdpDescriptorOctets); err != nil {
		return err
	}
	o.completion, err = mapXDPRing(o.fd, unix.XDP_UMEM_PGOFF_COMPLETION_RING, offsets.Cr, xdpAddressOctets)
	return err
}

func (o *xdpOutput) room() []byte {
	if len(o.free) == 0 {
		return nil
	}
	at := o.free[len(o.free)-1]
	return o.memory[at : at+frameOctets]
}

// put fills an entry of the TX ring: there are as many as frames.
func (o *xdpOutput) put(octets int, _ []byte) {
	at := o.free[len(o.free)-1]
	o.free = o.free[:len(o.free)-1]
	o.tx.setDescriptor(o.made, at, uint32(octets))
	o.made++
}

// flush hands over what was put, and takes back what was sent. It returns when there is
// room again.
func (o *xdpOutput) flush() error {
	o.tx.publish(o.made)
	o.made = 0
	for started := (time.Time{}); ; {
		if err := o.wake(); err != nil {
			return err
		}
		before := len(o.free)
		o.free = o.completion.takeAddresses(o.free)
		switch {
		case len(o.free) > 0 && o.tx.unread() == 0:
			return nil
		case len(o.free) > before || started.IsZero():
			started = time.Now()
		case time.Since(started) > xdpPatience:
			return fmt.Errorf("AF_XDP: the device has not taken %d frames for %v", o.tx.unread(), xdpPatience)
		}
	}
}

// wake lets the kernel look at the TX ring, if it wants that. In copy mode a call takes
// 32 frames.
func (o *xdpOutput) wake() error {
	if o.tx.unread() == 0 || !o.tx.needsWakeup() {
		return nil
	}
	err := wakeXDP(o.fd)
	switch {
	case err == nil, errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EBUSY), errors.Is(err, unix.ENOBUFS):
		return nil // there is more to do, or no room now
	}
	return fmt.Errorf("AF_XDP: send: %w", err)
}

func (o *xdpOutput) close() error {
	var errs []error
	if o.fd >= 0 {
		errs = append(errs, unix.Close(o.fd))
	}
	for _, memory := range [][]byte{o.tx.memory, o.completion.memory, o.memory} {
		if memory != nil {
			errs = append(errs, unix.Munmap(memory))
		}
	}
	return errors.Join(errs...)
}
