package port

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/vnet"
)

// receiver is memory that the kernel copies the frames of a device into: that of a packet socket. What does not fit into
// a slot waits at the socket, whole.
//
//	slot: struct tpacket2_hdr, struct sockaddr_ll, headroom, struct virtio_net_hdr, frame
type receiver struct {
	port   *packetPort
	fd     int // -1: closed
	memory []byte
	slot   int // octets
	first  int // slot that is the kernel's again with the next Release
	next   int // slot that is looked at next

	mtu      int // of a frame, with a tag
	headroom int
	cutter   vnet.Cutter
	super    []byte   // what is cut, or is too long for a slot
	tag      []byte   // of what is cut; nil: none
	cutting  bool     // there is more to be cut
	pool     [][]byte // memory of frames outside the slots
	used     int      // of pool

	full sync.Mutex // of the kernel's counts, which reading sets to 0
}

const (
	lenSlotHead = 64 // struct tpacket2_hdr and struct sockaddr_ll, or more

	slotAlign  = 256
	maxSuper   = 1<<16 + 256
	poolFrames = 64 // as many frames of a super-packet are given at once
	ringBuffer = 8 << 20
)

// newReceiver makes the ring. Until start it takes nothing.
func (p *packetPort) newReceiver(c *Config, mtu int) (*receiver, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	r := &receiver{port: p, fd: fd, headroom: c.Headroom, mtu: mtu + inet.LenEthernet + 2*inet.LenTag, super: make([]byte, vnet.HeaderLen+maxSuper)}
	if err := r.open(c); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *receiver) open(c *Config) error {
	r.slot = (lenSlotHead + c.Headroom + vnet.HeaderLen + 16 + r.mtu + slotAlign - 1) / slotAlign * slotAlign
	block := r.slot * 16 // whole pages, of 4 KiB; those of larger pages, too, since 16 slots are 16 times 256 octets
	if page := unix.Getpagesize(); block%page != 0 {
		block *= page / 4096
	}
	blocks := max(c.Memory/block, 2)
	request := unix.TpacketReq{
		Block_size: uint32(block), Block_nr: uint32(blocks), Frame_size: uint32(r.slot), Frame_nr: uint32(blocks * (block / r.slot)),
	}
	option := func(name, value int) error { return unix.SetsockoptInt(r.fd, unix.SOL_PACKET, name, value) }
	if err := errors.Join(
		option(unix.PACKET_VERSION, unix.TPACKET_V2),
		option(unix.PACKET_IGNORE_OUTGOING, 1),
		option(unix.PACKET_RESERVE, c.Headroom),
		option(unix.PACKET_VNET_HDR, 1),
		option(unix.PACKET_COPY_THRESH, 1),
		unix.SetsockoptTpacketReq(r.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &request)); err != nil {
		return err
	}
	if unix.SetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, ringBuffer) != nil {
		_ = unix.SetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, ringBuffer) // never refused: socket(7)
	}
	var err error
	if r.memory, err = unix.Mmap(r.fd, 0, block*blocks, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	r.pool = make([][]byte, poolFrames)
	return nil
}

// start has frames come.
func (r *receiver) start(receivers int) error {
	all := binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}) // in network byte order
	if err := unix.Bind(r.fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: r.port.index}); err != nil {
		return err
	}
	if err := unix.SetsockoptPacketMreq(r.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
		&unix.PacketMreq{Ifindex: int32(r.port.index), Type: unix.PACKET_MR_PROMISC}); err != nil {
		return err
	}
	if receivers > 1 {
		return r.port.join(r.fd)
	}
	return nil
}

func (r *receiver) close() error {
	if r.fd < 0 {
		return nil
	}
	r.full.Lock()
	errs := []error{unix.Close(r.fd)}
	r.fd = -1
	r.full.Unlock()
	if r.memory != nil {
		errs = append(errs, unix.Munmap(r.memory))
		r.memory = nil
	}
	return errors.Join(errs...)
}

// Descriptor is that of the socket.
func (r *receiver) Descriptor() int { return r.fd }

// Woken clears the error of the socket, as of a device that went down: it continues when the device comes up.
func (r *receiver) Woken() { _, _ = unix.GetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_ERROR) }

func (r *receiver) at(i int) []byte { return r.memory[i*r.slot:][:r.slot:r.slot] }

func (r *receiver) after(i int) int {
	if i++; i*r.slot == len(r.memory) {
		return 0
	}
	return i
}

// slotStatus is the owner of a slot, and its content.
func slotStatus(slot []byte) *uint32 { return (*uint32)(unsafe.Pointer(&slot[0])) }

// Release gives the slots back that were looked at.
func (r *receiver) Release() {
	for ; r.first != r.next; r.first = r.after(r.first) {
		atomic.StoreUint32(slotStatus(r.at(r.first)), unix.TP_STATUS_KERNEL)
	}
	r.used = 0
}

// Receive returns frames that are there.
func (r *receiver) Receive(frames []Frame) int {
	n, octets := 0, 0
	for n < len(frames) {
		if r.cutting {
			if !r.cut(&frames[n]) {
				if r.cutting { // no memory left until Release
					break
				}
				continue
			}
			octets += frames[n].End - frames[n].Start
			n++
			continue
		}
		slot, after := r.at(r.next), r.after(r.next)
		status := atomic.LoadUint32(slotStatus(slot))
		if status&unix.TP_STATUS_USER == 0 || after == r.first { // behind it are those that were looked at
			break
		}
		r.next = after
		if r.take(slot, status, &frames[n]) {
			octets += frames[n].End - frames[n].Start
			n++
		}
	}
	if n > 0 {
		r.port.counters.rxFrames.Add(uint64(n))
		r.port.counters.rxOctets.Add(uint64(octets))
	}
	return n
}

// Offsets in struct tpacket2_hdr.
const offLen, offSnap, offMac, offTCI, offTPID = 4, 8, 12, 24, 26

// take makes a frame of what is in a slot, or begins to cut it.
func (r *receiver) take(slot []byte, status uint32, f *Frame) bool {
	length, snap := binary.NativeEndian.Uint32(slot[offLen:]), binary.NativeEndian.Uint32(slot[offSnap:])
	at := int(binary.NativeEndian.Uint16(slot[offMac:]))
	var tag [inet.LenTag]byte
	tagged := status&unix.TP_STATUS_VLAN_VALID != 0
	if tagged {
		binary.BigEndian.PutUint16(tag[:], unix.ETH_P_8021Q)
		if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			binary.BigEndian.PutUint16(tag[:], binary.NativeEndian.Uint16(slot[offTPID:]))
		}
		binary.BigEndian.PutUint16(tag[2:], binary.NativeEndian.Uint16(slot[offTCI:]))
	}
	buf, start, end := slot[lenSlotHead:], at-lenSlotHead, at-lenSlotHead+int(snap)
	if status&unix.TP_STATUS_COPY != 0 {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(r.fd), uintptr(unsafe.Pointer(&r.super[0])), uintptr(len(r.super)), unix.MSG_DONTWAIT, 0, 0)
		if errno != 0 || int(n) < vnet.HeaderLen+inet.LenEthernet {
			return r.senseless()
		}
		buf, start, end = r.super, vnet.HeaderLen, int(n)
	} else if snap < length || start < vnet.HeaderLen || end > len(buf) || snap < inet.LenEthernet {
		return r.senseless()
	}
	switch r.cutter.BeginFrame(buf[start-vnet.HeaderLen:start], buf[start:end]) {
	case vnet.Cut:
		return r.beginCut(buf[start-vnet.HeaderLen:end], tag, tagged)
	case vnet.Whole:
	default:
		return r.senseless()
	}
	if status&unix.TP_STATUS_COPY != 0 {
		return r.copyLong(buf[start:end], tag, tagged, f)
	}
	f.Buf, f.Start, f.End = buf, start, end
	if tagged {
		f.insert(tag)
	}
	return true
}

func (r *receiver) senseless() bool {
	r.port.counters.rxSenseless.Add(1)
	return false
}

// insert puts a tag behind the addresses. There is room in front of any frame.
func (f *Frame) insert(tag [inet.LenTag]byte) {
	copy(f.Buf[f.Start-inet.LenTag:], f.Buf[f.Start:f.Start+12])
	f.Start -= inet.LenTag
	copy(f.Buf[f.Start+12:], tag[:])
}

// beginCut keeps a super-packet, with its header, until it is cut.
func (r *receiver) beginCut(b []byte, tag [inet.LenTag]byte, tagged bool) bool {
	if &b[0] != &r.super[0] {
		n := copy(r.super, b)
		if r.cutter.BeginFrame(r.super[:vnet.HeaderLen], r.super[vnet.HeaderLen:n]) != vnet.Cut {
			return r.senseless()
		}
	}
	if most := r.headroom + inet.LenTag + r.cutter.Longest(); most > len(r.pool[0]) { // as of a sender with another MTU
		for i := range r.pool {
			r.pool[i] = make([]byte, most)
		}
	}
	r.cutting = true
	if r.tag = r.tag[:0]; tagged {
		r.tag = append(r.tag, tag[:]...)
	}
	return false
}

// cut makes a frame of what is left of a super-packet; false: there is nothing left, or no memory.
func (r *receiver) cut(f *Frame) bool {
	if r.used == len(r.pool) {
		return false
	}
	b := r.pool[r.used]
	n := r.cutter.Next(b[r.headroom+inet.LenTag:])
	if n == 0 {
		r.cutting = false
		return false
	}
	r.used++
	f.Buf, f.Start, f.End = b, r.headroom+inet.LenTag, r.headroom+inet.LenTag+n
	if len(r.tag) > 0 {
		f.insert([inet.LenTag]byte(r.tag))
	}
	return true
}

// copyLong creates a frame from one that was too long for a slot and must not be segmented, as
// after an increase of the device's MTU.
func (r *receiver) copyLong(b []byte, tag [inet.LenTag]byte, tagged bool, f *Frame) bool {
	f.Buf = make([]byte, r.headroom+inet.LenTag+len(b))
	f.Start, f.End = r.headroom+inet.LenTag, len(f.Buf)
	copy(f.Buf[f.Start:], b)
	if tagged {
		f.insert(tag)
	}
	return true
}

// countFull asks how many frames found no room since it was asked last.
func (r *receiver) countFull() {
	r.full.Lock()
	defer r.full.Unlock()
	if r.fd < 0 {
		return
	}
	if s, err := unix.GetsockoptTpacketStats(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		r.port.counters.rxFull.Add(uint64(s.Drops))
	}
}
