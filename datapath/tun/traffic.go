package tun

import (
	"errors"
	"sync"

	"github.com/plumbline-upf/plumbline/datapath/vector"
)

// traffic is sockets, devices and what carries packets between them.
type traffic struct {
	d       *Driver
	devices []*device // by index of the data network, then those of policies
	ways    []*device // by way
	sockets *sockets
	steered []steering
	loops   []loop
	outputs int
	running sync.WaitGroup
}

// loop carries packets of one socket, or of one queue of a device.
type loop interface {
	run() error // until that is stopped; the error is the reason why the datapath failed
	free()      // when run has returned
}

// open opens all devices and sockets, and forwards nothing yet. The result must be closed even
// after an error.
func (d *Driver) open() (*traffic, error) {
	t := &traffic{d: d}
	var err error
	if t.sockets, err = listen(d.cfg.Endpoints, d.cfg.Workers, d.host.guarded()); err != nil {
		return t, err
	}
	if err := t.openDevices(); err != nil {
		return t, err
	}
	d.fence.raise(d.cfg.Prefix, t.fenced())
	if err := d.host.attach(t.devices); err != nil {
		return t, err
	}
	if err := t.steer(); err != nil {
		return t, err
	}
	if err := d.routes.attach(t.devices); err != nil {
		return t, err
	}
	own := t.newOutput(0).send
	d.own.Store(&own)
	return t, t.openLoops()
}

// openLoops makes what carries packets: for each worker one of each socket and device.
func (t *traffic) openLoops() error {
	for w := range t.d.cfg.Workers {
		for _, s := range t.sockets.all[w] {
			up, err := t.newUplink(w, s)
			if err != nil {
				return err
			}
			t.loops = append(t.loops, up)
		}
		for i := range t.d.cfg.N6.Networks {
			down, err := t.newDownlink(w, i+1, t.devices[i])
			if err != nil {
				return err
			}
			t.loops = append(t.loops, down)
		}
	}
	return nil
}

// start lets packets flow.
func (t *traffic) start() {
	for _, l := range t.loops {
		t.running.Go(func() { t.d.fail(l.run()) })
	}
}

// close returns when no packet is under way any more. What was received has left, so that
// nothing was counted for a user that did not.
func (t *traffic) close() error {
	t.d.own.Store(nil)
	var errs []error
	if t.sockets != nil {
		errs = append(errs, t.sockets.stop())
	}
	for _, dev := range t.devices {
		errs = append(errs, dev.Stop())
	}
	t.running.Wait()
	if t.sockets != nil {
		errs = append(errs, t.sockets.close())
	}
	t.d.routes.detach()
	errs = append(errs, t.straighten())
	for _, dev := range t.devices {
		errs = append(errs, dev.Close())
	}
	t.d.fence.lower()
	t.d.host.detach()
	for _, l := range t.loops {
		l.free()
	}
	return errors.Join(errs...)
}

// worker returns a worker of the engine for a goroutine of its own.
func (t *traffic) worker() *vector.Worker {
	t.outputs++
	return t.d.worker(t.outputs - 1)
}
