package core_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/ran/gnb"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/core"
)

// mac keeps the downlink of a cell.
type mac struct {
	mu  sync.Mutex
	got []received
}

// received is a packet that a MAC was given.
type received struct {
	ue     int
	qfi    uint8
	packet []byte
}

func (m *mac) Downlink(ue int, qfi uint8, packet []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got = append(m.got, received{ue, qfi, bytes.Clone(packet)})
	return true
}

// await returns the packets when there are so many.
func (m *mac) await(t *testing.T, n int) []received {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		m.mu.Lock()
		got := m.got
		m.mu.Unlock()
		if len(got) >= n {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d packets within 20 s, want %d", len(got), n)
		}
	}
}

// twoUEs is a cell.
func twoUEs() *radio.Config {
	c := radio.Default()
	c.UEs = []radio.UE{
		{RNTI: 1, Preamble: 1, QFI: 5, Addresses: []netip.Addr{netip.MustParseAddr("10.64.0.1")}},
		{RNTI: 2, Preamble: 2, QFI: 9, Addresses: []netip.Addr{netip.MustParseAddr("10.64.0.2"), netip.MustParseAddr("fd64::2")}},
	}
	return &c
}

func newBed(t *testing.T, name string) *topology.Topology {
	t.Helper()
	bed, err := topology.New(topology.Config{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	return bed
}

// run has the core carry packets until the test ends.
func run(t *testing.T, c core.Core) *mac {
	t.Helper()
	m := &mac{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx, m) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return m
}

// udp is a UDP socket of a namespace.
func udp(t *testing.T, ns *topology.Namespace, at netip.AddrPort) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	err := ns.Do(func() (err error) {
		conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// packetOf is an IPv4 or IPv6 header of UDP, and payload.
func packetOf(from, to netip.AddrPort, payload string) []byte {
	b := []byte{0x45, 0, 0, byte(28 + len(payload)), 0, 0, 0, 0, 64, 17, 0, 0}
	b = append(append(b, from.Addr().AsSlice()...), to.Addr().AsSlice()...)
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	sum = ^(sum>>16 + sum&0xffff)
	b[10], b[11] = byte(sum>>8), byte(sum)
	b = append(b, byte(from.Port()>>8), byte(from.Port()), byte(to.Port()>>8), byte(to.Port()), 0, byte(8+len(payload)), 0, 0)
	return append(b, payload...)
}

// TestN3 carries packets of two UEs between a MAC and a UPF.
func TestN3(t *testing.T) {
	bed := newBed(t, "plt-core-n3")
	upf := udp(t, bed.UPF, netip.AddrPortFrom(bed.N3.UPF.Address.Addr(), gtpu.Port))
	at := netip.AddrPortFrom(bed.N3.Peer.Address.Addr(), gtpu.Port)
	c, err := core.Open(&core.Config{
		N3:       &gnb.N3{Address: at.Addr(), UPF: bed.N3.UPF.Address.Addr(), Namespace: bed.GNB.Name},
		Sessions: []core.Session{{UplinkTEID: 0x11, DownlinkTEID: 0x21}, {UplinkTEID: 0x12, DownlinkTEID: 0x22}},
	}, twoUEs(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	m := run(t, c)

	packet := packetOf(netip.MustParseAddrPort("10.64.0.2:7"), netip.MustParseAddrPort("10.6.0.2:7"), "up")
	c.Uplink(1, 9, packet)
	c.Flush()
	got := make([]byte, 1500)
	n, err := upf.Read(got)
	want := append(gtpu.AppendGPDU(nil, 0x12, gtpu.PDUTypeUplink, 9, len(packet)), packet...)
	if err != nil || !bytes.Equal(got[:n], want) {
		t.Errorf("uplink: %x, %v; want %x", got[:n], err, want)
	}

	for i, teid := range []uint32{0x22, 0x21} {
		packet := packetOf(netip.MustParseAddrPort("10.6.0.2:7"), netip.MustParseAddrPort("10.64.0.1:7"), "down")
		g := append(gtpu.AppendGPDU(nil, teid, gtpu.PDUTypeDownlink, 9, len(packet)), packet...)
		if _, err := upf.WriteToUDPAddrPort(g, at); err != nil {
			t.Fatal(err)
		}
		want := received{[]int{1, 0}[i], []uint8{9, 5}[i], packet}
		if got := m.await(t, i+1)[i]; got.ue != want.ue || got.qfi != want.qfi || !bytes.Equal(got.packet, packet) {
			t.Errorf("downlink: %+v, want %+v", got, want)
		}
	}
	if c.MTU() != 1456 {
		t.Errorf("MTU %d, want 1456", c.MTU())
	}
}

// TestTUN carries packets of two UEs between a MAC and a program of this machine.
func TestTUN(t *testing.T) {
	bed := newBed(t, "plt-core-tun")
	here := netip.MustParseAddr("10.45.0.1")
	c, err := core.Open(&core.Config{TUN: &core.TUNConfig{Namespace: bed.GNB.Name, Addresses: []netip.Addr{here}}}, twoUEs(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	m := run(t, c)
	program := udp(t, bed.GNB, netip.AddrPortFrom(here, 5005))
	ue := netip.MustParseAddrPort("10.64.0.2:4004")
	const many = 300 // more than one batch
	for i := range many {
		c.Uplink(1, 9, packetOf(ue, netip.AddrPortFrom(here, 5005), "up "+strings.Repeat("x", i%50)))
		if i%100 == 99 {
			c.Flush()
		}
	}
	c.Uplink(0, 9, []byte("no packet"))
	c.Flush()
	buf := make([]byte, 1500)
	for i := range many / 3 {
		n, from, err := program.ReadFromUDPAddrPort(buf)
		if want := "up " + strings.Repeat("x", i%50); err != nil || string(buf[:n]) != want || from.Port() != ue.Port() {
			t.Fatalf("datagram %d: %q from %v, %v; want %q", i, buf[:n], from, err, want)
		}
	}
	if _, err := program.WriteToUDPAddrPort([]byte("down"), ue); err != nil {
		t.Fatal(err)
	}
	if got := m.await(t, 1)[0]; got.ue != 1 || got.qfi != 9 || !bytes.HasSuffix(got.packet, []byte("down")) {
		t.Errorf("downlink: %+v", got)
	}
	if lost, unknown := c.(*core.TUN).Lost(); lost != 1 || unknown != 0 {
		t.Errorf("%d lost and %d unknown, want 1 and 0", lost, unknown)
	}
}

// TestTUNAllocates: nothing is allocated for a slot's packets.
func TestTUNAllocates(t *testing.T) {
	bed := newBed(t, "plt-core-alloc")
	here := netip.MustParseAddr("10.45.0.1")
	c, err := core.OpenTUN(core.TUNConfig{Namespace: bed.GNB.Name, Addresses: []netip.Addr{here}}, twoUEs())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	packet := packetOf(netip.MustParseAddrPort("10.64.0.2:7"), netip.AddrPortFrom(here, 7), "up")
	if n := testing.AllocsPerRun(100, func() {
		for range 10 {
			c.Uplink(1, 9, packet)
		}
		c.Flush()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestConfig(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                            "neither n3 nor tun is given: want one of them",
		"{n3: {}, tun: {}}":             "n3 and tun are both given: want one of them",
		"tun: {}":                       "tun.addresses: 0 IPv4 and 0 IPv6: want one, or one of each",
		"tun: {mtu: 1}":                 "tun.mtu: 1: want 1280 to 65535",
		"tun: {name: lo}":               `tun.name: "lo": want the name of a new device`,
		"tun: {namespace: ../x}":        `tun.namespace: "../x": want a name as in 'ip netns'`,
		"tun: {addresses: [10.64.0.2]}": "tun.addresses[0]: 10.64.0.2: want none of a UE: it is of radio.ues[1]",
		"{tun: {addresses: [10.45.0.1]}, sessions: [{uplink_teid: 1}]}": "tun has no sessions",
		"{n3: {address: 10.3.0.2}, sessions: [{uplink_teid: 1}]}":       "1 sessions for 2 ues",
		"n3: {address: 10.3.0.2, mtu: 1}":                               "n3.mtu: 1: want",
		"n3: {address: 10.3.0.2, upf: 10.3.0.1}":                        "0 sessions for 2 ues",
		"{n3: {address: 10.3.0.2, upf: 10.3.0.1}, sessions: [{uplink_teid: 1, downlink_teid: 1}, {uplink_teid: 2, downlink_teid: 1}]}": "sessions[1].downlink_teid: 1: want a TEID that no other has",
		"{n3: {address: 10.3.0.2, upf: 10.3.0.1}, sessions: [{uplink_teid: 1, downlink_teid: 1}, {downlink_teid: 2}]}":                 "sessions[1].uplink_teid: not set: want the UPF's, from 1 on",
		"{n3: {address: 10.3.0.2}, sessions: [{uplink_teid: 1, downlink_teid: 1, upf: 10.3.0.1}, {uplink_teid: 2, downlink_teid: 2}]}": "n3.upf: not set: want the UPF's address",
	} {
		var c core.Config
		if err := yamltext.Parse("", []byte(text), &c, nil); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := c.Validate(twoUEs(), false); !errors.Is(err, core.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	c := core.Config{N3: &gnb.N3{Address: netip.MustParseAddr("10.3.0.2")}}
	if err := c.Validate(twoUEs(), true); err != nil {
		t.Errorf("sessions that are set up over N4: got %v", err)
	}
}
