package mmsg

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"testing"
)

func socket(t *testing.T, network, address string) (*net.UDPConn, syscall.RawConn, netip.AddrPort) {
	t.Helper()
	conn, err := net.ListenUDP(network, net.UDPAddrFromAddrPort(netip.MustParseAddrPort(address)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	return conn, raw, conn.LocalAddr().(*net.UDPAddr).AddrPort()
}

func buffers(n int) [][]byte {
	list := make([][]byte, n)
	for i := range list {
		list[i] = make([]byte, 64)
	}
	return list
}

// TestRoundTrip sends datagrams to an address and reads each whole, with its
// source, over more batches than one.
func TestRoundTrip(t *testing.T) {
	const n, batch = 40, 16
	for _, tc := range []struct{ network, address string }{{"udp4", "127.0.0.1:0"}, {"udp6", "[::1]:0"}} {
		t.Run(tc.network, func(t *testing.T) {
			_, in, to := socket(t, tc.network, tc.address)
			_, out, from := socket(t, tc.network, tc.address)
			s := NewSender(out, n)
			for i := range n {
				s.AddTo(to, []byte(fmt.Sprint("datagram ", i)))
			}
			if sent, err := s.Flush(); sent != n || err != nil || s.Room() != 0 {
				t.Fatalf("%d sent, %v, room for %d; want %d, 0", sent, err, s.Room(), n)
			}
			bufs := buffers(batch)
			r := NewReceiver(in, bufs)
			for got := 0; got < n; {
				count, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				for i := range count {
					want := fmt.Sprint("datagram ", got)
					if text := string(bufs[i][:r.Size(i)]); text != want || r.Source(i) != from {
						t.Errorf("got %q from %s, want %q from %s", text, r.Source(i), want, from)
					}
					got++
				}
			}
		})
	}
}

// once is a RawConn that never waits.
type once struct{ syscall.RawConn }

func (o once) Read(f func(fd uintptr) bool) error {
	return o.Control(func(fd uintptr) { f(fd) })
}

// TestNoWait: nothing there is EAGAIN.
func TestNoWait(t *testing.T) {
	_, in, _ := socket(t, "udp4", "127.0.0.1:0")
	if n, err := NewReceiver(once{in}, buffers(1)).Next(); n != 0 || !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("got %d, %v; want 0, %v", n, err, syscall.EAGAIN)
	}
}

// TestSkip: a datagram that cannot be sent does not keep the others back.
func TestSkip(t *testing.T) {
	conn, in, to := socket(t, "udp4", "127.0.0.1:0")
	_ = conn
	_, out, _ := socket(t, "udp4", "127.0.0.1:0")
	s := NewSender(out, 3)
	s.AddTo(to, []byte("a"))
	s.AddTo(to, make([]byte, 1<<16)) // longer than any UDP datagram
	s.AddTo(to, []byte("b"))
	sent, err := s.Flush()
	if sent != 1 || !errors.Is(err, syscall.EMSGSIZE) {
		t.Fatalf("got %d, %v; want 1, %v", sent, err, syscall.EMSGSIZE)
	}
	s.Skip()
	if sent, err := s.Flush(); sent != 1 || err != nil {
		t.Fatalf("got %d, %v; want 1", sent, err)
	}
	bufs := buffers(4)
	r := NewReceiver(in, bufs)
	if n, err := r.Next(); n != 2 || err != nil || string(bufs[0][:r.Size(0)]) != "a" || string(bufs[1][:r.Size(1)]) != "b" {
		t.Errorf("got %d, %v, %q %q; want a, b", n, err, bufs[0][:1], bufs[1][:1])
	}
}

// TestNoAllocation: neither sending nor receiving allocates.
func TestNoAllocation(t *testing.T) {
	_, in, to := socket(t, "udp4", "127.0.0.1:0")
	_, out, _ := socket(t, "udp4", "127.0.0.1:0")
	s, r, b := NewSender(out, 8), NewReceiver(in, buffers(8)), []byte("datagram")
	got := testing.AllocsPerRun(100, func() {
		s.Reset()
		for range 8 {
			s.AddTo(to, b)
		}
		_, _ = s.Flush()
		n, _ := r.Next()
		for i := range n {
			_ = r.Source(i)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

// TestBacklog: what waits is seen, and gone when it is read.
func TestBacklog(t *testing.T) {
	_, in, to := socket(t, "udp4", "127.0.0.1:0")
	_, out, _ := socket(t, "udp4", "127.0.0.1:0")
	s := NewSender(out, 3)
	for range 3 {
		s.AddTo(to, make([]byte, 60))
	}
	if sent, err := s.Flush(); sent != 3 || err != nil {
		t.Fatalf("%d sent, %v", sent, err)
	}
	if used, size := Backlog(in); used < 180 || used > size {
		t.Errorf("%d octets of %d, want 180 or more", used, size)
	}
	if n, err := NewReceiver(in, buffers(4)).Next(); n != 3 || err != nil {
		t.Fatalf("%d received, %v", n, err)
	}
	if used, _ := Backlog(in); used != 0 {
		t.Errorf("%d octets after all was read, want 0", used)
	}
}

// TestTogether: datagrams of one size to one address are one message, and each
// arrives for itself, also when the kernel refuses to cut.
func TestTogether(t *testing.T) {
	_, in1, to1 := socket(t, "udp4", "127.0.0.1:0")
	_, in2, to2 := socket(t, "udp4", "127.0.0.1:0")
	for _, refuse := range []syscall.Errno{0, syscall.EIO, syscall.ENOBUFS} {
		_, out, _ := socket(t, "udp4", "127.0.0.1:0")
		s := NewSender(out, 200)
		var want1, want2 []string
		add := func(to netip.AddrPort, want *[]string, text string) {
			s.AddTo(to, []byte(text))
			*want = append(*want, text)
		}
		for i := range 70 { // more than one message can have
			add(to1, &want1, fmt.Sprintf("%03d", i))
		}
		add(to1, &want1, "x") // shorter: the last one of its message
		add(to1, &want1, "y")
		add(to2, &want2, "longer")
		add(to1, &want1, "z")
		messages := 5 // 64, 6 and x, y, longer, z
		if s.count != messages {
			t.Errorf("%d messages, want %d", s.count, messages)
		}
		if refuse != 0 {
			s.errno = refuse
			if !s.split() || s.count != len(want1)+len(want2) || s.single != (refuse == syscall.EIO) {
				t.Errorf("%v: %d messages, single %v", refuse, s.count, s.single)
			}
		}
		if sent, err := s.Flush(); sent != len(want1)+len(want2) || err != nil {
			t.Fatalf("%d sent, %v; want %d", sent, err, len(want1)+len(want2))
		}
		check(t, in1, want1)
		check(t, in2, want2)
	}
}

// check reads datagrams and says if they are not these.
func check(t *testing.T, in syscall.RawConn, want []string) {
	t.Helper()
	bufs := buffers(len(want) + 1)
	r := NewReceiver(in, bufs)
	n, err := r.Next()
	if n != len(want) || err != nil {
		t.Fatalf("%d datagrams, %v; want %d", n, err, len(want))
	}
	for i := range n {
		if got := string(bufs[i][:r.Size(i)]); got != want[i] {
			t.Errorf("datagram %d: %q, want %q", i, got, want[i])
		}
	}
}
