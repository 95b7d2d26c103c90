package slices

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/n4"
)

// watch is the probe at the points of all UPFs of a system.
type watch struct {
	config  *Config
	probe   *probe.Probe
	upfs    []string // their names
	points  []probe.Point
	in, out []*probe.Attachment

	before, after *probe.Snapshot        // when the warm-up was over, and when entries were no longer watched
	dropped       map[probe.Point]uint64 // by devices, until the warm-up was over; then, since

	n4 *n4.Monitor // nil: N4 is not watched

	cancel  context.CancelFunc // of the samples
	samples sync.WaitGroup
	failed  error         // of the samples
	from    atomic.Uint64 // CLOCK_MONOTONIC, ns: samples of earlier exits are not handed on; 0: none is
	off     time.Time     // when entries were no longer watched
}

// openWatch puts the programs to all points, which takes a while, and tells them the
// slices.
func openWatch(c *Config, s system, cell *report.SlicesCell) (_ *watch, err error) {
	w := &watch{config: c}
	config := probe.Config{Timeout: c.Timeout, Sample: probe.Sampling{Every: c.SampleEvery}}
	for i := range all {
		config.Slices = append(config.Slices, all[i].probe())
	}
	for i, b := range s {
		upf := probe.UPF{Name: b.name, UEs: b.top.Config.UEPools}
		if n3 := b.top.N3.UPF.Address.Addr(); n3.IsValid() {
			upf.N3 = []netip.Addr{n3}
		}
		config.UPFs, w.upfs = append(config.UPFs, upf), append(w.upfs, b.name)
		points, err := b.points(i)
		if err != nil {
			return nil, err
		}
		w.points = append(w.points, points...)
	}
	if w.probe, err = probe.Open(config); err != nil {
		return nil, err
	}
	w.sample(cell)
	err = errors.Join(w.learn(s), w.attach())
	if err == nil {
		err = w.probe.MeasureCost()
	}
	if err == nil {
		w.n4, err = openMonitor(s)
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (s *slice) probe() probe.Slice {
	return probe.Slice{Name: s.name, SST: s.sst, SD: noSD, DNN: s.dnn}
}

// learn maps packets to slices in the probe, from the established sessions.
func (w *watch) learn(s system) error {
	for i, b := range s {
		for j, number := range b.slices {
			ue := &b.ues[j]
			for _, key := range []probe.Key{
				{TEID: ue.UplinkTEID}, {UE: netip.PrefixFrom(ue.Addresses[0], ue.Addresses[0].BitLen())},
			} {
				if err := w.probe.Learn(i, key, all[number].probe()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sample hands samples on until the watch is closed.
func (w *watch) sample(cell *report.SlicesCell) {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	if w.config.SampleEvery == 0 || w.config.Sample == nil {
		return
	}
	of := report.SliceSample{System: cell.System, Load: cell.Load, Repeat: int64(cell.Repeat)}
	w.samples.Go(func() {
		w.failed = w.probe.Samples(ctx, func(s probe.Sample) error {
			if from := w.from.Load(); from == 0 || s.OutNs < from {
				return nil
			}
			return w.config.Sample(sampleOf(of, s))
		})
	})
}

// sampleOf is a packet of a cell.
func sampleOf(row report.SliceSample, s probe.Sample) report.SliceSample {
	row.UPF, row.Slice, row.Direction = s.UPF, s.Slice, string(direction(s.Direction))
	row.In, row.Out, row.DelayUS = int64(s.InNs), int64(s.OutNs), float64(s.OutNs-s.InNs)/1e3
	row.Octets, row.TEID, row.QFI, row.CPU = int64(s.Octets), int64(s.TEID), int64(s.QFI), int64(s.CPU)
	return row
}

func direction(d probe.Direction) report.Direction {
	if d == probe.Downlink {
		return report.Downlink
	}
	return report.Uplink
}

// attach puts the programs to their points, those at the exits first.
func (w *watch) attach() error {
	for _, way := range []probe.Way{probe.Out, probe.In} {
		to := map[probe.Way]*[]*probe.Attachment{probe.Out: &w.out, probe.In: &w.in}[way]
		for _, p := range w.points {
			if p.Way != way {
				continue
			}
			a, err := w.probe.Attach(p)
			if err != nil {
				return err
			}
			*to = append(*to, a)
		}
	}
	return nil
}

// begin has everything count from now on.
func (w *watch) begin() error {
	snapshot, err := w.probe.Read()
	if err != nil {
		return err
	}
	if w.dropped, err = droppedAt(w.points); err != nil {
		return err
	}
	w.before = snapshot
	w.from.Store(snapshot.MonotonicNs)
	return nil
}

// end takes off the programs at the entries: from now on packets leave only.
func (w *watch) end() (err error) {
	w.after, err = w.probe.Read()
	if err = errors.Join(err, w.detachIn()); err != nil {
		return err
	}
	dropped, err := droppedAt(w.points)
	for p, n := range dropped {
		dropped[p] = n - w.dropped[p]
	}
	w.dropped = dropped
	return err
}

func (w *watch) detachIn() error {
	var errs []error
	for _, a := range w.in {
		errs = append(errs, a.Close())
	}
	w.in, w.off = nil, time.Now()
	return errors.Join(errs...)
}

// settle waits until every packet that came in has left or is lost.
func (w *watch) settle(ctx context.Context) error {
	return pause(ctx, max(0, w.config.Timeout+settleTime-time.Since(w.off)))
}

// now says how it goes.
func (w *watch) now() string {
	snapshot, err := w.probe.Read()
	if err != nil {
		return err.Error()
	}
	return words(delaysOf(since(w.before, snapshot)))
}

// account puts what was seen since the beginning into the cell. What belongs to it may
// have left after the end; points have counted packets that came then, too, so their
// counts are those of the end.
func (w *watch) account(cell *report.SlicesCell) error {
	snapshot, err := w.probe.Read()
	if err != nil {
		return err
	}
	snapshot = since(w.before, snapshot)
	cell.Delays, cell.SamplesLost = delaysOf(snapshot), snapshot.SamplesLost
	for _, p := range since(w.before, w.after).Points {
		cell.Points = append(cell.Points, report.SlicePoint{
			UPF: w.upfs[p.Point.UPF], Point: describe(p.Point), Packets: p.Packets, Unmatched: p.Unmatched, Ambiguous: p.AmbiguousOut,
			Foreign: p.Foreign, Unparsed: p.Unparsed, Dropped: w.dropped[p.Point], HookNS: p.Cost.Alone.Nanoseconds(),
		})
	}
	if w.n4 == nil {
		return nil
	}
	seen, err := transactions(w.n4)
	cell.N4 = append(cell.N4, seen...)
	return err
}

// close takes the programs off and ends the samples.
func (w *watch) close() error {
	errs := []error{w.detachIn()}
	for _, a := range w.out {
		errs = append(errs, a.Close())
	}
	if w.n4 != nil {
		errs = append(errs, w.n4.Close())
	}
	w.cancel()
	w.samples.Wait()
	return errors.Join(append(errs, w.failed, w.probe.Close())...)
}
