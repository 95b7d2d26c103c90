package report

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/probe/export"
)

// Probe is what a probe measured of running UPFs: the result of `plumb probe`.
type Probe struct{ export.Result }

// Bounds of what [Probe.Validate] accepts.
const (
	maxProbeRows    = 10_000
	maxProbeColumns = 10_000
	maxProbeBin     = 64 << 2 // a number of 64 bits has no higher one
)

// WriteProbe is [Write] for a probe.
func WriteProbe(w io.Writer, p *Probe) error { return write(w, p) }

// ReadProbe is [ReadLab] for a probe.
func ReadProbe(in io.Reader) (*Probe, error) {
	var p Probe
	return &p, read(in, &p)
}

// Validate reports whether p says what a result must say and nothing that a table or a
// page could not show.
//
// Errors: [ErrInvalid].
func (p *Probe) Validate() error {
	if p.Schema != export.Schema {
		return invalid("schema", p.Schema, "want "+export.Schema)
	}
	if n := max(len(p.UPFs), len(p.Points), len(p.Series), len(p.Beyond), len(p.Warnings)); n > maxProbeRows {
		return invalid("rows", n, "too many")
	}
	host := Host(p.Host)
	err := first(host.validate(), between("duration_ns", float64(p.DurationNS), 0, float64(100*365*24*time.Hour)))
	for _, w := range p.Warnings {
		err = errors.Join(err, text("warning", w))
	}
	for i := range p.UPFs {
		u := &p.UPFs[i]
		err = errors.Join(err, first(text("upf", u.Name), text("command", u.Command), text("container", u.Container),
			text("namespace", u.Namespace), text("datapath", u.Datapath), text("why", u.Why), text("missing", u.Missing), validateGaps(u.Gaps)))
	}
	for i := range p.Points {
		o := &p.Points[i]
		err = errors.Join(err, first(text("upf", o.UPF), text("namespace", o.Namespace), text("device", o.Device), text("hook", o.Hook),
			text("way", o.Way), text("side", o.Side), between("cost_ns", o.CostNS, 0, 1e9), between("cost_in_place_ns", o.CostInPlaceNS, 0, 1e9)))
	}
	return first(err, validateSeries(p.Series), validateSeries(p.Beyond), p.validateN4(), p.validateTimeline())
}

func validateGaps(list []export.Gap) error {
	if len(list) > maxProbeRows {
		return invalid("gaps", len(list), "too many")
	}
	for i := range list {
		if err := text("gap", list[i].Why); err != nil {
			return err
		}
	}
	return nil
}

func validateSeries(list []export.Series) error {
	for i := range list {
		s := &list[i]
		if err := first(text("upf", s.UPF), text("slice", s.Slice), text("direction", s.Direction), text("withheld", s.Withheld),
			validateDelay(&s.DelayNS), validateHistogram(s.Histogram)); err != nil {
			return fmt.Errorf("series %d: %w", i, err)
		}
		if s.Parts == nil {
			continue
		}
		if err := first(validateDelay(&s.Parts.QueuedNS), validateDelay(&s.Parts.InsideNS)); err != nil {
			return fmt.Errorf("series %d: parts: %w", i, err)
		}
	}
	return nil
}

func validateDelay(d *export.Delay) error {
	for _, v := range []int64{d.Min, d.Mean, d.P50, d.P90, d.P99, d.P999, d.Max} {
		if err := between("delay_ns", float64(v), 0, float64(maxLatencyNS)); err != nil {
			return err
		}
	}
	return nil
}

func (p *Probe) validateN4() error {
	if p.N4 == nil {
		return nil
	}
	if n := len(p.N4.Messages); n > maxProbeRows {
		return invalid("n4 messages", n, "too many")
	}
	for i := range p.N4.Messages {
		m := &p.N4.Messages[i]
		err := first(text("upf", m.UPF), text("asked", m.Asked), text("message", m.Message), validateDelay(&m.DelayNS), validateHistogram(m.Histogram))
		for cause := range m.Causes {
			err = errors.Join(err, text("cause", cause))
		}
		if err != nil {
			return fmt.Errorf("n4 message %d: %w", i, err)
		}
	}
	return nil
}

func (p *Probe) validateTimeline() error {
	if n := len(p.Timeline.Columns); n > maxProbeColumns {
		return invalid("timeline columns", n, "too many")
	}
	for i := range p.Timeline.Columns {
		c := &p.Timeline.Columns[i]
		if c.DurationNS <= 0 || c.StartNS < 0 || c.StartNS > p.DurationNS || c.DurationNS > p.DurationNS {
			return invalid("timeline column", c.StartNS, fmt.Sprintf("lasts %d ns, want it within the %d ns of the run", c.DurationNS, p.DurationNS))
		}
		if len(c.Cells) > len(p.Series) {
			return invalid("timeline cells", len(c.Cells), "more than series")
		}
		for j := range c.Cells {
			cell := &c.Cells[j]
			if cell.Series < 0 || cell.Series >= len(p.Series) || len(cell.Bins) > maxProbeBin {
				return invalid("timeline cell", cell.Series, "no such series")
			}
			for _, pair := range cell.Bins {
				if pair[0] >= maxProbeBin-4 {
					return invalid("bin", pair[0], "beyond all delays")
				}
			}
			if err := first(between("p50_ns", float64(cell.P50), 0, float64(maxLatencyNS)), between("p99_ns", float64(cell.P99), 0, float64(maxLatencyNS))); err != nil {
				return err
			}
		}
	}
	return nil
}
