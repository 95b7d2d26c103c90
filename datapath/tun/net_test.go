package tun

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// network is a UPF in namespaces, with a GTP-U socket at the gNB and UDP sockets in the
// data network.
type network struct {
	*topology.Topology
	upf      *Driver
	gnb      *net.UDPConn
	dn, dn6  *net.UDPConn
	ue, ue6  netip.Addr
	n3       *net.UDPAddr // of the UPF
	sessions uint64
}

const (
	ulTEID, dlTEID = 0x11, 0x22
	uePort, dnPort = 4000, 5000
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openNetwork(t testing.TB, name string, cfg Config) *network {
	t.Helper()
	top, err := topology.New(topology.Config{Name: "plt-" + name})
	check(t, err)
	t.Cleanup(func() { check(t, top.Close()) })
	n := &network{
		Topology: top, ue: netip.MustParseAddr("10.64.0.1"), ue6: netip.MustParseAddr("fd64:0:1::1"),
		n3: net.UDPAddrFromAddrPort(netip.AddrPortFrom(top.Config.N3UPF.Addr(), gtpu.Port)),
	}
	n.open(t, cfg)
	n.gnb = listenAt(t, top.GNB, netip.AddrPortFrom(top.Config.N3GNB.Addr(), gtpu.Port))
	n.dn = listenAt(t, top.DN, netip.AddrPortFrom(top.Config.N6DN.Addr(), dnPort))
	n.dn6 = listenAt(t, top.DN, netip.AddrPortFrom(top.Config.N6DN6.Addr(), dnPort))
	return n
}

// open makes the UPF.
func (n *network) open(t testing.TB, cfg Config) {
	t.Helper()
	if cfg.N6.Networks == nil {
		cfg.N6.Networks = []datapath.DataNetwork{{Name: "n6", Device: n.N6.UPF.Device}}
	}
	cfg.Endpoints = []datapath.Endpoint{{Name: "n3", Address: n.Config.N3UPF.Addr()}}
	cfg.MaxSessions, cfg.Log = 1<<17, slog.New(slog.DiscardHandler)
	check(t, n.UPF.Do(func() (err error) {
		n.upf, err = New(cfg)
		return err
	}))
	check(t, n.upf.Settle(context.Background()))
	upf := n.upf
	t.Cleanup(func() { check(t, upf.Close()) })
}

func listenAt(t testing.TB, ns *topology.Namespace, at netip.AddrPort) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	check(t, ns.Do(func() (err error) {
		conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		return err
	}))
	t.Cleanup(func() { check(t, conn.Close()) })
	check(t, conn.SetReadDeadline(time.Now().Add(time.Minute))) // a watchdog, from before the datapath starts
	return conn
}

// install sets up a session of the UE, towards the gNB.
func (n *network) install(t testing.TB) {
	t.Helper()
	n.sessions++
	check(t, n.upf.Apply(context.Background(), &api.Change{Seid: n.sessions, Session: n.session(n.sessions, n.ue, n.ue6)}))
}

func (n *network) session(seid uint64, ue, ue6 netip.Addr) *api.Session {
	address := &api.UEAddress{Ipv4: number(ue)}
	if ue6.IsValid() {
		b := ue6.As16()
		address.Ipv6Prefix = binary.BigEndian.Uint64(b[:])
	}
	return &api.Session{Seid: seid, Rules: []*api.Rule{
		{
			PdrId: 1, OuterHeaderRemoval: true,
			Detect:  &api.Detect{FTeid: &api.FTEID{Teid: uint32(seid)<<8 | ulTEID, Ipv4: number(n.Config.N3UPF.Addr())}, UeAddress: address},
			Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE},
		},
		{
			PdrId: 2, QerIds: []uint32{1},
			Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: address},
			Forward: &api.Forward{
				Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS,
				OuterHeaderCreation: &api.OuterHeaderCreation{Teid: uint32(seid)<<8 | dlTEID, Ipv4: number(n.Config.N3GNB.Addr())},
			},
		},
	}, Qers: []*api.QER{{Id: 1, Qfi: 9}}}
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// datagram is a packet from the UE to the data network with a UDP payload.
func datagram(from, to netip.Addr, payload []byte) []byte {
	udp := binary.BigEndian.AppendUint16(nil, uePort)
	udp = binary.BigEndian.AppendUint16(udp, dnPort)
	udp = binary.BigEndian.AppendUint16(udp, uint16(8+len(payload)))
	udp = append(append(udp, 0, 0), payload...)
	addresses := append(from.AsSlice(), to.AsSlice()...)
	binary.BigEndian.PutUint16(udp[6:], ^ones(append(append(bytes.Clone(addresses), 0, 17, byte(len(udp)>>8), byte(len(udp))), udp...)))
	if from.Is6() {
		ip := []byte{0x60, 0, 0, 0, byte(len(udp) >> 8), byte(len(udp)), 17, 64}
		return append(append(ip, addresses...), udp...)
	}
	ip := []byte{0x45, 0, byte((20 + len(udp)) >> 8), byte(20 + len(udp)), 0, 1, 0, 0, 64, 17, 0, 0}
	ip = append(ip, addresses...)
	binary.BigEndian.PutUint16(ip[10:], ^ones(ip))
	return append(ip, udp...)
}

func ones(b []byte) uint16 {
	var s uint32
	for i := 0; i < len(b); i += 2 {
		s += uint32(b[i]) << 8
		if i+1 < len(b) {
			s += uint32(b[i+1])
		}
	}
	s = s>>16 + s&0xffff
	return uint16(s>>16 + s)
}

// uplink sends a packet of the UE to the UPF.
func (n *network) uplink(t testing.TB, packet []byte) {
	t.Helper()
	b := gtpu.AppendGPDU(nil, uint32(n.sessions)<<8|ulTEID, gtpu.PDUTypeUplink, 9, len(packet))
	_, err := n.gnb.WriteToUDP(append(b, packet...), n.n3)
	check(t, err)
}

func receive(t testing.TB, conn *net.UDPConn) ([]byte, netip.AddrPort) {
	t.Helper()
	b := make([]byte, 65536)
	size, from, err := conn.ReadFromUDPAddrPort(b)
	check(t, err)
	return b[:size], from
}

// TestBothWays: a datagram of IPv4 and one of IPv6 reach the data network, and what is
// answered the UE, through TUN and TAP, by a pool's route and by the session's own.
func TestBothWays(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
	}{
		{"tun", Config{}},
		{"tap", Config{TAP: true}},
		{"tun, ring", Config{Ring: true}},
		{"tap, rings, three workers", Config{TAP: true, Ring: true, Workers: 3}},
		{"tun, pool, three workers", Config{Workers: 3, Pools: []netip.Prefix{netip.MustParsePrefix("10.64.0.0/16"), netip.MustParsePrefix("fd64::/32")}}},
		{"tun, gateway", Config{N6: datapath.N6{Networks: []datapath.DataNetwork{{
			Name: "n6", Device: "n6", Gateways: []netip.Addr{netip.MustParseAddr("10.6.0.2"), netip.MustParseAddr("fd06::2")},
		}}}}},
		{"tap, pool", Config{TAP: true, Pools: []netip.Prefix{netip.MustParsePrefix("10.64.0.0/16"), netip.MustParsePrefix("fd64::/32")}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := openNetwork(t, "tunways", tc.cfg)
			n.install(t)
			for _, way := range []struct {
				ue, server netip.Addr
				conn       *net.UDPConn
			}{{n.ue, n.Config.N6DN.Addr(), n.dn}, {n.ue6, n.Config.N6DN6.Addr(), n.dn6}} {
				n.uplink(t, datagram(way.ue, way.server, []byte("uplink")))
				got, from := receive(t, way.conn)
				if want := netip.AddrPortFrom(way.ue, uePort); string(got) != "uplink" || from != want {
					t.Fatalf("got %q from %v, want %q from %v", got, from, "uplink", want)
				}
				_, err := way.conn.WriteToUDPAddrPort([]byte("downlink"), from)
				check(t, err)
				n.isDownlink(t, way.ue, "downlink")
			}
			u, err := n.upf.Usage(n.sessions)
			check(t, err)
			for _, r := range u.GetRules() {
				if r.GetPackets() != 2 || r.GetDroppedPackets() != 0 {
					t.Errorf("PDR %d: %v, want 2 packets", r.GetPdrId(), r)
				}
			}
		})
	}
}

// isDownlink takes a G-PDU at the gNB, with a datagram of this payload to the UE.
func (n *network) isDownlink(t testing.TB, ue netip.Addr, payload string) {
	t.Helper()
	b, from := receive(t, n.gnb)
	h, err := gtpu.Parse(b)
	check(t, err)
	qfi, _ := h.QFI()
	if want := n.n3.AddrPort(); from != want || h.TEID() != uint32(n.sessions)<<8|dlTEID || qfi != 9 {
		t.Errorf("from %v, TEID %#x, QFI %d; want %v, %#x, 9", from, h.TEID(), qfi, want, n.sessions<<8|dlTEID)
	}
	packet := b[len(h):]
	headers, to := 28, netip.AddrFrom4([4]byte(packet[16:20]))
	if ue.Is6() {
		headers, to = 48, netip.AddrFrom16([16]byte(packet[24:40]))
	}
	if got := string(packet[headers:]); got != payload || to != ue {
		t.Errorf("got %q to %v, want %q to %v", got, to, payload, ue)
	}
}
