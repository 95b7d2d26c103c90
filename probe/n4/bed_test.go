package n4

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/plumbline-upf/plumbline/internal/nsenter"
)

// bed is two namespaces with N4 between them:
//
//	CP function, 10.4.0.2 fd04::2 ── n4 ═══ n4 ── UP function, 10.4.0.1 fd04::1
type bed struct {
	cp, up string // names of the namespaces
}

var (
	bedCP, bedUP   = netip.MustParseAddr("10.4.0.2"), netip.MustParseAddr("10.4.0.1")
	bedCP6, bedUP6 = netip.MustParseAddr("fd04::2"), netip.MustParseAddr("fd04::1")
)

func path(namespace string) string { return "/run/netns/" + namespace }

func newBed(t testing.TB, name string) *bed {
	t.Helper()
	b := &bed{cp: fmt.Sprintf("plt-n4-%s-%d-cp", name, os.Getpid()), up: fmt.Sprintf("plt-n4-%s-%d-up", name, os.Getpid())}
	for _, ns := range []string{b.cp, b.up} {
		t.Cleanup(func() { _ = netns.DeleteNamed(ns) }) // may not be there yet
		if err := makeNamespace(ns); err != nil {
			t.Fatalf("namespace %s (needs root): %v", ns, err)
		}
	}
	b.link(t)
	return b
}

// makeNamespace makes a named namespace with lo up.
func makeNamespace(name string) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		ns, err := netns.NewNamed(name)
		if err == nil {
			err = up("lo")
			ns.Close()
		}
		done <- err
	}()
	return <-done
}

func up(device string) error {
	l, err := netlink.LinkByName(device)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(l)
}

// link makes the devices; it may be called again when one was removed.
func (b *bed) link(t testing.TB) {
	t.Helper()
	peer, err := netns.GetFromName(b.up)
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	in(t, b.cp, func() error {
		v := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "n4"}, PeerName: "n4", PeerNamespace: netlink.NsFd(int(peer))}
		if err := netlink.LinkAdd(v); err != nil {
			return err
		}
		return address(bedCP, bedCP6)
	})
	in(t, b.up, func() error { return address(bedUP, bedUP6) })
}

// address gives n4 its addresses.
func address(addrs ...netip.Addr) error {
	l, err := netlink.LinkByName("n4")
	if err != nil {
		return err
	}
	for _, a := range addrs {
		bits := 24
		if a.Is6() {
			bits = 64
		}
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(bits, a.BitLen())}, Flags: 0x02} // IFA_F_NODAD
		if err := netlink.AddrAdd(l, addr); err != nil {
			return fmt.Errorf("%v: %w", a, err)
		}
	}
	return netlink.LinkSetUp(l)
}

// in runs f in a namespace.
func in(t testing.TB, namespace string, f func() error) {
	t.Helper()
	if err := nsenter.In(path(namespace), f); err != nil {
		t.Fatalf("%s: %v", namespace, err)
	}
}

// listen returns a socket of a namespace at an address and port.
func listen(t testing.TB, namespace string, at netip.AddrPort) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	in(t, namespace, func() (err error) {
		conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		return err
	})
	t.Cleanup(func() { conn.Close() })
	return conn
}

// open returns a Monitor that is closed with the test.
func open(t testing.TB, c Config) *Monitor {
	t.Helper()
	m, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func attach(t testing.TB, m *Monitor, p Point) *Attachment {
	t.Helper()
	a, err := m.Attach(p)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
