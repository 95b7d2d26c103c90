// Package watch puts a probe at UPFs, listens to their N4, and keeps both where they
// belong while UPFs and their devices come and go.
//
//	find ──► UPFs, points ──► probe.Attach ──► snapshots, samples
//	  │                            ▲
//	  └────► N4 devices ──► n4 ────┘ which TEID and UE address is which slice
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/export"
	"github.com/plumbline-upf/plumbline/probe/find"
	"github.com/plumbline-upf/plumbline/probe/n4"
	"github.com/plumbline-upf/plumbline/probe/slicemap"
)

// Config says what is watched.
type Config struct {
	Selector find.Selector
	Probe    probe.Config  // UPFs, Slices and Expected are filled in
	Slices   *slicemap.Map // nil: slices are learnt from N4 alone
	NoN4     bool
	Wait     bool         // no UPF is no error: one may come
	Log      *slog.Logger // waits for nothing that waits for the Watch
}

// Watch is a probe at UPFs.
type Watch struct {
	config Config
	probe  *probe.Probe
	n4     *n4.Monitor // nil: N4 is not listened to
	parts  parts

	mu      sync.Mutex
	upfs    []*upf          // by their index in the probe
	left    map[string]left // UPFs that run and are not measured, by name
	leaving bool            // see [Watch.Leave]
}

// left is a UPF that is left out, and why.
type left struct {
	target find.Target
	err    error
}

// upf is one UPF that was found, and what stands at it.
type upf struct {
	target find.Target
	at     map[probe.Point]*probe.Attachment
	n4At   map[find.Place]*n4.Attachment
	failed map[string]error // by device or what else there would be, why there is none
	gone   bool
	gaps   []export.Gap
}

// Open finds UPFs and begins to measure them. Points that cannot be had do not stop it:
// [Watch.UPFs] says what is missing. After an error nothing is left attached.
//
// Errors: [find.ErrNone], and whatever kept all points of all UPFs from being had.
func Open(ctx context.Context, config Config) (*Watch, error) {
	targets, err := find.Find(ctx, config.Selector)
	if err != nil && !(config.Wait && errors.Is(err, find.ErrNone)) {
		return nil, err
	}
	w := &Watch{config: config, left: map[string]left{}}
	if config.Slices != nil {
		w.config.Probe.Slices = config.Slices.Slices()
	}
	w.config.Probe.Expected = min(len(targets), probe.MaxUPFs)
	if w.probe, err = probe.Open(w.config.Probe); err != nil {
		return nil, err
	}
	// Before anything is attached, so that it takes no time from what is measured.
	if err := w.probe.MeasureCost(); err != nil {
		config.Log.Warn("probe: its own cost is not known", "error", err)
	}
	if err := errors.Join(w.openN4(), w.openParts()); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	for _, t := range targets {
		if err := w.add(t); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	if err := w.standing(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Watch) openN4() (err error) {
	if w.config.NoN4 {
		return nil
	}
	w.n4, err = n4.Open(n4.Config{Slices: w.config.Slices, Learn: w.probe.Learn, Forget: w.probe.Forget})
	return err
}

// standing is an error if there are UPFs and no point of any.
func (w *Watch) standing() error {
	var errs []error
	for _, l := range w.left {
		errs = append(errs, l.err)
	}
	for _, u := range w.upfs {
		if len(u.at) > 0 {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %s", u.target.Name, u.missing()))
	}
	return errors.Join(errs...)
}

// add takes one more UPF. One that the probe has no room for is left out, and said so
// once while it runs.
func (w *Watch) add(t find.Target) error {
	index, err := w.probe.AddUPF(t.UPF())
	if err != nil {
		if _, known := w.left[t.Name]; !known {
			w.config.Log.Warn("probe: a UPF is left out", "upf", t.Name, "error", err)
		}
		w.left[t.Name] = left{t, err}
		return nil
	}
	delete(w.left, t.Name)
	if w.n4 != nil {
		same, err := w.n4.AddUPF(n4.UPF{Name: t.Name, N4: t.N4})
		if err != nil {
			return err
		}
		if same != index {
			return fmt.Errorf("%s: index %d at N4, %d at the probe: want them to be the same", t.Name, same, index)
		}
	}
	u := &upf{target: t, at: map[probe.Point]*probe.Attachment{}, n4At: map[find.Place]*n4.Attachment{}, failed: map[string]error{}}
	w.upfs = append(w.upfs, u)
	if err := w.learnStatic(index, t.Name); err != nil {
		u.failed["slices"] = err
		w.config.Log.Warn("probe: not all slices are told apart", "upf", t.Name, "error", err)
	}
	w.followNow() // or what comes at once is not taken apart
	w.attach(index, t.Points)
	w.attachN4(index)
	w.settleBeyond(u, slog.LevelWarn)
	return nil
}

// attach puts programs at points of a UPF: first where packets leave it, or those that
// come in meanwhile would be lost.
func (w *Watch) attach(index int, points []probe.Point) {
	u := w.upfs[index]
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b probe.Point) int { return cmp.Compare(b.Way, a.Way) })
	for _, p := range points {
		p.UPF = index
		if u.at[p] != nil {
			continue
		}
		a, err := w.probe.Attach(p)
		if err != nil {
			u.failed[p.Device] = err
			w.config.Log.Warn("probe: no program at a point", "upf", u.target.Name, "device", p.Device, "error", err)
			continue
		}
		u.at[p] = a
	}
}

// failedN4 is before the names of devices at which N4 is not listened to, in upf.failed.
const failedN4 = "N4 "

// detach takes programs away from points of a UPF.
func (w *Watch) detach(index int, points []probe.Point) error {
	u := w.upfs[index]
	var errs []error
	for _, p := range points {
		p.UPF = index
		if a := u.at[p]; a != nil {
			delete(u.at, p)
			errs = append(errs, a.Close())
		}
	}
	return errors.Join(errs...)
}

// attachN4 listens at all devices of a UPF by which PFCP comes.
func (w *Watch) attachN4(index int) {
	u := w.upfs[index]
	if w.n4 == nil {
		return
	}
	for _, place := range u.target.N4At {
		if u.n4At[place] != nil {
			continue
		}
		a, err := w.n4.Attach(n4.Point{UPF: index, Namespace: place.Namespace, Device: place.Device})
		if err != nil {
			u.failed[failedN4+place.Device] = err
			w.config.Log.Warn("probe: N4 is not listened to", "upf", u.target.Name, "device", place.Device, "error", err)
			continue
		}
		u.n4At[place] = a
	}
}

// Run follows what changes until the context ends: UPFs that start or stop, devices
// that are made anew.
func (w *Watch) Run(ctx context.Context) error {
	w.mu.Lock()
	var known []find.Target
	for _, u := range w.upfs {
		known = append(known, u.target)
	}
	w.mu.Unlock()
	err := find.Watch(ctx, w.config.Selector, known, w.change)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Close takes everything away.
func (w *Watch) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for _, u := range w.upfs {
		for _, a := range u.at {
			errs = append(errs, a.Close())
		}
		for _, a := range u.n4At {
			errs = append(errs, a.Close())
		}
	}
	if w.n4 != nil {
		errs = append(errs, w.n4.Close())
	}
	return errors.Join(append(errs, w.closeParts(), w.probe.Close())...)
}

// Samples calls f with each packet that is reported, until the context ends or f
// returns an error.
func (w *Watch) Samples(ctx context.Context, f func(probe.Sample) error) error {
	return w.probe.Samples(ctx, f)
}

// SamplesLost is how many packets that were to be reported were lost on the way.
func (w *Watch) SamplesLost() uint64 { return w.probe.SamplesLost() }

// Read returns what was counted so far, of N4 as well unless that is not listened to.
func (w *Watch) Read() (*probe.Snapshot, *export.N4, error) {
	w.follow()
	s, err := w.probe.Read()
	if err != nil || w.n4 == nil {
		return s, nil, err
	}
	transactions, err := w.n4.Read()
	if err != nil {
		return nil, nil, err
	}
	return s, export.NewN4(transactions, w.Names()), nil
}
