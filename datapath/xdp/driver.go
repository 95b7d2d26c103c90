package xdp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// Apply implements [datapath.Driver].
func (d *Driver) Apply(_ context.Context, c *api.Change) error {
	if err := datapath.Check(c, d.about); err != nil {
		return err
	}
	if err := d.cfg.N6.Check(c.GetSession()); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sessions == nil {
		return fmt.Errorf("xdp: %w", datapath.ErrClosed)
	}
	markers := d.endMarkers(c)
	if err := d.apply(c); err != nil {
		return err
	}
	if len(markers) > 0 {
		d.slow.markers.add(markers)
	}
	return nil
}

func (d *Driver) apply(c *api.Change) error {
	seid := c.GetSeid()
	old := d.sessions.get(seid)
	if c.GetSession() == nil {
		if old == nil {
			return fmt.Errorf("xdp: SEID %#x: %w", seid, datapath.ErrNoSession)
		}
		d.remove(seid, old)
		d.sessions.remove(seid)
		if d.slow != nil {
			d.slow.stages.Forget(seid)
		}
		return nil
	}
	if most := tableSize(d.cfg.MaxSessions); old == nil && d.sessions.held >= int(most) {
		return fmt.Errorf("xdp: %d sessions: %w", most, datapath.ErrFull)
	}
	if old == nil {
		old = &session{}
	}
	s := &d.scratch
	*s = change{
		d: d, in: c.GetSession(), old: old,
		routes: nil, hosts: nil, fresh: s.fresh[:0], rules: s.rules[:0], others: s.others[:0], slow: s.slow[:0], hops: s.hops[:0], models: s.models[:0],
	}
	err := s.plan()
	if err == nil {
		d.sessions.put(seid, s.commit(c.GetDropBuffered()))
	}
	clear(s.rules)
	clear(s.slow)
	clear(s.models)
	s.in, s.old = nil, nil
	return err
}

// endMarkers returns what goes behind the last packets of the tunnels, from the
// addresses from which those went.
func (d *Driver) endMarkers(c *api.Change) []stages.Datagram {
	if len(c.GetEndMarkers()) == 0 || d.slow == nil {
		return nil
	}
	var markers []stages.Datagram
	old := d.sessions.get(c.GetSeid())
	for _, m := range c.GetEndMarkers() {
		to := stages.Ended(m)
		local := datapath.Local(d.cfg.Endpoints, datapath.Direction{}, to.Peer)
		if old != nil {
			if _, from, ok := d.sendsTo(old, map[uint32]bool{to.TEID: true}, map[gtpu.Tunnel]bool{to: true}); ok {
				local = from.local
			}
		}
		markers = append(markers, stages.EndMarker(m, local))
	}
	return markers
}

func peerOf(o *api.OuterHeaderCreation) netip.Addr {
	if a, ok := netip.AddrFromSlice(o.GetIpv6()); ok {
		return a
	}
	return ipv4(o.GetIpv4())
}

// Usage implements [datapath.Driver].
func (d *Driver) Usage(seid uint64) (*api.SessionUsage, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s := d.sessions.get(seid)
	if s == nil {
		return nil, fmt.Errorf("xdp: SEID %#x: %w", seid, datapath.ErrNoSession)
	}
	return s.usage(d, seid), nil
}

// Next implements [datapath.Driver].
func (d *Driver) Next(ctx context.Context) (*api.Event, error) { return d.events.Next(ctx) }

// Settle implements [datapath.Driver].
func (d *Driver) Settle(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.restart.Settle()
	if d.sessions == nil {
		return fmt.Errorf("xdp: %w", datapath.ErrClosed)
	}
	d.dropOrphans()
	d.numbers.settle()
	if d.beside != nil {
		if err := d.takeOver(); err != nil {
			return err
		}
		d.hops.leaveLimbo()
	}
	if d.cfg.Paused {
		return d.pinNow()
	}
	if d.pins == nil {
		return nil
	}
	return d.pins.removeStale(d.devices())
}

// Keep lets tables and attachments stay pinned when the driver is closed, so that
// packets flow on until the next one takes over: for an upgrade.
func (d *Driver) Keep() {
	if d.pins != nil {
		d.pins.keep = true
	}
}

func (d *Driver) counts(drops bool) (map[string]uint64, error) {
	counts := map[string]uint64{}
	var perCPU []uint64
	for _, r := range datapath.Reasons() {
		if r.IsDrop() != drops {
			continue
		}
		if err := d.objs.Counts.Lookup(uint32(r), &perCPU); err != nil {
			return nil, fmt.Errorf("xdp: read counter %v: %w", r, err)
		}
		for _, n := range perCPU {
			counts[r.String()] += n
		}
		if d.slow != nil {
			counts[r.String()] += d.slow.counts[r].Load()
		}
	}
	return counts, nil
}

// Close implements [datapath.Driver].
func (d *Driver) Close() error {
	d.closing.Do(func() {
		d.events.Close()
		errs := []error{undo(&d.serving), undo(&d.detach)}
		if d.attends >= 0 {
			errs = append(errs, unix.Close(d.attends))
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		errs = append(errs, d.unmap(), d.objs.Close())
		if d.pins != nil && !d.pins.keep {
			errs = append(errs, Unpin(d.pins.dir))
		}
		d.sessions = nil
		d.done = errors.Join(errs...)
	})
	return d.done
}

// unmap gives the tables' memory back, as far as there is any.
func (d *Driver) unmap() error {
	errs := []error{d.queues.unmap(), d.waits.unmap(), d.lists.unmap(), d.accounts.unmap()}
	if d.teids != nil {
		errs = append(errs, d.teids.unmap())
	}
	if d.ues != nil {
		errs = append(errs, d.ues.unmap())
	}
	if d.urrs != nil {
		errs = append(errs, d.urrs.unmap())
	}
	if d.beside != nil {
		errs = append(errs, d.beside.close())
	}
	if d.hops != nil {
		errs = append(errs, d.hops.unmap())
	}
	if d.routes != nil {
		errs = append(errs, d.routes.unmap())
	}
	if d.nat != nil {
		errs = append(errs, d.nat.unmap())
	}
	errs = append(errs, d.ways.unmap())
	if d.numbers != nil {
		errs = append(errs, d.numbers.unmap())
	}
	return errors.Join(errs...)
}
