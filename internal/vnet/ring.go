package vnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// ring is memory that the kernel copies what is sent to a device into: that of a packet
// socket. Who takes packets there makes no system call and no copy; who sends to the
// device makes the copy. What does not fit into a slot waits at the socket.
//
//	slot: struct tpacket2_hdr, struct sockaddr_ll, headroom, struct virtio_net_hdr, packet
//
// Source: Linux, Documentation/networking/packet_mmap.rst; packet(7).
type ring struct {
	socket  int // -1: freed
	sleeper *sleeper
	memory  []byte
	slot    int  // octets
	block   int  // slots, which are whole pages
	first   int  // slot that is the kernel's again with the next call of Next
	next    int  // slot that is looked at next
	down    bool // the device was, and may be gone
}

const (
	lenSlotHeader = unix.SizeofTpacket2Hdr
	maxBefore     = 128 // octets of a slot before the packet beside headroom, or more
	slotAlign     = 256 // so that as many slots as fit into a page once are whole pages, however long

	ringBuffer = 8 << 20 // octets of what waits at the socket
)

// Share has packets of at most so many octets come by so much memory that is shared with
// the kernel; longer ones are still read one by one. It is for the first
// Reader of each queue, or of none of them, before the first Next, in the network
// namespace of the device. [Reader.Free] ends it.
//
// The device goes on to give packets to the queue, which nobody reads any more. It should
// have no room there, and a queueing discipline, or their senders learn that it drops them.
//
// Errors: [os.ErrPermission] without CAP_NET_RAW.
func (r *Reader) Share(octets, memory int) error {
	d := r.queue.device
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("packet socket at %s: %w", d.Name, err)
	}
	s := &ring{socket: fd}
	s.slot, s.block = slots(r.at+maxBefore+octets, os.Getpagesize())
	if err := s.open(d, r.at, memory); err != nil {
		return errors.Join(fmt.Errorf("packet socket at %s: %w", d.Name, err), s.free())
	}
	r.ring, r.queue.ring = s, s
	r.slots, r.starts = make([][]byte, len(r.sizes)), make([]int, len(r.sizes))
	r.poll = func(uintptr) bool { return r.look() }
	return nil
}

// slots returns the length of a slot with room for octets, and how many slots a
// block is: whole pages of the machine, which are of 4 to 64 KiB.
func slots(octets, page int) (slot, block int) {
	return (octets + slotAlign - 1) / slotAlign * slotAlign, page / slotAlign
}

// open makes the socket a ring. Until it has its place among those of the other queues it
// takes nothing.
func (s *ring) open(d *Device, headroom, memory int) error {
	fd := s.socket
	link, err := net.InterfaceByName(d.Name)
	if err != nil {
		return err
	}
	blocks := max(memory/(s.slot*s.block), 2)
	request := unix.TpacketReq{
		Block_size: uint32(s.slot * s.block), Block_nr: uint32(blocks), Frame_size: uint32(s.slot), Frame_nr: uint32(blocks * s.block),
	}
	option := func(name, value int) error { return unix.SetsockoptInt(fd, unix.SOL_PACKET, name, value) }
	err = errors.Join(
		filterPackets(fd, false),
		option(unix.PACKET_VERSION, unix.TPACKET_V2),
		option(unix.PACKET_RESERVE, headroom),
		option(unix.PACKET_VNET_HDR, 1),
		option(unix.PACKET_COPY_THRESH, 1),
		unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &request))
	if err != nil {
		return err
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, ringBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, ringBuffer) // never refused: socket(7)
	}
	if s.memory, err = unix.Mmap(fd, 0, s.slot*s.block*blocks, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	all := binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}) // in network byte order
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index}); err != nil {
		return err
	}
	if err := d.fanOut(fd); err != nil {
		return err
	}
	if s.sleeper, err = newSleeper(fd); err != nil {
		return err
	}
	return filterPackets(fd, true)
}

// filterPackets has a packet socket take what is sent to its device and not what comes
// from there; or nothing at all.
func filterPackets(fd int, sent bool) error {
	program := []bpf.Instruction{bpf.RetConstant{}}
	if sent {
		program = []bpf.Instruction{
			bpf.LoadExtension{Num: bpf.ExtType},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PACKET_OUTGOING, SkipFalse: 1},
			bpf.RetConstant{Val: 1 << 17}, // octets: all
			bpf.RetConstant{},
		}
	}
	raw, err := bpf.Assemble(program)
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, x := range raw {
		filter[i] = unix.SockFilter{Code: x.Op, Jt: x.Jt, Jf: x.Jf, K: x.K}
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
}

// fanOut has the socket get what the kernel chooses its queue for.
func (d *Device) fanOut(fd int) error {
	const byQueue = unix.PACKET_FANOUT_QM << 16
	switch {
	case len(d.Queues) == 1:
		return nil
	case d.fanout != 0:
		return unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_FANOUT, d.fanout)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_FANOUT, byQueue|unix.PACKET_FANOUT_FLAG_UNIQUEID<<16); err != nil {
		return err
	}
	group, err := unix.GetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_FANOUT)
	d.fanout = byQueue | group&0xffff
	return err
}

// Free gives shared memory back. It is for after the last Next, when the device is closed.
func (r *Reader) Free() error {
	if r.ring == nil {
		return nil
	}
	return r.ring.free()
}

func (s *ring) free() error {
	if s.socket < 0 {
		return nil
	}
	errs := []error{unix.Close(s.socket)}
	s.socket = -1
	if s.sleeper != nil {
		errs = append(errs, s.sleeper.close())
	}
	if s.memory != nil {
		errs = append(errs, unix.Munmap(s.memory))
		s.memory = nil
	}
	return errors.Join(errs...)
}

func (s *ring) at(i int) []byte { return s.memory[i*s.slot:][:s.slot:s.slot] }

func (s *ring) after(i int) int {
	if i++; i*s.slot == len(s.memory) {
		return 0
	}
	return i
}

// slotStatus says whose a slot is, and what is in it.
func slotStatus(slot []byte) *uint32 { return (*uint32)(unsafe.Pointer(&slot[0])) }

// release gives the slots that were looked at back to the kernel.
func (s *ring) release() {
	for ; s.first != s.next; s.first = s.after(s.first) {
		atomic.StoreUint32(slotStatus(s.at(s.first)), unix.TP_STATUS_KERNEL)
	}
}

// waitRing is [Reader.wait] for a ring. The socket is asked nothing while there are packets.
func (r *Reader) waitRing() error {
	var err error
	if !r.look() {
		var errno syscall.Errno
		if errno, err = r.ring.sleeper.sleep(r.poll); errno != 0 {
			r.errno = errno
		}
	}
	if r.ring.sleeper.closed.Load() { // which may be why the device is gone
		return os.ErrClosed
	}
	return err
}

// look is [Reader.receive] for a ring.
func (r *Reader) look() bool {
	for r.n < len(r.sizes) {
		slot, after := r.ring.at(r.ring.next), r.ring.after(r.ring.next)
		status := atomic.LoadUint32(slotStatus(slot))
		switch {
		case status&unix.TP_STATUS_USER == 0:
			return r.n > 0 || r.ended()
		case after == r.ring.first: // behind it are those that were looked at
			return true
		}
		r.ring.next, r.ring.down = after, false
		if status&unix.TP_STATUS_LOSING != 0 {
			r.countFull()
		}
		if status&unix.TP_STATUS_VLAN_VALID == 0 { // a tag stands beside the frame: for nobody here
			r.takeSlot(slot, status)
		}
	}
	return true
}

// Offsets in struct tpacket2_hdr.
const offLen, offSnap, offMac = 4, 8, 12

// takeSlot makes packets of what is in a slot.
func (r *Reader) takeSlot(slot []byte, status uint32) {
	length, snap := binary.NativeEndian.Uint32(slot[offLen:]), binary.NativeEndian.Uint32(slot[offSnap:])
	at := int(binary.NativeEndian.Uint16(slot[offMac:]))
	buf := r.bufs[r.n][r.at-lenHeader:]
	if status&unix.TP_STATUS_COPY != 0 {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(r.ring.socket), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), unix.MSG_DONTWAIT, 0, 0)
		if errno != 0 {
			n = 0
		}
		r.take(buf[:n])
		return
	}
	if snap < length || at < lenSlotHeader+lenHeader || at+int(snap) > len(slot) {
		r.Senseless++
		return
	}
	in := slot[at-lenHeader : at+int(snap)]
	var h header
	h.get(in)
	switch {
	case h.gsoType != unix.VIRTIO_NET_HDR_GSO_NONE:
		r.take(buf[:copy(buf, in)])
	case h.flags&unix.VIRTIO_NET_HDR_F_NEEDS_CSUM != 0 && !complete(in[lenHeader:], h):
		r.Senseless++
	default:
		r.slots[r.n], r.starts[r.n], r.sizes[r.n] = slot[lenSlotHeader:], at-lenSlotHeader, int(snap)
		r.n++
	}
}

// countFull asks how many packets found no room since it was asked last.
func (r *Reader) countFull() {
	if s, err := unix.GetsockoptTpacketStats(r.ring.socket, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		r.Full += uint64(s.Drops)
	}
}

// ended reports whether nothing may come any more, and why: the socket tells once that the
// device is down, and not when it has gone then, which the queue knows. So from then on
// it is asked for again and again, until a packet comes.
func (r *Reader) ended() bool {
	if e, err := unix.GetsockoptInt(r.ring.socket, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && e == 0 && !r.ring.down {
		return false
	}
	r.ring.down = true
	r.errno = unix.ENETDOWN
	spare := r.bufs[0]
	err := r.queue.conn.Control(func(queue uintptr) {
		_, _, errno := unix.RawSyscall(unix.SYS_READ, queue, uintptr(unsafe.Pointer(&spare[0])), uintptr(len(spare)))
		if errno == unix.EBADFD {
			r.errno = errno
		}
	})
	if err != nil {
		r.errno = unix.EBADFD
	}
	return true
}
