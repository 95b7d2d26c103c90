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
	"maps"
	"net"
	"net/netip"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// MAC is the link-layer address of a next hop; the zero value: not resolved.
type MAC [6]byte

// Watcher follows the neighbours and routes of one device.
type Watcher struct {
	*follower
	link    netlink.Link
	changed func(addr netip.Addr, mac MAC)

	mu     sync.Mutex
	closed bool
	macs   map[netip.Addr]MAC                 // neighbours of the device
	wanted map[netip.Addr]netip.Addr          // neighbour by wanted address
	via    map[netip.Addr]map[netip.Addr]bool // wanted addresses by neighbour
	lost   map[netip.Addr]string              // wanted addresses without a route: what the log has of it
}

// Watch follows the device with the index in the caller's network namespace; existing neighbours
// are reported before it returns. changed is called, one call at a time, with every neighbour and
// every wanted address whose MAC address becomes known, differs or is lost.
func Watch(index int, log *slog.Logger, changed func(addr netip.Addr, mac MAC)) (*Watcher, error) {
	f, err := open(topics{neighs: true, routes: true}, log)
	if err != nil {
		return nil, err
	}
	w := &Watcher{
		follower: f, changed: changed,
		macs:   map[netip.Addr]MAC{},
		wanted: map[netip.Addr]netip.Addr{},
		via:    map[netip.Addr]map[netip.Addr]bool{},
		lost:   map[netip.Addr]string{},
	}
	if w.link, err = f.kernel.LinkByIndex(index); err != nil {
		w.Close()
		return nil, fmt.Errorf("nexthop: device %d: %w", index, err)
	}
	if err := w.list(); err != nil {
		w.Close()
		return nil, err
	}
	w.follow(w.read, func() error {
		err := w.list()
		w.reroute()
		return err
	})
	return w, nil
}

// list tells of the neighbours that there are, and of those that are no more.
func (w *Watcher) list() error {
	neighs, err := w.neighbours(w.link.Attrs().Index)
	if err != nil {
		return err
	}
	gone := w.known()
	for _, n := range neighs {
		w.neighbour(netlink.NeighUpdate{Type: unix.RTM_NEWNEIGH, Neigh: n})
		if a, ok := netip.AddrFromSlice(n.IP); ok {
			delete(gone, a.Unmap())
		}
	}
	for a := range gone {
		w.neighbour(netlink.NeighUpdate{Type: unix.RTM_DELNEIGH, Neigh: netlink.Neigh{LinkIndex: w.link.Attrs().Index, IP: a.AsSlice()}})
	}
	return nil
}

func (w *Watcher) known() map[netip.Addr]MAC {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.macs)
}

// Close stops the watcher: once it has returned, changed is not called any more.
// It must not be used afterwards.
func (w *Watcher) Close() {
	w.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.release()
}

// read returns when the watcher is closed or news were lost.
func (w *Watcher) read(n *news) {
	for {
		select {
		case neigh, ok := <-n.neighs:
			if !ok {
				return
			}
			w.neighbour(neigh)
		case _, ok := <-n.routes:
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

// Want keeps addr resolved. Its MAC address is reported through changed, before Want returns if it
// is already known. Without a route to addr on the device it stays unresolved.
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

// Renew requests again that the kernel keeps all wanted neighbours resolved: the kernel drops that
// state when the device loses its carrier.
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
	delete(w.lost, addr)
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
	if err == nil {
		err = w.leaves(routes)
	}
	if err != nil {
		if w.lost[addr] != err.Error() {
			w.lost[addr] = err.Error()
			w.log.Warn("no route to next hop", "address", addr, "device", w.link.Attrs().Name, "error", err)
		}
		return netip.Addr{}
	}
	delete(w.lost, addr)
	if gw, ok := netip.AddrFromSlice(routes[0].Gw); ok {
		return gw.Unmap()
	}
	return addr
}

// leaves is why the first of routes does not leave by the device; nil: it does.
func (w *Watcher) leaves(routes []netlink.Route) error {
	switch {
	case len(routes) == 0:
		return errNoRoute
	case routes[0].LinkIndex == w.link.Attrs().Index:
		return nil
	}
	if other, err := w.kernel.LinkByIndex(routes[0].LinkIndex); err == nil {
		return fmt.Errorf("%w: by %s", errOtherDevice, other.Attrs().Name)
	}
	return fmt.Errorf("%w: by device %d", errOtherDevice, routes[0].LinkIndex)
}

var (
	errNoRoute     = errors.New("the kernel names none")
	errOtherDevice = errors.New("the route leaves by another device")
)

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
	if err := manage(w.kernel, w.link.Attrs().Index, n); err != nil {
		w.log.Warn("next hop cannot be resolved", "address", n, "device", w.link.Attrs().Name, "err", err)
	}
}

// manage asks the kernel to resolve the neighbour of a device and keep it so.
func manage(kernel *netlink.Handle, device int, n netip.Addr) error {
	if permanent(kernel, device, n) {
		return nil // and must stay so: asked of the kernel, since we may not have heard of it yet
	}
	neigh := &netlink.Neigh{
		LinkIndex: device,
		Family:    family(n),
		State:     netlink.NUD_NONE,
		FlagsExt:  netlink.NTF_EXT_MANAGED,
		IP:        net.IP(n.AsSlice()),
	}
	err := kernel.NeighSet(neigh)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		neigh.FlagsExt, neigh.Flags = 0, netlink.NTF_USE
		err = kernel.NeighSet(neigh)
	}
	return err
}

// permanent reports whether an administrator has set the neighbour.
func permanent(kernel *netlink.Handle, device int, n netip.Addr) bool {
	neighs, err := kernel.NeighList(device, family(n))
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
