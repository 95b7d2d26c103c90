package probetest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/probetest"
)

// scratch is a directory that goes with the process.
var scratch string

func TestMain(m *testing.M) {
	serveHelper()
	os.Exit(func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "plt-probetest-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(scratch)
		return m.Run()
	}())
}

// Whom user packets are from and to.
var (
	ue4, server4 = netip.MustParseAddr("10.64.0.1"), netip.MustParseAddr("198.18.0.1")
	ue6, server6 = netip.MustParseAddr("fd64::1"), netip.MustParseAddr("2001:db8::1")
)

const (
	tunDevice     = "ogstun"
	firstUplink   = 0x10000000
	firstDownlink = 0x20000000
)

// place is a test bed with a forwarder and senders at both sides of it.
type place struct {
	*topology.Topology
	forwarder *probetest.Forwarder
	up, down  *probetest.Sender
	nat       *probetest.NAT // nil: none
}

// newPlace builds a bed in which nothing but what is sent moves: hosts are silent about
// packets that nobody waits for. adjust changes the forwarder's configuration, of which
// TUN says which form it is.
func newPlace(t testing.TB, name string, adjust func(*probetest.Config)) *place {
	t.Helper()
	bed, err := topology.New(topology.Config{Name: "plt-" + name})
	if err != nil {
		t.Fatal(err)
	}
	p := &place{Topology: bed}
	t.Cleanup(func() { mustBe(t, bed.Close()) })
	c := probetest.Config{
		N3: wire(bed.N3.UPF, bed.N3.Peer), N6: wire(bed.N6.UPF, bed.N6.Peer), TUN: tunDevice, Pools: bed.Config.UEPools, First: firstDownlink,
	}
	c.N3.Downlink = true
	c.N3.From, c.N3.To = bed.N3.UPF.Address.Addr(), bed.N3.Peer.Address.Addr()
	adjust(&c)
	must(t, bed.UPF.Do(func() error { return p.open(t, c) }))
	must(t, bed.DN.Do(func() error { return swallow(networks[:]...) }))
	p.listen(t, bed.GNB, bed.N3.Peer.Address.Addr())
	if c.TUN == "" {
		p.listen(t, bed.UPF, bed.N3.UPF.Address.Addr())
		must(t, bed.UPF.Do(forwardNothing))
		must(t, bed.UPF.Do(func() error { return swallow(bed.Config.UEPools[0].String(), bed.Config.UEPools[1].String()) }))
	}
	p.up = &probetest.Sender{Wire: wire(bed.N3.Peer, bed.N3.UPF), First: firstUplink, QFI: 5, Burst: 5, Pause: time.Millisecond}
	p.up.Wire.From, p.up.Wire.To, p.up.Wire.VLAN = c.N3.To, c.N3.From, c.N3.VLAN
	p.down = &probetest.Sender{Wire: wire(bed.N6.Peer, bed.N6.UPF), First: firstDownlink, Burst: 5, Pause: time.Millisecond}
	p.down.Wire.VLAN = c.N6.VLAN
	p.openSender(t, bed.GNB, p.up)
	p.openSender(t, bed.DN, p.down)
	return p
}

// wire is that of frames from one end of a link to the other.
func wire(from, to topology.Port) probetest.Wire {
	return probetest.Wire{Device: from.Device, MAC: from.MAC, Peer: to.MAC}
}

// open starts the forwarder in the namespace of the calling thread, from which servers
// are behind the data network's address.
func (p *place) open(t testing.TB, c probetest.Config) (err error) {
	for to, via := range map[string]netip.Addr{networks[0]: p.N6.Peer.Address.Addr(), networks[1]: p.N6.Peer.Address6.Addr()} {
		if err := route(to, netlink.Route{LinkIndex: p.N6.UPF.Index, Gw: via.AsSlice()}); err != nil {
			return err
		}
	}
	if p.forwarder, err = probetest.Open(c); err == nil {
		t.Cleanup(func() { mustBe(t, p.forwarder.Close()) })
	}
	return err
}

// networks are those of servers.
var networks = [2]string{"198.18.0.0/15", "2001:db8::/32"}

// route adds a route from the namespace of the calling thread.
func route(to string, r netlink.Route) error {
	_, destination, err := net.ParseCIDR(to)
	if err == nil {
		r.Dst = destination
		err = netlink.RouteAdd(&r)
	}
	if err != nil {
		return fmt.Errorf("route %s: %w", to, err)
	}
	return nil
}

// swallow has the kernel drop packets to networks, without a word to who has sent them.
func swallow(networks ...string) error {
	for _, to := range networks {
		if err := route(to, netlink.Route{Type: unix.RTN_BLACKHOLE}); err != nil {
			return err
		}
	}
	return nil
}

// forwardNothing has the kernel leave to others what is not for it.
func forwardNothing() error {
	return errors.Join(
		os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("0"), 0),
		os.WriteFile("/proc/sys/net/ipv6/conf/all/forwarding", []byte("0"), 0))
}

// listen opens a GTP-U socket that nobody reads, lest the host complains.
func (p *place) listen(t testing.TB, ns *topology.Namespace, at netip.Addr) {
	t.Helper()
	must(t, ns.Do(func() error {
		conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, gtpu.Port)))
		if err == nil {
			t.Cleanup(func() { conn.Close() })
		}
		return err
	}))
}

func (p *place) openSender(t testing.TB, ns *topology.Namespace, s *probetest.Sender) {
	t.Helper()
	must(t, ns.Do(s.Open))
	t.Cleanup(func() { mustBe(t, s.Close()) })
}

// inside are the points of a forwarder of packets, in its own namespace.
func (p *place) inside(upf int) []probe.Point {
	ns := p.UPF.Path()
	return []probe.Point{
		{UPF: upf, Namespace: ns, Device: "n3", Hook: probe.Ingress, Way: probe.In, Side: probe.N3},
		{UPF: upf, Namespace: ns, Device: "n3", Hook: probe.Egress, Way: probe.Out, Side: probe.N3},
		{UPF: upf, Namespace: ns, Device: tunDevice, Hook: probe.Egress, Way: probe.In, Side: probe.N6},
		{UPF: upf, Namespace: ns, Device: tunDevice, Hook: probe.Ingress, Way: probe.Out, Side: probe.N6},
	}
}

// devices are the points of a UPF that leaves it to the kernel to receive and to send, at its
// own devices.
func devices(bed *topology.Topology, upf int, in, out probe.Hook) []probe.Point {
	ns := bed.UPF.Path()
	return []probe.Point{
		{UPF: upf, Namespace: ns, Device: "n3", Hook: in, Way: probe.In, Side: probe.N3},
		{UPF: upf, Namespace: ns, Device: "n3", Hook: out, Way: probe.Out, Side: probe.N3},
		{UPF: upf, Namespace: ns, Device: "n6", Hook: in, Way: probe.In, Side: probe.N6},
		{UPF: upf, Namespace: ns, Device: "n6", Hook: out, Way: probe.Out, Side: probe.N6},
	}
}

// outside are the points of any UPF, at the other ends of its links.
func outside(bed *topology.Topology, upf int) []probe.Point {
	return []probe.Point{
		{UPF: upf, Namespace: bed.GNB.Path(), Device: "n3", Hook: probe.Egress, Way: probe.In, Side: probe.N3},
		{UPF: upf, Namespace: bed.GNB.Path(), Device: "n3", Hook: probe.Ingress, Way: probe.Out, Side: probe.N3},
		{UPF: upf, Namespace: bed.DN.Path(), Device: "n6", Hook: probe.Egress, Way: probe.In, Side: probe.N6},
		{UPF: upf, Namespace: bed.DN.Path(), Device: "n6", Hook: probe.Ingress, Way: probe.Out, Side: probe.N6},
	}
}

// upf is the forwarder as a probe has to know it.
func (p *place) upf(name string) probe.UPF {
	return probe.UPF{Name: name, N3: []netip.Addr{p.up.Wire.To}, UEs: p.Config.UEPools}
}

// watch is a probe and the samples that it has given.
type watch struct {
	*probe.Probe
	attachments []*probe.Attachment

	mu      sync.Mutex
	samples []probe.Sample
}

// newWatch opens a probe with points, and keeps all samples if it is asked for them.
func newWatch(t testing.TB, c probe.Config, points []probe.Point) *watch {
	t.Helper()
	p, err := probe.Open(c)
	must(t, err)
	w := &watch{Probe: p}
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		reading.Wait()
		mustBe(t, p.Close())
	})
	for _, point := range points {
		a, err := p.Attach(point)
		must(t, err)
		w.attachments = append(w.attachments, a)
	}
	if c.Sample.Every == 0 {
		return w
	}
	reading.Go(func() {
		err := p.Samples(ctx, func(s probe.Sample) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.samples = append(w.samples, s)
			return nil
		})
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	return w
}

// of returns the samples of a direction so far.
func (w *watch) of(d probe.Direction) []probe.Sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []probe.Sample
	for _, s := range w.samples {
		if s.Direction == d {
			list = append(list, s)
		}
	}
	return list
}

// account adds up the series of a direction.
func (w *watch) account(t testing.TB, d probe.Direction) probe.Account {
	t.Helper()
	s := w.read(t)
	var sum probe.Account
	for _, one := range s.Series {
		if one.Direction != d {
			continue
		}
		sum.In += one.In
		sum.Matched += one.Matched
		sum.Lost += one.Lost
		sum.InFlight += one.InFlight
		sum.Ambiguous += one.Ambiguous
		sum.Evicted += one.Evicted
		sum.Octets += one.Octets
		sum.Untimed += one.Untimed
		sum.UntimedOctets += one.UntimedOctets
	}
	return sum
}

// passed are the counts of points.
type passed struct{ Packets, Unmatched, AmbiguousOut, UntimedOut, Foreign, Unparsed uint64 }

// points adds up the points of a side and a way.
func (w *watch) points(t testing.TB, way probe.Way, side probe.Side) passed {
	t.Helper()
	var sum passed
	for _, one := range w.read(t).Points {
		if one.Way != way || one.Side != side {
			continue
		}
		sum.Packets += one.Packets
		sum.Unmatched += one.Unmatched
		sum.AmbiguousOut += one.AmbiguousOut
		sum.UntimedOut += one.UntimedOut
		sum.Foreign += one.Foreign
		sum.Unparsed += one.Unparsed
	}
	return sum
}

func (w *watch) read(t testing.TB) *probe.Snapshot {
	t.Helper()
	s, err := w.Read()
	must(t, err)
	return s
}

// patience is for a machine that is busy with something else.
const patience = 20 * time.Second

// wants waits until the account of a direction is as it should be, but for octets.
func (w *watch) wants(t testing.TB, d probe.Direction, want probe.Account) {
	t.Helper()
	var got probe.Account
	await(func() bool {
		got = w.account(t, d)
		got.Octets = 0
		return got == want
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%v, account (-want +got):\n%s", d, diff)
	}
}

// await asks until it is so, or patience has an end.
func await(so func() bool) bool {
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if so() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%+v", err)
	}
}

func mustBe(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%+v", err)
	}
}
