// Package nexthop keeps neighbours of one device resolved and tells when they
// change, so that a datapath that bypasses the kernel needs no look-up of its
// own for a packet.
//
// An address is [Watcher.Want]ed: the kernel's route says through which
// neighbour of the device it is reached, and that neighbour is made a managed
// one, which the kernel itself resolves and keeps resolved although no packet
// of its own goes there (NTF_EXT_MANAGED: commit 7482e3841d52, v5.16). On older
// kernels the neighbour is resolved once.
package nexthop

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// MAC is the link-layer address of a next hop; the zero value: not resolved.
type MAC [6]byte

// Watcher follows the neighbours and routes of one device.
type Watcher struct {
	link    netlink.Link
	kernel  *netlink.Handle
	changed func(addr netip.Addr, mac MAC)
	log     *slog.Logger
	done    chan struct{}

	mu     sync.Mutex
	closed bool
	macs   map[netip.Addr]MAC                 // neighbours of the device
	wanted map[netip.Addr]netip.Addr          // neighbour by wanted address
	via    map[netip.Addr]map[netip.Addr]bool // wanted addresses by neighbour
}

// Watch follows the device with the index in the caller's network namespace; the
// neighbours that there are already are told before it returns.
// changed is called, one call at a time, with every neighbour and every wanted
// address whose MAC address becomes known, differs or is lost.
func Watch(index int, log *slog.Logger, changed func(addr netip.Addr, mac MAC)) (*Watcher, error) {
	kernel, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("nexthop: netlink: %w", err)
	}
	link, err := kernel.LinkByIndex(index)
	if err != nil {
		kernel.Close()
		return nil, fmt.Errorf("nexthop: device %d: %w", index, err)
	}
	w := &Watcher{
		link: link, kernel: kernel, changed: changed, log: log, done: make(chan struct{}),
		macs:   map[netip.Addr]MAC{},
		wanted: map[netip.Addr]netip.Addr{},
		via:    map[netip.Addr]map[netip.Addr]bool{},
	}
	neighs, routes := make(chan netlink.NeighUpdate, 64), make(chan netlink.RouteUpdate, 64)
	onError := w.netlinkError
	err = netlink.NeighSubscribeWithOptions(neighs, w.done, netlink.NeighSubscribeOptions{ListExisting: true, ErrorCallback: onError})
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("nexthop: neighbours of %s: %w", link.Attrs().Name, err)
	}
	err = netlink.RouteSubscribeWithOptions(routes, w.done, netlink.RouteSubscribeOptions{ErrorCallback: onError})
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("nexthop: routes of %s: %w", link.Attrs().Name, err)
	}
	w.list()
	go w.run(neighs, routes)
	return w, nil
}

// list tells of the neighbours that there are, so that nobody has to wait for
// the first of the news.
func (w *Watcher) list() {
	neighs, err := w.kernel.NeighList(w.link.Attrs().Index, netlink.FAMILY_ALL)
	if err != nil {
		w.netlinkError(err) // they come with the news
		return
	}
	for _, n := range neighs {
		w.neighbour(netlink.NeighUpdate{Type: unix.RTM_NEWNEIGH, Neigh: n})
	}
}

// netlinkError logs what the subscriptions complain of, but for two things that
// are no mistakes: that their sockets are being closed, and that each hears the
// request for the first listing of another, which the library sends to the whole
// multicast group.
func (w *Watcher) netlinkError(err error) {
	select {
	case <-w.done:
		return
	default:
	}
	if !strings.HasPrefix(err.Error(), "Wrong sender portid") { // it has no type
		w.log.Warn("nexthop: netlink", "device", w.link.Attrs().Name, "err", err)
	}
}

// Close stops the watcher: once it has returned, changed is not called any more.
// It must not be used afterwards.
func (w *Watcher) Close() {
	close(w.done)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.kernel.Close()
}

func (w *Watcher) run(neighs <-chan netlink.NeighUpdate, routes <-chan netlink.RouteUpdate) {
	for {
		select {
		case n, ok := <-neighs:
			if !ok {
				return
			}
			w.neighbour(n)
		case _, ok := <-routes:
			if !ok {
				return
			}
			w.reroute()
		case <-w.done:
			return
		}
	}
}

// usable are the states in which a neighbour's address may be sent to.
const usable = netlink.NUD_REACHABLE | netlink.NUD_STALE | netlink.NUD_DELAY | netlink.NUD_PROBE |
	netlink.NUD_PERMANENT | netlink.NUD_NOARP

func (w *Watcher) neighbour(n netlink.NeighUpdate) {
	addr, ok := netip.AddrFromSlice(n.IP)
	if !ok || n.LinkIndex != w.link.Attrs().Index || addr.IsMulticast() {
		return
	}
	addr = addr.Unmap()
	var mac MAC
	if n.Type == unix.RTM_NEWNEIGH && n.State&usable != 0 && len(n.HardwareAddr) == len(mac) {
		mac = MAC(n.HardwareAddr)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.macs[addr] == mac {
		return
	}
	if mac == (MAC{}) {
		delete(w.macs, addr)
		if n.Type == unix.RTM_DELNEIGH && len(w.via[addr]) > 0 {
			w.manage(addr) // flushed, with the request to keep it
		}
	} else {
		w.macs[addr] = mac
	}
	w.changed(addr, mac)
	for a := range w.via[addr] {
		if a != addr {
			w.changed(a, mac)
		}
	}
}

// Want keeps addr resolved. Its MAC address is told through changed, before Want
// returns if it is known already. Without a route to addr on the device it
// stays unresolved until there is one.
func (w *Watcher) Want(addr netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	n, ok := w.wanted[addr]
	if !ok {
		n = w.route(addr)
		w.attach(addr, n)
	}
	if mac, known := w.macs[n]; known {
		w.changed(addr, mac)
	}
}

// Renew asks the kernel anew to keep all wanted neighbours resolved: it forgets
// that when the device loses its carrier.
func (w *Watcher) Renew() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	for n := range w.via {
		if n.IsValid() {
			w.manage(n)
		}
	}
}

// Forget ends a [Watcher.Want].
func (w *Watcher) Forget(addr netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.detach(addr)
}

func (w *Watcher) attach(addr, n netip.Addr) {
	w.wanted[addr] = n
	if w.via[n] == nil {
		w.via[n] = map[netip.Addr]bool{}
		if n.IsValid() {
			w.manage(n)
		}
	}
	w.via[n][addr] = true
}

func (w *Watcher) detach(addr netip.Addr) {
	n, ok := w.wanted[addr]
	if !ok {
		return
	}
	delete(w.wanted, addr)
	delete(w.via[n], addr)
	if len(w.via[n]) == 0 {
		delete(w.via, n)
	}
}

// route returns the neighbour of the device through which addr is reached.
func (w *Watcher) route(addr netip.Addr) netip.Addr {
	routes, err := w.kernel.RouteGetWithOptions(addr.AsSlice(), &netlink.RouteGetOptions{OifIndex: w.link.Attrs().Index})
	if err != nil || len(routes) == 0 || routes[0].LinkIndex != w.link.Attrs().Index {
		w.log.Warn("no route to next hop", "address", addr, "device", w.link.Attrs().Name, "err", err)
		return netip.Addr{}
	}
	if gw, ok := netip.AddrFromSlice(routes[0].Gw); ok {
		return gw.Unmap()
	}
	return addr
}

// reroute finds the neighbours of all wanted addresses again.
func (w *Watcher) reroute() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	for addr, was := range w.wanted {
		n := w.route(addr)
		if n == was {
			continue
		}
		w.detach(addr)
		w.attach(addr, n)
		w.changed(addr, w.macs[n])
	}
}

// manage asks the kernel to resolve n and keep it so.
func (w *Watcher) manage(n netip.Addr) {
	if w.permanent(n) {
		return // and must stay so: asked of the kernel, since w.macs may not have it yet
	}
	neigh := &netlink.Neigh{
		LinkIndex: w.link.Attrs().Index,
		Family:    family(n),
		State:     netlink.NUD_NONE,
		FlagsExt:  netlink.NTF_EXT_MANAGED,
		IP:        net.IP(n.AsSlice()),
	}
	err := w.kernel.NeighSet(neigh)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		neigh.FlagsExt, neigh.Flags = 0, netlink.NTF_USE
		err = w.kernel.NeighSet(neigh)
	}
	if err != nil {
		w.log.Warn("next hop cannot be resolved", "address", n, "device", w.link.Attrs().Name, "err", err)
	}
}

// permanent reports whether an administrator has set the neighbour.
func (w *Watcher) permanent(n netip.Addr) bool {
	neighs, err := w.kernel.NeighList(w.link.Attrs().Index, family(n))
	if err != nil {
		return false
	}
	for _, e := range neighs {
		if a, ok := netip.AddrFromSlice(e.IP); ok && a.Unmap() == n {
			return e.State&(netlink.NUD_PERMANENT|netlink.NUD_NOARP) != 0
		}
	}
	return false
}

func family(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}
