package vnet

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Writer gives batches of packets to a queue. Packets of a flow that came one behind the
// other go to the kernel as one. It is not safe for concurrent use; several Writers of
// a queue may be used at once.
type Writer struct {
	queue   *Queue
	link    [inet.LenEthernet]byte // of what Add is given, on a TAP device; its type is set
	packets [][]byte
	next    []int32 // the packet behind, of the same super-packet; -1: none
	items   []item  // what is written: packets and super-packets
	flows   [flowSlots]int32
	iovecs  [1 + maxSegments]unix.Iovec
	write   func(fd uintptr) // w.flush, bound once
	lost    int
	errno   syscall.Errno
}

// flowSlots is how many flows can be put together at a time: where two have the same
// slot, only packets that follow each other are.
const flowSlots = 256

// item is a packet, or a super-packet that grows.
type item struct {
	header      [lenHeader + inet.LenEthernet]byte
	prefix      int // octets of header
	first, last int32
	count       int
	octets      int // from the IP header on
	size        int // payload of each packet but the last
	shape       shape
	open        bool // more may be added
	whole       bool // the first packet's checksum is right: it has been looked at
}

// NewWriter returns a writer of at most capacity packets at a time. On a TAP device
// packets get an Ethernet header with these addresses.
func NewWriter(q *Queue, capacity int, to, from [6]byte) *Writer {
	w := &Writer{
		queue: q, packets: make([][]byte, 0, capacity), next: make([]int32, 0, capacity), items: make([]item, 0, capacity),
	}
	copy(w.link[:], to[:])
	copy(w.link[6:], from[:])
	w.write = w.flush
	w.forget()
	return w
}

func (w *Writer) forget() {
	w.packets, w.next, w.items = w.packets[:0], w.next[:0], w.items[:0]
	for i := range w.flows {
		w.flows[i] = -1
	}
}

// Room is how many more packets can be added.
func (w *Writer) Room() int { return cap(w.packets) - len(w.packets) }

// Add adds an IP packet of a flow; flow is the same for all of its packets, and differs
// in its high bits from that of others. The packet must stay until Flush has
// returned, which may change its headers.
//
// Preconditions: there is room; the packet is not empty.
func (w *Writer) Add(packet []byte, flow uint32) {
	slot := &w.flows[flow>>24]
	s, ok := look(packet, w.queue.device.UDP)
	if ok && *slot >= 0 && w.joins(&w.items[*slot], s, packet) {
		return
	}
	i := w.begin(packet)
	*slot = -1
	if !ok {
		return
	}
	*slot = int32(len(w.items) - 1)
	i.shape, i.size, i.open = s, len(packet)-s.headers, !s.final(packet)
}

// AddFrame adds an Ethernet frame, or a packet that goes alone, as it is.
func (w *Writer) AddFrame(frame []byte) {
	i := w.begin(frame)
	i.prefix = lenHeader
}

// begin begins an item.
func (w *Writer) begin(packet []byte) *item {
	n := int32(len(w.packets))
	w.packets, w.next = append(w.packets, packet), append(w.next, -1)
	w.items = w.items[:len(w.items)+1]
	i := &w.items[len(w.items)-1]
	*i = item{first: n, last: n, count: 1, octets: len(packet), prefix: lenHeader}
	if w.queue.device.TAP {
		i.prefix = lenHeader + inet.LenEthernet
		copy(i.header[lenHeader:], w.link[:])
		i.header[lenHeader+12], i.header[lenHeader+13] = 0x08, 0x00
		if packet[0]>>4 == 6 {
			i.header[lenHeader+12], i.header[lenHeader+13] = 0x86, 0xdd
		}
	}
	return i
}

// joins adds packet to i, if it can.
func (w *Writer) joins(i *item, s shape, packet []byte) bool {
	payload := len(packet) - s.headers
	if !i.open || s != i.shape || payload > i.size || i.count == maxSegments || i.octets+payload > maxOctets {
		return false
	}
	head := w.packets[i.first]
	if !s.follows(head, packet, i.count, i.size) {
		return false
	}
	if !i.whole && !s.whole(head) {
		i.open = false
		return false
	}
	i.whole = true
	if !s.whole(packet) {
		i.open = false
		return false
	}
	n := int32(len(w.packets))
	w.packets, w.next = append(w.packets, packet), append(w.next, -1)
	w.next[i.last] = n
	i.last = n
	i.count++
	i.octets += payload
	i.open = payload == i.size && !s.final(packet)
	return true
}

// Flush writes what was added, in its order. It returns how many packets the kernel did
// not take, and the last reason.
func (w *Writer) Flush() (lost int, err error) {
	if len(w.items) == 0 {
		return 0, nil
	}
	w.lost, w.errno = 0, 0
	if err := w.queue.conn.Control(w.write); err != nil {
		lost = len(w.packets)
		w.forget()
		return lost, err
	}
	w.forget()
	if w.lost > 0 {
		return w.lost, os.NewSyscallError("write", w.errno)
	}
	return 0, nil
}

// flush is not told to the runtime as a system call: it never sleeps.
func (w *Writer) flush(fd uintptr) {
	for k := range w.items {
		i := &w.items[k]
		count := w.gather(i)
		for {
			_, _, errno := unix.RawSyscall(unix.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&w.iovecs[0])), uintptr(count))
			if errno == unix.EINTR {
				continue
			}
			if errno != 0 {
				w.lost += i.count
				w.errno = errno
			}
			break
		}
	}
}

// gather points iovecs at the parts of i, and returns how many there are.
func (w *Writer) gather(i *item) int {
	head := w.packets[i.first]
	if i.count > 1 {
		h := i.shape.join(head, i.octets, i.size, i.prefix-lenHeader, w.packets[i.last])
		h.put(i.header[:])
	}
	w.iovecs[0].Base = &i.header[0]
	w.iovecs[0].SetLen(i.prefix)
	w.iovecs[1].Base = &head[0]
	w.iovecs[1].SetLen(len(head))
	n := 2
	for p := w.next[i.first]; p >= 0; p = w.next[p] {
		payload := w.packets[p][i.shape.headers:]
		w.iovecs[n].Base = &payload[0]
		w.iovecs[n].SetLen(len(payload))
		n++
	}
	return n
}
