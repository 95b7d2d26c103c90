package tun

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/rawip"
	"github.com/plumbline-upf/plumbline/datapath/vector"
)

// maxPeers is how many GTP-U peers the MTUs of the routes to are known; those of others
// are the devices'.
const maxPeers = 1024

// How long the host's addresses and links are looked at after they have changed, and how
// often the routes to peers are, of which the kernel does not tell when it learns an MTU.
const (
	settleTime = 20 * time.Millisecond
	peerTime   = 10 * time.Second
)

// host is what the datapath knows of this host: its addresses, MTUs. It is the
// [vector.Links].
type host struct {
	d       *Driver
	own     vector.Hosts
	kernel  *netlink.Handle
	changed chan struct{} // something may have changed
	done    chan struct{}
	astray  bool // routes to gateways could not be added; of watch alone
	n6      int  // index of N6's device, the source of ICMP errors; 0: the UPF's own device
	now     atomic.Pointer[linkState]

	refreshing sync.Mutex
	mu         sync.Mutex
	links      []int              // indices of our devices, those of data networks first; none: paused
	peers      map[netip.Addr]int // MTU of the route, or 0
}

func openHost(d *Driver) (*host, error) {
	kernel, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	h := &host{d: d, kernel: kernel, changed: make(chan struct{}, 1), done: make(chan struct{}), peers: map[netip.Addr]int{}}
	if name := d.cfg.N6.Networks[0].Device; name != "" {
		if link, err := kernel.LinkByName(name); err == nil {
			h.n6 = link.Attrs().Index
		}
	}
	if err := h.refresh(); err != nil {
		kernel.Close()
		return nil, err
	}
	if err := h.subscribe(); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// subscribe calls changed for changes of addresses, links and local routes.
func (h *host) subscribe() error {
	addrs, links, routes := make(chan netlink.AddrUpdate, 16), make(chan netlink.LinkUpdate, 16), make(chan netlink.RouteUpdate, 16)
	lost := func(error) { h.tell() } // news that were lost are news
	if err := netlink.AddrSubscribeWithOptions(addrs, h.done, netlink.AddrSubscribeOptions{ErrorCallback: lost}); err != nil {
		return fmt.Errorf("addresses of this host: %w", err)
	}
	if err := netlink.LinkSubscribeWithOptions(links, h.done, netlink.LinkSubscribeOptions{ErrorCallback: lost}); err != nil {
		return fmt.Errorf("links of this host: %w", err)
	}
	if err := netlink.RouteSubscribeWithOptions(routes, h.done, netlink.RouteSubscribeOptions{ErrorCallback: lost}); err != nil {
		return fmt.Errorf("routes of type local: %w", err)
	}
	go func() {
		for range addrs {
			h.tell()
		}
	}()
	go func() {
		for range links {
			h.tell()
		}
	}()
	go func() {
		for r := range routes { // there may be many of others
			if _, ok := addedLocal(&r.Route); ok {
				h.tell()
			}
		}
	}()
	return nil
}

func (h *host) tell() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// watch looks at what has changed until ctx is done.
func (h *host) watch(ctx context.Context) {
	tick := time.NewTicker(peerTime)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			h.lookAtPeers()
			h.d.fence.look()
			if h.astray {
				h.steer()
			}
		case <-h.changed:
			time.Sleep(settleTime) // what belongs together comes together
			h.steer()
		}
		if err := h.refresh(); err != nil {
			h.d.log.Warn("addresses and links of this host are as they were", "error", err)
		}
		if err := h.d.guard(); err != nil {
			h.d.log.Warn("GTP-U is taken by devices of data networks", "error", err)
		}
	}
}

// steer adds the routes to gateways again. Failures are retried at each tick.
func (h *host) steer() {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if h.d.traffic == nil {
		return
	}
	err := h.d.traffic.steerAgain()
	switch {
	case err != nil && !h.astray:
		h.d.log.Warn("what UEs send does not get to its gateways; tried again", "error", err)
	case err == nil && h.astray:
		h.d.log.Info("what UEs send gets to its gateways again")
	}
	h.astray = err != nil
}

// guarded returns the devices by which no GTP-U comes: see [rawip.Guarded].
func (h *host) guarded() []int {
	return rawip.Guarded(h.d.cfg.Endpoints, &h.d.cfg.N6, func(device string) (int, bool) {
		link, err := h.kernel.LinkByName(device)
		if err != nil {
			return 0, false
		}
		return link.Attrs().Index, true
	})
}

// guard has the sockets know the devices of data networks as they are now: one that was
// made again has another index.
func (d *Driver) guard() error {
	devices := d.host.guarded()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.traffic == nil {
		return nil
	}
	return d.traffic.sockets.guard(devices)
}

func (h *host) close() {
	close(h.done)
	h.kernel.Close()
}

// attach adds devices to those of the UPF.
func (h *host) attach(devices []*device) error {
	h.mu.Lock()
	h.links = nil
	for _, dev := range devices {
		h.links = append(h.links, dev.index())
	}
	h.mu.Unlock()
	return h.refresh()
}

// detach is the inverse of attach.
func (h *host) detach() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.links = nil
}

// refresh asks the kernel.
func (h *host) refresh() error {
	h.refreshing.Lock()
	defer h.refreshing.Unlock()
	addrs, err := h.kernel.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("addresses of this host: %w", err)
	}
	links, err := h.kernel.LinkList()
	if err != nil {
		return fmt.Errorf("links of this host: %w", err)
	}
	mtus := map[int]int{}
	for _, l := range links {
		mtus[l.Attrs().Index] = min(l.Attrs().MTU, cmp.Or(h.d.cfg.most, maxPacket))
	}
	h.mu.Lock()
	ours := append([]int(nil), h.links...)
	h.mu.Unlock()
	s := &linkState{tunnel: map[netip.Addr]int{}}
	for i := range h.d.cfg.N6.Networks {
		mtu := h.d.cfg.MTU
		if i < len(ours) && mtus[ours[i]] != 0 {
			mtu = mtus[ours[i]]
		}
		s.n6 = append(s.n6, mtu)
	}
	networks, err := h.localNetworks()
	if err != nil {
		return err
	}
	h.own.Set(rawip.Own(addrs), networks...)
	h.addresses(s, addrs, mtus, ours)
	h.complete(s)
	return nil
}

// localNetworks returns networks that the user has made local in addition to the devices' addresses
// ("ip route add local 192.0.2.0/24 dev lo"). The kernel would deliver UEs' packets here.
func (h *host) localNetworks() ([]netip.Prefix, error) {
	routes, err := h.kernel.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Table: unix.RT_TABLE_LOCAL, Type: unix.RTN_LOCAL},
		netlink.RT_FILTER_TABLE|netlink.RT_FILTER_TYPE)
	if err != nil {
		return nil, fmt.Errorf("routes of type local: %w", err)
	}
	var all []netip.Prefix
	for i := range routes {
		if p, ok := addedLocal(&routes[i]); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// addedLocal returns the destination of a route of the table local that the kernel has not
// made itself for an address.
func addedLocal(r *netlink.Route) (netip.Prefix, bool) {
	if r.Table != unix.RT_TABLE_LOCAL || r.Type != unix.RTN_LOCAL || r.Protocol == unix.RTPROT_KERNEL || r.Dst == nil {
		return netip.Prefix{}, false
	}
	a, ok := netip.AddrFromSlice(r.Dst.IP)
	ones, _ := r.Dst.Mask.Size()
	return netip.PrefixFrom(a.Unmap(), ones), ok
}

// maxPacket is the most octets that an IP packet has.
const maxPacket = 65535

// learn asks for the route to a peer that packets are going to be sent to.
func (h *host) learn(peers []netip.Addr) {
	fresh := false
	for _, a := range peers {
		h.mu.Lock()
		_, known := h.peers[a]
		full := len(h.peers) >= maxPeers
		h.mu.Unlock()
		if known || full {
			continue
		}
		mtu := h.ask(a)
		h.mu.Lock()
		h.peers[a] = mtu
		h.mu.Unlock()
		fresh = fresh || mtu != 0
	}
	if fresh {
		h.refreshing.Lock() // what refresh finds meanwhile is not undone
		defer h.refreshing.Unlock()
		s := *h.now.Load()
		h.complete(&s)
	}
}

// ask returns the MTU of the route to a, if it has one of its own, or one that the kernel
// has learnt; else 0.
func (h *host) ask(a netip.Addr) int {
	routes, err := h.kernel.RouteGet(a.AsSlice())
	if err != nil || len(routes) == 0 {
		return 0
	}
	return routes[0].MTU
}

// lookAtPeers queries the routes to all peers again.
func (h *host) lookAtPeers() {
	h.mu.Lock()
	var all []netip.Addr
	for a := range h.peers {
		all = append(all, a)
	}
	h.mu.Unlock()
	for _, a := range all {
		mtu := h.ask(a)
		h.mu.Lock()
		h.peers[a] = mtu
		h.mu.Unlock()
	}
}
