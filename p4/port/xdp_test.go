package port

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestKinds: a port is of the kind that was asked for, auto says why it is not of AF_XDP, and nothing stays on the device.
func TestKinds(t *testing.T) {
	here, there := newSpace(t), newSpace(t)
	here.veth("sw0", there, "h0")
	for _, tc := range []struct {
		kind Kind
		want Mode
		log  string
	}{
		{Packet, ModePacket, ""},
		{AFXDP, ModeNative, "of AF_XDP sockets"},
		{Auto, ModePacket, "a device of type veth passes on frames with unfinished checksums"},
		{"", ModePacket, "of packet sockets"},
	} {
		var log bytes.Buffer
		p := here.open(Config{Device: "sw0", Kind: tc.kind, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if p.Mode() != tc.want || !strings.Contains(log.String(), tc.log) {
			t.Errorf("%q: got %s, %s; want %s, %s", tc.kind, p.Mode(), log.String(), tc.want, tc.log)
		}
		if err := p.Close(); err != nil {
			t.Errorf("%q: %v", tc.kind, err)
		}
		here.do(func() error {
			l, err := netlink.LinkByName("sw0")
			if err == nil && (l.Attrs().Xdp != nil && l.Attrs().Xdp.Attached || l.Attrs().Promisc != 0) {
				t.Errorf("%q: a program, or promiscuity, stays: %+v", tc.kind, l.Attrs())
			}
			return err
		})
	}
	here.do(func() error {
		if _, err := Open(Config{Device: "sw0", Kind: "else"}); err == nil {
			t.Error("a kind that is none is taken")
		}
		return nil
	})
}

// TestGeneric: where the driver takes no program frames go through one behind it, and it is said what gets lost then.
func TestGeneric(t *testing.T) {
	here, there := newSpace(t), newSpace(t)
	here.veth("sw0", there, "h0")
	here.do(func() error {
		parent, err := netlink.LinkByName("sw0")
		if err != nil {
			return err
		}
		a := netlink.LinkAttrs{Name: "mac0", ParentIndex: parent.Attrs().Index}
		err = netlink.LinkAdd(&netlink.Macvlan{LinkAttrs: a, Mode: netlink.MACVLAN_MODE_PASSTHRU})
		if errors.Is(err, unix.EOPNOTSUPP) {
			t.Skip("this kernel has no macvlan devices")
		}
		return err
	})
	here.up("mac0")
	var log bytes.Buffer
	p := here.open(Config{Device: "mac0", Kind: AFXDP, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if p.Mode() != ModeGeneric || !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("got %s: %s", p.Mode(), log.String())
	}
	frame := append(bytes.Clone(header), 1, 2, 3)
	raw := there.raw("h0")
	if _, err := unix.Write(raw, frame); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, p.Receiver(0), 1)[0]; !bytes.Equal(got, frame) {
		t.Errorf("got %x, want %x", got, frame)
	}
	s, err := p.NewSender()
	if err != nil {
		t.Fatal(err)
	}
	s.Send(frame)
	s.Flush()
	b := make([]byte, 2048)
	for {
		n, err := unix.Read(raw, b)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(b[:n], frame) {
			return
		}
	}
}

// TestBetter: for which devices packet sockets are the better ones.
func TestBetter(t *testing.T) {
	for _, tc := range []struct {
		name    string
		link    netlink.Link
		flags   net.Flags
		queues  int
		workers int
		want    string
	}{
		{"NIC", &netlink.Device{}, 0, 4, 2, ""},
		{"NIC with few queues", &netlink.Device{}, 0, 1, 2, "1 queues are fewer than 2 workers"},
		{"veth", &netlink.Veth{}, 0, 4, 1, "type veth"},
		{"TAP", &netlink.Tuntap{}, 0, 4, 1, "type tuntap"},
		{"loopback", &netlink.Device{}, net.FlagLoopback, 4, 1, "type device"},
	} {
		if got := better(tc.link, &net.Interface{Flags: tc.flags}, tc.queues, tc.workers); got != tc.want && (tc.want == "" || !strings.Contains(got, tc.want)) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestFrameOctets: a frame of the memory has room for the headroom, two tags and the MTU.
func TestFrameOctets(t *testing.T) {
	for mtu, want := range map[int]int{1500: 2048, 1770: 2048, 1771: 4096, 3818: 4096} {
		if got, err := frameOctets(mtu); got != want || err != nil {
			t.Errorf("MTU %d: got %d, %v; want %d", mtu, got, err, want)
		}
	}
	if _, err := frameOctets(3819); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("MTU 3819: got %v", err)
	}
}

// TestKeptTag: a tag that the sender has left to its device, so that the kernel keeps it beside the frame, is in the frame.
func TestKeptTag(t *testing.T) { both(t, testKeptTag) }

func testKeptTag(t *testing.T, kind Kind) {
	here, there := newSpace(t), newSpace(t)
	here.veth("sw0", there, "h0")
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R2, 0xa888), // 802.1ad, in network byte order
		asm.Mov.Imm(asm.R3, 7),
		asm.FnSkbVlanPush.Call(),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	there.do(func() error {
		device, err := net.InterfaceByName("h0")
		if err != nil {
			return err
		}
		l, err := link.AttachTCX(link.TCXOptions{Interface: device.Index, Program: program, Attach: ebpf.AttachTCXEgress})
		if errors.Is(err, ebpf.ErrNotSupported) {
			t.Skip("TCX came with Linux 6.6")
		}
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
		return err
	})
	p := here.open(Config{Device: "sw0", Kind: kind})
	frame := append(bytes.Clone(header), 1, 2, 3)
	if _, err := unix.Write(there.raw("h0"), frame); err != nil {
		t.Fatal(err)
	}
	want := append(append(bytes.Clone(header[:12]), 0x88, 0xa8, 0, 7), frame[12:]...)
	got := receiveAny(t, p.Receiver(0), func(b []byte) bool { return len(b) > 18 && b[17] != 0xdd })
	if !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// receiveAny returns the first frame that fits.
func receiveAny(t *testing.T, r Receiver, fits func([]byte) bool) []byte {
	t.Helper()
	frames := make([]Frame, 8)
	for begin := time.Now(); time.Since(begin) < 5*time.Second; {
		for _, f := range frames[:r.Receive(frames)] {
			if b := f.Buf[f.Start:f.End]; fits(b) {
				return bytes.Clone(b)
			}
		}
		r.Release()
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(r.Descriptor()), Events: unix.POLLIN}}, 10)
	}
	t.Fatal("nothing came")
	return nil
}

// TestFull: what finds no room is counted, and the rest comes; none is lost in between.
func TestFull(t *testing.T) { both(t, testFull) }

func testFull(t *testing.T, kind Kind) {
	here, there := newSpace(t), newSpace(t)
	here.veth("sw0", there, "h0")
	p := here.open(Config{Device: "sw0", Kind: kind, Memory: 1 << 20})
	raw := there.raw("h0")
	const count = 8000
	frame := append(bytes.Clone(header), make([]byte, 1000)...)
	for i := range count {
		binary.BigEndian.PutUint32(frame[14:], uint32(i))
		if _, err := unix.Write(raw, frame); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(50 * time.Millisecond)
	r, frames, ours, others := p.Receiver(0), make([]Frame, 64), 0, 0
	next := uint32(0)
	for n := 1; n > 0; r.Release() {
		n = r.Receive(frames)
		for _, f := range frames[:n] {
			b := f.Buf[f.Start:f.End]
			if !bytes.HasPrefix(b, header) {
				others++
				continue
			}
			if got := binary.BigEndian.Uint32(b[14:]); got != next {
				t.Fatalf("frame %d comes behind %d others", got, ours)
			}
			ours++
			next++
		}
	}
	st := p.Stats()
	if missing := count - ours; ours < 100 || missing == 0 || int(st.RxFull) < missing || int(st.RxFull) > missing+20 || int(st.RxFrames) != ours+others {
		t.Errorf("%d of %d came, %d others; counted %+v", ours, count, others, st)
	}
}

// TestQueues: a receiver has all queues that are its worker's, and each frame comes once.
func TestQueues(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		here, there := newSpace(t), newSpace(t)
		here.do(func() error {
			a := netlink.LinkAttrs{Name: "sw0", MTU: 1500, NumRxQueues: 2, NumTxQueues: 2}
			return netlink.LinkAdd(&netlink.Veth{LinkAttrs: a, PeerName: "h0", PeerNamespace: netlink.NsFd(there.fd), PeerNumTxQueues: 2, PeerNumRxQueues: 2})
		})
		here.up("sw0")
		there.up("h0")
		p := here.open(Config{Device: "sw0", Kind: AFXDP, Workers: workers})
		raw := there.raw("h0")
		const flows = 64
		for i := range flows {
			ip := []byte{0x45, 0, 0, 28, 0, 0, 0, 0, 64, unix.IPPROTO_UDP, 0, 0, 10, 0, 0, byte(i), 10, 0, 0, 200, byte(i), 1, 2, 3, 0, 8, 0, 0}
			if _, err := unix.Write(raw, append(append(bytes.Clone(header[:12]), 8, 0), ip...)); err != nil {
				t.Fatal(err)
			}
		}
		seen := map[byte]int{}
		by := make([]int, workers)
		frames := make([]Frame, 64)
		for begin := time.Now(); len(seen) < flows && time.Since(begin) < 2*time.Second; {
			for w := range workers {
				for _, f := range frames[:p.Receiver(w).Receive(frames)] {
					if b := f.Buf[f.Start:f.End]; b[12] == 8 {
						seen[b[14+15]]++
						by[w]++
					}
				}
				p.Receiver(w).Release()
			}
		}
		if len(seen) != flows || by[0] == 0 || workers > 1 && by[1] == 0 {
			t.Errorf("%d workers: got %d flows, %v", workers, len(seen), by)
		}
	}
}

// TestSendDown: what cannot leave since the device is down is counted, and later frames leave.
func TestSendDown(t *testing.T) { both(t, testSendDown) }

func testSendDown(t *testing.T, kind Kind) {
	here, there := newSpace(t), newSpace(t)
	here.veth("sw0", there, "h0")
	p := here.open(Config{Device: "sw0", Kind: kind})
	raw := there.raw("h0")
	s, err := p.NewSender()
	if err != nil {
		t.Fatal(err)
	}
	here.do(func() error {
		l, err := netlink.LinkByName("sw0")
		if err != nil {
			return err
		}
		return netlink.LinkSetDown(l)
	})
	for range 3 {
		s.Send(append(bytes.Clone(header), 1))
		s.Flush()
	}
	if st := p.Stats(); st.TxErrors < 2 || st.TxFrames+st.TxErrors != 3 {
		t.Errorf("got %+v, want errors", st)
	}
	here.up("sw0")
	s.Send(append(bytes.Clone(header), 2))
	s.Flush()
	b := make([]byte, 2048)
	for {
		n, err := unix.Read(raw, b)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(b[:n], append(bytes.Clone(header), 2)) {
			return
		}
	}
}

// TestUnfinished: which checksums are taken for ones that nobody has made yet, and what becomes of them.
func TestUnfinished(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(frame []byte) []byte
		want  bool
	}{
		{"left", func(b []byte) []byte { return b }, true},
		{"made", func(b []byte) []byte { (&finisher{}).finish(b); return b }, false},
		{"fragment", func(b []byte) []byte { b[20] = 0x20; return b }, false},
		{"another protocol", func(b []byte) []byte { b[23] = 1; return b }, false},
		{"shorter than it says", func(b []byte) []byte { return b[:len(b)-1] }, false},
		{"longer than it says", func(b []byte) []byte { return append(b, 0, 0) }, true},
		{"tagged twice", func(b []byte) []byte {
			return append(append(bytes.Clone(b[:12]), 0x88, 0xa8, 0, 7, 0x81, 0, 0, 8), b[12:]...)
		}, true},
		{"no header", func(b []byte) []byte { return b[:14] }, false},
		{"header of 0 octets", func(b []byte) []byte { b[14] = 0x40; return b }, false},
	} {
		udp := []byte{0, 80, 1, 0, 0, 11, 0, 0, 1, 2, 3}
		ip := []byte{0x45, 0, 0, 31, 0, 1, 0, 0, 64, unix.IPPROTO_UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}
		binary.BigEndian.PutUint16(udp[6:], sum(ip[12:20], unix.IPPROTO_UDP+11))
		frame := tc.spoil(append(append(append(bytes.Clone(header[:12]), 8, 0), ip...), udp...))
		if _, _, got := unfinished(frame); got != tc.want {
			t.Errorf("%s: got %t, want %t", tc.name, got, tc.want)
		}
		before := bytes.Clone(frame)
		(&finisher{}).finish(frame)
		if changed := !bytes.Equal(before, frame); changed != tc.want {
			t.Errorf("%s: changed %t, want %t", tc.name, changed, tc.want)
		}
		if _, _, again := unfinished(frame); again {
			t.Errorf("%s: it is not made now", tc.name)
		}
	}
}

// FuzzFinish: whatever comes, nothing but a checksum is written.
func FuzzFinish(f *testing.F) {
	f.Add(append(bytes.Clone(header[:12]), 8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2, 0, 8, 0x14, 0x1e))
	f.Add(append(bytes.Clone(header[:12]), append([]byte{0x86, 0xdd, 0x60, 0, 0, 0, 0, 12, 132, 64}, make([]byte, 44)...)...))
	f.Fuzz(func(t *testing.T, frame []byte) {
		before := bytes.Clone(frame)
		(&finisher{}).finish(frame)
		first, last := -1, -1
		for i := range frame {
			if frame[i] != before[i] {
				if first < 0 {
					first = i
				}
				last = i
			}
		}
		if last-first > 3 {
			t.Errorf("%x became %x", before, frame)
		}
	})
}
