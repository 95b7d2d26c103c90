package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a [Lab] beside those of a [Result].
const (
	maxSystems    = 32
	maxCells      = 4096
	maxFigures    = 256 // of a turn
	maxLabTrials  = 100_000
	maxWord       = 200 // characters of a name
	maxFigure     = 1e18
	maxRepeats    = 1000
	maxTurnTrials = 4096
)

// Validate reports whether l says what a result must say and nothing that could not
// have been measured.
//
// Errors: [ErrInvalid].
func (l *Lab) Validate() error {
	if l.Schema != LabSchema {
		return invalid("schema", l.Schema, "want "+LabSchema)
	}
	if l.Finished != nil && l.Finished.Before(l.Started) {
		return invalid("finished", l.Finished, "before it started")
	}
	if err := first(l.Host.validate(), l.Plan.validate(), l.validateSystems(), l.validateReferences()); err != nil {
		return err
	}
	return l.validateTurns()
}

func (p *LabPlan) validate() error {
	if len(p.Cells) > maxCells || len(p.Methods) > maxAxis || len(p.Options) > maxFigures {
		return invalid("plan", len(p.Cells), fmt.Sprintf("cells: want %d at most", maxCells))
	}
	for i := range p.Cells {
		if err := p.Cells[i].validate(p.Methods); err != nil {
			return fmt.Errorf("cell %d: %w", i, err)
		}
	}
	for name, option := range p.Options {
		if err := first(word("option", name), text(name, option)); err != nil {
			return err
		}
	}
	return first(
		between("repeats", float64(p.Repeats), 1, maxRepeats),
		between("duration_ns", float64(p.DurationNS), 0, float64(maxLatencyNS)*24),
		between("warm_up_ns", float64(p.WarmUpNS), 0, float64(maxLatencyNS)),
		text("arrangement", p.Arrangement),
	)
}

func (c *LabCell) validate(methods []string) error {
	if !slices.Contains(methods, c.Method) {
		return invalid("method", c.Method, "not among the methods of the plan")
	}
	if c.Direction != "" && !slices.Contains(Directions, c.Direction) {
		return invalid("direction", c.Direction, "want uplink, downlink or nothing")
	}
	return first(
		word("method", c.Method), between("sessions", float64(c.Sessions), 0, maxSessions),
		line("frames", c.Frames), line("access", c.Access), line("rules", c.Rules), line("churn", c.Churn), line("load", c.Load),
	)
}

func (l *Lab) validateSystems() error {
	if len(l.Systems) == 0 || len(l.Systems) > maxSystems {
		return invalid("systems", len(l.Systems), fmt.Sprintf("want 1 to %d", maxSystems))
	}
	seen := map[string]bool{}
	for i := range l.Systems {
		s := &l.Systems[i]
		err := first(word("name", s.Name), line("version", s.Version), line("mode", s.Mode), line("offloads", s.Offloads),
			text("missing", s.Missing), text("configuration", s.Configuration), s.validateMemory())
		if err != nil {
			return fmt.Errorf("system %d: %w", i, err)
		}
		if seen[s.Name] {
			return invalid("system", s.Name, "twice")
		}
		seen[s.Name] = true
	}
	return nil
}

func (l *Lab) validateReferences() error {
	if len(l.References) > maxCells {
		return invalid("references", len(l.References), fmt.Sprintf("want %d at most", maxCells))
	}
	for i := range l.References {
		r := &l.References[i]
		if err := first(
			word("system", r.System), line("version", r.Version), word("source", r.Source), text("conditions", r.Conditions),
			r.Cell.validate([]string{r.Cell.Method}), validateFigures(r.Figures),
		); err != nil {
			return fmt.Errorf("reference %d: %w", i, err)
		}
	}
	return nil
}

func (l *Lab) validateTurns() error {
	type key struct {
		cell, repeat int
		system       string
	}
	if len(l.Turns) > maxLabTrials {
		return invalid("turns", len(l.Turns), fmt.Sprintf("want %d at most", maxLabTrials))
	}
	seen, trials := map[key]bool{}, 0
	for i := range l.Turns {
		t := &l.Turns[i]
		trials += len(t.Trials)
		if trials > maxLabTrials {
			return invalid("trials", trials, fmt.Sprintf("want %d at most", maxLabTrials))
		}
		if err := l.validateTurn(t); err != nil {
			return fmt.Errorf("turn %d: %w", i, err)
		}
		k := key{t.Cell, t.Repeat, t.System}
		if seen[k] {
			return invalid("turn", i, fmt.Sprintf("of %s in cell %d, repeat %d: twice", t.System, t.Cell, t.Repeat))
		}
		seen[k] = true
	}
	return nil
}

func (l *Lab) validateTurn(t *Turn) error {
	switch {
	case t.Cell < 0 || t.Cell >= len(l.Plan.Cells):
		return invalid("cell", t.Cell, fmt.Sprintf("the plan has %d", len(l.Plan.Cells)))
	case l.System(t.System) == nil:
		return invalid("system", t.System, "not among the systems")
	case t.Repeat < 1 || t.Repeat > l.Plan.Repeats:
		return invalid("repeat", t.Repeat, fmt.Sprintf("want 1 to %d", l.Plan.Repeats))
	case len(t.Trials) > maxTurnTrials || len(t.N4) > maxTurnTrials:
		return invalid("turn", len(t.Trials)+len(t.N4), "too many trials or phases")
	}
	if err := validateFigures(t.Figures); err != nil {
		return err
	}
	for i := range t.Trials {
		if err := t.Trials[i].validateOfLab(); err != nil {
			return fmt.Errorf("trial %d: %w", i, err)
		}
	}
	for i := range t.N4 {
		if err := t.N4[i].validate(); err != nil {
			return fmt.Errorf("phase %d: %w", i, err)
		}
	}
	return text("failed", t.Failed)
}

func validateFigures(figures []Figure) error {
	if len(figures) > maxFigures {
		return invalid("figures", len(figures), fmt.Sprintf("want %d at most", maxFigures))
	}
	seen := map[string]bool{}
	for i := range figures {
		f := &figures[i]
		if seen[f.Name] {
			return invalid("figure", f.Name, "twice")
		}
		seen[f.Name] = true
		if err := f.validate(); err != nil {
			return fmt.Errorf("figure %d: %w", i, err)
		}
	}
	return nil
}

func (f *Figure) validate() error {
	if !slices.Contains([]Better{"", Higher, Lower}, f.Better) {
		return invalid("better", f.Better, "want higher, lower or nothing")
	}
	if err := first(
		word("name", f.Name), line("unit", f.Unit), between(f.Name, f.Value, -maxFigure, maxFigure),
		between(f.Name+" low", f.Low, -maxFigure, maxFigure), between(f.Name+" high", f.High, -maxFigure, maxFigure),
		line("note", f.Note),
	); err != nil {
		return err
	}
	if f.Bounded() && !(f.Low <= f.Value && f.Value <= f.High) {
		return invalid(f.Name, f.Value, fmt.Sprintf("not within its bounds %g to %g", f.Low, f.High))
	}
	return nil
}

// Bounded reports whether the method left a range for the value.
func (f *Figure) Bounded() bool { return f.Low != 0 || f.High != 0 }

// validateOfLab is stricter than [Trial.validateFigures] about names, which lines of
// tables and names of files are made of.
func (t *Trial) validateOfLab() error {
	if !slices.Contains(Directions, t.Direction) {
		return invalid("direction", t.Direction, "want uplink or downlink")
	}
	if t.SentFrames > t.OfferedFrames {
		return invalid("sent_frames", t.SentFrames, fmt.Sprintf("more than the %d offered", t.OfferedFrames))
	}
	if len(t.Streams) > maxAxis*maxAxis {
		return invalid("streams", len(t.Streams), "too many")
	}
	for i := range t.Streams {
		if err := t.Streams[i].validate(); err != nil {
			return fmt.Errorf("stream %d: %w", i, err)
		}
	}
	if t.Churn != nil {
		if err := t.Churn.validate(); err != nil {
			return fmt.Errorf("churn: %w", err)
		}
	}
	return first(word("kind", string(t.Kind)), line("phase", t.Phase), t.validateFigures(), t.Stamped.validate(), t.Memory.validate(), validateSlots(t.Series))
}

// validate refuses more stamps than frames. Of nothing nothing is wrong.
func (s *Stamped) validate() error {
	if s == nil {
		return nil
	}
	if s.Frames+s.BackwardFrames > min(s.SentFrames, s.ReceivedFrames) {
		return invalid("stamped frames", s.Frames, fmt.Sprintf("%d left and %d arrived with a time stamp", s.SentFrames, s.ReceivedFrames))
	}
	return first(word("by", s.By), s.LatencyNS.validate(), validateHistogram(s.LatencyHistogram))
}

func (s *StreamTrial) validate() error {
	return first(word("name", s.Name), rates(s.OfferedPPS, s.ReceivedPPS, s.ReceivedBPS), between("loss_ratio", s.LossRatio, 0, 1),
		s.LatencyNS.validate(), validateHistogram(s.LatencyHistogram), validateSlots(s.Series))
}

// validate refuses more memory than a machine has. Of nothing nothing is wrong.
func (m *Memory) validate() error {
	if m == nil {
		return nil
	}
	const most = 1 << 50
	return first(
		between("resident_octets", float64(m.ResidentOctets), 0, most), between("anonymous_octets", float64(m.AnonymousOctets), 0, most),
		between("map_octets", float64(m.MapOctets), 0, most),
	)
}

// word is a line that is not empty.
func word(name, s string) error {
	if s == "" {
		return invalid(name, `""`, "want a name")
	}
	return line(name, s)
}

// line refuses what would not be one short line.
func line(name, s string) error {
	if n := utf8.RuneCountInString(s); n > maxWord || strings.ContainsAny(s, "\n\t") {
		return invalid(name, n, fmt.Sprintf("characters: want one line of %d at most", maxWord))
	}
	return text(name, s)
}

// maxAxis is how many numbers of sessions tables and plots are made of.
const maxAxis = 16

func (s *System) validateMemory() error {
	if len(s.Memory) > maxAxis {
		return invalid("memory", len(s.Memory), "want a few numbers of sessions")
	}
	for _, m := range s.Memory {
		if err := first(
			between("sessions", float64(m.Sessions), 1, maxSessions),
			between("resident_octets", float64(m.ResidentOctets), 0, maxMemoryOctets),
			between("map_octets", float64(m.MapOctets), 0, maxMemoryOctets),
			between("install_per_second", m.InstallPerSec, 0, maxPPS),
		); err != nil {
			return err
		}
	}
	return nil
}
