package nexthop

import (
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/datapath/rawip"
)

// OwnWatcher follows the addresses of a host.
type OwnWatcher struct {
	*follower
	changed func([]netip.Addr)
}

// WatchOwn follows the addresses of the caller's network namespace. changed is called
// with them before it returns, and from then on, one call at a time, when they may have
// changed.
func WatchOwn(log *slog.Logger, changed func([]netip.Addr)) (*OwnWatcher, error) {
	f, err := open(topics{addrs: true}, log)
	if err != nil {
		return nil, err
	}
	w := &OwnWatcher{follower: f, changed: changed}
	if err := w.ask(); err != nil {
		w.Close()
		return nil, err
	}
	w.follow(w.read, w.ask)
	return w, nil
}

// Close stops the watcher: once it has returned, changed is not called any more.
func (w *OwnWatcher) Close() {
	w.stop()
	w.release()
}

func (w *OwnWatcher) read(n *news) { w.gather(n, nil, w.ask, "addresses of this host") }

func (w *OwnWatcher) ask() error {
	addrs, err := listed(func() ([]netlink.Addr, error) { return w.kernel.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return fmt.Errorf("nexthop: addresses of this host: %w", err)
	}
	w.changed(rawip.Own(addrs))
	return nil
}
