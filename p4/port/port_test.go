package port

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

var header = []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}

// receive waits for frames and copies them.
func receive(t testing.TB, r Receiver, n int) (list [][]byte) {
	t.Helper()
	frames := make([]Frame, 8)
	for begin := time.Now(); len(list) < n; {
		for _, f := range frames[:r.Receive(frames)] {
			if f.Start < defaultHeadroom {
				t.Errorf("%d octets free in front of a frame, want %d", f.Start, defaultHeadroom)
			}
			b := f.Buf[f.Start:f.End]
			if bytes.Equal(b[12:14], []byte{0x86, 0xdd}) { // of the kernel itself
				continue
			}
			list = append(list, bytes.Clone(b))
		}
		r.Release()
		if time.Since(begin) > 5*time.Second {
			t.Fatalf("got %d frames, want %d: %x", len(list), n, list)
		}
		poll := []unix.PollFd{{Fd: int32(r.Descriptor()), Events: unix.POLLIN}}
		_, _ = unix.Poll(poll, 10)
	}
	return list
}

// both runs a test with ports of both kinds.
func both(t *testing.T, run func(t *testing.T, kind Kind)) {
	for _, kind := range []Kind{Packet, AFXDP} {
		t.Run(string(kind), func(t *testing.T) { run(t, kind) })
	}
}

// TestFrames: frames come as they were sent, with their tags, and leave as they are; own ones do not come back.
func TestFrames(t *testing.T) { both(t, testFrames) }

func testFrames(t *testing.T, kind Kind) {
	here, there := newSpace(t), newSpace(t)
	here.veth("sw0", there, "h0")
	p := here.open(Config{Device: "sw0", Kind: kind})
	raw := there.raw("h0")
	s, err := p.NewSender()
	if err != nil {
		t.Fatal(err)
	}
	tagged := func(types ...byte) []byte {
		f := append(bytes.Clone(header[:12]), types...)
		return append(append(f, 0x88, 0xb5), bytes.Repeat([]byte{7}, 60)...)
	}
	for _, tc := range []struct {
		name  string
		frame []byte
	}{
		{"short", append(bytes.Clone(header), 1, 2, 3)},
		{"long", append(bytes.Clone(header), bytes.Repeat([]byte{9}, 1500)...)},
		{"for another", append([]byte{2, 0, 0, 0, 0, 99}, append(header[6:14:14], 4, 5, 6)...)},
		{"tag", tagged(0x81, 0, 0x60, 7)},
		{"service tag", tagged(0x88, 0xa8, 0x60, 7)},
		{"two tags", tagged(0x88, 0xa8, 0, 5, 0x81, 0, 0, 6)},
		{"priority tag", tagged(0x81, 0, 0xe0, 0)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := unix.Write(raw, tc.frame); err != nil {
				t.Fatal(err)
			}
			if got := receive(t, p.Receiver(0), 1)[0]; !bytes.Equal(got, tc.frame) {
				t.Errorf("got %x, want %x", got, tc.frame)
			}
		})
	}
	for i := range 3 {
		s.Send(append(bytes.Clone(header), byte(i)))
	}
	s.Send(append(bytes.Clone(header), make([]byte, 2000)...)) // longer than the MTU
	s.Send(append(bytes.Clone(header), 3))
	s.Flush()
	b := make([]byte, 2048)
	for i := range 4 {
		n, err := unix.Read(raw, b)
		for err == nil && binary.BigEndian.Uint16(b[12:]) == 0x86dd {
			n, err = unix.Read(raw, b)
		}
		if want := append(bytes.Clone(header), byte(i)); err != nil || !bytes.Equal(b[:max(n, 0)], want) {
			t.Errorf("got %x, %v; want %x", b[:max(n, 0)], err, want)
		}
	}
	if st := p.Stats(); st.TxFrames != 4 || st.TxTooLong != 1 || st.TxOctets != 4*15 {
		t.Errorf("got %+v, want 4 sent, 1 too long", st)
	}
	if _, err := unix.Write(here.raw("sw0"), append(bytes.Clone(header), 4)); err != nil { // what the host itself sends there
		t.Fatal(err)
	}
	frames := make([]Frame, 64)
	for _, f := range frames[:p.Receiver(0).Receive(frames)] {
		if b := f.Buf[f.Start:f.End]; bytes.HasPrefix(b, header) {
			t.Errorf("%x came back", b)
		}
	}
}

// forward lets frames through between two ports, as a wire would, until the context ends. It reports the longest frame.
func forward(ctx context.Context, t testing.TB, a, b Port, workers int) (longest func() int, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var mu sync.Mutex
	var wait sync.WaitGroup
	most := 0
	for w := range workers {
		for _, x := range []struct{ in, out Port }{{a, b}, {b, a}} {
			s, err := x.out.NewSender()
			if err != nil {
				t.Fatal(err)
			}
			wait.Add(1)
			go func() {
				defer wait.Done()
				r, frames := x.in.Receiver(w), make([]Frame, 32)
				for ctx.Err() == nil {
					n := r.Receive(frames)
					for _, f := range frames[:n] {
						s.Send(f.Buf[f.Start:f.End])
						mu.Lock()
						most = max(most, f.End-f.Start)
						mu.Unlock()
					}
					s.Flush()
					r.Release()
					if n == 0 {
						_, _ = unix.Poll([]unix.PollFd{{Fd: int32(r.Descriptor()), Events: unix.POLLIN}}, 5)
					}
				}
			}()
		}
	}
	return func() int { mu.Lock(); defer mu.Unlock(); return most }, func() { cancel(); wait.Wait() }
}

// TestSuperPackets: what hosts leave to their devices, checksums and cutting, is done before anybody sees a frame: TCP and
// UDP of the kernels go through, with tags and without, and no frame is longer than the MTU allows.
func TestSuperPackets(t *testing.T) { both(t, testSuperPackets) }

func testSuperPackets(t *testing.T, kind Kind) {
	for _, tc := range []struct {
		name    string
		vlan    bool
		v6      bool
		workers int
	}{{"plain", false, false, 1}, {"IPv6", false, true, 1}, {"VLAN", true, false, 1}, {"two workers", false, false, 2}} {
		t.Run(tc.name, func(t *testing.T) {
			sw, h1, h2 := newSpace(t), newSpace(t), newSpace(t)
			sw.veth("sw1", h1, "h1")
			sw.veth("sw2", h2, "h2")
			device := map[*space]string{h1: "h1", h2: "h2"}
			longest, lacks := 1514, false
			if tc.vlan {
				longest += 4
				for s, name := range device {
					s.do(func() error {
						parent, err := netlink.LinkByName(name)
						if err != nil {
							return err
						}
						err = netlink.LinkAdd(&netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Name: name + "v", ParentIndex: parent.Attrs().Index}, VlanId: 7})
						if errors.Is(err, unix.EOPNOTSUPP) {
							lacks = true
							return nil
						}
						return err
					})
					if lacks {
						t.Skip("this kernel has no VLAN devices (module 8021q)")
					}
					device[s] = name + "v"
					s.up(device[s])
				}
			}
			one, two := "10.0.0.1", "10.0.0.2"
			if tc.v6 {
				one, two = "fd00::1", "fd00::2"
			}
			bits := map[bool]string{false: "/24", true: "/64"}[tc.v6]
			h1.address(device[h1], one+bits)
			h2.address(device[h2], two+bits)
			a, b := sw.open(Config{Device: "sw1", Kind: kind, Workers: tc.workers}), sw.open(Config{Device: "sw2", Kind: kind, Workers: tc.workers})
			most, stop := forward(t.Context(), t, a, b, tc.workers)
			transfer(t, h1, h2, two)
			stop()
			if got := most(); got != longest {
				t.Errorf("the longest frame has %d octets, want %d", got, longest)
			}
			if st := a.Stats(); st.RxSenseless != 0 || st.RxFull != 0 {
				t.Errorf("got %+v, want all frames to be taken", st)
			}
		})
	}
}

// TestTaggedSuper: a super-packet with a tag is cut, and each frame has the tag and a checksum that is right.
func TestTaggedSuper(t *testing.T) { both(t, testTaggedSuper) }

func testTaggedSuper(t *testing.T, kind Kind) {
	here, there := newSpace(t), newSpace(t)
	here.veth("sw0", there, "h0")
	p := here.open(Config{Device: "sw0", Kind: kind})
	raw := there.raw("h0")
	if err := unix.SetsockoptInt(raw, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1); err != nil {
		t.Fatal(err)
	}
	const headers, payload, size = 18 + 20 + 20, 4000, 1400
	frame := append(bytes.Clone(header[:12]), 0x81, 0, 0, 7, 0x08, 0)
	ip := []byte{0x45, 0, 0, 0, 0, 1, 0, 0, 64, unix.IPPROTO_TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}
	binary.BigEndian.PutUint16(ip[2:], 40+payload)
	binary.BigEndian.PutUint16(ip[10:], ^sum(ip, 0))
	tcp := append([]byte{0, 80, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0}, bytes.Repeat([]byte{5}, payload)...)
	binary.BigEndian.PutUint16(tcp[16:], sum(ip[12:20], unix.IPPROTO_TCP+20+payload)) // of the pseudo header
	frame = append(append(frame, ip...), tcp...)
	about := make([]byte, 10)
	about[0], about[1] = unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, unix.VIRTIO_NET_HDR_GSO_TCPV4
	for i, v := range []uint16{headers, size, 38, 16} {
		binary.NativeEndian.PutUint16(about[2+2*i:], v)
	}
	if _, err := unix.Write(raw, append(about, frame...)); err != nil {
		t.Fatal(err)
	}
	var octets int
	for i, f := range receive(t, p.Receiver(0), 3) {
		if !bytes.Equal(f[:18], frame[:18]) || len(f) > headers+size {
			t.Errorf("frame %d: got %x with %d octets", i, f[:18], len(f))
		}
		if got := sum(f[18+20:], uint32(sum(f[30:38], uint32(unix.IPPROTO_TCP+len(f)-38)))); got != 0xffff {
			t.Errorf("frame %d: the checksum is wrong by %#x", i, got)
		}
		octets += len(f) - headers
	}
	if octets != payload {
		t.Errorf("%d octets of payload, want %d", octets, payload)
	}
}

// sum is that of RFC 1071, not complemented.
func sum(b []byte, acc uint32) uint16 {
	for i := 0; i+1 < len(b); i += 2 {
		acc += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	if len(b)%2 == 1 {
		acc += uint32(b[len(b)-1]) << 8
	}
	for acc > 0xffff {
		acc = acc>>16 + acc&0xffff
	}
	return uint16(acc)
}

// transfer sends octets by TCP and compares what arrives.
func transfer(t *testing.T, from, to *space, address string) {
	t.Helper()
	var l net.Listener
	var conn net.Conn
	to.do(func() (err error) {
		for range 50 { // an IPv6 address is tentative for a while
			if l, err = net.Listen("tcp", net.JoinHostPort(address, "0")); err == nil {
				return nil
			}
			time.Sleep(100 * time.Millisecond)
		}
		return err
	})
	defer l.Close()
	sum := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			sum <- err.Error()
			return
		}
		defer c.Close()
		h := sha256.New()
		n, err := io.Copy(h, c)
		sum <- fmt.Sprintf("%d %x %v", n, h.Sum(nil), err)
	}()
	from.do(func() (err error) {
		for range 50 {
			if conn, err = net.DialTimeout("tcp", l.Addr().String(), 5*time.Second); err == nil {
				return nil
			}
			time.Sleep(100 * time.Millisecond)
		}
		return err
	})
	data := bytes.Repeat([]byte("all that hosts leave to their devices"), 200000)
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := conn.Write(data); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	select {
	case got := <-sum:
		if want := fmt.Sprintf("%d %x %v", len(data), sha256.Sum256(data), error(nil)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Error("it does not arrive")
	}
}

// TestDownUp: a port goes on when its device has been down.
func TestDownUp(t *testing.T) { both(t, testDownUp) }

func testDownUp(t *testing.T, kind Kind) {
	here, there := newSpace(t), newSpace(t)
	here.veth("sw0", there, "h0")
	p := here.open(Config{Device: "sw0", Kind: kind})
	raw := there.raw("h0")
	here.do(func() error {
		link, err := netlink.LinkByName("sw0")
		if err != nil {
			return err
		}
		return netlink.LinkSetDown(link)
	})
	r := p.Receiver(0)
	poll := []unix.PollFd{{Fd: int32(r.Descriptor()), Events: unix.POLLIN}}
	if kind == AFXDP { // nobody tells it
		if n, err := unix.Poll(poll, 0); n != 0 || err != nil {
			t.Errorf("got %d, %v, events %#x", n, err, poll[0].Revents)
		}
	} else if n, err := unix.Poll(poll, 1000); n != 1 || err != nil || poll[0].Revents&unix.POLLERR == 0 {
		t.Errorf("got %d, %v, events %#x; want an error to be told", n, err, poll[0].Revents)
	}
	r.Woken()
	r.Release()
	poll[0].Revents = 0
	if _, err := unix.Poll(poll, 0); err != nil || poll[0].Revents&unix.POLLERR != 0 {
		t.Errorf("%v, events %#x: want the error to be told once", err, poll[0].Revents)
	}
	here.up("sw0")
	frame := append(bytes.Clone(header), 1, 2, 3)
	if _, err := unix.Write(raw, frame); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, r, 1)[0]; !bytes.Equal(got, frame) {
		t.Errorf("got %x, want %x", got, frame)
	}
}

// TestOpenErrors: what is no port is said.
func TestOpenErrors(t *testing.T) {
	if _, err := Open(Config{Device: "nosuchdevice0"}); err == nil {
		t.Error("a device that is not there is opened")
	}
}
