package afxdp

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/vector"
)

// Pause implements [datapath.Movable].
func (d *Driver) Pause() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pause()
}

func (d *Driver) pause() error {
	d.using.Lock() // until it is no longer read
	m := d.machine.Swap(nil)
	if m != nil {
		d.lost.Add(m.lost())
	}
	d.using.Unlock()
	if m == nil {
		return nil
	}
	return m.close()
}

// Resume implements [datapath.Movable].
func (d *Driver) Resume() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("afxdp: %w", datapath.ErrClosed)
	}
	if d.machine.Load() != nil {
		return nil
	}
	m, err := openMachine(d)
	if err != nil {
		return err
	}
	d.machine.Store(m)
	return nil
}

// slowWorker returns the engine's worker for the GTP-U socket of an address. Only
// [Driver.Resume], which holds d.mu, makes sockets.
func (d *Driver) slowWorker(a netip.Addr) *vector.Worker {
	if d.slow[a] == nil {
		d.slow[a] = d.NewWorker()
	}
	return d.slow[a]
}

// drained is how long what leaves of its own accord waits for the packets before it:
// a device with zero copy sends them on its own.
const drained = time.Millisecond

// release sends what leaves of its own accord: through the kernel, behind what the
// workers have sent.
func (d *Driver) release(out []*vector.Packet) {
	d.using.RLock()
	defer d.using.RUnlock()
	m := d.machine.Load()
	if m == nil {
		for range out {
			d.own.Refuse(datapath.DropNextHop) // paused: no sends
		}
		return
	}
	deadline := time.Now().Add(drained)
	for _, w := range m.workers {
		for _, s := range w.sockets {
			for s.TX.Left() > 0 && time.Now().Before(deadline) {
				time.Sleep(drained / 16)
			}
		}
	}
	m.slow.leave(out, d.own)
}

// fail ends the driver with its first error.
func (d *Driver) fail(err error) {
	d.log.Error("datapath ends", "err", err)
	d.failing.Do(func() {
		d.err = err
		close(d.ended)
	})
}

// Ended is closed when a part of the driver has failed for good: [Driver.Err] says
// which.
func (d *Driver) Ended() <-chan struct{} { return d.ended }

// Err returns what has failed for good; nil: nothing.
func (d *Driver) Err() error {
	select {
	case <-d.ended:
		return d.err
	default:
		return nil
	}
}
