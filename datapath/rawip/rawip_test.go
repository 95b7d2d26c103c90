package rawip

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
)

// TestSendStuck: a socket that takes nothing lets one packet wait, and not all that
// come behind it. When it takes one again, the next may wait again.
func TestSendStuck(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, fd := range pair {
			if err := unix.Close(fd); err != nil {
				t.Error(err)
			}
		}
	})
	s := &socket{fd: pair[0]}
	packet := []byte{1}
	sent := 0
	for s.send(packet, nil) == nil {
		sent++
	}
	if sent == 0 || !s.stuck.Load() {
		t.Fatalf("%d packets sent, stuck %v", sent, s.stuck.Load())
	}
	const more = 1000
	begin := time.Now()
	for range more {
		if err := s.send(packet, nil); !errors.Is(err, unix.EAGAIN) {
			t.Fatalf("got %v, want %v", err, unix.EAGAIN)
		}
	}
	if took, each := time.Since(begin), sendWait*time.Millisecond; took > more*each/2 {
		t.Errorf("%d packets took %v: they waited", more, took)
	}
	for range sent {
		if _, err := unix.Read(pair[1], packet); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.send(packet, nil); err != nil || s.stuck.Load() {
		t.Errorf("got %v, stuck %v, when there is room again", err, s.stuck.Load())
	}
}

// TestReasons: what the kernel says of a packet, to a data network and into a tunnel.
func TestReasons(t *testing.T) {
	for err, want := range map[error][2]datapath.Reason{
		nil:                {datapath.ReasonNone, datapath.ReasonNone},
		unix.EMSGSIZE:      {datapath.DropMTU, datapath.DropMTU},
		unix.EAGAIN:        {datapath.DropSlowFull, datapath.DropSlowFull},
		unix.ENOBUFS:       {datapath.DropSlowFull, datapath.DropSlowFull},
		unix.ENETDOWN:      {datapath.DropNextHop, datapath.DropNextHop},
		unix.EADDRNOTAVAIL: {datapath.DropNextHop, datapath.DropNextHop},
		unix.ENETUNREACH:   {datapath.DropNextHop, datapath.DropNoRoute},
		unix.EHOSTUNREACH:  {datapath.DropNextHop, datapath.DropNoRoute}, // unreachable
		unix.EACCES:        {datapath.DropNextHop, datapath.DropNoRoute}, // prohibit
		unix.EINVAL:        {datapath.DropNextHop, datapath.DropNoRoute}, // blackhole
	} {
		if got := [2]datapath.Reason{Reason(err), TunnelReason(err)}; got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
