package mmsg

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// MaxMessage is how many octets a buffer needs for all that the kernel may put
// together into one message.
const MaxMessage = 1<<16 - 1

// AcceptSegments has the kernel give datagrams of one size that came one behind
// the other from one sender as one message, if it has put them together on
// their way (GRO); [Receiver.Segment] tells where to cut. The buffers should have
// [MaxMessage] octets: what is longer than its buffer is cut off. A receiver does this or
// [Receiver.StampArrivals].
//
// Errors: that of setsockopt(2) before Linux 5.0.
func (r *Receiver) AcceptSegments() error {
	return r.ask(unix.SOL_UDP, unix.UDP_GRO)
}

// Segment returns how many octets each datagram of message i has; the last may
// have fewer. A message of one datagram has its size.
func (r *Receiver) Segment(i int) int {
	size := r.Size(i)
	said := r.said(i, unix.SOL_UDP, unix.UDP_GRO, 4)
	if said == nil {
		return size
	}
	if each := int(int32(binary.NativeEndian.Uint32(said))); each > 0 && each <= size {
		return each
	}
	return size
}
