package gnb

import (
	"fmt"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fteid is a UPF's tunnel endpoint, the uplink of one UE.
type fteid struct {
	teid    uint32
	address netip.Addr
}

// ue is a UE as the downlink sees it.
type ue struct {
	UE
	device packetWriter
	batch  joiner
	mtu    int  // of the device
	local  bool // packets may come that never were on a wire

	packets     atomic.Uint64 // user packets given to the device
	total       atomic.Uint64 // octets of user packets, from the IP header on
	writeErrors atomic.Uint64 // writes that the device refused
	otherQFI    atomic.Uint64 // user packets of another QoS flow
	endMarkers  atomic.Uint64
	errorIndics atomic.Uint64 // Error Indications about the uplink TEID
}

// packetWriter is a device that user packets are written to.
type packetWriter interface {
	// write gives the device one packet, or several that were joined, behind a
	// virtio header.
	write(p *joined) error
}

// add puts a user packet into the batch.
func (u *ue) add(b []byte) {
	if v, ok := u.unfinished(b); ok {
		u.batch.append(b, v)
		u.count(v.volume(len(b)))
		return
	}
	u.batch.add(b)
	u.count(1, uint64(len(b)))
}

func (u *ue) count(packets, octets uint64) {
	u.packets.Add(packets)
	u.total.Add(octets)
}

// flush writes the batch.
func (u *ue) flush() {
	packets := u.batch.packets()
	for i := range packets {
		if err := u.device.write(&packets[i]); err != nil {
			u.writeErrors.Add(1)
		}
	}
	u.batch.reset()
}

// tunWriter writes to a TUN device whose packets have a virtio header. It is not
// safe for concurrent use.
type tunWriter struct {
	conn   syscall.RawConn
	header [vnetHeader]byte
	iovecs []unix.Iovec
	poll   func(fd uintptr) bool // w.writev, bound once
	errno  syscall.Errno
}

func newTUNWriter(file *os.File) (*tunWriter, error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("gnb: %s: %w", cloneDevice, err)
	}
	w := &tunWriter{conn: conn}
	w.poll = w.writev
	return w, nil
}

// joinsDatagrams reports whether the device takes datagrams of UDP that are joined:
// since Linux 6.2, when it could also give such to its reader.
func (w *tunWriter) joinsDatagrams() bool {
	const offloads = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6 | unix.TUN_F_USO4 | unix.TUN_F_USO6
	var err error
	control := w.conn.Control(func(fd uintptr) { err = unix.IoctlSetInt(int(fd), unix.TUNSETOFFLOAD, offloads) })
	return control == nil && err == nil
}

func (w *tunWriter) write(p *joined) error {
	p.header.put(w.header[:])
	w.iovecs = w.iovecs[:0]
	w.append(w.header[:])
	w.append(p.first)
	for _, b := range p.rest {
		w.append(b)
	}
	if err := w.conn.Write(w.poll); err != nil {
		return err
	}
	if w.errno != 0 {
		return os.NewSyscallError("writev", w.errno)
	}
	return nil
}

// append adds octets, of which there are some.
func (w *tunWriter) append(b []byte) {
	v := unix.Iovec{Base: &b[0]}
	v.SetLen(len(b))
	w.iovecs = append(w.iovecs, v)
}

func (w *tunWriter) writev(fd uintptr) bool {
	_, _, w.errno = unix.RawSyscall(unix.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&w.iovecs[0])), uintptr(len(w.iovecs)))
	return w.errno != unix.EAGAIN
}
