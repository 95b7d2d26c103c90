package port

import (
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// space is a network namespace, which ends with the test.
type space struct {
	t    testing.TB
	work chan func() error
	done chan error
	fd   int
}

func newSpace(t testing.TB) *space {
	t.Helper()
	s := &space{t: t, work: make(chan func() error), done: make(chan error), fd: -1}
	go func() { // a thread that ends with the goroutine
		runtime.LockOSThread()
		for f := range s.work {
			s.done <- f()
		}
	}()
	t.Cleanup(func() {
		close(s.work)
		if s.fd >= 0 {
			_ = unix.Close(s.fd)
		}
	})
	s.do(func() error { return unix.Unshare(unix.CLONE_NEWNET) })
	s.do(func() (err error) {
		s.fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	return s
}

// do runs f in the namespace.
func (s *space) do(f func() error) {
	s.t.Helper()
	s.work <- f
	if err := <-s.done; err != nil {
		s.t.Fatal(err)
	}
}

// veth makes a pair of devices between s and o, without addresses.
func (s *space) veth(name string, o *space, there string) {
	s.t.Helper()
	s.do(func() error {
		pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, MTU: 1500}, PeerName: there, PeerNamespace: netlink.NsFd(o.fd)}
		return netlink.LinkAdd(pair)
	})
	for _, x := range []struct {
		*space
		name string
	}{{s, name}, {o, there}} {
		x.up(x.name)
	}
}

func (s *space) up(name string) {
	s.t.Helper()
	s.do(func() error {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(link)
	})
}

// address gives a device an address.
func (s *space) address(name, prefix string) {
	s.t.Helper()
	s.do(func() error {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		a, err := netlink.ParseAddr(prefix)
		if err != nil {
			return err
		}
		return netlink.AddrAdd(link, a)
	})
}

// open makes a port of a device.
func (s *space) open(c Config) Port {
	s.t.Helper()
	var p Port
	s.do(func() (err error) {
		p, err = Open(c)
		return err
	})
	s.t.Cleanup(func() { _ = p.Close() })
	return p
}

// raw is a packet socket of a test, which sees what comes to a device and sends frames as they are.
func (s *space) raw(name string) int {
	s.t.Helper()
	fd := -1
	s.do(func() error {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(all())); err != nil {
			return err
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
			return err
		}
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all(), Ifindex: link.Attrs().Index})
	})
	s.t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// all is ETH_P_ALL in network byte order.
func all() uint16 { return unix.ETH_P_ALL << 8 }
