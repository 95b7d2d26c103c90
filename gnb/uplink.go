package gnb

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/tun"

	"plumbline/gtpu"
	"plumbline/mmsg"
)

// Limits of one message that the kernel cuts: the UDP payload of an IPv4
// packet in octets, and datagrams (UDP_MAX_SEGMENTS, 128 since Linux 6.9).
const (
	maxDatagram = 65535 - 20 - 8
	maxSegments = 64
)

// retryDelay keeps a device or socket that only returns errors from taking a
// whole CPU.
const retryDelay = time.Millisecond

// uplink carries what programs send through one UE's device to its UPF: G-PDUs
// with a PDU Session Container of PDU type 1.
//
// A device hands over a TCP segment of up to 64 KiB at once, cut to the MTU by
// the TUN library. The G-PDUs of such a burst have the same size, so that they
// go down the kernel's stack as one message (UDP_SEGMENT).
type uplink struct {
	device  tun.Device
	ready   *readiness // of the device
	conn    *net.UDPConn
	out     *mmsg.Sender
	teid    uint32
	qfi     uint8
	gso     bool
	lenGPDU int          // octets of a G-PDU's header
	super   *superUplink // nil: TCP's super-packets are cut

	mem   arena
	slots [][]byte // of mem: header, then what the device gave
	sizes []int
	burst [][]byte // of slots: whole G-PDUs

	packets  atomic.Uint64 // user packets that were sent
	octets   atomic.Uint64 // of user packets, from the IP header on
	errCount atomic.Uint64 // user packets that could not be read or sent
}

func newUplink(n N3, u UE, device tun.Device) (*uplink, error) {
	conn, err := dialN3(n, u.UPF)
	if err != nil {
		return nil, err
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		conn.Close()
		return nil, err
	}
	out := mmsg.NewSender(raw, batchSize)
	mem, err := newArena()
	if err != nil {
		conn.Close()
		return nil, err
	}
	ready, err := newReadiness(device.File())
	if err != nil {
		conn.Close()
		mem.free()
		return nil, err
	}
	up := &uplink{
		device: device, ready: ready, conn: conn, out: out, mem: mem,
		teid: u.UplinkTEID, qfi: u.QFI, lenGPDU: gtpu.LenGPDU,
		gso:   !n.DisableGSO && segments(conn),
		slots: make([][]byte, batchSize),
		sizes: make([]int, batchSize),
		burst: make([][]byte, 0, batchSize),
	}
	if u.QFI != 0 {
		up.lenGPDU = gtpu.LenGPDUWithQFI
	}
	for i := range up.slots {
		up.slots[i] = mem.slot(i)
	}
	return up, nil
}

// run carries packets until the device is closed.
func (u *uplink) run() {
	for {
		n, err := u.take()
		u.flush(n)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrClosed):
			return
		case errors.Is(err, tun.ErrTooManySegments):
			u.errCount.Add(1)
		default:
			u.errCount.Add(1)
			time.Sleep(retryDelay)
		}
	}
}

func (u *uplink) take() (n int, err error) {
	if u.super != nil {
		return u.readSuper()
	}
	return u.read()
}

// flush sends what is in the first n slots.
func (u *uplink) flush(n int) {
	u.encapsulate(n)
	u.send()
}

// read waits for packets, and then takes as many as there are while a whole
// TCP segment still fits. Packets of small writes so go out together, as one
// message if they have one size. There may be packets with an error, too.
func (u *uplink) read() (n int, err error) {
	for {
		more, err := u.device.Read(u.slots[n:], u.sizes[n:], u.lenGPDU)
		n += more
		if err != nil || n > batchSize-maxSegments || !u.ready.now() {
			return n, err
		}
	}
}

// encapsulate makes a G-PDU of each of the first n slots.
func (u *uplink) encapsulate(n int) {
	u.burst = u.burst[:0]
	for i := range n {
		size := u.sizes[i]
		if size <= 0 || u.lenGPDU+size > maxDatagram {
			u.errCount.Add(1)
			continue
		}
		gtpu.AppendGPDU(u.slots[i][:0], u.teid, gtpu.PDUTypeUplink, u.qfi, size)
		u.burst = append(u.burst, u.slots[i][:u.lenGPDU+size])
	}
}

// send sends the burst. G-PDUs that cannot be sent are lost, as on any link.
func (u *uplink) send() {
	for rest := u.burst; len(rest) > 0; {
		u.fill(rest)
		sent, err := u.out.Flush()
		u.count(rest[:sent])
		rest = rest[sent:]
		switch {
		case err == nil || errors.Is(err, net.ErrClosed):
			return
		case u.gso && refusesSegments(err):
			u.gso = false
		default: // about one G-PDU, or one of before that the UPF refused
			u.errCount.Add(1)
			rest = rest[1:]
		}
	}
}

// refusesSegments reports whether an error of a message with UDP_SEGMENT may
// be about the cutting: EIO from a device that cannot do checksums (before
// Linux 6.11), EINVAL or EMSGSIZE from a route whose MTU is smaller than N3's.
func refusesSegments(err error) bool {
	return errors.Is(err, unix.EIO) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EMSGSIZE)
}

// fill gives the sender messages for all of burst.
func (u *uplink) fill(burst [][]byte) {
	u.out.Reset()
	for len(burst) > 0 {
		n := 1
		if u.gso {
			n = segmentRun(burst)
		}
		u.out.Add(burst[:n])
		burst = burst[n:]
	}
}

// segmentRun returns how many G-PDUs from the start of burst, at least one,
// the kernel can cut from one message: all of one size, the last may be
// smaller.
func segmentRun(burst [][]byte) int {
	first := len(burst[0])
	total := first
	for n := 1; n < len(burst); n++ {
		size := len(burst[n])
		total += size
		if n == maxSegments || size > first || total > maxDatagram {
			return n
		}
		if size < first {
			return n + 1
		}
	}
	return len(burst)
}

// count counts G-PDUs that were sent.
func (u *uplink) count(sent [][]byte) {
	octets := 0
	for _, b := range sent {
		octets += len(b) - u.lenGPDU
	}
	u.packets.Add(uint64(len(sent)))
	u.octets.Add(uint64(octets))
}

// free releases what run used. Call it when run has returned.
func (u *uplink) free() {
	u.conn.Close()
	u.mem.free()
}
