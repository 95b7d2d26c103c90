package nexthop

import (
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// list asks for all neighbours.
func (w *PeerWatcher) list() error {
	neighs, err := w.neighbours(0)
	if err != nil {
		return err
	}
	there := map[neighbour]bool{}
	for i := range neighs {
		n, ok := neighbourOf(&neighs[i])
		if there[n] = true; ok {
			w.heard(n, &neighs[i])
		}
	}
	w.mu.Lock()
	var gone []neighbour
	for n := range w.neighs {
		if !there[n] {
			gone = append(gone, n)
		}
	}
	w.mu.Unlock()
	for _, n := range gone {
		w.heard(n, nil)
	}
	return nil
}

// neighbourOf returns the neighbour of an entry that is one: a bridge's are not, nor
// are those for which the host answers itself.
func neighbourOf(n *netlink.Neigh) (neighbour, bool) {
	addr, ok := netip.AddrFromSlice(n.IP)
	ok = ok && (n.Family == unix.AF_INET || n.Family == unix.AF_INET6) && n.Flags&netlink.NTF_PROXY == 0
	return neighbour{n.LinkIndex, addr.Unmap()}, ok && !addr.IsMulticast()
}

// heard takes what the kernel tells of a neighbour; nil: it is no more.
func (w *PeerWatcher) heard(n neighbour, told *netlink.Neigh) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was, users := w.neighs[n], w.users[n]
	now := was
	switch {
	case w.closed:
		return
	case told == nil:
		now = answer{}
	case told.State&usable != 0:
		now = answer{state: Resolved}
		if len(told.HardwareAddr) == len(now.mac) {
			now.mac = MAC(told.HardwareAddr)
		}
	case told.State&netlink.NUD_FAILED != 0:
		now = answer{state: Failed}
	case was.state == Resolved: // queried again; one that had failed has not answered yet
		now = answer{}
	}
	if w.neighs[n] = now; told == nil {
		delete(w.neighs, n)
		if len(users) > 0 {
			w.keep(n) // flushed, with the request to keep it
		}
	}
	again := told != nil && told.State&netlink.NUD_FAILED != 0 // it has failed once more
	if now == was && !again || len(users) == 0 {
		return
	}
	differ := map[Peer]Way{}
	for p := range users {
		way := w.ways[p]
		way.State, way.MAC = now.state, now.mac
		w.ways[p], differ[p] = way, way
	}
	w.changed(differ)
}

func (w *PeerWatcher) update(u *netlink.NeighUpdate) {
	n, ok := neighbourOf(&u.Neigh)
	switch {
	case !ok:
	case u.Type == unix.RTM_DELNEIGH:
		w.heard(n, nil)
	default:
		w.heard(n, &u.Neigh)
	}
}
