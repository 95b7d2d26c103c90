package conformance_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/tun"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// datapaths open each of those that carry packets, on the same devices.
var datapaths = []struct {
	name string
	open func(endpoints []datapath.Endpoint, n6 datapath.N6) (datapath.Driver, error)
}{
	{"xdp", func(e []datapath.Endpoint, n6 datapath.N6) (datapath.Driver, error) {
		return xdp.New(xdp.Config{Endpoints: e, N6: n6, Mode: xdp.Native, MaxSessions: 64, Log: quiet})
	}},
	{"tc", func(e []datapath.Endpoint, n6 datapath.N6) (datapath.Driver, error) {
		return xdp.New(xdp.Config{Endpoints: e, N6: n6, Hook: xdp.HookTC, MaxSessions: 64, Log: quiet})
	}},
	{"afxdp", func(e []datapath.Endpoint, n6 datapath.N6) (datapath.Driver, error) {
		return afxdp.New(afxdp.Config{Endpoints: e, N6: n6, Mode: afxdp.Interrupt, MaxSessions: 64, Log: quiet})
	}},
	{"tun", func(e []datapath.Endpoint, n6 datapath.N6) (datapath.Driver, error) {
		n6.Networks = []datapath.DataNetwork{{Name: "n6", Device: n6.Networks[0].Device}}
		return tun.New(tun.Config{Endpoints: e, N6: n6, MaxSessions: 64, Log: quiet})
	}},
	{"tap", func(e []datapath.Endpoint, n6 datapath.N6) (datapath.Driver, error) {
		n6.Networks = []datapath.DataNetwork{{Name: "n6", Device: n6.Networks[0].Device}}
		return tun.New(tun.Config{TAP: true, Endpoints: e, N6: n6, MaxSessions: 64, Log: quiet})
	}},
}

var quiet = slog.New(slog.DiscardHandler)

// Addresses beside those of the topology. The SMF is behind a device that is no port of
// the UPF; far is that of a peer behind another port's neighbour, or wherever a route
// leads.
var (
	n3Six    = netip.MustParsePrefix("fd03::1/64")
	n4UPF    = netip.MustParsePrefix("10.44.0.1/24")
	n4SMF    = netip.MustParsePrefix("10.44.0.2/24")
	n4UPFSix = netip.MustParsePrefix("fd44::1/64")
	n4SMFSix = netip.MustParsePrefix("fd44::2/64")
	far      = netip.MustParseAddr("10.99.0.2")
	farNet   = netip.MustParsePrefix("10.99.0.0/24")
	silent   = netip.MustParseAddr("10.3.0.77")
)

// routerSolicitation is one of a UE.
const routerSolicitation = "6000000000083afffe800000000000000000000000000001ff02000000000000000000000000000285007d3600000000"

// ways is a UPF whose tunnels lead to several places.
//
//	gNB ── n3 ── UPF ── n6 ── data network, and behind it far
//	              └── n4 ── SMF
type ways struct {
	*topology.Topology
	upf  datapath.Driver
	smf  *topology.Namespace
	gnb  *net.UDPConn
	next uint64
}

const patience = 20 * time.Second

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// in runs f with a handle of a namespace's kernel.
func in(t testing.TB, ns *topology.Namespace, f func(k *netlink.Handle) error) {
	t.Helper()
	check(t, ns.Do(func() error {
		k, err := netlink.NewHandle()
		if err != nil {
			return err
		}
		defer k.Close()
		return f(k)
	}))
}

func addAddress(t testing.TB, ns *topology.Namespace, device string, a netip.Prefix) {
	t.Helper()
	in(t, ns, func(k *netlink.Handle) error {
		link, err := k.LinkByName(device)
		if err != nil {
			return err
		}
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: a.Addr().AsSlice(), Mask: net.CIDRMask(a.Bits(), a.Addr().BitLen())}}
		if a.Addr().Is6() {
			addr.Flags = 2 // IFA_F_NODAD
		}
		return k.AddrAdd(link, addr)
	})
}

// lead leads far through a neighbour of the UPF's, in place of a route before.
func (w *ways) lead(t testing.TB, via netip.Addr) {
	t.Helper()
	in(t, w.UPF, func(k *netlink.Handle) error {
		return k.RouteReplace(&netlink.Route{Dst: &net.IPNet{IP: farNet.Addr().AsSlice(), Mask: net.CIDRMask(24, 32)}, Gw: via.AsSlice()})
	})
}

func layWays(t *testing.T, name string) *ways {
	t.Helper()
	top, err := topology.New(topology.Config{Name: "plt-ways-" + name})
	check(t, err)
	t.Cleanup(func() { check(t, top.Close()) })
	w := &ways{Topology: top}
	w.smf, err = top.Add("smf")
	check(t, err)
	check(t, top.Join(top.UPF, w.smf, "n4", n4UPF, n4SMF))
	addAddress(t, top.UPF, top.N3.UPF.Device, n3Six)
	addAddress(t, top.UPF, "n4", n4UPFSix)
	addAddress(t, w.smf, "n4", n4SMFSix)
	addAddress(t, top.UPF, "n4", netip.MustParsePrefix("fe80::1/64")) // Neighbour Discovery asks from there
	for _, ns := range []*topology.Namespace{top.GNB, top.DN} {
		addAddress(t, ns, "lo", netip.PrefixFrom(far, 32))
	}
	check(t, top.UPF.Do(func() error { // a neighbour is given up soon
		file := fmt.Sprintf("/proc/sys/net/ipv4/neigh/%s/retrans_time_ms", top.N3.UPF.Device)
		return os.WriteFile(file, []byte("100"), 0)
	}))
	return w
}

func openWays(t *testing.T, name string, open func([]datapath.Endpoint, datapath.N6) (datapath.Driver, error)) *ways {
	t.Helper()
	w := layWays(t, name)
	w.gnb = w.listen(t, w.GNB, w.N3.Peer.Address.Addr())
	check(t, w.UPF.Do(func() (err error) {
		w.upf, err = open(
			[]datapath.Endpoint{{Name: "n3", Device: w.N3.UPF.Device, Address: w.N3.UPF.Address.Addr(), Address6: n3Six.Addr()}},
			datapath.N6{Networks: []datapath.DataNetwork{{Name: "n6", Device: w.N6.UPF.Device, Gateways: []netip.Addr{w.N6.Peer.Address.Addr()}}}})
		return err
	}))
	t.Cleanup(func() {
		if t.Failed() {
			drops, err := w.upf.Drops()
			t.Log(drops, w.passes(t), err)
		}
		check(t, w.upf.Close())
	})
	return w
}

// listen opens the GTP-U port of an address.
func (w *ways) listen(t *testing.T, ns *topology.Namespace, a netip.Addr) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	check(t, ns.Do(func() (err error) {
		conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, gtpu.Port)))
		return err
	}))
	t.Cleanup(func() { check(t, conn.Close()) })
	check(t, conn.SetReadDeadline(time.Now().Add(patience)))
	return conn
}

// relay sets up a session whose tunnel leads to a peer, and returns its TEID.
func (w *ways) relay(t *testing.T, peer netip.Addr, to api.Interface) uint32 {
	t.Helper()
	w.next++
	seid, teid := w.next, uint32(0x100+w.next)
	n3 := w.N3.UPF.Address.Addr().As4()
	ohc := &api.OuterHeaderCreation{Teid: teid, Ipv6: peer.AsSlice()}
	if peer.Is4() {
		ohc = &api.OuterHeaderCreation{Teid: teid, Ipv4: number(peer.As4())}
	}
	check(t, w.upf.Apply(t.Context(), &api.Change{Seid: seid, Session: &api.Session{Seid: seid, Rules: []*api.Rule{{
		PdrId: 1, OuterHeaderRemoval: true,
		Detect:  &api.Detect{FTeid: &api.FTEID{Teid: teid, Ipv4: number(n3)}},
		Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: to, OuterHeaderCreation: ohc},
	}}}}))
	return teid
}

func number(a [4]byte) uint32 {
	return uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
}

// solicitation is the G-PDU of a Router Solicitation; QFI 0: without container.
func solicitation(t *testing.T, teid uint32, qfi byte) []byte {
	t.Helper()
	user, err := hex.DecodeString(routerSolicitation)
	check(t, err)
	return append(gtpu.AppendGPDU(nil, teid, gtpu.PDUTypeUplink, qfi, len(user)), user...)
}

// send lets a Router Solicitation of a UE come through a tunnel.
func (w *ways) send(t *testing.T, teid uint32) {
	t.Helper()
	_, err := w.gnb.WriteToUDPAddrPort(solicitation(t, teid, 5), netip.AddrPortFrom(w.N3.UPF.Address.Addr(), gtpu.Port))
	check(t, err)
}

// arrives takes the G-PDU of a Router Solicitation at a peer: it comes from the
// endpoint's address, whole, to the CP function without container. The kernel there has verified the UDP checksum.
func (w *ways) arrives(t *testing.T, at *net.UDPConn, teid uint32, qfi byte, local netip.Addr) {
	t.Helper()
	b := make([]byte, 2048)
	n, from, err := at.ReadFromUDPAddrPort(b)
	check(t, err)
	want := solicitation(t, teid, qfi)
	if from.Addr().Unmap() != local || !bytes.Equal(b[:n], want) {
		t.Fatalf("got %x from %v, want %x from %v", b[:n], from, want, local)
	}
}

// waitDrops waits until n packets were dropped for a reason, and no more.
func (w *ways) waitDrops(t *testing.T, reason datapath.Reason, want uint64) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		drops, err := w.upf.Drops()
		check(t, err)
		if drops[reason.String()] == want {
			return
		}
		if time.Now().After(deadline) || drops[reason.String()] > want {
			t.Fatalf("drops %v, want %d of %v", drops, want, reason)
		}
	}
}

// passes returns how many packets went the slow way since their next hop was not known;
// a datapath that has one way only has none.
func (w *ways) passes(t *testing.T) uint64 {
	t.Helper()
	teller, ok := w.upf.(interface {
		Passes() (map[string]uint64, error)
	})
	if !ok {
		return 0
	}
	passes, err := teller.Passes()
	check(t, err)
	return passes[datapath.PassUnresolved.String()]
}

// leavesBy waits until people are shown a peer as it is, if the datapath knows its way.
func (w *ways) leavesBy(t *testing.T, peer netip.Addr, device string) {
	t.Helper()
	teller, ok := w.upf.(interface{ Peers() []datapath.Peer })
	if !ok {
		return
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		list := teller.Peers()
		if slices.ContainsFunc(list, func(p datapath.Peer) bool {
			return p.Address == peer && p.Interface == "n3" && p.Device == device && (p.MAC == "") == (device == "n4") && p.Sessions == 1
		}) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("peers %+v, want %v by device %s", list, peer, device)
		}
	}
}

// untilFast sends packets to a peer until one has gone the fast way.
func (w *ways) untilFast(t *testing.T, at *net.UDPConn, teid uint32) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		before := w.passes(t)
		w.send(t, teid)
		w.arrives(t, at, teid, 5, w.N3.UPF.Address.Addr())
		if w.passes(t) == before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("all packets go the slow way")
		}
	}
}

// TestWays: packets into a tunnel leave from the address of their endpoint, by the
// device to which the host's routes lead, whichever it is.
func TestWays(t *testing.T) {
	for _, d := range datapaths {
		t.Run(d.name, func(t *testing.T) {
			w := openWays(t, d.name, d.open)
			n3 := w.N3.UPF.Address.Addr()
			farDN := w.listen(t, w.DN, far)
			t.Run("to the SMF behind a device that is no port", func(t *testing.T) {
				teid, at := w.relay(t, n4SMF.Addr(), api.Interface_CP_FUNCTION), w.listen(t, w.smf, n4SMF.Addr())
				w.send(t, teid)
				w.arrives(t, at, teid, 0, n3)
				w.leavesBy(t, n4SMF.Addr(), "n4")
			})
			t.Run("the same over IPv6", func(t *testing.T) {
				teid, at := w.relay(t, n4SMFSix.Addr(), api.Interface_CP_FUNCTION), w.listen(t, w.smf, n4SMFSix.Addr())
				w.send(t, teid)
				w.arrives(t, at, teid, 0, n3Six.Addr())
			})
			t.Run("out of a data network", func(t *testing.T) {
				teid := w.relay(t, n4SMF.Addr(), api.Interface_CP_FUNCTION)
				in(t, w.DN, func(k *netlink.Handle) error {
					return k.RouteReplace(&netlink.Route{
						Dst: &net.IPNet{IP: n3.AsSlice(), Mask: net.CIDRMask(32, 32)}, Gw: w.N6.UPF.Address.Addr().AsSlice(),
					})
				})
				from := w.listen(t, w.DN, w.N6.Peer.Address.Addr())
				for _, message := range [][]byte{
					solicitation(t, teid, 5),
					gtpu.AppendErrorIndication(nil, gtpu.Tunnel{TEID: teid, Peer: n4SMF.Addr()}, gtpu.Port),
					gtpu.AppendEchoResponse(nil, 1),
				} {
					_, err := from.WriteToUDPAddrPort(message, netip.AddrPortFrom(n3, gtpu.Port))
					check(t, err)
				}
				w.waitDrops(t, datapath.DropDevice, 3)
				usage, err := w.upf.Usage(w.next)
				check(t, err)
				if n := usage.GetRules()[0]; n.GetPackets() != 0 || n.GetDroppedPackets() != 0 {
					t.Errorf("the rule counts %v, want nothing", n)
				}
			})
			t.Run("without a route, and by the one that comes", func(t *testing.T) {
				teid := w.relay(t, far, api.Interface_ACCESS)
				w.send(t, teid)
				w.waitDrops(t, datapath.DropNoRoute, 1)
				w.lead(t, w.N6.Peer.Address.Addr()) // behind a gateway on another port's device
				w.untilFast(t, farDN, teid)
				w.leavesBy(t, far, w.N6.UPF.Device)
				farGNB := w.listen(t, w.GNB, far)
				w.lead(t, w.N3.Peer.Address.Addr())
				w.untilMoved(t, farDN, farGNB, teid)
				w.untilFast(t, farGNB, teid)
				w.leavesBy(t, far, w.N3.UPF.Device)
			})
			t.Run("to a neighbour that does not answer", func(t *testing.T) {
				teid := w.relay(t, silent, api.Interface_ACCESS)
				const packets = 5
				for range packets {
					w.send(t, teid)
				}
				w.waitDrops(t, datapath.DropNextHop, packets)
			})
		})
	}
}

// untilMoved sends packets until they arrive at another place, and takes those that went
// to the one before.
func (w *ways) untilMoved(t *testing.T, before, after *net.UDPConn, teid uint32) {
	t.Helper()
	b := make([]byte, 2048)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		w.send(t, teid)
		check(t, after.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		_, err := after.Read(b)
		check(t, after.SetReadDeadline(time.Now().Add(patience)))
		if err == nil {
			return
		}
		check(t, before.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		if _, err := before.Read(b); err != nil {
			t.Fatal("a packet is lost")
		}
	}
	t.Fatal("packets go the way of before")
}
