package report

import (
	"fmt"
	"io"
	"slices"
)

// Bounds of a [Slices].
const (
	maxSlices    = 256
	maxDelays    = 4096 // of a cell
	maxPackets   = 1e15
	maxStreamBPS = 1e12
)

// WriteSlices is [Write] for the slices of UPFs.
func WriteSlices(w io.Writer, s *Slices) error { return write(w, s) }

// Validate reports whether s says what a result must say and nothing that could not
// have been measured.
//
// Errors: [ErrInvalid].
func (s *Slices) Validate() error {
	if s.Schema != SlicesSchema {
		return invalid("schema", s.Schema, "want "+SlicesSchema)
	}
	if s.Finished != nil && s.Finished.Before(s.Started) {
		return invalid("finished", s.Finished, "before it started")
	}
	if len(s.Systems) == 0 || len(s.Systems) > maxSystems || len(s.Cells) > maxCells {
		return invalid("systems", len(s.Systems), fmt.Sprintf("and %d cells: want 1 to %d, and %d at most", len(s.Cells), maxSystems, maxCells))
	}
	if err := first(s.Host.validate(), s.Plan.validate()); err != nil {
		return err
	}
	for i := range s.Systems {
		y := &s.Systems[i]
		if err := first(word("name", y.Name), line("title", y.Title), line("version", y.Version), text("missing", y.Missing),
			text("configuration", y.Configuration), lines("points", y.Points)); err != nil {
			return fmt.Errorf("system %d: %w", i, err)
		}
	}
	return s.validateCells()
}

func lines(name string, list []string) error {
	for _, s := range list {
		if err := line(name, s); err != nil {
			return err
		}
	}
	return nil
}

func (p *SlicesPlan) validate() error {
	if len(p.Slices) == 0 || len(p.Slices) > maxSlices || len(p.Loads) == 0 || len(p.Loads) > maxAxis {
		return invalid("plan", len(p.Slices), fmt.Sprintf("slices, %d loads: want 1 to %d, and 1 to %d", len(p.Loads), maxSlices, maxAxis))
	}
	for _, s := range p.Slices {
		if err := first(word("slice", s.Name), line("dnn", s.DNN), line("program", s.Program)); err != nil {
			return err
		}
	}
	for _, l := range p.Loads {
		if err := first(word("load", l.Name), between("stream_bps", l.StreamBPS, 0, maxStreamBPS), between("of_throughput", l.OfThroughput, 0, 1),
			between("calls_per_second", l.CallsPerSecond, 0, 1e6)); err != nil {
			return err
		}
	}
	return first(
		between("instances", float64(p.Instances), 1, maxSlices),
		between("repeats", float64(p.Repeats), 1, maxRepeats),
		between("duration_ns", float64(p.DurationNS), 1, float64(maxLatencyNS)*24),
		between("warm_up_ns", float64(p.WarmUpNS), 0, float64(maxLatencyNS)),
		between("timeout_ns", float64(p.TimeoutNS), 0, float64(maxLatencyNS)),
		between("modify_per_second", p.ModifyRate, 0, 1e6),
		between("loss_goal_ratio", p.LossGoal, 0, 1),
		text("arrangement", p.Arrangement),
	)
}

func (s *Slices) validateCells() error {
	type key struct {
		system, load string
		repeat       int
	}
	seen := map[key]bool{}
	for i := range s.Cells {
		c := &s.Cells[i]
		k := key{c.System, c.Load, c.Repeat}
		switch {
		case seen[k]:
			return invalid("cell", i, "twice")
		case s.System(c.System) == nil:
			return invalid("system", c.System, "not among the systems")
		case !slices.ContainsFunc(s.Plan.Loads, func(l SlicesLoad) bool { return l.Name == c.Load }):
			return invalid("load", c.Load, "not among the loads of the plan")
		}
		seen[k] = true
		if err := c.validate(); err != nil {
			return fmt.Errorf("cell %d: %w", i, err)
		}
	}
	return nil
}

func (c *SlicesCell) validate() error {
	if len(c.Delays) > maxDelays || len(c.Points) > maxDelays || len(c.N4) > maxDelays || len(c.Programs) > maxDelays {
		return invalid("cell", len(c.Delays), fmt.Sprintf("rows: want %d at most", maxDelays))
	}
	err := first(
		between("repeat", float64(c.Repeat), 1, maxRepeats), between("duration_ns", float64(c.DurationNS), 0, float64(maxLatencyNS)*24),
		between("stream_bps", c.StreamBPS, 0, maxStreamBPS), between("throughput_bps", c.ThroughputBPS, 0, maxStreamBPS), text("failed", c.Failed))
	for i := range c.Delays {
		err = first(err, c.Delays[i].validate())
	}
	for _, p := range c.Points {
		err = first(err, word("upf", p.UPF), line("point", p.Point))
	}
	for i := range c.N4 {
		n := &c.N4[i]
		err = first(err, word("upf", n.UPF), line("seen", n.Seen), line("message", n.Message), n.DelayNS.validate(), validateHistogram(n.Histogram),
			between("mean_ns", n.MeanNS, 0, float64(maxLatencyNS)))
	}
	for _, p := range c.Programs {
		err = first(err, line("slice", p.Slice), line("program", p.Program), validateFigures(p.Figures))
	}
	return err
}

func (d *SliceDelay) validate() error {
	if !slices.Contains(Directions, d.Direction) {
		return invalid("direction", d.Direction, "want uplink or downlink")
	}
	for name, n := range map[string]uint64{"in": d.In, "matched": d.Matched, "lost": d.Lost, "ambiguous": d.Ambiguous, "evicted": d.Evicted} {
		if err := between(name, float64(n), 0, maxPackets); err != nil {
			return err
		}
	}
	return first(word("upf", d.UPF), line("slice", d.Slice), d.DelayNS.validate(), validateHistogram(d.Histogram),
		between("mean_ns", d.MeanNS, 0, float64(maxLatencyNS)))
}

// validate wants percentiles that ascend.
func (l *N4Latency) validate() error {
	last := int64(0)
	for _, v := range []int64{l.Min, l.P50, l.P90, l.P99, l.P999, l.P9999, l.Max} {
		if v < last || v > maxLatencyNS {
			return invalid("percentiles", v, fmt.Sprintf("after %d: want them to ascend", last))
		}
		last = v
	}
	return nil
}
