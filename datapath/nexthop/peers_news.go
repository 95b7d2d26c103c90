package nexthop

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// lookAgain is how often a [PeerWatcher] asks for what the kernel does not tell of.
const lookAgain = 10 * time.Second

// peerNews are the subscriptions of a [PeerWatcher].
type peerNews struct {
	done   chan struct{}
	neighs chan netlink.NeighUpdate
	routes chan netlink.RouteUpdate
	links  chan netlink.LinkUpdate
	addrs  chan netlink.AddrUpdate
	once   sync.Once
}

// end ends the subscriptions, whose channels are closed then.
func (n *peerNews) end() { n.once.Do(func() { close(n.done) }) }

// drain takes what the ended subscriptions still want to tell, and so lets them go.
func (n *peerNews) drain() {
	for range n.neighs {
	}
	for range n.routes {
	}
	for range n.links {
	}
	for range n.addrs {
	}
}

func (w *PeerWatcher) subscribe() (*peerNews, error) {
	n := &peerNews{
		done: make(chan struct{}), neighs: make(chan netlink.NeighUpdate, 64), routes: make(chan netlink.RouteUpdate, 64),
		links: make(chan netlink.LinkUpdate, 64), addrs: make(chan netlink.AddrUpdate, 64),
	}
	failed := func(err error) {
		select {
		case <-n.done:
		default:
			if !strings.HasPrefix(err.Error(), "Wrong sender portid") { // see [Watcher.netlinkError]
				w.log.Warn("nexthop: news of routes to peers", "err", err)
			}
		}
	}
	err := subscribeIn(w.ns, func(ns *netns.NsHandle) error { return n.subscribe(ns, failed) })
	if err != nil {
		n.end()
		return nil, fmt.Errorf("nexthop: subscribe to routes and neighbours: %w", err)
	}
	return n, nil
}

func (n *peerNews) subscribe(ns *netns.NsHandle, failed func(error)) error {
	if err := netlink.NeighSubscribeWithOptions(n.neighs, n.done,
		netlink.NeighSubscribeOptions{Namespace: ns, ErrorCallback: failed, ReceiveBufferSize: newsOctets}); err != nil {
		return err
	}
	if err := netlink.RouteSubscribeWithOptions(n.routes, n.done,
		netlink.RouteSubscribeOptions{Namespace: ns, ErrorCallback: failed, ReceiveBufferSize: newsOctets}); err != nil {
		return err
	}
	if err := netlink.LinkSubscribeWithOptions(n.links, n.done,
		netlink.LinkSubscribeOptions{Namespace: ns, ErrorCallback: failed, ReceiveBufferSize: newsOctets}); err != nil {
		return err
	}
	return netlink.AddrSubscribeWithOptions(n.addrs, n.done,
		netlink.AddrSubscribeOptions{Namespace: ns, ErrorCallback: failed, ReceiveBufferSize: newsOctets})
}

// run follows the news, and subscribes anew when some were lost.
func (w *PeerWatcher) run(n *peerNews) {
	for {
		if n != nil {
			w.follow(n)
			n.end()
			go n.drain()
		}
		select {
		case <-w.done:
			return
		case <-time.After(retry):
		}
		var err error
		if n, err = w.subscribe(); err != nil {
			w.log.Warn("nexthop: routes to peers are not followed", "err", err)
			continue
		}
		w.list()
		w.refresh()
	}
}

// follow returns when the watcher is closed or news were lost.
func (w *PeerWatcher) follow(n *peerNews) {
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
				w.news(&neigh)
			}
			continue
		case <-again:
			again = nil
			w.refresh()
			continue
		case <-tick.C:
			w.list()
		case _, ok = <-n.routes:
		case _, ok = <-n.links:
		case _, ok = <-n.addrs:
		}
		if again == nil {
			again = time.After(w.pause())
		}
	}
}

func (w *PeerWatcher) news(u *netlink.NeighUpdate) {
	n, ok := neighbourOf(&u.Neigh)
	switch {
	case !ok:
	case u.Type == unix.RTM_DELNEIGH:
		w.heard(n, nil)
	default:
		w.heard(n, &u.Neigh)
	}
}
