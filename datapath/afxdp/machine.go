package afxdp

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// machine is all of a driver that is on the devices: it is there while the driver
// takes packets, and is gone while that is paused.
type machine struct {
	d        *Driver
	devices  []*device
	count    int // of workers
	entries  int // of each ring
	frames   int // of each worker
	octets   int // of each frame
	programs []*program
	workers  []*worker
	slow     *slow
	watching []func() // to be called at the end

	stop     int // eventfd that wakes workers
	stopping atomic.Bool
	ended    sync.WaitGroup
}

// openMachine attaches programs and sockets to the devices and lets the workers run.
func openMachine(d *Driver) (*machine, error) {
	m := &machine{d: d, devices: d.devices, count: d.cfg.workers(d.devices), stop: -1}
	for _, step := range []func() error{m.size, m.openSlow, m.attach, m.openWorkers, m.watch, m.start} {
		if err := step(); err != nil {
			return nil, errors.Join(err, m.close())
		}
	}
	return m, nil
}

// LockedOctets is how much memory the driver locks while it takes packets.
//
// Errors: [errors.ErrUnsupported] if frames of the devices are too long.
func (d *Driver) LockedOctets() (uint64, error) {
	m := &machine{d: d, devices: d.devices, count: d.cfg.workers(d.devices)}
	err := m.size()
	return uint64(m.count) * uint64(m.frames) * uint64(m.octets), err
}

// size divides the frames of a worker: half of them are given to the kernel to be
// filled, the others are treated and sent.
func (m *machine) size() (err error) {
	sockets := 0
	for _, dev := range m.devices {
		sockets += (dev.receives + m.count - 1) / m.count
	}
	m.frames = max(m.d.cfg.Frames, 2*sockets*minEntries)
	m.entries = min(1<<(bits.Len(uint(m.frames/(2*sockets)))-1), maxEntries)
	m.octets, err = frameOctets(m.devices)
	return err
}

// Entries of a ring.
const (
	minEntries = 256
	maxEntries = 16384
)

func (m *machine) openSlow() (err error) {
	m.slow, err = openSlow(m)
	return err
}

// attach puts the programs on the devices. As long as there are no sockets all
// packets stay with the kernel.
func (m *machine) attach() error {
	for _, dev := range m.devices {
		p, err := openProgram(dev, m.d.tables)
		if err != nil {
			return err
		}
		m.programs = append(m.programs, p)
		if err := p.attach(dev); err != nil {
			return err
		}
	}
	return nil
}

// openWorkers opens all sockets: with zero copy if every device can do it, since
// they share frames, else by copying.
func (m *machine) openWorkers() error {
	var err error
	if m.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("afxdp: eventfd: %w", err)
	}
	native := !slices.ContainsFunc(m.devices, func(d *device) bool { return d.mode != "native" })
	if native && !m.d.cfg.Copy {
		if err = m.openAll(unix.XDP_ZEROCOPY); err == nil {
			return nil
		}
		m.d.log.Info("no zero copy", "reason", err)
		if err := m.closeWorkers(); err != nil {
			return err
		}
	}
	return m.openAll(unix.XDP_COPY)
}

func (m *machine) openAll(flags uint16) error {
	for i := range m.count {
		w, err := m.newWorker(i, flags)
		if err != nil {
			return err
		}
		m.workers = append(m.workers, w)
	}
	return nil
}

func (m *machine) closeWorkers() error {
	var errs []error
	for _, w := range m.workers {
		errs = append(errs, w.close())
	}
	m.workers = nil
	return errors.Join(errs...)
}

// start lets the workers run and the programs find them.
func (m *machine) start() error {
	for _, w := range m.workers {
		m.ended.Go(func() { m.fail(w.run()) })
		for _, s := range w.sockets {
			if m.d.cfg.Mode == Poll || s.Zero {
				if err := s.Busy(); err != nil {
					m.d.log.Info("no busy polling", "device", s.device.name, "reason", err)
				}
			}
			if err := m.programs[s.device.number].sockets.Put(uint32(s.queue), uint32(s.FD)); err != nil {
				return fmt.Errorf("afxdp: socket of queue %d of %s: %w", s.queue, s.device.name, err)
			}
		}
	}
	m.slow.read()
	for _, dev := range m.devices {
		m.d.log.Info("attached", "device", dev.String(), "mode", dev.mode, "zero_copy", m.zero(), "queues", dev.receives, "workers", m.count)
	}
	return nil
}

// zero reports whether frames are not copied.
func (m *machine) zero() bool { return len(m.workers) > 0 && m.workers[0].sockets[0].Zero }

// fail ends the driver with the first error of a worker.
func (m *machine) fail(err error) {
	if err != nil {
		m.d.fail(err)
	}
}

// close takes the programs off the devices, ends the workers, and frees all.
func (m *machine) close() error {
	var errs []error
	for _, p := range m.programs {
		errs = append(errs, p.close())
	}
	m.halt()
	for _, end := range m.watching {
		end()
	}
	errs = append(errs, m.closeWorkers(), m.slow.close())
	if m.stop >= 0 {
		errs = append(errs, unix.Close(m.stop))
	}
	return errors.Join(errs...)
}

// halt ends the workers.
func (m *machine) halt() {
	m.stopping.Store(true)
	if m.stop >= 0 {
		_, _ = unix.Write(m.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails if it is full: then they wake
	}
	m.ended.Wait()
}

// watch starts to follow devices, neighbours and routes.
func (m *machine) watch() error {
	for _, dev := range m.devices {
		n := m.d.networkOf(dev)
		if n == nil {
			if err := m.watchTable(dev, nil, nil); err != nil {
				return err
			}
			continue
		}
		n.begin()
		w, err := nexthop.Watch(dev.index, m.d.log, func(addr netip.Addr, mac nexthop.MAC) {
			n.neighbour(addr, mac)
			m.d.changed()
		})
		if err != nil {
			return err
		}
		m.watching = append(m.watching, w.Close)
		if err := m.watchTable(dev, n, w); err != nil {
			return err
		}
	}
	m.watchTargets()
	return m.watchPeers()
}

// watchPeers starts to follow by which ways GTP-U peers are reached.
func (m *machine) watchPeers() error {
	t := m.d.peers
	w, err := nexthop.WatchPeers(slices.Collect(maps.Keys(t.devices)), m.d.log, func(ways map[nexthop.Peer]nexthop.Way) {
		t.lead(ways)
		m.d.setLeast()
		m.d.changed()
	})
	if err != nil {
		return err
	}
	m.watching = slices.Insert(m.watching, 0, func() { t.watch(nil) }, w.Close)
	t.watch(w)
	return nil
}

// watchTable follows address and MTU of a device, and the routes of its data
// network, if it has one.
func (m *machine) watchTable(dev *device, n *network, w *nexthop.Watcher) error {
	up := true
	follow := nexthop.WatchDevice
	if n != nil {
		follow = nexthop.WatchTable
	}
	t, err := follow(dev.index, m.d.log, func(t nexthop.Table) {
		if t.MTU != 0 {
			dev.set(t.MAC, t.MTU)
		}
		if n != nil {
			want, forget := n.changed(t)
			for _, a := range want { // it calls back, so it is not called under a lock
				w.Want(a)
			}
			for _, a := range forget {
				w.Forget(a)
			}
		}
		m.d.setLeast()
		m.d.changed()
		if t.Up && !up && w != nil {
			w.Renew()
		}
		up = t.Up
	})
	if err == nil {
		m.watching = slices.Insert(m.watching, 0, t.Close) // before the watcher that it calls
	}
	return err
}

// peerCache is the peer of the last packet.
type peerCache struct {
	local, addr netip.Addr
	slots       *[]*hop // of the table in which it was found
	table       *hopTable
	hop         *hop
}

// peer returns the hop of a peer; nil: it is not known.
func (m *machine) peer(last *peerCache, o *stages.Outer) *hop {
	if last.addr == o.Peer && last.local == o.Local && last.table != nil && last.table.slots.Load() == last.slots {
		return last.hop
	}
	t := m.d.peers.hops[o.Local]
	if t == nil {
		return nil
	}
	slots := t.slots.Load()
	*last = peerCache{o.Local, o.Peer, slots, t, t.find(o.Peer)}
	return last.hop
}
