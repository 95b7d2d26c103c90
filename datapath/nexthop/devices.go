package nexthop

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Device is the device of a name. Two are equal if they are the same device: one that was removed,
// or moved to another network namespace and back, is a different one, even with the same index.
type Device struct {
	Index   int
	removed int // how many devices of this index were removed before, as far as it was seen
}

// DeviceWatcher tracks the device of a name.
type DeviceWatcher struct {
	*follower
	names   []string
	changed func()

	mu      sync.Mutex
	devices map[string]Device
	last    map[string]int // index of the last device of each name, there or not
	removed map[int]int    // by index: how many that were in last
}

// WatchDevices follows devices of the caller's network namespace. changed is called, one
// call at a time, when any device or address may have changed, from when the watcher is
// returned on.
func WatchDevices(names []string, log *slog.Logger, changed func()) (*DeviceWatcher, error) {
	f, err := open(topics{links: true, addrs: true}, log)
	if err != nil {
		return nil, err
	}
	w := &DeviceWatcher{follower: f, names: names, changed: changed, last: map[string]int{}, removed: map[int]int{}}
	if err := w.find(); err != nil {
		w.Close()
		return nil, err
	}
	w.follow(w.read, w.ask)
	return w, nil
}

// Close stops the watcher: once it has returned, changed is not called any more.
func (w *DeviceWatcher) Close() {
	w.stop()
	w.release()
}

// Devices returns the devices by name. A name that no device has is not there.
func (w *DeviceWatcher) Devices() map[string]Device {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.devices)
}

func (w *DeviceWatcher) read(n *news) { w.gather(n, w.note, w.ask, "devices") }

// note counts what was removed, whether find has seen that before the news of it or not. A
// port that leaves a bridge is removed from it alone: that message has another family.
func (w *DeviceWatcher) note(u *netlink.LinkUpdate) {
	if u.Header.Type != unix.RTM_DELLINK || u.IfInfomsg.Family != unix.AF_UNSPEC {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, index := range w.last {
		if index == int(u.Index) {
			w.removed[index]++
			return
		}
	}
}

func (w *DeviceWatcher) ask() error {
	if err := w.find(); err != nil {
		return err
	}
	w.changed()
	return nil
}

// find finds the devices that there are.
func (w *DeviceWatcher) find() error {
	indices := map[string]int{}
	for _, name := range w.names {
		link, err := w.kernel.LinkByName(name)
		switch {
		case err == nil:
			indices[name] = link.Attrs().Index
		case !errors.As(err, &netlink.LinkNotFoundError{}):
			return fmt.Errorf("nexthop: device %s: %w", name, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.devices = map[string]Device{}
	for name, index := range indices {
		w.devices[name], w.last[name] = Device{index, w.removed[index]}, index
	}
	return nil
}
