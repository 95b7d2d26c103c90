package gnb

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/internal/vnet"
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
// its reader. The G-PDUs of such a burst have the same size, so that they
// go down the kernel's stack as one message (UDP_SEGMENT).
type uplink struct {
	in      packetReader
	conn    *net.UDPConn
	out     *mmsg.Sender
	teid    uint32
	qfi     uint8
	gso     bool
	lenGPDU int // octets of a G-PDU's header

	senseless *uint64 // packets that in could not make sense of; errCount has seen of them
	seen      uint64

	super *superN3 // nil: TCP's super-packets are cut
	frame frame    // of super-packets

	mem   arena
	burst [][]byte // of mem: whole G-PDUs

	next atomic.Pointer[tunnel] // where to send from now on; nil: as before

	packets  atomic.Uint64 // user packets that were sent
	octets   atomic.Uint64 // of user packets, from the IP header on
	errCount atomic.Uint64 // user packets that could not be read or sent
}

// packetReader is a [vnet.Reader].
type packetReader interface {
	Next() (int, error)
	Packet(i int) (buf []byte, start, end int)
	Super(i int) (vnet.Super, bool)
}

func newUplink(n N3, u UE) (*uplink, error) {
	mem, err := newArena()
	if err != nil {
		return nil, err
	}
	to, err := openTunnel(n, u.UplinkTEID, u.UPF)
	if err != nil {
		mem.free()
		return nil, err
	}
	up := &uplink{mem: mem, qfi: u.QFI, lenGPDU: gtpu.LenGPDU, burst: make([][]byte, 0, batchSize)}
	up.enter(to)
	if u.QFI != 0 {
		up.lenGPDU = gtpu.LenGPDUWithQFI
	}
	return up, nil
}

// read makes u read a device, and send TCP's super-packets through super, unless
// that is nil.
func (u *uplink) read(device *vnet.Queue, super *superN3) error {
	bufs := make([][]byte, batchSize)
	for i := range bufs {
		bufs[i] = u.mem.slot(i)
	}
	in := vnet.NewReader(device, bufs, superRoom+u.lenGPDU)
	u.in, u.senseless = in, &in.Senseless
	if super == nil {
		return nil
	}
	u.super, u.frame = super, newFrame(u.conn)
	return in.KeepWhole()
}

// run carries packets until the device is closed or removed.
func (u *uplink) run() {
	for {
		n, err := u.in.Next()
		if errors.Is(err, os.ErrClosed) || errors.Is(err, unix.EBADFD) {
			return
		}
		if err != nil {
			u.errCount.Add(1)
			time.Sleep(retryDelay)
			continue
		}
		u.encapsulate(n)
		u.errCount.Add(*u.senseless - u.seen)
		u.seen = *u.senseless
	}
}

// encapsulate makes a G-PDU of each of the n packets that were read, and sends them.
func (u *uplink) encapsulate(n int) {
	u.turn()
	u.burst = u.burst[:0]
	for i := range n {
		buf, start, end := u.in.Packet(i)
		if s, ok := u.in.Super(i); ok {
			u.send() // what came before
			u.burst = u.burst[:0]
			u.sendSuper(buf[:end], start, s)
			continue
		}
		size := end - start
		if size <= 0 || u.lenGPDU+size > maxDatagram {
			u.errCount.Add(1)
			continue
		}
		begin := start - u.lenGPDU
		gtpu.AppendGPDU(buf[begin:begin], u.teid, gtpu.PDUTypeUplink, u.qfi, size)
		u.burst = append(u.burst, buf[begin:end])
	}
	u.send()
}

// sendSuper sends the packet b[start:] as one G-PDU.
func (u *uplink) sendSuper(b []byte, start int, s vnet.Super) {
	packets, octets := s.Volume(len(b) - start)
	begin := start - u.lenGPDU
	gtpu.AppendGPDU(b[begin:begin], u.teid, gtpu.PDUTypeUplink, u.qfi, len(b)-start)
	if err := u.super.send(&u.frame, b[begin-superRoom:], s, superRoom+u.lenGPDU); err != nil {
		u.errCount.Add(uint64(packets))
		return
	}
	u.packets.Add(uint64(packets))
	u.octets.Add(uint64(octets))
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

// refusesSegments reports whether segmentation may have caused the error of a message with
// UDP_SEGMENT: EIO from a device that cannot do checksums (before Linux 6.11), EINVAL or EMSGSIZE
// from a route whose MTU is smaller than N3's.
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
	u.turn()
	u.conn.Close()
	u.mem.free()
}
