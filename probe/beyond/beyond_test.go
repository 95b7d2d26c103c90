package beyond_test

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/beyond"
	"github.com/plumbline-upf/plumbline/probe/find"
)

const (
	device     = "upf0"
	serverPort = 7000
	inPacket   = 8 // octets of a GTP-U header without options
)

var pool = netip.MustParsePrefix("10.64.0.0/16")

// bed is a UPF of two threads: one takes GTP-U from a socket and writes to a TUN device,
// the other one does the reverse.
//
//	gNB ── N3 ──► socket ──► TUN ──► kernel ──► N6 ── server
type bed struct {
	*topology.Topology
	t           *testing.T
	ran, server *net.UDPConn
	readers     []probe.Reader
	ue          netip.Addr
}

func newBed(t *testing.T) *bed {
	t.Helper()
	top, err := topology.New(topology.Config{Name: "plt-beyond"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := top.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bed{Topology: top, t: t, ue: netip.MustParseAddr("10.64.0.7")}
	b.ran = b.listen(top.GNB, netip.AddrPortFrom(top.N3.Peer.Address.Addr(), gtpu.Port))
	b.server = b.listen(top.DN, netip.AddrPortFrom(top.N6.Peer.Address.Addr(), serverPort))
	n3 := b.listen(top.UPF, netip.AddrPortFrom(top.N3.UPF.Address.Addr(), gtpu.Port))
	b.listen(top.UPF, netip.AddrPortFrom(top.N6.UPF.Address.Addr(), serverPort)) // and never answers
	socket, tun := fileOf(t, n3), b.tun()
	b.readers = []probe.Reader{{PID: os.Getpid(), FD: socket, Direction: probe.Uplink}, {PID: os.Getpid(), FD: tun, Direction: probe.Downlink}}
	b.forward(socket, tun)
	return b
}

func (b *bed) listen(n *topology.Namespace, at netip.AddrPort) (conn *net.UDPConn) {
	b.t.Helper()
	err := n.Do(func() (err error) {
		conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	return conn
}

// fileOf is a socket for blocking system calls.
func fileOf(t *testing.T, c *net.UDPConn) int {
	t.Helper()
	f, err := c.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	fd := int(f.Fd())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}); err != nil {
		t.Fatal(err)
	}
	return fd
}

// tun makes the device, routes UEs to it, and has the kernel forward.
func (b *bed) tun() (fd int) {
	b.t.Helper()
	err := b.UPF.Do(func() (err error) {
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
			return err
		}
		if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR, 0); err != nil {
			return err
		}
		request, err := unix.NewIfreq(device)
		if err != nil {
			return err
		}
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
			return err
		}
		link, err := netlink.LinkByName(device)
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { unix.Close(fd) })
	b.route(pool)
	return fd
}

// route has UEs with the prefix.
func (b *bed) route(prefix netip.Prefix) {
	b.t.Helper()
	err := b.UPF.Do(func() error {
		link, err := netlink.LinkByName(device)
		if err != nil {
			return err
		}
		to := &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), 32)}
		return netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: to})
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// forward is the UPF. Its threads end with the bed.
func (b *bed) forward(n3, tun int) {
	stop, done := make(chan struct{}), make(chan struct{}, 2)
	b.t.Cleanup(func() { close(stop); <-done; <-done })
	run := func(step func(buffer []byte)) {
		runtime.LockOSThread()
		buffer := make([]byte, 2048)
		for {
			select {
			case <-stop:
				done <- struct{}{}
				return
			default:
				step(buffer)
			}
		}
	}
	go run(func(buffer []byte) {
		if n, _, err := unix.Recvfrom(n3, buffer, 0); err == nil && n > inPacket {
			_, _ = unix.Write(tun, buffer[inPacket:n])
		}
	})
	gnb := &unix.SockaddrInet4{Port: gtpu.Port, Addr: b.N3.Peer.Address.Addr().As4()}
	go run(func(buffer []byte) {
		ready := []unix.PollFd{{Fd: int32(tun), Events: unix.POLLIN}}
		if n, err := unix.Poll(ready, 100); n == 0 || err != nil {
			return
		}
		if n, err := unix.Read(tun, buffer[inPacket:]); err == nil && buffer[inPacket]>>4 == 4 {
			_ = unix.Sendto(n3, gpdu(buffer[:inPacket+n], 2), 0, gnb)
		}
	})
}

// gpdu writes the header in front of a packet. Source: TS 29.281 V18.1.0, 5.1.
func gpdu(b []byte, teid uint32) []byte {
	b[0], b[1] = 0x30, 255
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)-inPacket))
	binary.BigEndian.PutUint32(b[4:], teid)
	return b
}

// send has the UE send n datagrams, which differ, to an address.
func (b *bed) send(n int, to netip.Addr) {
	b.t.Helper()
	upf := net.UDPAddrFromAddrPort(netip.AddrPortFrom(b.N3.UPF.Address.Addr(), gtpu.Port))
	for i := range n {
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: b.ue.AsSlice(), DstIP: to.AsSlice()}
		udp := &layers.UDP{SrcPort: 9000, DstPort: serverPort}
		_ = udp.SetNetworkLayerForChecksum(ip)
		buffer := gopacket.NewSerializeBuffer()
		payload := binary.BigEndian.AppendUint32(nil, uint32(i))
		if err := gopacket.SerializeLayers(buffer, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ip, udp, gopacket.Payload(payload)); err != nil {
			b.t.Fatal(err)
		}
		if _, err := b.ran.WriteTo(gpdu(append(make([]byte, inPacket), buffer.Bytes()...), 1), upf); err != nil {
			b.t.Fatal(err)
		}
	}
}

// exchange has n datagrams go to the server and come back.
func (b *bed) exchange(n int) {
	b.t.Helper()
	b.send(n, b.N6.Peer.Address.Addr())
	buffer := make([]byte, 2048)
	for i := range n {
		_ = b.server.SetReadDeadline(time.Now().Add(10 * time.Second))
		octets, from, err := b.server.ReadFrom(buffer)
		if err != nil {
			b.t.Fatalf("datagram %d at the server: %v", i, err)
		}
		if _, err := b.server.WriteTo(buffer[:octets], from); err != nil {
			b.t.Fatal(err)
		}
		_ = b.ran.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, _, err := b.ran.ReadFrom(buffer); err != nil {
			b.t.Fatalf("datagram %d at the gNB: %v", i, err)
		}
	}
}

// target is the bed's UPF as package find has it.
func (b *bed) target() find.Target {
	at := func(device string, hook probe.Hook, way probe.Way, side probe.Side) probe.Point {
		return probe.Point{Namespace: b.UPF.Path(), Device: device, Hook: hook, Way: way, Side: side}
	}
	return find.Target{Name: "upf", Points: []probe.Point{
		at(b.N3.UPF.Device, probe.Ingress, probe.In, probe.N3), at(b.N3.UPF.Device, probe.Egress, probe.Out, probe.N3),
		at(device, probe.Egress, probe.In, probe.N6), at(device, probe.Ingress, probe.Out, probe.N6),
	}}
}

// TestWholeWay takes apart what packets of a UPF with a TUN device meet: before it, in its
// queue, inside, and behind it.
func TestWholeWay(t *testing.T) {
	const datagrams, timeout = 200, 200 * time.Millisecond
	b := newBed(t)
	p, err := probe.Open(probe.Config{UPFs: []probe.UPF{{Name: "upf"}}, Parts: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	target := b.target()
	for _, point := range target.Points {
		if _, err := p.Attach(point); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Follow(b.readers); err != nil {
		t.Fatal(err)
	}
	kernel, err := beyond.Open(probe.Config{Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	for range 2 { // the second time instead of the first
		if err := kernel.Settle(target); err != nil {
			t.Fatal(err)
		}
	}

	b.exchange(datagrams)
	b.send(3, b.N6.UPF.Address.Addr()) // the namespace's own
	time.Sleep(2 * timeout)

	snapshot, err := p.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range snapshot.Series {
		want := uint64(datagrams)
		if s.Direction == probe.Uplink {
			want += 3
		}
		if s.Matched != want || s.Parts.Unknown != 0 || s.Parts.Queued.TotalCount() != int64(want) {
			t.Errorf("%v: got %+v, %d unknown, %d in parts, want %d", s.Direction, s.Account, s.Parts.Unknown, s.Parts.Queued.TotalCount(), want)
		}
		whole, parts := s.Delay.Mean(), s.Parts.Queued.Mean()+s.Parts.Inside.Mean()
		if parts < 0.97*whole || parts > 1.03*whole {
			t.Errorf("%v: parts make %.0f ns on average, the delay is %.0f", s.Direction, parts, whole)
		}
		t.Logf("%v: P50 %d ns: queued %d, inside %d", s.Direction, s.Delay.ValueAtQuantile(50), s.Parts.Queued.ValueAtQuantile(50), s.Parts.Inside.ValueAtQuantile(50))
	}
	kernel.Leave("upf")
	b.exchange(5) // not seen any more
	stages, err := kernel.Read()
	if err != nil {
		t.Fatal(err)
	}
	want := map[probe.Direction]probe.Account{
		probe.Uplink:   {In: datagrams + 3, Matched: datagrams, Lost: 3, Octets: datagrams * 32},
		probe.Downlink: {In: datagrams, Matched: datagrams, Octets: datagrams * 32},
	}
	if len(stages) != len(want) {
		t.Errorf("got %d stages, want %d", len(stages), len(want))
	}
	for _, s := range stages {
		if s.UPF != "upf" || s.Account != want[s.Direction] || s.Delay.Max() == 0 {
			t.Errorf("%s %v: got %+v, want %+v", s.UPF, s.Direction, s.Account, want[s.Direction])
		}
		t.Logf("kernel, %v: P50 %d ns", s.Direction, s.Delay.ValueAtQuantile(50))
	}
}

// TestOtherUEs has further UEs routed to the device while they are measured.
func TestOtherUEs(t *testing.T) {
	const datagrams = 10
	b := newBed(t)
	kernel, err := beyond.Open(probe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	for _, prefix := range []string{"", "10.65.0.0/16"} {
		if prefix != "" {
			b.route(netip.MustParsePrefix(prefix))
			b.ue = netip.MustParseAddr("10.65.0.7")
		}
		if err := kernel.Settle(b.target()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // what is said of UEs counts 10 ms later
		b.exchange(datagrams)
	}
	stages, err := kernel.Read()
	if err != nil {
		t.Fatal(err)
	}
	want := probe.Account{In: 2 * datagrams, Matched: 2 * datagrams, Octets: 2 * datagrams * 32}
	if len(stages) != 2 {
		t.Errorf("got %d stages, want 2", len(stages))
	}
	for _, s := range stages {
		if s.Account != want {
			t.Errorf("%v: got %+v, want %+v", s.Direction, s.Account, want)
		}
	}
}

// TestNoDevice: a UPF whose packets pass no device between it and the data network has
// nothing beyond.
func TestNoDevice(t *testing.T) {
	kernel, err := beyond.Open(probe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	xdp := find.Target{Name: "x", Points: []probe.Point{{Device: "n3", Hook: probe.Egress, Way: probe.In}}}
	if err := kernel.Settle(xdp); !errors.Is(err, beyond.ErrNoDevice) {
		t.Errorf("got %v, want %v", err, beyond.ErrNoDevice)
	}
	gone := find.Target{Name: "x", Points: []probe.Point{{Namespace: "/nosuch", Device: "tun0", Hook: probe.Egress, Way: probe.In, Side: probe.N6}}}
	if err := kernel.Settle(gone); err == nil || errors.Is(err, beyond.ErrNoDevice) {
		t.Errorf("a namespace that is not there: got %v", err)
	}
}
