package method

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/traffic"
)

// Level says how much is offered: a rate, a part of what a system can forward, next to
// nothing, as much as possible, or what the traffic profile says. The zero value is next
// to nothing.
type Level struct {
	PPS     uint64  // frames per second, if not 0
	Percent float64 // of the system's own throughput, if not 0
	Max     bool    // as much as possible
	Profile bool    // rate, ramp and bursts of the traffic profile; percentages in it are of the system's own throughput
}

// IdlePPS are frames so far apart that each finds the path asleep.
const IdlePPS = 1000

// ParseLevel takes idle, max, profile, a percentage such as 50 or 50%, or a rate such as
// 900kpps.
func ParseLevel(s string) (Level, error) {
	switch s {
	case "idle", "0":
		return Level{}, nil
	case "max":
		return Level{Max: true}, nil
	case "profile":
		return Level{Profile: true}, nil
	}
	if pps, err := ParseRate(s); err == nil {
		return Level{PPS: pps}, nil
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	if err != nil || !(percent > 0 && percent <= 100) {
		return Level{}, fmt.Errorf("load %q: want idle, max, profile, 1 to 100 (percent of the throughput), or a rate such as 900kpps", s)
	}
	return Level{Percent: percent}, nil
}

const maxRate = 1e9 // a frame per nanosecond

// ParseRate takes a number with pps, kpps or Mpps and returns frames per second.
func ParseRate(s string) (uint64, error) {
	for _, unit := range []struct {
		suffix string
		pps    float64
	}{{"kpps", 1e3}, {"Mpps", 1e6}, {"pps", 1}} {
		number, ok := strings.CutSuffix(s, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if pps := n * unit.pps; err == nil && pps >= 1 && pps <= maxRate {
			return uint64(math.Round(pps)), nil
		}
		break
	}
	return 0, fmt.Errorf("%q: want a rate from 1pps to 1000Mpps, such as 900kpps", s)
}

// String is the load of [report.LabCell].
func (l Level) String() string {
	switch {
	case l.Max:
		return "max"
	case l.Profile:
		return "profile"
	case l.Percent > 0:
		return fmt.Sprintf("%g %%", l.Percent)
	case l.PPS >= 1e6:
		return fmt.Sprintf("%gMpps", float64(l.PPS)/1e6)
	case l.PPS >= 1e3:
		return fmt.Sprintf("%gkpps", float64(l.PPS)/1e3)
	case l.PPS > 0:
		return fmt.Sprintf("%dpps", l.PPS)
	}
	return "idle"
}

// cells are a point at each of the levels.
func cells(point report.LabCell, method string, levels []Level) []report.LabCell {
	var list []report.LabCell
	for _, l := range levels {
		point.Method, point.Load = method, l.String()
		list = append(list, point)
	}
	return list
}

// levelOf returns the level that a cell's load is.
func levelOf(cell report.LabCell, levels []Level) Level {
	for _, l := range levels {
		if l.String() == cell.Load {
			return l
		}
	}
	return Level{}
}

// rate is what the level is of a system in frames per second and direction, 0 as much
// as possible; false: the system has no throughput to be a part of.
func (l Level) rate(t *Turn, system string) (pps uint64, ok bool) {
	switch {
	case l.Max:
		return 0, true
	case l.Profile:
		pps = uint64(t.throughput(system))
		return pps, pps > 0 || !l.OfThroughput(t.Cell.Frames)
	case l.PPS > 0:
		return l.PPS, true
	case l.Percent == 0:
		return IdlePPS, true
	}
	pps = roundRate(t.throughput(system) * l.Percent / 100)
	return pps, pps > 0
}

// OfThroughput reports whether the level is a part of a system's throughput, which is to be
// searched before: a percentage, or one in a profile among the frames.
func (l Level) OfThroughput(frames ...string) bool {
	return l.Percent > 0 || l.Profile && slices.ContainsFunc(frames, func(name string) bool {
		p, err := traffic.Named(name, generator.Same, generator.Uplink, generator.Downlink)
		return err == nil && p.OfThroughput()
	})
}

// load is what a trial of so many frames per second offers.
func (l Level) load(pps uint64, d time.Duration) system.Load {
	load := steady(pps, d)
	load.AsProfile = l.Profile
	return load
}

// paced is load for a trial whose latency counts: not from a real-time thread, which the kernel
// takes off its CPU for up to 50 ms of each second as soon as anything else waits for it. Frames
// that are due meanwhile would be late by that: the 99th percentile would be the kernel's.
//
// Source: Linux, Documentation/scheduler/sched-rt-group.rst (sched_rt_runtime_us).
func (l Level) paced(pps uint64, d time.Duration) system.Load {
	load := l.load(pps, d)
	load.Realtime = load.Realtime && l.Max
	return load
}

// kind is that of its trials.
func (l Level) kind() report.Kind {
	if l.Max {
		return report.Saturated
	}
	return report.Paced
}

// roundRate takes a rate to 1000 frames per second, if it is that high.
func roundRate(pps float64) uint64 {
	if pps < 10_000 {
		return uint64(pps)
	}
	return uint64(math.Round(pps/1000)) * 1000
}
