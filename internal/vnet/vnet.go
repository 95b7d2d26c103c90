// Package vnet moves packets through TUN and TAP devices with virtio headers, in
// batches, without an allocation for a call or packet.
//
//	kernel ─ read ─► [Reader]: super-packets are cut, checksums completed ─► packets
//	packets ─► [Writer]: packets of a flow are put together ─ writev ─► kernel
//
// What TCP sends, and UDP with UDP_SEGMENT, crosses the device in packets of up to
// 64 KiB, both ways; so does what the kernel has put together on its way here. Who
// uses the package sees packets of the size that they have on the wire.
//
// Package tun of golang.zx2c4.com/wireguard does the same for TUN devices. Here a
// packet is read to where it stays and written from where it is, instead of being
// copied once more each way; a call takes more than one packet; and there are TAP
// devices.
//
// Source: Linux, Documentation/networking/tuntap.rst; struct virtio_net_hdr in
// Virtual I/O Device (VIRTIO) 1.2, 5.1.6.
package vnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

const (
	cloneDevice = "/dev/net/tun"

	lenHeader = 10 // struct virtio_net_hdr

	// MaxPacket is how many octets of a buffer a Reader may use behind its headroom.
	MaxPacket = 1<<16 + inet.LenEthernet
)

// Config says which device is meant.
type Config struct {
	Name   string // at most 15 octets
	TAP    bool   // Ethernet frames, else IP packets
	Queues int    // the kernel spreads flows over them; 0: one
}

// Device is a TUN or TAP device. It is gone when it is closed, unless somebody has
// made it persistent before.
type Device struct {
	Name   string
	TAP    bool
	Queues []*Queue
	// UDP says that the kernel takes and gives super-packets of UDP, not only of TCP.
	UDP bool

	fanout int // how the packet sockets of its queues share what comes; 0: there are none
}

// Queue is one of a device's queues. One Reader and several Writers may use it at a
// time.
type Queue struct {
	device *Device
	file   *os.File
	conn   syscall.RawConn
	ring   *ring // of its Reader; nil: it has none
}

// Open makes the device, or attaches to a persistent one, in the network namespace
// of the caller. It is down. One that is another process's, or another part of this
// one's, is refused: the kernel would make us a further queue of it.
//
// Errors: [errors.ErrUnsupported] without /dev/net/tun, [os.ErrPermission] without
// CAP_NET_ADMIN or where that file may not be opened, EBUSY if the device is there and in use.
func Open(c Config) (*Device, error) {
	d := &Device{Name: c.Name, TAP: c.TAP}
	for range max(c.Queues, 1) {
		if err := d.addQueue(); err != nil {
			return nil, errors.Join(explain(c.Name, err), d.Close())
		}
	}
	return d, nil
}

// explain says what is to be done. It is the file that a [os.PathError] is about, else
// the device.
func explain(name string, err error) error {
	var file *os.PathError
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("device %s: %w: %w", name, err, errors.ErrUnsupported)
	case errors.Is(err, os.ErrPermission) && errors.As(err, &file):
		return fmt.Errorf("device %s: %w: a container has to be given that file", name, err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("device %s needs CAP_NET_ADMIN: %w", name, err)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("device %s is there and in use: %w", name, err)
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("device %s is there and is of another kind: %w", name, err)
	}
	return fmt.Errorf("device %s: %w", name, err)
}

func (d *Device) addQueue() error {
	fd, err := unix.Open(cloneDevice, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: cloneDevice, Err: err}
	}
	if err := d.attach(fd); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	q := &Queue{device: d, file: os.NewFile(uintptr(fd), cloneDevice)}
	d.Queues = append(d.Queues, q)
	q.conn, err = q.file.SyscallConn()
	return err
}

// attach makes fd a queue of the device.
func (d *Device) attach(fd int) error {
	request, err := unix.NewIfreq(d.Name)
	if err != nil {
		return err
	}
	kind := unix.IFF_TUN
	if d.TAP {
		kind = unix.IFF_TAP
	}
	flags := kind | unix.IFF_NO_PI | unix.IFF_VNET_HDR | unix.IFF_MULTI_QUEUE
	if len(d.Queues) == 0 {
		flags |= unix.IFF_TUN_EXCL
	}
	request.SetUint16(uint16(flags))
	err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	if errors.Is(err, unix.EBUSY) && len(d.Queues) == 0 {
		request.SetUint16(uint16(flags &^ unix.IFF_TUN_EXCL))
		err = attachPersistent(fd, request)
	}
	if err != nil {
		return os.NewSyscallError("TUNSETIFF", err)
	}
	const tcp, udp = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6, unix.TUN_F_USO4 | unix.TUN_F_USO6
	d.UDP = unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, tcp|udp) == nil // Linux 6.2
	if d.UDP {
		return nil
	}
	return os.NewSyscallError("TUNSETOFFLOAD", unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, tcp))
}

// attachPersistent makes fd a queue of a device that is there: one that would be there
// without anybody.
func attachPersistent(fd int, request *unix.Ifreq) error {
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.TUNGETIFF, request); err != nil {
		return err
	}
	if request.Uint16()&unix.IFF_PERSIST == 0 {
		return unix.EBUSY
	}
	return nil
}

// link returns how many octets of link header a packet has here.
func (d *Device) link() int {
	if d.TAP {
		return inet.LenEthernet
	}
	return 0
}

// Stop ends what reads: [Reader.Next] returns [os.ErrClosed]. A [Writer] goes on until
// Close.
func (d *Device) Stop() error {
	var errs []error
	for _, q := range d.Queues {
		if q.ring != nil {
			errs = append(errs, q.ring.sleeper.close())
		}
		errs = append(errs, q.file.SetReadDeadline(time.Unix(0, 1)))
	}
	return errors.Join(errs...)
}

// Close ends what reads and writes.
func (d *Device) Close() error {
	errs := []error{d.Stop()} // before a ring learns that the device has gone
	for _, q := range d.Queues {
		errs = append(errs, q.file.Close())
	}
	return errors.Join(errs...)
}

// header is struct virtio_net_hdr, whose fields have the byte order of the machine.
// Lengths and offsets are octets from the link header on.
type header struct {
	flags, gsoType        byte
	hdrLen, gsoSize       uint16
	csumStart, csumOffset uint16
}

func (h *header) get(b []byte) {
	h.flags, h.gsoType = b[0], b[1]
	h.hdrLen, h.gsoSize = binary.NativeEndian.Uint16(b[2:]), binary.NativeEndian.Uint16(b[4:])
	h.csumStart, h.csumOffset = binary.NativeEndian.Uint16(b[6:]), binary.NativeEndian.Uint16(b[8:])
}

func (h *header) put(b []byte) {
	b[0], b[1] = h.flags, h.gsoType
	binary.NativeEndian.PutUint16(b[2:], h.hdrLen)
	binary.NativeEndian.PutUint16(b[4:], h.gsoSize)
	binary.NativeEndian.PutUint16(b[6:], h.csumStart)
	binary.NativeEndian.PutUint16(b[8:], h.csumOffset)
}
