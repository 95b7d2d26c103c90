package mmsg

import (
	"bytes"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSegments sends runs of datagrams that the kernel takes as one message, and
// takes them as such; each has its octets and where to cut.
func TestSegments(t *testing.T) {
	for _, tc := range []struct{ network, address string }{{"udp4", "127.0.0.1:0"}, {"udp6", "[::1]:0"}} {
		t.Run(tc.network, func(t *testing.T) {
			_, in, to := socket(t, tc.network, tc.address)
			_, out, from := socket(t, tc.network, tc.address)
			bufs := [][]byte{make([]byte, MaxMessage), make([]byte, MaxMessage)}
			r := NewReceiver(in, bufs)
			if err := r.AcceptSegments(); err != nil {
				t.Fatal(err)
			}
			s := NewSender(out, 8)
			s.SegmentOctets = 1400
			var want []byte
			for i, size := range []int{1400, 1400, 1400, 700} {
				b := bytes.Repeat([]byte{byte(i)}, size)
				want = append(want, b...)
				s.AddMarked(to, 0xb8, b)
			}
			s.AddTo(to, []byte("alone"))
			if sent, err := s.Flush(); sent != 5 || err != nil {
				t.Fatalf("%d sent, %v; want 5", sent, err)
			}
			n, err := r.Next()
			if n != 2 || err != nil {
				t.Fatalf("got %d messages, %v; want 2", n, err)
			}
			if r.Segment(0) != 1400 || !bytes.Equal(bufs[0][:r.Size(0)], want) || r.Source(0) != from {
				t.Errorf("got %d octets from %v to be cut at %d, want %d from %v at 1400", r.Size(0), r.Source(0), r.Segment(0), len(want), from)
			}
			if got := string(bufs[1][:r.Size(1)]); got != "alone" || r.Segment(1) != len("alone") {
				t.Errorf("got %q to be cut at %d, want %q", got, r.Segment(1), "alone")
			}
		})
	}
}

// TestMost takes no more messages at once than it is told to.
func TestMost(t *testing.T) {
	_, in, to := socket(t, "udp4", "127.0.0.1:0")
	_, out, _ := socket(t, "udp4", "127.0.0.1:0")
	s, r := NewSender(out, 4), NewReceiver(in, buffers(4))
	for i := range 4 {
		s.AddTo(to, fmt.Append(nil, "datagram", i, bytes.Repeat([]byte{'x'}, i))) // of different sizes: none is put together
	}
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	r.Most = 3
	for _, want := range []int{3, 1} {
		if n, err := r.Next(); n != want || err != nil {
			t.Errorf("got %d, %v; want %d", n, err, want)
		}
	}
}

// TestMarked: the Type of Service and Traffic Class arrive, of single datagrams, of
// runs, and of those of a run that had to be taken apart.
func TestMarked(t *testing.T) {
	for _, tc := range []struct {
		network, address  string
		level, ask, given int
	}{
		{"udp4", "127.0.0.1:0", unix.SOL_IP, unix.IP_RECVTOS, unix.IP_TOS},
		{"udp6", "[::1]:0", unix.SOL_IPV6, unix.IPV6_RECVTCLASS, unix.IPV6_TCLASS},
	} {
		conn, in, to := socket(t, tc.network, tc.address)
		_, out, _ := socket(t, tc.network, tc.address)
		if err := setOption(in, tc.level, tc.ask, 1); err != nil {
			t.Fatal(err)
		}
		s := NewSender(out, 8)
		s.AddMarked(to, 0xb8, []byte("one"))
		s.AddMarked(to, 0xb8, []byte("two"))
		s.AddMarked(to, 0x28, []byte("six"))
		s.AddTo(to, []byte("ten"))
		s.errno = unix.EIO // as of a device that cannot cut
		if !s.split() {
			t.Fatal("nothing was taken apart")
		}
		if sent, err := s.Flush(); sent != 4 || err != nil {
			t.Fatalf("%d sent, %v; want 4", sent, err)
		}
		for _, want := range []byte{0xb8, 0xb8, 0x28, 0} {
			buf, control := make([]byte, 64), make([]byte, 64)
			_, n, _, _, err := conn.ReadMsgUDPAddrPort(buf, control)
			if err != nil {
				t.Fatal(err)
			}
			messages, err := unix.ParseSocketControlMessage(control[:n])
			if err != nil || len(messages) != 1 || int(messages[0].Header.Type) != tc.given || messages[0].Data[0] != want {
				t.Errorf("%s: got %+v, %v; want %#x", tc.network, messages, err, want)
			}
		}
	}
}
