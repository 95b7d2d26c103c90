package nexthop

import (
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"

	"plumbline/datapath/rawip"
)

// retryOwn is after what time the addresses are asked for again, if that has failed.
const retryOwn = time.Second

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

// read returns when the watcher is closed or news were lost.
func (w *OwnWatcher) read(n *news) {
	var again <-chan time.Time
	for ok := true; ok; {
		select {
		case <-w.done:
			return
		case _, ok = <-n.addrs:
		case <-again:
			again = nil
			if err := w.ask(); err != nil {
				w.log.Warn("nexthop: addresses of this host stay as they were", "err", err)
				again = time.After(retryOwn)
			}
			continue
		}
		if again == nil {
			again = time.After(settle)
		}
	}
}

func (w *OwnWatcher) ask() error {
	addrs, err := listed(func() ([]netlink.Addr, error) { return w.kernel.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return fmt.Errorf("nexthop: addresses of this host: %w", err)
	}
	w.changed(rawip.Own(addrs))
	return nil
}
