package gnb

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"plumbline/gtpu"
)

// superUplink reads a UE's device without cutting what it gives, and sends TCP's
// super-packets whole.
type superUplink struct {
	n3    *superN3
	frame frame
	conn  syscall.RawConn // of the device
	slots [][]byte        // whole ones, with superRoom octets before the uplink's

	poll func(fd uintptr) bool // s.read, bound once
	into []byte
	n    int
	err  error
	wait bool // for a packet
}

// openSuper makes u send super-packets through n3. The device then gives TCP
// whole, and cuts what else it would leave to its reader.
func (u *uplink) openSuper(n3 *superN3) error {
	file := u.device.File()
	conn, err := file.SyscallConn()
	if err != nil {
		return fmt.Errorf("gnb: %s: %w", cloneDevice, err)
	}
	control := conn.Control(func(fd uintptr) {
		err = unix.IoctlSetInt(int(fd), unix.TUNSETOFFLOAD, unix.TUN_F_CSUM|unix.TUN_F_TSO4|unix.TUN_F_TSO6)
	})
	if control != nil || err != nil {
		return fmt.Errorf("gnb: offload of %s: %w", cloneDevice, err)
	}
	s := &superUplink{n3: n3, frame: newFrame(u.conn), conn: conn, slots: make([][]byte, batchSize)}
	s.poll = s.read
	for i := range s.slots {
		s.slots[i] = u.mem.slot(i)
		u.slots[i] = s.slots[i][superRoom:]
	}
	u.super = s
	return nil
}

// next reads a packet behind its virtio header into b. If none is there, it waits
// for one, or returns 0.
func (s *superUplink) next(b []byte, wait bool) (int, error) {
	s.into, s.wait = b, wait
	if err := s.conn.Read(s.poll); err != nil {
		return 0, os.ErrClosed // the only error of a file that can be waited for
	}
	if errors.Is(s.err, unix.EBADFD) { // the device has been removed
		return 0, os.ErrClosed
	}
	return s.n, s.err
}

func (s *superUplink) read(fd uintptr) bool {
	s.n, s.err = unix.Read(int(fd), s.into)
	if errors.Is(s.err, unix.EAGAIN) || errors.Is(s.err, unix.EINTR) {
		s.n, s.err = 0, nil
		return !s.wait
	}
	return true
}

// readSuper is read where super-packets are sent whole: they are, before it
// returns. The others are in the slots.
func (u *uplink) readSuper() (n int, err error) {
	s := u.super
	for n < batchSize {
		at := superRoom + u.lenGPDU
		size, err := s.next(s.slots[n][at-vnetHeader:], n == 0)
		if err != nil || size == 0 {
			return n, err
		}
		if size <= vnetHeader {
			continue
		}
		packet := s.slots[n][at : at+size-vnetHeader]
		v := parseVnet(s.slots[n][at-vnetHeader:])
		switch {
		case v.gsoType != vnetGSONone:
			u.flush(n) // what came before
			u.sendSuper(s.slots[n][:at+len(packet)], v, at)
			n = 0
			continue
		case v.flags&vnetNeedsChecksum != 0 && !v.complete(packet):
			u.errCount.Add(1)
			continue
		}
		u.sizes[n] = len(packet)
		n++
	}
	return n, nil
}

// sendSuper sends the packet b[at:] as one G-PDU.
func (u *uplink) sendSuper(b []byte, v vnet, at int) {
	packets, octets := v.volume(len(b) - at)
	gtpu.AppendGPDU(b[superRoom:superRoom], u.teid, gtpu.PDUTypeUplink, u.qfi, len(b)-at)
	if err := u.super.n3.send(&u.super.frame, b, v, at); err != nil {
		u.errCount.Add(packets)
		return
	}
	u.packets.Add(packets)
	u.octets.Add(octets)
}
