package xdp

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// stand makes a driver that is paused know its neighbours, and hold rules.
func (d *Driver) stand() error {
	d.slow = newSlowPath(d)
	for _, step := range []func() error{d.startTracer, d.watchHops, d.startURREvents} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// serve runs steps, of which Pause undoes what they do.
func (d *Driver) serve(steps ...func() error) error {
	for _, step := range steps {
		n := len(d.detach)
		err := step()
		d.serving = append(d.serving, d.detach[n:]...)
		d.detach = d.detach[:n:n]
		if err != nil {
			return err
		}
	}
	return nil
}

// undo calls what is in the list, the last one first.
func undo(list *[]func() error) error {
	var errs []error
	for i := len(*list) - 1; i >= 0; i-- {
		errs = append(errs, (*list)[i]())
	}
	*list = nil
	return errors.Join(errs...)
}

// Pause implements [datapath.Movable]. Tables, what is buffered, and what was
// learnt of neighbours, flows and stations stay.
func (d *Driver) Pause() error {
	d.pausing.Lock()
	defer d.pausing.Unlock()
	err := undo(&d.serving)
	d.links = nil
	waitForPackets()
	if len(d.cfg.Spread) > 0 {
		time.Sleep(grace) // packets wait in the queues of CPUs
	}
	return err
}

// Resume implements [datapath.Movable].
func (d *Driver) Resume() error {
	d.pausing.Lock()
	defer d.pausing.Unlock()
	if err := d.serve(d.startSlow, d.startEthernet, d.startWatching, d.attachAll); err != nil {
		return errors.Join(err, undo(&d.serving))
	}
	d.hops.leaveLimbo()
	return nil
}

// Carry implements [datapath.Movable]. What is carried is not part of the totals:
// those count from the start of this driver.
func (d *Driver) Carry(seid uint64, u *api.SessionUsage) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sessions.get(seid)
	if s == nil {
		return fmt.Errorf("xdp: SEID %#x: %w", seid, datapath.ErrNoSession)
	}
	for _, r := range u.GetRules() {
		d.carryRule(s, r)
	}
	for _, c := range u.GetUrrs() {
		slot, ok := s.find(urr, c.GetUrrId())
		if !ok {
			continue
		}
		for _, kind := range d.urrs.urr(slot).Carry(c) {
			d.events.Post(&api.Event{Kind: kind, Seid: seid, RuleId: c.GetUrrId()})
		}
	}
	return nil
}

// carryRule adds to what a PDR has counted, in one of the places where it counts.
func (d *Driver) carryRule(s *session, u *api.Usage) {
	carried := datapath.Total{Packets: -u.GetPackets(), Octets: -u.GetOctets(), Dropped: -u.GetDroppedPackets()}
	for i := range s.slow {
		if r := &s.slow[i]; r.pdrID == u.GetPdrId() && r.rule != nil {
			r.rule.Counters.Carry(u)
			d.retired.add(r.bucket(), carried)
			return
		}
	}
	for _, h := range s.held {
		if !h.isRule() || h.id != u.GetPdrId() {
			continue
		}
		t := d.table(h.kind())
		t.counters(h.slot()).Carry(u)
		d.retired.add(bucketOf(t.slices[h.slot()], atomic.LoadUint32(&t.slots[h.slot()].Ctl)), carried)
		return
	}
}

// Stages are those of the slow path.
func (d *Driver) Stages() *stages.Stages { return &d.slow.stages }

// Inherit lets the driver go on with what the stages of another datapath have learnt,
// before the first packet.
func (d *Driver) Inherit(from *stages.Stages) stages.Inherited {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.slow.stages.Inherit(from, func(seid uint64) []*stages.Rule {
		if s := d.slowSessions[seid]; s != nil {
			return s.slowModels()
		}
		return nil
	})
}

// pinNow pins tables and attachments of a driver that was opened paused, in place of
// whatever stands there. The caller holds d.mu.
func (d *Driver) pinNow() error {
	if d.cfg.Pin == "" || d.pins != nil {
		return nil
	}
	if err := Unpin(d.cfg.Pin); err != nil {
		return err
	}
	p, err := openPins(d.cfg.Pin, d.hook, d.slots()+d.more(), d.listed())
	if err != nil {
		return err
	}
	if err := p.pin(d.objs.shared(), nil, false, d.hasNAT()); err != nil {
		return err
	}
	for name, l := range d.links {
		if err := l.Pin(filepath.Join(p.dir, name)); err != nil {
			return fmt.Errorf("xdp: pin attachment %s: %w", name, err)
		}
	}
	d.pins = p
	return nil
}

// drainTime is how long it is waited for what the programs have handed to the slow
// path, which it finishes at some 100 000 packets a second.
const drainTime = 200 * time.Millisecond

// drain waits until the slow path has finished what the programs handed to it
// before they were taken off. Those that stay attached go on to hand on.
func (d *Driver) drain(rings ...*ringbuf.Reader) {
	if d.pins != nil && d.pins.keep {
		return
	}
	waitForPackets()
	for end := time.Now().Add(drainTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		left := 0
		for _, r := range rings {
			left += r.AvailableBytes()
		}
		if left == 0 {
			return
		}
	}
}

// connect gives the slow path its sockets.
func (s *slowPath) connect(send sender, host host) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.send, s.host = send, host
}

// noSockets stands for sockets while there are none.
type noSockets struct{}

func (noSockets) tunnel([]byte, netip.Addr) error  { return unix.ENETDOWN }
func (noSockets) n6([]byte, int, netip.Addr) error { return unix.ENETDOWN }
func (noSockets) ethernet([]byte, int) error       { return unix.ENETDOWN }
func (noSockets) Has(netip.Addr) bool              { return false }
func (noSockets) Router(bool) netip.Addr           { return netip.Addr{} }
