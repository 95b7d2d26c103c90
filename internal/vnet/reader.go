package vnet

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/checksum"
)

// Reader takes batches of packets off a queue. It is not safe for concurrent use.
type Reader struct {
	// Senseless is how many super-packets could not be cut, or packets whose checksum
	// could not be completed.
	Senseless uint64
	// Full is how many packets found no room in the memory of [Reader.Share].
	Full uint64

	queue  *Queue
	bufs   [][]byte // one more than there are packets: the last has the super-packet
	at     int      // where in a buffer a packet begins
	sizes  []int
	supers []header // of those that come whole; nil: none do
	n      int
	cut    splitter
	poll   func(fd uintptr) bool // r.receive, bound once
	errno  syscall.Errno

	ring   *ring    // nil: packets are read one by one
	slots  [][]byte // of the ring, that have packets; nil: the buffer has it
	starts []int    // where in a slot the packet begins
}

// NewReader returns a reader of at most len(bufs)-1 packets at a time into bufs,
// each with headroom octets free before the packet, at least 10, and [MaxPacket]
// behind. Which buffer has which packet changes: see [Reader.Packet].
func NewReader(q *Queue, bufs [][]byte, headroom int) *Reader {
	r := &Reader{queue: q, bufs: append([][]byte(nil), bufs...), at: headroom, sizes: make([]int, len(bufs)-1)}
	r.poll = r.receive
	return r
}

// Next waits for packets and returns how many it took. A packet stays until the
// next call.
//
// Errors: [os.ErrClosed], and what the kernel says.
func (r *Reader) Next() (int, error) {
	r.n, r.errno = 0, 0
	if r.ring != nil {
		r.ring.release()
		clear(r.slots)
	}
	if r.drain(); r.n > 0 {
		return r.n, nil
	}
	if err := r.wait(); err != nil { // which a file says in words of its own
		return 0, fmt.Errorf("%w: %w", os.ErrClosed, err)
	}
	if r.errno != 0 && r.n == 0 {
		return 0, os.NewSyscallError("read", r.errno)
	}
	return r.n, nil
}

// wait waits for packets and takes them.
func (r *Reader) wait() error {
	if r.ring != nil {
		return r.waitRing()
	}
	return r.queue.conn.Read(r.poll)
}

// Packet returns the buffer that has packet i, and where in it the packet is, from
// its link header on.
func (r *Reader) Packet(i int) (buf []byte, start, end int) {
	if r.slots != nil && r.slots[i] != nil {
		return r.slots[i], r.starts[i], r.starts[i] + r.sizes[i]
	}
	return r.bufs[i], r.at, r.at + r.sizes[i]
}

// receive is called when Next begins, and whenever the device is ready: it takes
// what is there.
func (r *Reader) receive(fd uintptr) bool {
	for r.n < len(r.sizes) {
		buf := r.bufs[r.n][r.at-lenHeader:]
		n, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			return r.n > 0
		case errno != 0:
			r.errno = errno
			return true
		default:
			r.take(buf[:n])
		}
	}
	return true
}

// take makes packets of what was read into buffer r.n.
func (r *Reader) take(b []byte) {
	if len(b) < lenHeader {
		r.Senseless++
		return
	}
	var h header
	h.get(b)
	packet := b[lenHeader:]
	if h.gsoType == unix.VIRTIO_NET_HDR_GSO_NONE {
		if h.flags&unix.VIRTIO_NET_HDR_F_NEEDS_CSUM != 0 && !complete(packet, h) {
			r.Senseless++
			return
		}
		r.sizes[r.n] = len(packet)
		if r.supers != nil {
			r.supers[r.n] = header{}
		}
		r.n++
		return
	}
	if r.supers != nil {
		if !r.keep(packet, h) {
			r.Senseless++
		}
		return
	}
	spare := len(r.bufs) - 1
	r.bufs[r.n], r.bufs[spare] = r.bufs[spare], r.bufs[r.n]
	if !r.cut.begin(packet, r.queue.device.link(), h) {
		r.Senseless++
		return
	}
	r.drain()
}

// drain cuts what is left of a super-packet, as far as there is room.
func (r *Reader) drain() {
	for r.n < len(r.sizes) {
		size := r.cut.next(r.bufs[r.n][r.at:])
		if size == 0 {
			return
		}
		r.sizes[r.n] = size
		r.n++
	}
}

// complete computes the checksum that the kernel has left to a device: where it is to
// stand there is the sum of the pseudo header.
func complete(packet []byte, h header) bool {
	start, at := int(h.csumStart), int(h.csumStart)+int(h.csumOffset)
	if at+2 > len(packet) {
		return false
	}
	c := ^checksum.Fold(checksum.Sum(packet[start:], 0))
	if c == 0 && h.csumOffset == 6 { // UDP, where 0 says that there is none
		c = 0xffff
	}
	binary.BigEndian.PutUint16(packet[at:], c)
	return true
}
