package tun

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"reflect"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/mmsg"
)

// TestPort: a port that somebody else has is refused, however willing that one is to share
// it; one that is ours nobody else gets; and what comes to it is for who receives, from
// whatever was sent.
func TestPort(t *testing.T) {
	for _, tc := range []struct {
		name    string
		address netip.Addr
		workers int
	}{
		{"IPv4", netip.MustParseAddr("127.29.7.1"), 1},
		{"IPv4, two workers", netip.MustParseAddr("127.29.7.2"), 2},
		{"IPv6", netip.IPv6Loopback(), 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			endpoints := []datapath.Endpoint{{Address: tc.address}}
			other, err := willing(t, tc.address)
			check(t, err)
			if _, err := listen(endpoints, tc.workers, nil); !errors.Is(err, unix.EADDRINUSE) {
				t.Errorf("got %v of a port that is in use, want %v", err, unix.EADDRINUSE)
			}
			check(t, other.Close())
			s, err := listen(endpoints, tc.workers, nil)
			check(t, err)
			t.Cleanup(func() { check(t, s.close()) })
			if _, err := willing(t, tc.address); !errors.Is(err, unix.EADDRINUSE) {
				t.Errorf("got %v for another one that wants the port, want %v", err, unix.EADDRINUSE)
			}
			came := make(chan string)
			for _, worker := range s.all {
				go func() {
					b := make([]byte, 64)
					for n, err := 0, error(nil); err == nil; n, _, err = worker[0].conn.ReadFromUDPAddrPort(b) {
						if n > 0 {
							came <- string(b[:n])
						}
					}
				}()
			}
			for _, worker := range s.all {
				// Or the kernel might choose the one that sends: it has the same port.
				if to, err := unix.Getpeername(int(worker[0].out.Fd())); err != nil || !reflect.DeepEqual(to, sockaddr(tc.address, discard)) {
					t.Errorf("who sends is connected to %+v, %v; want %v, port %d", to, err, tc.address, discard)
				}
				exchange(t, worker[0])
				select {
				case got := <-came:
					if got != "from the peer" {
						t.Errorf("got %q, want %q", got, "from the peer")
					}
				case <-time.After(10 * time.Second):
					t.Fatal("nothing came for who receives")
				}
			}
		})
	}
}

// willing opens a socket at the GTP-U port that shares it with whoever agrees.
func willing(t *testing.T, a netip.Addr) (*os.File, error) {
	t.Helper()
	family := unix.AF_INET
	if a.Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	check(t, err)
	f := os.NewFile(uintptr(fd), "willing")
	t.Cleanup(func() { _ = f.Close() }) // may be closed
	check(t, reuse(fd, 1))
	return f, unix.Bind(fd, sockaddr(a, gtpu.Port))
}

// exchange sends from a socket to a peer, and lets that one answer.
func exchange(t *testing.T, s *socket) {
	t.Helper()
	peer, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.address, 0)))
	check(t, err)
	defer peer.Close()
	check(t, peer.SetDeadline(time.Now().Add(10*time.Second)))
	out := mmsg.NewSender(newAtOnce(s.rawOut), 1)
	out.AddTo(peer.LocalAddr().(*net.UDPAddr).AddrPort(), []byte("to the peer"))
	_, err = out.Flush()
	check(t, err)
	got, from := receive(t, peer)
	if want := netip.AddrPortFrom(s.address, gtpu.Port); string(got) != "to the peer" || from != want {
		t.Errorf("got %q from %v, want %q from %v", got, from, "to the peer", want)
	}
	_, err = peer.WriteToUDPAddrPort([]byte("from the peer"), from)
	check(t, err)
}
