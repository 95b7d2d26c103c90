package nexthop

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// settle is how long news are collected before routes are read again: an
// administrator's command, or a routing daemon's, is seldom one message.
const settle = 2 * time.Millisecond

// retry is how long after news were lost they are subscribed to again.
const retry = 100 * time.Millisecond

// retryAsk is the pause after a failed query of the changes to the kernel.
const retryAsk = time.Second

// newsOctets is how much news the kernel keeps for one subscription.
const newsOctets = 1 << 20

// listTries is the number of queries of the neighbours while they change.
const listTries = 10

// topics are what a watcher has the kernel report changes of.
type topics struct{ neighs, routes, links, addrs bool }

// news are the subscriptions to the [topics]. The channel of a topic that was not asked
// for is nil; the others are closed when news were lost.
type news struct {
	done   chan struct{}
	end    func() // ends the subscriptions
	neighs chan netlink.NeighUpdate
	routes chan netlink.RouteUpdate
	links  chan netlink.LinkUpdate
	addrs  chan netlink.AddrUpdate
}

// follower is what all watchers have: a socket for requests to the kernel, and its news.
type follower struct {
	kernel *netlink.Handle
	ns     netns.NsHandle
	topics topics
	log    *slog.Logger
	first  *news
	done   chan struct{}
	ended  sync.WaitGroup
}

// open subscribes to the topics in the caller's network namespace.
func open(t topics, log *slog.Logger) (*follower, error) {
	kernel, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("nexthop: netlink: %w", err)
	}
	ns, err := netns.Get()
	if err != nil {
		kernel.Close()
		return nil, fmt.Errorf("nexthop: network namespace: %w", err)
	}
	f := &follower{kernel: kernel, ns: ns, topics: t, log: log, done: make(chan struct{})}
	if f.first, err = f.subscribe(); err != nil {
		f.release()
		return nil, err
	}
	return f, nil
}

// follow starts the goroutine that has the news handled: read returns when they are lost or the
// watcher is closed. After a loss it subscribes again, and list queries what may have been missed;
// a failure of list is a loss as well.
func (f *follower) follow(read func(*news), list func() error) {
	f.ended.Go(func() {
		for n := f.first; ; {
			if n != nil {
				read(n)
				n.end()
			}
			select {
			case <-f.done:
				return
			case <-time.After(retry):
			}
			var err error
			if n, err = f.subscribe(); err == nil {
				if err = list(); err != nil {
					n.end()
				}
			}
			if err != nil {
				f.log.Warn("nexthop: changes are not followed", "err", err)
			}
		}
	})
}

// gather returns when the watcher is closed or news were lost. Before, it calls note with
// each news of a link, if note is not nil, and ask when something has changed; what says
// which state stays if that fails. It is tried again then.
func (f *follower) gather(n *news, note func(*netlink.LinkUpdate), ask func() error, what string) {
	var again <-chan time.Time
	for ok := true; ok; {
		select {
		case <-f.done:
			return
		case u, open := <-n.links:
			if ok = open; ok && note != nil {
				note(&u)
			}
		case _, ok = <-n.routes:
		case _, ok = <-n.addrs:
		case <-again:
			again = nil
			if err := ask(); err != nil {
				f.log.Warn("nexthop: "+what+" stay as they were", "err", err)
				again = time.After(retryAsk)
			}
			continue
		}
		if again == nil {
			again = time.After(settle)
		}
	}
}

// stop ends what [follower.follow] started, and returns when it has ended.
func (f *follower) stop() {
	close(f.done)
	f.ended.Wait()
	f.first.end() // if it was not followed
}

// release closes the socket for requests.
func (f *follower) release() {
	f.kernel.Close()
	_ = f.ns.Close()
}

// neighbours returns those of a device; 0: of all.
func (f *follower) neighbours(device int) ([]netlink.Neigh, error) {
	neighs, err := listed(func() ([]netlink.Neigh, error) { return f.kernel.NeighList(device, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, fmt.Errorf("nexthop: neighbours of device %d: %w", device, err)
	}
	return neighs, nil
}

// listed asks the kernel for a list, again if it has changed meanwhile.
func listed[T any](list func() ([]T, error)) ([]T, error) {
	for try := 1; ; try++ {
		all, err := list()
		if err == nil || !errors.Is(err, netlink.ErrDumpInterrupted) || try == listTries {
			return all, err
		}
	}
}

func (f *follower) subscribe() (*news, error) {
	n := &news{done: make(chan struct{})}
	n.end = sync.OnceFunc(func() {
		close(n.done)
		go n.drain()
	})
	failed := func(err error) {
		select {
		case <-n.done:
			return
		default:
		}
		// A request that another user of the library sends to the whole multicast group is
		// no mistake. The error has no type.
		if !strings.HasPrefix(err.Error(), "Wrong sender portid") {
			f.log.Warn("nexthop: netlink", "err", err)
		}
	}
	err := subscribeIn(f.ns, func(ns *netns.NsHandle) error { return n.subscribe(f.topics, ns, failed) })
	if err != nil {
		n.end()
		return nil, fmt.Errorf("nexthop: subscribe to changes: %w", err)
	}
	return n, nil
}

func (n *news) subscribe(t topics, ns *netns.NsHandle, failed func(error)) error {
	if t.neighs {
		c := make(chan netlink.NeighUpdate, 64)
		if err := netlink.NeighSubscribeWithOptions(c, n.done,
			netlink.NeighSubscribeOptions{Namespace: ns, ErrorCallback: failed, ReceiveBufferSize: newsOctets}); err != nil {
			return err
		}
		n.neighs = c
	}
	if t.routes {
		c := make(chan netlink.RouteUpdate, 64)
		if err := netlink.RouteSubscribeWithOptions(c, n.done,
			netlink.RouteSubscribeOptions{Namespace: ns, ErrorCallback: failed, ReceiveBufferSize: newsOctets}); err != nil {
			return err
		}
		n.routes = c
	}
	if t.links {
		c := make(chan netlink.LinkUpdate, 64)
		if err := netlink.LinkSubscribeWithOptions(c, n.done,
			netlink.LinkSubscribeOptions{Namespace: ns, ErrorCallback: failed, ReceiveBufferSize: newsOctets}); err != nil {
			return err
		}
		n.links = c
	}
	if t.addrs {
		c := make(chan netlink.AddrUpdate, 64)
		if err := netlink.AddrSubscribeWithOptions(c, n.done,
			netlink.AddrSubscribeOptions{Namespace: ns, ErrorCallback: failed, ReceiveBufferSize: newsOctets}); err != nil {
			return err
		}
		n.addrs = c
	}
	return nil
}

// drain takes what ended subscriptions still send, so that their goroutines end.
func (n *news) drain() {
	discard(n.neighs)
	discard(n.routes)
	discard(n.links)
	discard(n.addrs)
}

func discard[T any](c <-chan T) {
	if c == nil {
		return
	}
	for range c { //nolint:revive // the values are of no use
	}
}
