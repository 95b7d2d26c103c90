package afxdp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// testNet is a UPF in namespaces, with a GTP-U socket at the gNB and a UDP socket in
// the data network.
type testNet struct {
	*topology.Topology
	upf     *Driver
	gnb, dn *net.UDPConn
	ue      netip.Addr
	n3      netip.AddrPort // of the UPF
}

const (
	ulTEID, dlTEID = 0x11, 0x22
	uePort, dnPort = 4000, 5000
)

func layNet(t testing.TB, name string, stick bool) *testNet {
	t.Helper()
	top, err := topology.New(topology.Config{Name: "plt-" + name, OnAStick: stick})
	check(t, err)
	t.Cleanup(func() { check(t, top.Close()) })
	n := &testNet{Topology: top, ue: netip.MustParseAddr("10.64.0.1")}
	n.n3 = netip.AddrPortFrom(top.N3.UPF.Address.Addr(), gtpu.Port)
	n.dn = listen(t, top.DN, netip.AddrPortFrom(top.N6.Peer.Address.Addr(), dnPort))
	return n
}

// start makes the UPF, with a GTP-U socket at the gNB.
func (n *testNet) start(t testing.TB, cfg Config) {
	t.Helper()
	n.gnb = listen(t, n.GNB, netip.AddrPortFrom(n.N3.Peer.Address.Addr(), gtpu.Port))
	n.open(t, cfg)
}

func (n *testNet) open(t testing.TB, cfg Config) {
	t.Helper()
	cfg.Endpoints = []datapath.Endpoint{{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()}}
	if cfg.N6.Networks == nil {
		cfg.N6 = datapath.N6{Networks: []datapath.DataNetwork{{Name: "n6", Device: n.N6.UPF.Device, Gateways: []netip.Addr{n.N6.Peer.Address.Addr()}}}}
	}
	cfg.MaxSessions = max(cfg.MaxSessions, 64)
	if os.Getenv("VERBOSE") != "" {
		cfg.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	check(t, n.UPF.Do(func() (err error) {
		n.upf, err = New(cfg)
		return err
	}))
	upf := n.upf
	t.Cleanup(func() { check(t, upf.Close()) })
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func listen(t testing.TB, ns *topology.Namespace, at netip.AddrPort) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	check(t, ns.Do(func() (err error) {
		if conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at)); err != nil {
			return err
		}
		raw, err := conn.SyscallConn()
		if err != nil {
			return err
		}
		// What XDP frames become counts as a page each.
		force := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20) })
		return errors.Join(force, err)
	}))
	t.Cleanup(func() { check(t, conn.Close()) })
	check(t, conn.SetReadDeadline(time.Now().Add(time.Minute))) // a watchdog, from before the datapath starts
	return conn
}

// session is that of n.ue.
func (n *testNet) session() *api.Session {
	ue := &api.UEAddress{Ipv4: number(n.ue)}
	return &api.Session{Seid: 1, Rules: []*api.Rule{
		{
			PdrId: 1, OuterHeaderRemoval: true,
			Detect:  &api.Detect{FTeid: &api.FTEID{Teid: ulTEID, Ipv4: number(n.n3.Addr())}, UeAddress: ue},
			Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE},
		},
		{
			PdrId: 2, QerIds: []uint32{1},
			Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: ue},
			Forward: &api.Forward{
				Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS,
				OuterHeaderCreation: &api.OuterHeaderCreation{Teid: dlTEID, Ipv4: number(n.N3.Peer.Address.Addr())},
			},
		},
	}, Qers: []*api.QER{{Id: 1, Qfi: 9}}}
}

func (n *testNet) install(t testing.TB) {
	t.Helper()
	check(t, n.upf.Apply(context.Background(), &api.Change{Seid: 1, Session: n.session()}))
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// datagram is an IPv4 packet of the UE with a UDP payload.
func (n *testNet) datagram(payload []byte) []byte {
	src, dst := n.ue.As4(), n.N6.Peer.Address.Addr().As4()
	b := []byte{0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0}
	binary.BigEndian.PutUint16(b[2:], uint16(28+len(payload)))
	b = append(append(b, src[:]...), dst[:]...)
	binary.BigEndian.PutUint16(b[10:], sum(b))
	b = binary.BigEndian.AppendUint16(b, uePort)
	b = binary.BigEndian.AppendUint16(b, dnPort)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(payload)))
	return append(append(b, 0, 0), payload...)
}

func sum(b []byte) uint16 {
	var s uint32
	for i := 0; i < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	return ^uint16(s + s>>16)
}

// uplink sends a G-PDU from the gNB and reads it in the data network.
func (n *testNet) uplink(t testing.TB, payload []byte) {
	t.Helper()
	user := n.datagram(payload)
	message := append(gtpu.AppendGPDU(nil, ulTEID, gtpu.PDUTypeUplink, 9, len(user)), user...)
	_, err := n.gnb.WriteToUDPAddrPort(message, n.n3)
	check(t, err)
	buf := make([]byte, 4096)
	size, from, err := n.dn.ReadFromUDPAddrPort(buf)
	n.explain(t, err)
	if !bytes.Equal(buf[:size], payload) || from != netip.AddrPortFrom(n.ue, uePort) {
		t.Fatalf("data network got %d octets from %v; want %d from %v", size, from, len(payload), n.ue)
	}
}

// explain ends the test with err and what became of packets.
func (n *testNet) explain(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	drops, _ := n.upf.Drops()
	passes, _ := n.upf.Passes()
	for _, counts := range []map[string]uint64{drops, passes} {
		for name, n := range counts {
			if n > 0 {
				t.Errorf("%d packets: %s", n, name)
			}
		}
	}
	for _, w := range n.upf.machine.Load().workers {
		t.Errorf("frames %v", w.umem.Census())
		for _, s := range w.sockets {
			st, err := s.Statistics()
			t.Errorf("%s: %+v %v; rx %d %d tx %d %d fill %d", s.device.name, st, err, *s.RX.Producer, *s.RX.Consumer, *s.TX.Producer, *s.TX.Consumer, *s.Fill.Producer-*s.Fill.Consumer)
		}
	}
	t.Fatal(err)
}

// downlink sends from the data network and reads the G-PDU at the gNB.
func (n *testNet) downlink(t testing.TB, payload []byte) {
	t.Helper()
	_, err := n.dn.WriteToUDPAddrPort(payload, netip.AddrPortFrom(n.ue, uePort))
	check(t, err)
	if user := n.atGNB(t); !bytes.Equal(user[28:], payload) {
		t.Fatalf("gNB got %d octets, want %d", len(user), 28+len(payload))
	}
}

// atGNB reads a user packet at the gNB.
func (n *testNet) atGNB(t testing.TB) []byte {
	t.Helper()
	buf := make([]byte, 4096)
	size, err := n.gnb.Read(buf)
	check(t, err)
	h, err := gtpu.Parse(buf[:size])
	check(t, err)
	if qfi, _ := h.QFI(); h.TEID() != dlTEID || qfi != 9 {
		t.Fatalf("gNB got TEID %#x, QFI %d; want %#x, 9", h.TEID(), qfi, dlTEID)
	}
	return buf[len(h):size]
}

func payload(octets int) []byte { return bytes.Repeat([]byte("plumbline."), octets/10+1)[:octets] }

// TestNetwork sends real packets through namespaces, in each mode: those of the
// workers, and those that go through the kernel. No frame is lost on the way.
func TestNetwork(t *testing.T) {
	for _, stick := range []bool{false, true} {
		for _, mode := range []Mode{Adaptive, Poll, Interrupt} {
			name := string(mode)
			if stick {
				name += "-stick"
			}
			t.Run(name, func(t *testing.T) {
				n := layNet(t, "afxdp-"+name, stick)
				n.start(t, Config{Mode: mode})
				n.install(t)
				for _, octets := range []int{0, 1, 100, 1000, 1428} {
					n.uplink(t, payload(octets))
					n.downlink(t, payload(octets))
				}
				t.Run("outer fragments on N3", func(t *testing.T) { n.uplink(t, payload(1472)) })
				usage, err := n.upf.Usage(1)
				check(t, err)
				for i, u := range usage.GetRules() {
					want := []uint64{6, 6*28 + 1 + 100 + 1000 + 1428 + 1472}
					if i == 1 {
						want = []uint64{5, 5*28 + 1 + 100 + 1000 + 1428}
					}
					if u.GetPackets() != want[0] || u.GetOctets() != want[1] || u.GetDroppedPackets() != 0 {
						t.Errorf("counted %v", u)
					}
				}
				t.Run("echo", n.echo)
				passes, err := n.upf.Passes()
				check(t, err)
				if passes["fragment"] != 2 {
					t.Errorf("passed %v, want 2 outer fragments", passes)
				}
			})
		}
	}
}

// echo: an Echo Request is answered with its sequence number.
func (n *testNet) echo(t *testing.T) {
	_, err := n.gnb.WriteToUDPAddrPort(gtpu.AppendEchoRequest(nil, 77), n.n3)
	check(t, err)
	buf := make([]byte, 100)
	size, err := n.gnb.Read(buf)
	check(t, err)
	if want := gtpu.AppendEchoResponse(nil, 77); !bytes.Equal(buf[:size], want) {
		t.Errorf("got %x, want %x", buf[:size], want)
	}
}
