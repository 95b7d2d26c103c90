package afxdp

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/xsk"
)

// TestLive: frames of all lengths leave whole and in their order, as XDP frames where
// all of a burst can and the other end takes them, else through the socket, and all
// come back to be free.
func TestLive(t *testing.T) {
	lengths := []int{60, 61, 200, 1514, 1499, 14, 1000}
	for _, tc := range []struct {
		name   string
		count  int
		start  int  // of the last frame in its place
		refuse bool // the other end takes no XDP frames
		live   bool
	}{
		{"a burst", 100, 256, false, true},
		{"more than one burst", 600, 512, false, true},
		{"few", liveLeast - 1, 256, false, false},
		{"one begins too late", 100, 513, false, false},
		{"the other end takes none", 100, 256, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := layNet(t, "afxdp-live", false)
			if tc.refuse {
				check(t, n.DN.Do(func() error { return setFeature(n.N6.Peer.Device, "rx-gro", false) }))
			}
			catcher := n.catch(t)
			n.open(t, Config{Mode: Interrupt})
			m := n.upf.machine.Load()
			m.halt()
			w := m.workers[0]
			s := w.out[n.upf.networks[0].dev.number]
			if s.device.redirects.Load() == tc.refuse {
				t.Fatalf("%s takes XDP frames: %t, want %t", s.device.name, !tc.refuse, tc.refuse)
			}
			var want [][]byte
			for i := range tc.count {
				start := 256 + i%17
				if i == tc.count-1 {
					start = tc.start
				}
				offset, ok := w.umem.Take()
				if !ok {
					t.Fatal("no frame")
				}
				w.umem.Give(offset, xsk.Sent)
				frame := w.umem.Bytes(offset)[start : start+lengths[i%len(lengths)]]
				clear(frame)
				copy(frame, n.N6.Peer.MAC)
				copy(frame[6:], n.N6.UPF.MAC)
				frame[12], frame[13] = 0x88, 0xb5
				copy(frame[14:], fmt.Sprintf("%d %s", i, payload(len(frame))))
				want = append(want, bytes.Clone(frame))
				s.leaving = append(s.leaving, unix.XDPDesc{Addr: offset + uint64(start), Len: uint32(len(frame))})
			}
			w.flush(s)
			check(t, w.reclaim())
			if got := s.TX.Own == 0; got != tc.live {
				t.Errorf("as XDP frames: %t, want %t", got, tc.live)
			}
			buf := make([]byte, 2048)
			for i := range want {
				size, err := unix.Read(catcher, buf)
				if err != nil || !bytes.Equal(buf[:size], want[i]) {
					t.Fatalf("frame %d: %v\n got %q\nwant %q", i, err, buf[:max(size, 0)], want[i])
				}
			}
			n.whole(t)
		})
	}
}

// TestLivesOn: frames do not change from one way to the other while those before them
// may not have been taken.
func TestLivesOn(t *testing.T) {
	const many, few = liveLeast, liveLeast - 1
	never, now := time.Time{}, time.Now().Add(time.Hour) // which stays
	for _, tc := range []struct {
		name       string
		n          int
		lived      time.Time
		sent, back uint32 // by the socket
		want       bool
	}{
		{"the first ones, many", many, never, 0, 0, true},
		{"the first ones, few", few, never, 0, 0, false},
		{"few behind XDP frames", few, now, 0, 0, true},
		{"few, long behind XDP frames", few, time.Now().Add(-2 * liveStay), 0, 0, false},
		{"many behind what a socket sends", many, never, 5, 4, false},
		{"few behind what a socket sends", few, now, 5, 4, false},
		{"many behind what a socket has sent", many, never, 5, 5, true},
	} {
		s := &socket{Socket: &xsk.Socket{}, lived: tc.lived}
		s.TX.Own, s.Completion.Producer = tc.sent, &tc.back
		if got := s.livesOn(tc.n); got != tc.want {
			t.Errorf("%s: got %t, want %t", tc.name, got, tc.want)
		}
	}
}

// TestHold: the process stays in its network namespace, also if the program is held by
// its first thread.
func TestHold(t *testing.T) {
	const space = "/proc/self/ns/net"
	want, err := os.Readlink(space)
	check(t, err)
	for i := range 20 { // which thread does it is chance
		l := &live{space: netns.None()}
		spec, err := loadTransmit()
		check(t, err)
		check(t, spec.LoadAndAssign(&l.transmitObjects, nil))
		check(t, l.hold())
		check(t, l.close())
		if got, err := os.Readlink(space); err != nil || got != want {
			t.Fatalf("time %d: the process is in %s, %v; want %s", i, got, err, want)
		}
	}
}

// catch returns a packet socket for frames of an experimental EtherType that come to the
// data network.
func (n *testNet) catch(t *testing.T) (fd int) {
	t.Helper()
	const experimental = 0xb588 // 0x88b5 in network byte order
	check(t, n.DN.Do(func() (err error) {
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, experimental); err != nil {
			return err
		}
		if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20); err != nil {
			return err
		}
		if err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5}); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: experimental, Ifindex: n.N6.Peer.Index})
	}))
	t.Cleanup(func() { check(t, unix.Close(fd)) })
	return fd
}

func setFeature(device, feature string, on bool) error {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return err
	}
	defer tool.Close()
	return tool.Change(device, map[string]bool{feature: on})
}
