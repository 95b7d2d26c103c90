package xdp

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// hasXSK reports whether this kernel has AF_XDP, which may be configured out.
func hasXSK() bool {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return !errors.Is(err, unix.EAFNOSUPPORT)
}

// attend puts a socket into the map attended, from which the kernel takes it when
// the process ends: so the programs know that what is in the ring goes nowhere.
// Nothing is ever received by it.
func (d *Driver) attend() error {
	if d.objs.Attended.Type() != ebpf.XSKMap {
		return nil
	}
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("xdp: AF_XDP socket (needs CAP_NET_RAW): %w", err)
	}
	d.attends = fd
	// The map takes none without a ring to receive into.
	if err := unix.SetsockoptInt(fd, unix.SOL_XDP, unix.XDP_RX_RING, 1); err != nil {
		return fmt.Errorf("xdp: ring of an AF_XDP socket: %w", err)
	}
	if err := d.objs.Attended.Put(uint32(0), uint32(fd)); err != nil {
		return fmt.Errorf("xdp: map attended: %w", err)
	}
	return nil
}
