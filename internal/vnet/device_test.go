package vnet

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
)

// link is a device in a namespace of its own, with an address of the host on it.
type link struct {
	*Device
	do func(f func() error) error // in the namespace
}

// addresses of the host, and of somebody beyond the device.
var (
	here, here6   = netip.MustParsePrefix("10.0.0.1/24"), netip.MustParsePrefix("fd00::1/64")
	there, there6 = netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("fd00::2")
	hostMAC       = [6]byte{2, 0, 0, 0, 0, 1}
	thereMAC      = [6]byte{2, 0, 0, 0, 0, 2}
)

func openLink(t *testing.T, tap bool) *link {
	t.Helper()
	work, done := make(chan func() error), make(chan error)
	go func() { // a thread that ends with the goroutine
		runtime.LockOSThread()
		for f := range work {
			done <- f()
		}
	}()
	l := &link{do: func(f func() error) error { work <- f; return <-done }}
	t.Cleanup(func() { close(work) })
	err := l.do(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		if l.Device, err = Open(Config{Name: "vnet0", TAP: tap, Queues: 2}); err != nil {
			return err
		}
		return l.configure()
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func (l *link) configure() error {
	dev, err := netlink.LinkByName(l.Name)
	if err != nil {
		return err
	}
	if l.TAP {
		if err := netlink.LinkSetHardwareAddr(dev, hostMAC[:]); err != nil {
			return err
		}
	}
	if err := netlink.LinkSetIP6AddrGenMode(dev, 1); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(dev); err != nil {
		return err
	}
	for _, p := range []netip.Prefix{here, here6} {
		ip := &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
		if err := netlink.AddrAdd(dev, &netlink.Addr{IPNet: ip, Flags: unix.IFA_F_NODAD}); err != nil {
			return err
		}
	}
	for _, a := range []netip.Addr{there, there6} {
		err := netlink.NeighSet(&netlink.Neigh{LinkIndex: dev.Attrs().Index, State: netlink.NUD_PERMANENT, IP: a.AsSlice(), HardwareAddr: thereMAC[:]})
		if err != nil && l.TAP {
			return err
		}
	}
	// The kernel begins to use an IPv6 address some time after it was added, from a work queue.
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if r, err := netlink.RouteGet(here6.Addr().AsSlice()); err == nil && len(r) > 0 && r[0].Type == unix.RTN_LOCAL {
			return nil
		}
	}
	return fmt.Errorf("address %v is not in use yet", here6)
}

func (l *link) reader() *Reader {
	bufs := make([][]byte, 33)
	for i := range bufs {
		bufs[i] = make([]byte, 64+MaxPacket)
	}
	return NewReader(l.Queues[0], bufs, 64)
}

// mirror gives back to the kernel what it sent to somebody beyond, from there: UDP and TCP
// over both IP versions, whose checksums stay right when addresses and ports change places.
func (l *link) mirror(t *testing.T, queue *Queue) {
	in, out := l.reader(), NewWriter(queue, 32, hostMAC, thereMAC)
	in.queue = queue
	for {
		n, err := in.Next()
		if err != nil { // closed
			return
		}
		for i := range n {
			buf, start, end := in.Packet(i)
			p := buf[start+l.link() : end]
			at, upper := 12, 20
			if p[0]>>4 == 6 {
				at, upper = 8, 40
			}
			size := (upper - at) / 2
			from := bytes.Clone(p[at : at+size])
			if protocol := p[map[int]int{20: 9, 40: 6}[upper]]; protocol != unix.IPPROTO_UDP {
				continue // the kernel's own
			}
			shape, _ := look(p, true)
			if !shape.whole(p) {
				t.Errorf("wrong checksum: %x", p[:upper+8])
			}
			copy(p[at:], p[at+size:upper])
			copy(p[at+size:], from)
			port := bytes.Clone(p[upper : upper+2])
			copy(p[upper:], p[upper+2:upper+4])
			copy(p[upper+2:], port)
			out.Add(p, 0)
		}
		if lost, err := out.Flush(); lost > 0 {
			t.Error(err)
		}
	}
}

// TestDevice has the kernel send runs of datagrams as one super-packet each, which come as
// packets and go back as one again: the kernel takes them as that.
func TestDevice(t *testing.T) {
	for _, tap := range []bool{false, true} {
		for _, at := range []struct{ here, there netip.Addr }{{here.Addr(), there}, {here6.Addr(), there6}} {
			t.Run(fmt.Sprintf("tap %t, %v", tap, at.here), func(t *testing.T) {
				l := openLink(t, tap)
				var conn *net.UDPConn
				if err := l.do(func() (err error) {
					conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at.here, 4000)))
					return err
				}); err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				var mirrors sync.WaitGroup
				defer mirrors.Wait()
				defer l.Close()
				for _, q := range l.Queues { // the kernel picks one by the flow
					mirrors.Go(func() { l.mirror(t, q) })
				}
				echo(t, conn, at.there)
			})
		}
	}
}

// echo sends 100 runs of 10 datagrams, and takes them back.
func echo(t *testing.T, conn *net.UDPConn, to netip.Addr) {
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := [][]byte{make([]byte, mmsg.MaxMessage)}
	out, in := mmsg.NewSender(raw, 10), mmsg.NewReceiver(raw, buf)
	if err := in.AcceptSegments(); err != nil {
		t.Fatal(err)
	}
	together := 0
	for run := range 100 {
		var want []byte
		out.Reset()
		for i := range 10 {
			b := bytes.Repeat([]byte{byte(run), byte(i)}, 600-run)
			out.AddTo(netip.AddrPortFrom(to, 5000), b)
			want = append(want, b...)
		}
		if _, err := out.Flush(); err != nil {
			t.Fatal(err)
		}
		var got []byte
		for len(got) < len(want) {
			if _, err := in.Next(); err != nil {
				t.Fatalf("run %d: %d of %d octets: %v", run, len(got), len(want), err)
			}
			if size := in.Size(0); in.Segment(0) < size {
				together++
			}
			got = append(got, buf[0][:in.Size(0)]...)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("run %d came back otherwise", run)
		}
	}
	if together < 90 {
		t.Errorf("%d of 100 runs came back in super-packets", together)
	}
}

// TestOpenErrors: what is wrong with a device is said.
func TestOpenErrors(t *testing.T) {
	l := openLink(t, false)
	err := l.do(func() error {
		_, err := Open(Config{Name: l.Name, TAP: true})
		return err
	})
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EBUSY) {
		t.Errorf("a TAP device where there is a TUN device: %v", err)
	}
	err = l.do(func() error {
		_, err := Open(Config{Name: l.Name})
		return err
	})
	if !errors.Is(err, unix.EBUSY) {
		t.Errorf("a TUN device that somebody has: %v, want %v", err, unix.EBUSY)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.reader().Next(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("read after Close: %v, want %v", err, os.ErrClosed)
	}
}

// TestPersistent: a device that would be there without anybody is taken.
func TestPersistent(t *testing.T) {
	l := openLink(t, false)
	var err error
	if failed := l.Queues[0].conn.Control(func(fd uintptr) { err = unix.IoctlSetInt(int(fd), unix.TUNSETPERSIST, 1) }); failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	err = l.do(func() error {
		again, err := Open(Config{Name: l.Name, Queues: 2})
		if err != nil {
			return err
		}
		return again.Close()
	})
	if err != nil {
		t.Error(err)
	}
}
