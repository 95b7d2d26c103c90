package report

import (
	"fmt"
	"slices"
)

// maxPaths and maxAxis bound what tables and plots are made of.
const (
	maxPaths = 16
	maxAxis  = 16
)

// Validate reports whether c says what a comparison must say and nothing that could
// not have been measured.
//
// Errors: [ErrInvalid].
func (c *Comparison) Validate() error {
	if c.Schema != ComparisonSchema {
		return invalid("schema", c.Schema, "want "+ComparisonSchema)
	}
	if len(c.Trials) > maxTrials || len(c.TCP) > maxTrials {
		return invalid("trials", len(c.Trials)+len(c.TCP), "too many")
	}
	if err := first(c.Host.validate(), c.Setup.validate(), text("tcp_missing", c.TCPMissing), text("ended", c.Ended)); err != nil {
		return err
	}
	if len(c.Paths) > maxPaths || c.Path(PathBed) == nil {
		return invalid("paths", len(c.Paths), fmt.Sprintf("want %d at most, the bed among them", maxPaths))
	}
	for i := range c.Paths {
		if err := c.Paths[i].validate(); err != nil {
			return fmt.Errorf("path %d: %w", i, err)
		}
	}
	for i := range c.Trials {
		if err := c.validateTrial(&c.Trials[i]); err != nil {
			return fmt.Errorf("trial %d: %w", i, err)
		}
	}
	for i := range c.TCP {
		if err := c.validateTCP(&c.TCP[i]); err != nil {
			return fmt.Errorf("TCP trial %d: %w", i, err)
		}
	}
	return nil
}

func (s *ComparisonSetup) validate() error {
	if len(s.Payloads) > maxAxis || len(s.Sessions) > maxAxis || len(s.LoadsPercent) > maxAxis {
		return invalid("setup", len(s.Payloads)+len(s.Sessions)+len(s.LoadsPercent), "too many values")
	}
	for _, payload := range s.Payloads {
		if err := text("payloads", payload); err != nil {
			return err
		}
	}
	for _, load := range s.LoadsPercent {
		if err := between("loads_percent", float64(load), 0, 100); err != nil {
			return err
		}
	}
	return first(
		text("arrangement", s.Arrangement), text("access", s.Access), text("rules", s.Rules),
		between("idle_pps", s.IdlePPS, 0, maxPPS), between("loss_goal_ratio", s.LossGoalRatio, 0, 1),
		between("duration_ns", float64(s.DurationNS), 1, float64(maxLatencyNS)*24),
		between("search_ns", float64(s.SearchNS), 1, float64(maxLatencyNS)*24),
		between("tcp_ns", float64(s.TCPNS), 0, float64(maxLatencyNS)*24),
		between("repeats", float64(s.Repeats), 1, maxTrials),
	)
}

func (p *Path) validate() error {
	if p.Name == "" || len(p.Memory) > maxAxis {
		return invalid("path", p.Name, "want a name, and memory for a few numbers of sessions")
	}
	for _, m := range p.Memory {
		if err := first(
			between("sessions", float64(m.Sessions), 1, maxSessions),
			between("resident_octets", float64(m.ResidentOctets), 0, maxMemoryOctets),
			between("map_octets", float64(m.MapOctets), 0, maxMemoryOctets),
			between("install_per_second", m.InstallPerSec, 0, maxPPS),
		); err != nil {
			return err
		}
	}
	return first(text("name", p.Name), text("mode", p.Mode), text("offloads", p.Offloads), text("missing", p.Missing),
		text("configuration", p.Configuration))
}

func (c *Comparison) validateTrial(t *PathTrial) error {
	switch {
	case !slices.Contains(Directions, t.Direction):
		return invalid("direction", t.Direction, "want uplink or downlink")
	case !slices.Contains([]Kind{Saturated, Search, Paced}, t.Kind):
		return invalid("kind", t.Kind, "want saturated, search or paced")
	case c.Path(t.Datapath) == nil:
		return invalid("datapath", t.Datapath, "want one of the paths")
	case !slices.Contains(c.Setup.Payloads, t.Payload) || !slices.Contains(c.Setup.Sessions, t.Sessions):
		return invalid("payload", t.Payload, fmt.Sprintf("with %d sessions: not in the setup", t.Sessions))
	case t.ReceivedPPS <= 0:
		return invalid("received_pps", t.ReceivedPPS, "want more than nothing: shares and times are of it")
	}
	return first(between("load_percent", float64(t.LoadPercent), 0, 100), t.validateFigures())
}

func (c *Comparison) validateTCP(t *TCPTrial) error {
	if !slices.Contains(Directions, t.Direction) {
		return invalid("direction", t.Direction, "want uplink or downlink")
	}
	if c.Path(t.Path) == nil {
		return invalid("path", t.Path, "want one of the paths")
	}
	return first(between("repeat", float64(t.Repeat), 1, maxTrials), between("bps", t.BPS, 0, maxBPS),
		between("retransmits", float64(t.Retransmits), 0, maxSessions), t.CPU.validate())
}
