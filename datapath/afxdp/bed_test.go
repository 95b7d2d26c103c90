package afxdp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"plumbline/api"
	"plumbline/datapath"
	"plumbline/datapath/conformance"
	"plumbline/datapath/vector"
)

// bed is the bed of package conformance with real devices: veth pairs between the
// UPF's network namespace and another one, from where frames are sent and where all
// that comes is caught.
type bed struct {
	*Driver
	upf     netns.NsHandle
	kernel  *netlink.Handle // of the UPF's namespace
	catcher int             // packet socket of the other namespace
	devices map[string]ends
	stick   bool // N3 and N6 on one device
	clock   atomic.Uint64
	begun   time.Time
	sent    [][]byte
	caught  uint64
	asked   uint64 // ARP requests that were answered: the answers stay with the kernel
	before  uint64 // frames that the UPF's devices have sent

	front func(cfg Config) (over, error) // opens a datapath around the driver; nil: it is the driver itself
	over  over                           // that one; nil: there is none
}

// over is a datapath around a driver.
type over interface {
	datapath.Movable
	// Under is the driver.
	Under() *Driver
}

// ends are the indices of a pair.
type ends struct{ upf, other int }

// link is a device of the bed.
type bedLink struct {
	name   string
	mac    [6]byte
	addrs  []string
	metric int
	neighs map[netip.Addr][6]byte
}

// bedLinks returns the devices of the bed; stick: N6 is on that of N3.
func bedLinks(stick bool) []bedLink {
	c := conformance.CorpGatewayMAC
	links := []bedLink{
		{name: "n3", mac: conformance.N3MAC, addrs: []string{"10.3.0.1/24", "2001:db8:3::1/64"}, neighs: map[netip.Addr][6]byte{
			conformance.GNBAddress: conformance.GNBMAC, conformance.GNBAddress2: conformance.GNBMAC2, conformance.GNBAddress6: conformance.GNBMAC,
		}},
		{name: "n9", mac: conformance.N9MAC, addrs: []string{"10.9.0.1/24"}, neighs: map[netip.Addr][6]byte{
			conformance.PeerAddress: conformance.PeerMAC,
		}},
		{name: "n6", mac: conformance.N6MAC, addrs: []string{"10.6.0.1/24", "2001:db8:6::1/64"}, neighs: map[netip.Addr][6]byte{
			conformance.Gateway: conformance.GatewayMAC, conformance.Gateway6: conformance.GatewayMAC,
			conformance.Neighbour: conformance.NeighbourMAC, conformance.Neighbour6: conformance.NeighbourMAC6,
			conformance.Steered: conformance.SteeredMAC,
		}},
		{name: "corp", mac: conformance.CorpMAC, metric: 1000, neighs: map[netip.Addr][6]byte{conformance.Gateway: c, conformance.Gateway6: c}},
		{name: "nat", mac: conformance.CorpMAC, metric: 2000, neighs: map[netip.Addr][6]byte{conformance.Gateway: c, conformance.Gateway6: c}},
		{name: "lan", mac: conformance.CorpMAC},
	}
	if stick {
		// The kernel tells IPv4 addresses in their order and IPv6 ones from the last to
		// the first: that of the router is the first that it tells.
		links[0].addrs = []string{"10.6.0.1/24", "10.3.0.1/24", "2001:db8:3::1/64", "2001:db8:6::1/64"}
		maps.Copy(links[0].neighs, links[2].neighs)
		links = slices.Delete(links, 2, 3)
	}
	return links
}

// inNamespace runs f on a thread of its own in a namespace.
func inNamespace(t testing.TB, ns netns.NsHandle, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := netns.Set(ns)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	check(t, <-done)
}

// newNamespace makes one without a name, which goes when nobody uses it any more.
func newNamespace(t testing.TB) netns.NsHandle {
	t.Helper()
	made := make(chan netns.NsHandle)
	go func() {
		runtime.LockOSThread()
		h, err := netns.New()
		if err != nil {
			h = netns.None()
		}
		for name, value := range map[string]string{"addr_gen_mode": "1", "router_solicitations": "0"} { // a quiet one
			_ = os.WriteFile("/proc/sys/net/ipv6/conf/default/"+name, []byte(value), 0o644)
		}
		made <- h
	}()
	h := <-made
	if !h.IsOpen() {
		t.Fatal("no network namespace")
	}
	t.Cleanup(func() { check(t, h.Close()) })
	return h
}

// openBed makes the bed; the driver is opened by [bed.open].
func openBed(t testing.TB, stick bool) *bed {
	t.Helper()
	b := &bed{devices: map[string]ends{}, stick: stick, upf: newNamespace(t), begun: time.Now()}
	other := newNamespace(t)
	var err error
	b.kernel, err = netlink.NewHandleAt(b.upf)
	check(t, err)
	t.Cleanup(b.kernel.Close)
	far, err := netlink.NewHandleAt(other)
	check(t, err)
	t.Cleanup(far.Close)
	for _, l := range bedLinks(stick) {
		b.link(t, far, other, l)
	}
	inNamespace(t, other, func() (err error) {
		b.catcher, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(htons(unix.ETH_P_ALL)))
		return errors.Join(err,
			unix.SetsockoptInt(b.catcher, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20),
			unix.SetsockoptInt(b.catcher, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
			unix.SetsockoptInt(b.catcher, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1))
	})
	t.Cleanup(func() { check(t, unix.Close(b.catcher)) })
	b.before = b.transmitted(t)
	return b
}

func htons(v uint16) uint16 { return v<<8 | v>>8 }

// link makes a pair, with addresses, neighbours and routes as the bed has them.
func (b *bed) link(t testing.TB, far *netlink.Handle, other netns.NsHandle, l bedLink) {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = l.name, conformance.MTU, l.mac[:]
	check(t, b.kernel.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: l.name, PeerNamespace: netlink.NsFd(other), PeerMTU: conformance.MTU + 100}))
	near, err := b.kernel.LinkByName(l.name)
	check(t, err)
	peer, err := far.LinkByName(l.name)
	check(t, err)
	check(t, errors.Join(b.kernel.LinkSetUp(near), far.LinkSetUp(peer), far.SetPromiscOn(peer)))
	b.devices[l.name] = ends{near.Attrs().Index, peer.Attrs().Index}
	for _, a := range l.addrs {
		addr, err := netlink.ParseAddr(a)
		check(t, err)
		if addr.IP.To4() == nil {
			addr.Flags = unix.IFA_F_NODAD
		}
		check(t, b.kernel.AddrAdd(near, addr))
	}
	for a, mac := range l.neighs {
		check(t, b.kernel.NeighSet(&netlink.Neigh{
			LinkIndex: near.Attrs().Index, State: netlink.NUD_PERMANENT, IP: a.AsSlice(), HardwareAddr: mac[:],
		}))
	}
	if l.metric > 0 { // as VRFs would have it: the same prefixes once more
		for _, p := range []netip.Prefix{conformance.OnlinkPrefix, conformance.Onlink6} {
			check(t, b.kernel.RouteAdd(&netlink.Route{
				LinkIndex: near.Attrs().Index, Priority: l.metric, Scope: netlink.SCOPE_LINK,
				Dst: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())},
			}))
		}
	}
}

// open opens a driver on the bed.
func (b *bed) open(t testing.TB) {
	t.Helper()
	before, beforeOver := b.Driver, b.over
	if before != nil {
		check(t, before.Pause())
	}
	cfg := Config{
		Endpoints: conformance.Endpoints, MaxSessions: conformance.MaxSessions, Advertise: &conformance.Advertise,
		ChoosePort: func(int) int { return 0 }, secret: conformance.Secret, Mode: Interrupt,
		now: func() uint64 { return b.clock.Load() + uint64(time.Since(b.begun)) },
	}
	cfg.N6.Policies = conformance.DataNetworks.Policies
	for _, n := range conformance.DataNetworks.Networks {
		if !n.Ethernet {
			n.Gateways = []netip.Addr{conformance.Gateway, conformance.Gateway6}
		}
		if n.Device == "n6" && b.stick {
			n.Device = "n3"
		}
		cfg.N6.Networks = append(cfg.N6.Networks, n)
	}
	inNamespace(t, b.upf, func() (err error) {
		if b.front == nil {
			b.Driver, err = New(cfg)
			return err
		}
		if b.over, err = b.front(cfg); err == nil {
			b.Driver = b.over.Under()
		}
		return err
	})
	d, around := b.Driver, b.over
	b.inOrder()
	t.Cleanup(func() {
		if around != nil {
			check(t, around.Close())
		} else {
			check(t, d.Close())
		}
		b.over = beforeOver
		if b.Driver = before; before != nil {
			inNamespace(t, b.upf, before.Resume)
			b.inOrder()
		}
	})
}

// Apply implements [datapath.Driver].
func (b *bed) Apply(ctx context.Context, c *api.Change) error {
	if b.over != nil {
		return b.over.Apply(ctx, c)
	}
	return b.Driver.Apply(ctx, c)
}

// Usage implements [datapath.Driver].
func (b *bed) Usage(seid uint64) (*api.SessionUsage, error) {
	if b.over != nil {
		return b.over.Usage(seid)
	}
	return b.Driver.Usage(seid)
}

// Drops implements [datapath.Driver].
func (b *bed) Drops() (map[string]uint64, error) {
	if b.over != nil {
		return b.over.Drops()
	}
	return b.Driver.Drops()
}

// inOrder lets packets leave one at a time, in their order also over several devices.
func (b *bed) inOrder() {
	for _, w := range b.machine.Load().workers {
		w.send = func(out []*vector.Packet) {
			for _, p := range out {
				w.leave([]*vector.Packet{p})
			}
		}
	}
}

// Pass implements [conformance.Shared].
func (b *bed) Pass(d time.Duration) {
	b.clock.Add(uint64(d))
	left := b.Buffered().Packets
	for _, u := range b.TableUse() {
		left += u.Used
	}
	if left > 0 {
		time.Sleep(3 * tendRound) // the engine looks at its clock that often
	}
}

const tendRound = 50 * time.Millisecond

// EventWait implements random.Datapath: not used here.
func (b *bed) EventWait() time.Duration { return time.Second }

// Remains implements [conformance.Shared].
func (b *bed) Remains() (all []string) {
	left := func(what string, n int) {
		if n != 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	left("sessions", len(b.held))
	left("destinations", len(b.tables.keys.uses)-1) // but that of the NAT
	left("peers", len(b.peers.uses))
	o := b.Buffered()
	left("buffered packets, and sessions that have some", o.Packets+o.Sessions)
	for _, u := range b.TableUse() {
		left("of "+u.Name, u.Used)
	}
	for _, w := range b.machine.Load().workers {
		left("frames lost", b.lostFrames(w))
	}
	return all
}

// lostFrames returns how many frames are neither free nor the kernel's.
func (b *bed) lostFrames(w *worker) int { return w.umem.census()[ownVector] }

var _ conformance.Shared = (*bed)(nil)
