package slices

import (
	"errors"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// Config describes a run.
type Config struct {
	Name     string             // of the namespaces: letters, digits and '-'
	Kinds    []dut.Kind         // that take turns
	External *topology.External // where the external one is, if there is one
	One      bool               // one UPF for all slices, not one for each

	Loads    []Load
	Repeats  int
	Duration time.Duration // that packets are watched in each cell
	WarmUp   time.Duration // of the programs before that
	Timeout  time.Duration // a packet that is in a UPF for longer is lost

	Uplink, Downlink bool    // which ways iperf3 sends; both: at once
	ModifyRate       float64 // PFCP Session Modification Requests to each UPF per second
	DownloadBPS      uint64  // of each download at most; 0: as fast as it goes

	// SampleEvery passes one packet in N to Sample; 0: none.
	SampleEvery uint32
	Sample      func(report.SliceSample) error

	Host report.Host
	File string // the result is written there after each cell; empty: nowhere

	OnStep   func(report.Step)        // at the start of each step; may be nil
	OnDetail func(string)             // how it goes; may be nil
	OnCell   func(*report.SlicesCell) // at the end of each; may be nil
}

// Bounds of a [Config].
const (
	minDuration = 100 * time.Millisecond
	maxDuration = 24 * time.Hour
	maxRepeats  = 1000
	maxModify   = 100_000
)

// Validate says what is wrong with c.
func (c *Config) Validate() error {
	switch {
	case len(c.Kinds) == 0 || len(c.Loads) == 0:
		return errors.New("no UPF or no load")
	case c.Duration < minDuration || c.Duration > maxDuration:
		return fmt.Errorf("a duration of %v: want %v to %v", c.Duration, minDuration, maxDuration)
	case c.WarmUp < 0 || c.WarmUp > time.Hour:
		return fmt.Errorf("a warm-up of %v: want 0 to %v", c.WarmUp, time.Hour)
	case c.Timeout < time.Millisecond || c.Timeout > time.Minute:
		return fmt.Errorf("a time-out of %v: want %v to %v", c.Timeout, time.Millisecond, time.Minute)
	case c.Repeats < 1 || c.Repeats > maxRepeats:
		return fmt.Errorf("%d repeats: want 1 to %d", c.Repeats, maxRepeats)
	case !(c.ModifyRate >= 0 && c.ModifyRate <= maxModify):
		return fmt.Errorf("%g modifications per second: want 0 to %d", c.ModifyRate, maxModify)
	case !c.Uplink && !c.Downlink:
		return errors.New("iperf3 must send one way at least")
	}
	for i, l := range c.Loads {
		for _, before := range c.Loads[:i] {
			if before.Name == l.Name {
				return fmt.Errorf("load %s is given twice", l.Name)
			}
		}
	}
	return nil
}

// step tells of one.
func (c *Config) step(s report.Step) {
	if c.OnStep != nil {
		c.OnStep(s)
	}
}

func (c *Config) detail(format string, args ...any) {
	if c.OnDetail != nil {
		c.OnDetail(fmt.Sprintf(format, args...))
	}
}
