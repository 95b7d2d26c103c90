package slices

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// run is a run under way.
type run struct {
	Config
	result      *report.Slices
	throughputs map[string]uint64 // by name of the UPF, bit/s
	before      time.Duration     // expected of the steps so far
	total       time.Duration
}

// Run measures, and returns the completed measurements even with an error. A UPF that does not
// start is left out from then on; a failed cell is in the result with the reason.
func Run(ctx context.Context, c Config) (*report.Slices, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("slices: %w", err)
	}
	r := &run{Config: c, throughputs: map[string]uint64{}, result: &report.Slices{
		Schema: report.SlicesSchema, Started: time.Now().UTC().Truncate(time.Second), Host: c.Host, Plan: c.plan(), Systems: systemsOf(c.Kinds),
	}}
	r.total = time.Duration(len(c.Kinds)*len(c.Loads)*c.Repeats) * c.cellTime()
	if err := c.sweep(); err != nil {
		return nil, fmt.Errorf("slices: %w", err)
	}
	if err := r.cells(ctx); err != nil {
		return r.result, fmt.Errorf("slices: %w", err)
	}
	now := time.Now().UTC().Truncate(time.Second)
	r.result.Finished = &now
	return r.result, errors.Join(r.write(), r.nothing())
}

// cells measures all, in turn.
func (r *run) cells(ctx context.Context) error {
	for repeat := 1; repeat <= r.Repeats; repeat++ {
		for _, l := range r.Loads {
			for i := range r.Kinds {
				err := r.cell(ctx, i, l, repeat)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cell measures one and puts it into the result. Errors are of what concerns all.
func (r *run) cell(ctx context.Context, kind int, l Load, repeat int) error {
	about := &r.result.Systems[kind]
	expected := r.cellTime()
	r.step(report.Step{
		Name: fmt.Sprintf("%s, %s, %d/%d", about.Name, l.Name, repeat, r.Repeats), Expected: expected, Before: r.before, Total: r.total,
	})
	r.before += expected
	if about.Missing != "" {
		return nil
	}
	cell := report.SlicesCell{System: about.Name, Load: l.Name, Repeat: repeat, Started: time.Now().UTC()}
	s, err := newSystem(ctx, &r.Config, r.Kinds[kind])
	if err != nil {
		about.Missing = err.Error()
	} else {
		r.describe(about, s)
		err = errors.Join(r.measure(ctx, s, l, &cell), s.close())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		cell.Failed = err.Error()
	}
	r.result.Cells = append(r.result.Cells, cell)
	if r.OnCell != nil {
		r.OnCell(&cell)
	}
	return r.write()
}

// describe says what of a system is known since it was built.
func (r *run) describe(about *report.SlicesSystem, s system) {
	about.Version, about.Configuration = s[0].upf.Program.Version, s[0].upf.File
	if points, err := s[0].points(0); err == nil && about.Points == nil {
		for _, p := range points {
			about.Points = append(about.Points, describe(p))
		}
	}
}

// rate is that of the stream of a load, and the throughput that it is a part of.
func (r *run) rate(ctx context.Context, s system, l Load) (bps, throughput uint64, err error) {
	if l.OfThroughput == 0 {
		return l.StreamBPS, 0, nil
	}
	name := s[0].upf.Kind.Name
	throughput, known := r.throughputs[name]
	if !known {
		r.detail("throughput is searched")
		if throughput, err = s.throughput(ctx, &r.Config); err != nil {
			return 0, 0, err
		}
		r.throughputs[name] = throughput
	}
	return uint64(float64(throughput) * l.OfThroughput), throughput, nil
}

// write stores the result as it is now.
func (r *run) write() error {
	if r.File == "" {
		return nil
	}
	return report.WriteSlicesFile(r.File, r.result)
}

// nothing is an error if no cell has delays.
func (r *run) nothing() error {
	var why error
	for i := range r.result.Cells {
		c := &r.result.Cells[i]
		if len(c.Delays) > 0 {
			return nil
		}
		if why == nil {
			why = errors.New(c.Failed)
		}
	}
	return fmt.Errorf("slices: no cell was measured: %w", why)
}

// Approximate times of a cell in addition to the measurement.
const (
	buildTime = 8 * time.Second
	closeTime = 4 * time.Second
)

func (c *Config) cellTime() time.Duration {
	return buildTime + c.WarmUp + c.Duration + c.Timeout + closeTime
}

// plan is what was asked for.
func (c *Config) plan() report.SlicesPlan {
	p := report.SlicesPlan{
		Instances: numSlices, DurationNS: c.Duration.Nanoseconds(), WarmUpNS: c.WarmUp.Nanoseconds(), TimeoutNS: c.Timeout.Nanoseconds(),
		Repeats: c.Repeats, ModifyRate: c.ModifyRate, SampleEvery: c.SampleEvery, Slices: planned(),
	}
	p.Arrangement = "Each slice has a UPF, a gNB and a data network of its own, in network namespaces of this machine, joined by veth pairs."
	if c.One {
		p.Instances = 1
		p.Arrangement = "One UPF, one gNB and one data network for all slices, in network namespaces of this machine, joined by veth pairs."
	}
	if slices.ContainsFunc(c.Kinds, func(k dut.Kind) bool { return k.External }) { // it is measured alone
		p.Instances = 1
		p.Arrangement = "One UPF for all slices, which was there before and goes on. This machine is gNB and data network, at the other ends of its links." +
			" Each UE is a TUN device in a namespace of its own. UEs, gNB and programs share all CPUs."
	} else {
		p.Arrangement += " Each UE is a TUN device in a namespace of its own. UPFs, UEs, gNBs and programs share all CPUs. UPFs take turns, each begins anew in every turn."
	}
	for _, l := range c.Loads {
		p.Loads = append(p.Loads, report.SlicesLoad{Name: l.Name, StreamBPS: float64(l.StreamBPS), OfThroughput: l.OfThroughput, CallsPerSecond: l.Calls})
		if l.OfThroughput > 0 {
			p.LossGoal = lossGoal
		}
	}
	return p
}

func systemsOf(kinds []dut.Kind) []report.SlicesSystem {
	var list []report.SlicesSystem
	for _, k := range kinds {
		list = append(list, report.SlicesSystem{Name: k.Name, Title: k.Title})
	}
	return list
}

// sweep removes what runs that died have left.
func (c *Config) sweep() error {
	names := []string{"upf"}
	for i := range all {
		names = append(names, all[i].short)
	}
	var errs []error
	for _, name := range names {
		_, err := topology.Sweep(c.Name + "-" + name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
