package xdp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// network is a UPF in namespaces, with a GTP-U socket at the gNB and a UDP
// socket in the data network.
type network struct {
	*topology.Topology
	upf     *xdp.Driver
	gnb, dn *net.UDPConn
	ue      netip.Addr
	n3      netip.AddrPort              // of the UPF
	spread  []int                       // CPUs
	on      func(xdp.Config) xdp.Config // another hook than XDP; nil: that
}

const (
	ulTEID, dlTEID = 0x11, 0x22
	uePort, dnPort = 4000, 5000
)

func openNetwork(t *testing.T, name string, mode xdp.Mode) *network {
	t.Helper()
	return openNetworkOn(t, name, mode, nil)
}

// onTC and onClsact are other hooks.
func onTC(c xdp.Config) xdp.Config {
	c.Hook = xdp.HookTC
	return c
}

func onClsact(c xdp.Config) xdp.Config { return onTC(c).WithoutTCX() }

// openNetworkOn is openNetwork with the programs on another hook, if on is not nil.
func openNetworkOn(t *testing.T, name string, mode xdp.Mode, on func(xdp.Config) xdp.Config) *network {
	t.Helper()
	n := layNetwork(t, name)
	n.on = on
	n.start(t, mode, datapath.Endpoint{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()})
	n.n3 = netip.AddrPortFrom(n.N3.UPF.Address.Addr(), gtpu.Port)
	n.gnb = listen(t, n.GNB, netip.AddrPortFrom(n.N3.Peer.Address.Addr(), gtpu.Port))
	return n
}

// layNetwork is a network without UPF and gNB.
func layNetwork(t testing.TB, name string) *network {
	t.Helper()
	top, err := topology.New(topology.Config{Name: "plt-" + name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, top.Close()) })
	n := &network{Topology: top, ue: netip.MustParseAddr("10.64.0.1")}
	n.dn = listen(t, top.DN, netip.AddrPortFrom(top.N6.Peer.Address.Addr(), dnPort))
	return n
}

// start makes the UPF.
func (n *network) start(t *testing.T, mode xdp.Mode, n3 datapath.Endpoint) {
	t.Helper()
	n.startOn(t, mode, n6On(n.N6.UPF.Device, n.N6.Peer.Address.Addr()), n3)
}

func (n *network) startOn(t *testing.T, mode xdp.Mode, n6 datapath.N6, n3 ...datapath.Endpoint) {
	t.Helper()
	check(t, n.UPF.Do(func() (err error) {
		c := xdp.Config{
			Endpoints: n3, N6: n6, Spread: n.spread,
			Mode: mode, MaxSessions: 64, Log: slog.New(slog.DiscardHandler),
		}
		if n.on != nil {
			c = n.on(c)
		}
		n.upf, err = xdp.New(c)
		return err
	}))
	t.Cleanup(func() {
		if t.Failed() {
			drops, err := n.upf.Drops()
			passes, errPasses := n.upf.Passes()
			t.Log(drops, err, passes, errPasses)
		}
		check(t, n.upf.Close())
	})
}

// n6On is one data network on a device.
func n6On(device string, gateways ...netip.Addr) datapath.N6 {
	return datapath.N6{Networks: []datapath.DataNetwork{{Name: "n6", Device: device, Gateways: gateways}}}
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
		conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		return err
	}))
	t.Cleanup(func() { check(t, conn.Close()) })
	check(t, conn.SetReadDeadline(time.Now().Add(patience)))
	return conn
}

// patience is how long a test waits for what must come, from when it opens a socket
// on: programs are loaded meanwhile, and the machine may have other work.
const patience = time.Minute

// install sets up the one session, towards the gNB at peer.
func (n *network) install(t *testing.T, peer netip.Addr) {
	t.Helper()
	check(t, n.upf.Apply(context.Background(), &api.Change{Seid: 1, Session: n.session(peer)}))
}

// fteid is at the address of the UPF to which the gNB sends.
func (n *network) fteid() *api.FTEID {
	if a := n.n3.Addr(); a.Is6() {
		return &api.FTEID{Teid: ulTEID, Ipv6: a.AsSlice()}
	}
	return &api.FTEID{Teid: ulTEID, Ipv4: number(n.N3.UPF.Address.Addr())}
}

// session is that of n.ue.
func (n *network) session(peer netip.Addr) *api.Session {
	ue := &api.UEAddress{Ipv4: number(n.ue)}
	return &api.Session{Seid: 1, Rules: []*api.Rule{
		{
			PdrId: 1, OuterHeaderRemoval: true,
			Detect:  &api.Detect{FTeid: n.fteid(), UeAddress: ue},
			Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE},
		},
		{
			PdrId: 2, QerIds: []uint32{1},
			Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: ue},
			Forward: &api.Forward{
				Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS,
				OuterHeaderCreation: toward(peer),
			},
		},
	}, Qers: []*api.QER{{Id: 1, Qfi: 9}}}
}

func toward(peer netip.Addr) *api.OuterHeaderCreation {
	if peer.Is6() {
		return &api.OuterHeaderCreation{Teid: dlTEID, Ipv6: peer.AsSlice()}
	}
	return &api.OuterHeaderCreation{Teid: dlTEID, Ipv4: number(peer)}
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// datagram is an IPv4 packet of the UE with a UDP payload.
func (n *network) datagram(payload []byte) []byte {
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
func (n *network) uplink(t *testing.T, payload []byte) {
	t.Helper()
	user := n.datagram(payload)
	message := append(gtpu.AppendGPDU(nil, ulTEID, gtpu.PDUTypeUplink, 9, len(user)), user...)
	_, err := n.gnb.WriteToUDPAddrPort(message, n.n3)
	check(t, err)
	buf := make([]byte, 4096)
	size, from, err := n.dn.ReadFromUDPAddrPort(buf)
	check(t, err)
	if !bytes.Equal(buf[:size], payload) || from != netip.AddrPortFrom(n.ue, uePort) {
		t.Fatalf("data network got %d octets from %v; want %d from %v", size, from, len(payload), n.ue)
	}
}

// downlink sends from the data network and reads the G-PDU at the gNB.
func (n *network) downlink(t *testing.T, payload []byte) {
	t.Helper()
	_, err := n.dn.WriteToUDPAddrPort(payload, netip.AddrPortFrom(n.ue, uePort))
	check(t, err)
	if user := n.atGNB(t); !bytes.Equal(user[28:], payload) {
		t.Fatalf("gNB got %d octets, want %d", len(user), 28+len(payload))
	}
}

// atGNB reads a user packet at the gNB.
func (n *network) atGNB(t *testing.T) []byte {
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

// TestNetwork sends real packets through namespaces: those that the programs
// finish, and those that go the slow way.
func TestNetwork(t *testing.T) {
	for name, at := range map[string]struct {
		mode xdp.Mode
		on   func(xdp.Config) xdp.Config
	}{
		"native": {mode: xdp.Native}, "generic": {mode: xdp.Generic}, "tcx": {on: onTC}, "clsact": {on: onClsact},
	} {
		t.Run(name, func(t *testing.T) {
			n := openNetworkOn(t, "xdp-"+name, at.mode, at.on)
			n.install(t, n.N3.Peer.Address.Addr())
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
			t.Run("longer than N3 takes", func(t *testing.T) { n.longer(t, 1452) })
			t.Run("echo", n.echo)
			t.Run("to the UPF itself", n.toUPF)
		})
	}
}

// longer: a packet that may be cut is cut; of one that may not its sender is
// told, believes it, and cuts the next one. first is how many octets the first of
// the two fragments has.
func (n *network) longer(t *testing.T, first int) {
	discover := func(how int) {
		raw, err := n.dn.SyscallConn()
		check(t, err)
		var opt error
		check(t, raw.Control(func(fd uintptr) { opt = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, how) }))
		check(t, opt)
	}
	send := func() {
		_, err := n.dn.WriteToUDPAddrPort(payload(1472), netip.AddrPortFrom(n.ue, uePort))
		check(t, err)
	}
	for _, step := range []struct {
		name string
		how  int
		told bool
	}{
		{"without DF the UPF cuts", unix.IP_PMTUDISC_DONT, false},
		{"with DF the sender does", unix.IP_PMTUDISC_WANT, true},
	} {
		discover(step.how)
		if step.told {
			send()
			n.waitTold(t)
		}
		send()
		one, two := n.atGNB(t), n.atGNB(t)
		if len(one) != first || one[6] != 0x20 || !bytes.Equal(slices.Concat(one[28:], two[20:]), payload(1472)) {
			t.Errorf("%s: the gNB got %x and %x", step.name, one, two)
		}
	}
}

// waitTold waits until the host in the data network knows what a packet to the UE may
// have: its drop is counted before the ICMP error leaves.
func (n *network) waitTold(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var routes []netlink.Route
		check(t, n.DN.Do(func() (err error) {
			routes, err = netlink.RouteGet(n.ue.AsSlice())
			return err
		}))
		if routes[0].MTU != 0 {
			return
		}
		if time.Now().After(deadline) {
			drops, err := n.upf.Drops()
			t.Fatalf("the sender was not told of an MTU: %v; drops %v, %v", routes[0], drops, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// waitDrops waits until n packets were dropped for a reason.
func (n *network) waitDrops(t *testing.T, reason string, want uint64) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		drops, err := n.upf.Drops()
		check(t, err)
		if drops[reason] >= want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("drops %v, want %d of %s", drops, want, reason)
		}
		time.Sleep(time.Millisecond)
	}
}

// echo: an Echo Request is answered with its sequence number.
func (n *network) echo(t *testing.T) {
	_, err := n.gnb.WriteToUDPAddrPort(gtpu.AppendEchoRequest(nil, 77), n.n3)
	check(t, err)
	buf := make([]byte, 100)
	size, err := n.gnb.Read(buf)
	check(t, err)
	if want := gtpu.AppendEchoResponse(nil, 77); !bytes.Equal(buf[:size], want) {
		t.Errorf("got %x, want %x", buf[:size], want)
	}
}

// TestUnresolvedPeer: packets to a gNB whose neighbour is not known yet are not
// lost, and soon take the fast path.
func TestUnresolvedPeer(t *testing.T) {
	n := openNetwork(t, "xdp-arp", xdp.Native)
	n.install(t, n.N3.Peer.Address.Addr())
	for range 20 {
		n.downlink(t, payload(100))
	}
	n.untilResolved(t)
}
