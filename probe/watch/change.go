package watch

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/find"
	"github.com/plumbline-upf/plumbline/probe/n4"
)

// change takes up what find has seen.
func (w *Watch) change(c find.Change) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leaving {
		return nil
	}
	index := slices.IndexFunc(w.upfs, func(u *upf) bool { return u.target.Name == c.Target.Name })
	if index < 0 {
		return w.further(c)
	}
	u := w.upfs[index]
	u.interrupted(&c, time.Now())
	u.target, u.gone = c.Target, c.Gone
	w.followNow()
	if err := w.detach(index, c.Detach); err != nil {
		// The device went, and the program with it.
		w.config.Log.Debug("probe: detach", "upf", u.target.Name, "error", err)
	}
	for _, p := range c.Detach {
		delete(u.failed, p.Device)
	}
	w.settleAddresses(index)
	w.attach(index, c.Attach)
	if c.N4 {
		w.settleN4(index)
	}
	w.settleBeyond(u, slog.LevelWarn)
	return nil
}

// settleAddresses measures a UPF by the addresses that it has now.
func (w *Watch) settleAddresses(index int) {
	const name = "addresses"
	u := w.upfs[index]
	delete(u.failed, name)
	if u.gone {
		return
	}
	err := w.probe.SetUPF(index, u.target.UPF())
	if w.n4 != nil {
		err = errors.Join(err, w.n4.SetUPF(index, n4.UPF{Name: u.target.Name, N4: u.target.N4}))
	}
	if err != nil {
		u.failed[name] = err
		w.config.Log.Warn("probe: not all of its addresses are known", "upf", u.target.Name, "error", err)
	}
}

// further takes up a UPF that is not measured: one more, or one that there was no room
// for.
func (w *Watch) further(c find.Change) error {
	if c.Gone {
		delete(w.left, c.Target.Name)
		return nil
	}
	if _, known := w.left[c.Target.Name]; !known {
		w.config.Log.Info("probe: a further UPF", "upf", c.Target.Name, "why", c.Target.Why)
	}
	return w.add(c.Target)
}

// settleN4 listens where the UPF's N4 is now, and nowhere else.
func (w *Watch) settleN4(index int) {
	u := w.upfs[index]
	for place, a := range u.n4At {
		// A device of the same name may be another one by now.
		delete(u.n4At, place)
		if err := a.Close(); err != nil {
			w.config.Log.Debug("probe: detach N4", "upf", u.target.Name, "error", err)
		}
	}
	maps.DeleteFunc(u.failed, func(what string, _ error) bool { return strings.HasPrefix(what, failedN4) })
	if !u.gone {
		w.attachN4(index)
	}
}

// Leave takes the points away by which packets come in, so that those that are in the
// UPFs leave or are lost, and nothing is in flight in the end. What changes from then on
// is not followed.
func (w *Watch) Leave() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leaving = true
	var errs []error
	for index, u := range w.upfs {
		var in []probe.Point
		for p := range u.at {
			if p.Way == probe.In {
				in = append(in, p)
			}
		}
		errs = append(errs, w.detach(index, in))
	}
	return errors.Join(errs...)
}
