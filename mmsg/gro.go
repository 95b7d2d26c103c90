package mmsg

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// controlGRO is a control message UDP_GRO: how long each datagram of a message is
// but the last. Source: udp(7).
type controlGRO struct {
	header unix.Cmsghdr
	size   int32
	_      [4]byte
}

// MaxMessage is how many octets a buffer needs for all that the kernel may put
// together into one message.
const MaxMessage = 1<<16 - 1

// AcceptSegments has the kernel give datagrams of one size that came one behind
// the other from one sender as one message, if it has put them together on
// their way (GRO); [Receiver.Segment] tells where to cut. The buffers should have
// [MaxMessage] octets: what is longer than its buffer is cut off.
//
// Errors: that of setsockopt(2) before Linux 5.0.
func (r *Receiver) AcceptSegments() error {
	if err := setOption(r.conn, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
		return err
	}
	r.controls = make([]controlGRO, len(r.headers))
	for i := range r.controls {
		r.headers[i].msg.Control = (*byte)(unsafe.Pointer(&r.controls[i]))
		r.headers[i].msg.SetControllen(int(unsafe.Sizeof(controlGRO{})))
	}
	return nil
}

// Segment returns how many octets each datagram of message i has; the last may
// have fewer. A message of one datagram has its size.
func (r *Receiver) Segment(i int) int {
	size := r.Size(i)
	if r.controls == nil || int(r.headers[i].msg.Controllen) < unix.CmsgLen(4) {
		return size
	}
	c := &r.controls[i]
	if c.header.Level != unix.SOL_UDP || c.header.Type != unix.UDP_GRO || c.size <= 0 || int(c.size) > size {
		return size
	}
	return int(c.size)
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
