package mmsg

import (
	"encoding/binary"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// control is the control message that comes with a message: UDP_GRO, an int, or
// SO_TIMESTAMPNS, a struct timespec. Source: cmsg(3), udp(7), socket(7).
type control struct {
	header unix.Cmsghdr
	data   [16]byte
}

// ask has the kernel say something about each message.
func (r *Receiver) ask(level, option int) error {
	if err := setOption(r.conn, level, option, 1); err != nil {
		return err
	}
	r.controls = make([]control, len(r.headers))
	for i := range r.controls {
		r.headers[i].msg.Control = (*byte)(unsafe.Pointer(&r.controls[i]))
		r.headers[i].msg.SetControllen(int(unsafe.Sizeof(control{})))
	}
	return nil
}

// said is what the kernel has said about message i, in so many octets; nil: nothing.
func (r *Receiver) said(i, level, kind, octets int) []byte {
	if r.controls == nil || int(r.headers[i].msg.Controllen) < unix.CmsgLen(octets) {
		return nil
	}
	c := &r.controls[i]
	if int(c.header.Level) != level || int(c.header.Type) != kind || int(c.header.Len) != unix.CmsgLen(octets) {
		return nil
	}
	return c.data[:octets]
}

// StampArrivals has the kernel take the time at which each datagram comes, for
// [Receiver.Arrival]. A receiver does this or [Receiver.AcceptSegments].
//
// Errors: that of setsockopt(2).
func (r *Receiver) StampArrivals() error { return r.ask(unix.SOL_SOCKET, unix.SO_TIMESTAMPNS) }

// Arrival returns when message i came, before it waited for Next: ns since 1970, of
// CLOCK_REALTIME; 0 if the kernel does not say.
func (r *Receiver) Arrival(i int) int64 {
	said := r.said(i, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 16)
	if said == nil {
		return 0
	}
	return int64(binary.NativeEndian.Uint64(said))*1e9 + int64(binary.NativeEndian.Uint64(said[8:]))
}

func setOption(conn syscall.RawConn, level, option, value int) error {
	var err error
	control := conn.Control(func(fd uintptr) {
		err = os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), level, option, value))
	})
	if control != nil {
		return control
	}
	return err
}
