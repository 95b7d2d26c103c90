package xdp_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// TestDataNetworks: two data networks on devices of their own, with the same
// prefix, the same gateway and the same server addresses: each UE reaches its own
// one, both IP versions, and nobody from the other one reaches it.
//
//	…-ue0 ┐                 ┌ n6   10.6.0.1 ── 10.6.0.2 …-dn    10.99.0.1
//	…-ue1 ┴ TUN ─ gNB ── UPF ┴ corp 10.6.0.1 ── 10.6.0.2 …-corp  10.99.0.1
func TestDataNetworks(t *testing.T) {
	n := layNetwork(t, "xdp-nets")
	upfSpace, dn, corp := inSpace(t, n.UPF.Path()), inSpace(t, n.DN.Path()), newSpace(t, "xdp-nets-corp")
	connect(t, end{upfSpace, "corp", "02:00:00:00:07:01", []string{"10.6.0.1/24", "fd06::1/64"}},
		end{corp, "corp", "02:00:00:00:07:02", []string{"10.6.0.2/24", "fd06::2/64"}})
	check(t, corp.do(func() error { return errors.Join(route("10.64.0.0/16", "10.6.0.1"), route("fd64::/32", "fd06::1")) }))
	var sites [2][]byte
	for i, s := range []space{dn, corp} {
		check(t, s.do(func() error {
			lo, err := netlink.LinkByName("lo")
			if err != nil {
				return err
			}
			addr, err := netlink.ParseAddr("10.99.0.1/32")
			return errors.Join(err, netlink.AddrAdd(lo, addr))
		}))
		sites[i] = random(byte(10+i), 1<<20)
		s.site(t, sites[i])
	}
	gateways := []netip.Addr{n.N6.Peer.Address.Addr(), n.N6.Peer.Address6.Addr()}
	n.upf = n.startUPF(t, "",
		datapath.DataNetwork{Name: "n6", Device: n.N6.UPF.Device, NetworkInstances: []string{"internet"}, Gateways: gateways},
		datapath.DataNetwork{Name: "corp", Device: "corp", NetworkInstances: []string{"corp.example"}, Gateways: gateways})
	t.Cleanup(func() { check(t, n.upf.Close()) })
	p := n.startPhones(t, 1500, "internet", "corp.example")
	for i, ue := range p.spaces {
		for _, at := range []string{"10.6.0.2", "10.99.0.1", "[fd06::2]"} {
			from, err := ue.curl(t, at, sites[i])
			if want := phoneAddress(i); err != nil || from.Addr() != want && from.Addr() != phonePrefix(i) {
				t.Errorf("UE %d, %s: seen as %v, %v; want %v", i, at, from, err, want)
			}
		}
	}
	for i, s := range []space{dn, corp} {
		for ue := range p.spaces {
			for _, to := range []netip.Addr{phoneAddress(ue), phonePrefix(ue)} {
				out, err := s.run(t, "ping", "-n", "-c", "1", "-w", map[bool]string{true: "10", false: "1"}[i == ue], to.String())
				if (err == nil) != (i == ue) {
					t.Errorf("from data network %d to UE %d, %v: %v\n%s", i, ue, to, err, out)
				}
			}
		}
	}
	n.waitDrops(t, "network", 4)
}

// TestGatewayDies: flows go over two gateways. One dies while they do: the kernel
// finds out, its flows go to the other, whose own do not notice; it comes back, and
// each flow is where it was. Then the UPF's link goes down, and comes back.
//
//	                            ┌─ 10.6.0.11 …-gw0 ┐
//	gNB ── UPF ── 10.6.0.1 ── bridge                ├ each is 10.99.0.1
//	                            └─ 10.6.0.12 …-gw1 ┘
func TestGatewayDies(t *testing.T) {
	n := layNetwork(t, "xdp-dies")
	gateways := n.bridge(t)
	soon(t, n)
	n.upf = n.startUPF(t, "", datapath.DataNetwork{
		Name: "n6", Device: n.N6.UPF.Device, Gateways: []netip.Addr{gateways[0].address, gateways[1].address},
	})
	t.Cleanup(func() { check(t, n.upf.Close()) })
	n.gnb = listen(t, n.GNB, netip.AddrPortFrom(n.N3.Peer.Address.Addr(), gtpu.Port))
	n.install(t, n.N3.Peer.Address.Addr())
	f := startFlows(t, n, gateways)

	f.settles(t, "at first", func(at [2]int) bool { return at[0] > flowCount/4 && at[1] > flowCount/4 })
	before := f.where()
	gateways[1].link(t, false)
	f.settles(t, "without the second gateway", func(at [2]int) bool { return at[0] == flowCount })
	f.moved(t, before, 0)
	gateways[1].link(t, true)
	f.settles(t, "with it again", func(at [2]int) bool { return at[1] > 0 && sameFlows(f.where(), before) })
	f.moved(t, before, 0)

	dn := inSpace(t, n.DN.Path())
	up := func(on bool) { check(t, dn.do(func() error { return setLink(n.N6.Peer.Device, on) })) }
	up(false)
	f.settles(t, "without a link", func(at [2]int) bool { return at[0]+at[1] == 0 })
	up(true)
	f.settles(t, "with the link again", func([2]int) bool { return sameFlows(f.where(), before) })
}

// soon lets the kernel find out in two seconds that a neighbour is gone.
func soon(t *testing.T, n *network) {
	t.Helper()
	dir := "ipv4/neigh/" + n.N6.UPF.Device + "/"
	check(t, inSpace(t, n.UPF.Path()).do(func() error {
		return setSysctls([]string{
			dir + "base_reachable_time_ms=300", dir + "delay_first_probe_time=1", dir + "retrans_time_ms=200", dir + "ucast_solicit=5",
			dir + "interval_probe_time_ms=500",
		})
	}))
}

// gateway is a router of which a test sees what comes to it.
type gateway struct {
	space
	address netip.Addr
}

func (g gateway) link(t *testing.T, up bool) {
	t.Helper()
	check(t, g.do(func() error { return setLink("n6", up) }))
}

func setLink(device string, up bool) error {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return err
	}
	if up {
		return netlink.LinkSetUp(link)
	}
	return netlink.LinkSetDown(link)
}

// bridge makes two gateways behind N6.
func (n *network) bridge(t *testing.T) (gateways [2]gateway) {
	t.Helper()
	dn := inSpace(t, n.DN.Path())
	check(t, dn.do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "br0"
		if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
			return err
		}
		return errors.Join(setLink("br0", true), enslave(n.N6.Peer.Device))
	}))
	for i := range gateways {
		g := gateway{newSpace(t, fmt.Sprintf("xdp-dies-gw%d", i)), netip.AddrFrom4([4]byte{10, 6, 0, byte(11 + i)})}
		port := fmt.Sprintf("gw%d", i)
		connect(t, end{dn, port, fmt.Sprintf("02:00:00:00:0%d:01", i), nil},
			end{g.space, "n6", fmt.Sprintf("02:00:00:00:0%d:02", i), []string{g.address.String() + "/24"}})
		check(t, dn.do(func() error { return enslave(port) }))
		check(t, g.do(func() error {
			lo, err := netlink.LinkByName("lo")
			if err != nil {
				return err
			}
			addr, err := netlink.ParseAddr("10.99.0.1/32")
			return errors.Join(err, netlink.AddrAdd(lo, addr))
		}))
		gateways[i] = g
	}
	return gateways
}

func enslave(device string) error {
	br, err := netlink.LinkByName("br0")
	if err != nil {
		return err
	}
	link, err := netlink.LinkByName(device)
	if err != nil {
		return err
	}
	return netlink.LinkSetMaster(link, br)
}

// flows are datagrams with a number, of several ports of a UE, and at which gateway
// which of them came.
type flows struct {
	mu   sync.Mutex
	sent [flowCount]uint32
	last [flowCount]lastSeen // by flow
	got  [flowCount][2]uint32
}

const flowCount = 32

// lastSeen is where and when the last datagram of a flow came.
type lastSeen struct {
	gateway int
	at      time.Time
}

// startFlows sends a datagram of each flow every 10 ms until the end of the test.
func startFlows(t *testing.T, n *network, gateways [2]gateway) *flows {
	t.Helper()
	f := &flows{}
	for i, g := range gateways {
		var conn *net.UDPConn
		check(t, g.do(func() (err error) {
			conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("10.99.0.1:5000")))
			return err
		}))
		t.Cleanup(func() { check(t, conn.Close()) })
		wide(t, conn)
		go func() {
			buf := make([]byte, 100)
			for {
				size, from, err := conn.ReadFromUDPAddrPort(buf)
				if err != nil {
					return
				}
				if flow := int(from.Port()) - uePort; size == 4 && flow >= 0 && flow < flowCount {
					f.mu.Lock()
					f.last[flow] = lastSeen{i, time.Now()}
					f.got[flow][i]++
					f.mu.Unlock()
				}
			}
		}()
	}
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		f.send(n, ended)
	}()
	t.Cleanup(func() { close(ended); <-done })
	return f
}

func (f *flows) send(n *network, ended <-chan struct{}) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for sequence := uint32(0); ; sequence++ {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		for flow := range flowCount {
			user := n.datagram(binary.BigEndian.AppendUint32(nil, sequence))
			copy(user[16:], []byte{10, 99, 0, 1})
			user[10], user[11] = 0, 0
			binary.BigEndian.PutUint16(user[10:], sum(user[:20]))
			binary.BigEndian.PutUint16(user[20:], uint16(uePort+flow))
			message := append(gtpu.AppendGPDU(nil, ulTEID, gtpu.PDUTypeUplink, 9, len(user)), user...)
			// Counted first: what has arrived has been sent.
			f.mu.Lock()
			f.sent[flow]++
			f.mu.Unlock()
			_, _ = n.gnb.WriteToUDPAddrPort(message, netip.AddrPortFrom(n.N3.UPF.Address.Addr(), gtpu.Port))
		}
	}
}

// where returns at which gateway each flow came last.
func (f *flows) where() (at [flowCount]int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range at {
		at[i] = f.last[i].gateway
	}
	return at
}

func sameFlows(a, b [flowCount]int) bool { return a == b }

// settles waits until the flows that have come in the last 300 ms are spread over
// the gateways as they should be, and stay so.
func (f *flows) settles(t *testing.T, when string, is func(at [2]int) bool) {
	t.Helper()
	var at [2]int
	since := time.Now()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		at = [2]int{}
		f.mu.Lock()
		for _, a := range f.last {
			if time.Since(a.at) < 300*time.Millisecond {
				at[a.gateway]++
			}
		}
		f.mu.Unlock()
		if !is(at) {
			since = time.Now()
		} else if time.Since(since) > 500*time.Millisecond {
			return
		}
	}
	t.Fatalf("%s: %v flows at the gateways, %v", when, at, f.where())
}

// moved: flows that were at a gateway have never been at the other one, and lost
// nothing.
func (f *flows) moved(t *testing.T, before [flowCount]int, stays int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, g := range before {
		if g != stays {
			continue
		}
		if f.got[i][1-stays] != 0 || f.got[i][stays]+2 < f.sent[i] { // two may be under way
			t.Errorf("flow %d of gateway %d: %d sent, %d came there and %d to the other", i, stays, f.sent[i], f.got[i][stays], f.got[i][1-stays])
		}
	}
}
