package nexthop

import (
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/rawip"
)

// lookAgain is how often a [PeerWatcher] asks for what the kernel does not tell of.
const lookAgain = 10 * time.Second

// Peer is the far end of a tunnel, and the local address of its packets.
type Peer struct{ Local, Addr netip.Addr }

// Way is where the kernel's routes lead the packets to a [Peer].
type Way struct {
	Device int        // index of the device by which they leave; 0: there is no route
	Name   string     // of the device
	Source MAC        // of the device
	MTU    int        // octets of IP packet that device and route take
	Via    netip.Addr // neighbour on the device; not valid: only the kernel can send there
	MAC    MAC        // of the neighbour; the zero value: not known
	State  State
}

// State is what is known of the neighbour of a [Way].
type State int

// States. A way without a neighbour is Resolved.
const (
	Unresolved State = iota // packets wait in the kernel until it answers
	Resolved
	Failed // it did not answer; the packets that waited are lost
)

// PeerWatcher tracks the paths to GTP-U peers: the host's routes and rules determine the device and
// neighbour of a packet from one address to another. On the given devices the neighbours are
// managed ones, as those of a [Watcher].
//
// The kernel notifies of routes, addresses, links and neighbours, but not of rules, next hop
// objects or learned path MTUs: the routes are therefore also queried every [lookAgain].
type PeerWatcher struct {
	*follower
	devices map[int]bool
	changed func(map[Peer]Way)
	took    time.Duration // the last refresh; of the goroutine that runs

	mu     sync.Mutex
	closed bool
	links  map[int]outlet
	neighs map[neighbour]answer
	ways   map[Peer]Way
	users  map[neighbour]map[Peer]bool
}

// neighbour is an address on a device.
type neighbour struct {
	device int
	addr   netip.Addr
}

// answer is what the kernel knows of a neighbour.
type answer struct {
	state State
	mac   MAC
}

// outlet is a device by which packets leave.
type outlet struct {
	name   string
	mac    MAC
	mtu    int
	up     bool
	direct bool // without neighbours to resolve
}

// WatchPeers tracks the paths of peers in the caller's network namespace. changed is called, one
// call at a time, with new or changed paths, and with those whose neighbour has failed again; it
// must not call the watcher.
func WatchPeers(devices []int, log *slog.Logger, changed func(map[Peer]Way)) (*PeerWatcher, error) {
	f, err := open(topics{neighs: true, routes: true, links: true, addrs: true}, log)
	if err != nil {
		return nil, err
	}
	w := &PeerWatcher{
		follower: f, devices: map[int]bool{}, changed: changed,
		links: map[int]outlet{}, neighs: map[neighbour]answer{}, ways: map[Peer]Way{}, users: map[neighbour]map[Peer]bool{},
	}
	for _, index := range devices {
		w.devices[index] = true
	}
	again := func() error {
		err := w.list()
		w.refresh()
		return err
	}
	if err := again(); err != nil {
		w.Close()
		return nil, err
	}
	w.follow(w.read, again)
	return w, nil
}

// Close stops the watcher: once it has returned, changed is not called any more.
func (w *PeerWatcher) Close() {
	w.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.release()
}

// Want follows the way to p. changed is called with it before Want returns.
func (w *PeerWatcher) Want(p Peer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	way, known := w.ways[p]
	if !known {
		r, err := w.routeTo(p)
		if err != nil {
			w.log.Warn("nexthop: the way to a GTP-U peer is not known", "peer", p.Addr, "from", p.Local, "err", err)
		}
		way = w.wayBy(p, r)
		w.attach(p, way)
	}
	w.changed(map[Peer]Way{p: way})
}

// Forget ends a [PeerWatcher.Want].
func (w *PeerWatcher) Forget(p Peer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.detach(p)
}

func (w *PeerWatcher) attach(p Peer, way Way) {
	w.ways[p] = way
	switch {
	case way.Device == 0:
		w.log.Warn("no route to a GTP-U peer", "peer", p.Addr, "from", p.Local)
	case len(w.devices) > 0 && !(w.devices[way.Device] && way.Via.IsValid()):
		w.log.Info("packets to a GTP-U peer go through the slow path: no port has the device", "peer", p.Addr, "from", p.Local, "device", way.Name)
	}
	if !way.Via.IsValid() {
		return
	}
	n := neighbour{way.Device, way.Via}
	if w.users[n] == nil {
		w.users[n] = map[Peer]bool{}
		w.keep(n)
	}
	w.users[n][p] = true
}

func (w *PeerWatcher) detach(p Peer) {
	way := w.ways[p]
	delete(w.ways, p)
	n := neighbour{way.Device, way.Via}
	delete(w.users[n], p)
	if len(w.users[n]) == 0 {
		delete(w.users, n)
	}
}

// keep has the kernel keep a neighbour resolved, if it is on one of the devices.
func (w *PeerWatcher) keep(n neighbour) {
	if !w.devices[n.device] {
		return
	}
	if err := manage(w.kernel, n.device, n.addr); err != nil {
		w.log.Warn("next hop cannot be resolved", "address", n.addr, "device", n.device, "err", err)
	}
}

// routeTo asks the kernel for the route to p; nil: there is none.
func (w *PeerWatcher) routeTo(p Peer) (*netlink.Route, error) {
	routes, err := w.kernel.RouteGetWithOptions(p.Addr.AsSlice(), &netlink.RouteGetOptions{SrcAddr: p.Local.AsSlice()})
	switch {
	case rawip.NoRoute(err), err == nil && (len(routes) == 0 || routes[0].LinkIndex == 0):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &routes[0], nil
}

// wayBy is the way by a route.
func (w *PeerWatcher) wayBy(p Peer, r *netlink.Route) Way {
	if r == nil {
		return Way{State: Resolved}
	}
	out := w.outlet(r.LinkIndex)
	way := Way{Device: r.LinkIndex, Name: out.name, Source: out.mac, MTU: out.mtu, State: Resolved}
	if r.MTU != 0 {
		way.MTU = min(way.MTU, r.MTU)
	}
	if r.Type != unix.RTN_UNICAST || r.Encap != nil || out.direct {
		return way
	}
	way.Via = p.Addr
	if gw, ok := gatewayOf(r.Gw, r.Via); ok {
		way.Via = gw
	}
	a := w.neighs[neighbour{way.Device, way.Via}]
	way.State, way.MAC = a.state, a.mac
	return way
}

// outlet returns what is known of a device, and asks for one that is new.
func (w *PeerWatcher) outlet(index int) outlet {
	if o, known := w.links[index]; known {
		return o
	}
	if link, err := w.kernel.LinkByIndex(index); err == nil {
		w.links[index] = outletOf(link.Attrs())
	}
	return w.links[index]
}

func outletOf(a *netlink.LinkAttrs) outlet {
	o := outlet{
		name: a.Name,
		mtu:  a.MTU, up: a.Flags&net.FlagUp != 0 && a.RawFlags&unix.IFF_LOWER_UP != 0,
		direct: a.RawFlags&(unix.IFF_NOARP|unix.IFF_LOOPBACK|unix.IFF_POINTOPOINT) != 0 || len(a.HardwareAddr) == 0,
	}
	if len(a.HardwareAddr) == len(o.mac) {
		o.mac = MAC(a.HardwareAddr)
	}
	return o
}

// askedAtOnce is the number of routes queried before changes are reported.
const askedAtOnce = 64

// refresh queries the paths of all peers again. It does not hold the lock that users of a path wait
// for.
func (w *PeerWatcher) refresh() {
	began := time.Now()
	if err := w.listLinks(); err != nil {
		w.log.Warn("nexthop: devices are as they were", "err", err)
	}
	w.mu.Lock()
	peers := slices.Collect(maps.Keys(w.ways))
	w.mu.Unlock()
	for some := range slices.Chunk(peers, askedAtOnce) {
		routes := make(map[Peer]*netlink.Route, len(some))
		for _, p := range some {
			if r, err := w.routeTo(p); err == nil {
				routes[p] = r
			} else {
				w.log.Warn("nexthop: the way to a GTP-U peer is as it was", "peer", p.Addr, "from", p.Local, "err", err)
			}
		}
		w.lead(routes)
	}
	w.took = time.Since(began)
}

// lead tells of the ways that differ from what they were, by these routes.
func (w *PeerWatcher) lead(routes map[Peer]*netlink.Route) {
	w.mu.Lock()
	defer w.mu.Unlock()
	differ := map[Peer]Way{}
	for p, r := range routes {
		was, known := w.ways[p] // it may have been forgotten meanwhile
		now := w.wayBy(p, r)
		if !known || now == was || w.closed {
			continue
		}
		w.detach(p)
		w.attach(p, now)
		differ[p] = now
	}
	if len(differ) > 0 {
		w.changed(differ)
	}
}

// listLinks asks for all devices. The kernel forgets which neighbours it is to keep
// resolved when a device loses its carrier.
func (w *PeerWatcher) listLinks() error {
	links, err := w.kernel.LinkList()
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.links
	w.links = map[int]outlet{}
	for _, l := range links {
		w.links[l.Attrs().Index] = outletOf(l.Attrs())
	}
	for n := range w.users {
		if was, known := before[n.device]; known && !was.up && w.links[n.device].up {
			w.keep(n)
		}
	}
	return nil
}

// pause is how long news are collected: see [settle]. Looking for the ways of many peers
// takes a tenth of the time at most.
func (w *PeerWatcher) pause() time.Duration { return max(settle, 9*w.took) }

// read returns when the watcher is closed or news were lost.
func (w *PeerWatcher) read(n *news) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	var again <-chan time.Time
	for ok := true; ok; {
		var neigh netlink.NeighUpdate
		select {
		case <-w.done:
			return
		case neigh, ok = <-n.neighs:
			if ok {
				w.update(&neigh)
			}
			continue
		case <-again:
			again = nil
			w.refresh()
			continue
		case <-tick.C:
			if err := w.list(); err != nil {
				w.log.Warn("nexthop: neighbours stay as they were", "err", err)
			}
		case _, ok = <-n.routes:
		case _, ok = <-n.links:
		case _, ok = <-n.addrs:
		}
		if again == nil {
			again = time.After(w.pause())
		}
	}
}
