package upf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/nexthop"
)

// errNotAgain: the sessions are another process's.
var errNotAgain = errors.New("this process cannot give its sessions to another datapath")

// devices are the network devices of the UPF: those that the datapath was opened on, and
// those that there are. A program or a socket goes with its device, and nothing brings it
// back when another one has the name; so the datapath is opened again, and takes over from
// itself as it would from another one.
type devices struct {
	watcher *nexthop.DeviceWatcher
	kick    chan struct{} // something has changed
	lost    chan error    // the datapath cannot be opened again: the process has to be
	cancel  context.CancelFunc
	done    sync.WaitGroup

	mu sync.Mutex
	on map[string]nexthop.Device // that the datapath was opened on
}

// watch starts to look at the devices, in the network namespace of the caller.
func (d *devices) watch(s *Service) error {
	names := s.config.Devices()
	if s.config.Datapath == DatapathModel || len(names) == 0 {
		return nil
	}
	d.kick, d.lost = make(chan struct{}, 1), make(chan error, 1)
	var err error
	d.watcher, err = nexthop.WatchDevices(names, s.log, func() {
		select {
		case d.kick <- struct{}{}:
		default: // it has been told
		}
	})
	return err
}

// now returns the devices that there are.
func (d *devices) now() map[string]nexthop.Device {
	if d.watcher == nil {
		return nil
	}
	return d.watcher.Devices()
}

// opened notes what there was when the datapath that forwards now was opened.
func (d *devices) opened(on map[string]nexthop.Device) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.on = on
}

// changes returns the names whose device is another one than that the datapath was opened
// on, and those that no device has.
func (d *devices) changes() (others, gone []string) {
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.on)) {
		switch is, ok := now[name]; {
		case !ok:
			gone = append(gone, name)
		case is != d.on[name]:
			others = append(others, name)
		}
	}
	return others, gone
}

func (d *devices) close() {
	if d.cancel != nil {
		d.cancel()
		d.done.Wait()
	}
	if d.watcher != nil {
		d.watcher.Close()
		d.watcher = nil
	}
}

// A datapath that could not be opened again is tried again after reopenRetry, then after
// twice the time, up to reopenRetryMax.
const reopenRetry, reopenRetryMax = time.Second, 30 * time.Second

// follow opens the datapath of s again when its devices are others.
func (d *devices) follow(s *Service) {
	if d.watcher == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	d.done.Go(func() {
		var said string
		var retry <-chan time.Time
		wait := reopenRetry
		for {
			select {
			case <-ctx.Done():
				return
			case <-d.kick:
			case <-retry:
			}
			retry = nil
			state, err := s.followDevices(ctx)
			switch {
			case err == nil:
				wait = reopenRetry
			case errors.Is(err, errNotAgain), errors.Is(err, fs.ErrPermission), errors.Is(err, ErrCapability), errors.Is(err, errors.ErrUnsupported):
				// Not wrapped: a new start may well do what this process cannot, and its exit
				// code is not that of a machine that cannot.
				d.lost <- fmt.Errorf("%s: the datapath cannot be opened again while the UPF runs: %v", state, err) //nolint:errorlint // see above
				return
			default:
				s.log.Error("datapath not opened again", "reason", state, "error", err, "retry", wait)
				retry, wait = time.After(wait), min(2*wait, reopenRetryMax)
			}
			if state != said && err == nil && state != "" {
				s.log.Warn("a device of the datapath is not there", "reason", state)
			}
			said = state
		}
	})
}

// followDevices opens the datapath again if its devices are others, and all are there. It
// returns what is the matter with them; "": nothing is any more.
func (s *Service) followDevices(ctx context.Context) (state string, err error) {
	others, gone := s.devices.changes()
	switch {
	case len(gone) > 0:
		return "no device has the name " + strings.Join(gone, ", ") + " any more", nil
	case len(others) == 0:
		return "", nil
	}
	state = strings.Join(others, ", ") + " is another device"
	if err := s.config.CheckLive(); err != nil { // an address, or the carrier, is to come
		return state + ", and not ready: " + err.Error(), nil
	}
	if s.mover == nil || s.sessions == nil || s.config.P4.Target != "" && s.about.Load().Name == DatapathP4 { // a port has one TAP device
		return state, errNotAgain
	}
	s.moving.Lock()
	defer s.moving.Unlock()
	c := *s.config
	c.Datapath = cmp.Or(s.about.Load().Name, c.Datapath)
	s.log.Info("opening the datapath again", "datapath", c.Datapath, "reason", state)
	m, err := s.exchange(ctx, &c, c.Datapath, func(string) string { return "opened again: " + state })
	if err != nil {
		return state, err
	}
	s.log.Info("the datapath was opened again", m.attrs()...)
	return "", nil
}
