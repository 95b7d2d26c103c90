package report

import (
	"errors"
	"fmt"
	"math"
	"unicode"
)

// Bounds of what [Result.Validate] accepts: far beyond any machine, near enough
// that no table or plot made from the file overflows.
const (
	maxTrials       = 10_000
	maxCurve        = 10_000
	maxText         = 64 << 10
	maxPPS          = 1e12
	maxBPS          = 1e15
	maxFrameOctets  = 65_535
	maxSessions     = 1 << 32
	maxCPUs         = 1 << 16
	maxPercent      = 100 * maxCPUs
	maxLatencyNS    = int64(3600e9)
	maxMemoryOctets = 1 << 60
)

// ErrInvalid is wrapped by every error about the content of a result.
var ErrInvalid = errors.New("invalid result")

func (h *Host) validate() error {
	return first(
		text("os", h.OS), text("kernel", h.Kernel), text("arch", h.Arch),
		text("cpu_model", h.CPUModel), text("bpf_jit", h.BPFJIT), text("spectre_v2", h.SpectreV2),
		text("go_version", h.GoVersion), text("version", h.Version), text("commit", h.Commit),
		text("command_line", h.CommandLine),
		between("cpus", float64(h.CPUs), 1, maxCPUs),
		between("memory_octets", float64(h.MemoryOctets), 0, maxMemoryOctets),
	)
}

// validateFigures checks what a trial says of itself.
func (t *Trial) validateFigures() error {
	if err := first(
		text("dut", t.DUT), text("datapath", t.Datapath), text("access", t.Access), text("xdp_mode", t.XDPMode),
		between("sessions", float64(t.Sessions), 1, maxSessions),
		frameOctets(t.FrameOctets),
		between("intended_pps", t.IntendedPPS, 0, maxPPS),
		rates(t.OfferedPPS, t.ReceivedPPS, t.ReceivedBPS), rates(0, 0, t.OfferedBPS),
		between("loss_ratio", t.LossRatio, 0, 1),
		between("bed_ratio", t.BedRatio, 0, maxPPS),
		between("repeat", float64(t.Repeat), 1, maxTrials),
		between("duration_ns", float64(t.DurationNS), 1, float64(maxLatencyNS)*24),
		t.LatencyNS.validate(), t.CPU.validate(),
	); err != nil {
		return err
	}
	if t.CostNS != nil {
		if err := between("cost_ns", *t.CostNS, -1e12, 1e12); err != nil {
			return err
		}
	}
	for reason := range t.Drops {
		if err := text("drops", reason); err != nil {
			return err
		}
	}
	return first(validateCurve(t.LatencyCurve), validateHistogram(t.LatencyHistogram))
}

func validateCurve(curve []Percentile) error {
	if len(curve) > maxCurve {
		return invalid("latency_curve", len(curve), "too many points")
	}
	var last Percentile
	for _, p := range curve {
		if err := first(
			between("percentile", p.Percentile, last.Percentile, 100),
			between("latency_curve ns", float64(p.NS), float64(last.NS), float64(maxLatencyNS)),
		); err != nil {
			return err
		}
		last = p
	}
	return nil
}

func (l Latency) validate() error {
	last := int64(0)
	for _, ns := range []int64{l.Min, l.P50, l.P90, l.P99, l.P999, l.Max} {
		if ns < last || ns > maxLatencyNS {
			return invalid("latency_ns", fmt.Sprintf("%+v", l), "want ascending values of an hour at most")
		}
		last = ns
	}
	return first(
		between("latency_ns p9999", float64(l.P9999), 0, float64(maxLatencyNS)),
		between("latency_ns mean", float64(l.Mean), 0, float64(l.Max)),
		between("latency_ns pdv", float64(l.PDV), 0, float64(l.Max)),
		between("latency_ns variation", float64(l.Variation), 0, float64(l.Max)),
	)
}

func (c CPU) validate() error {
	return first(
		between("dut_percent", c.DUTPercent, 0, maxPercent),
		between("softirq_percent", c.SoftirqPercent, 0, maxPercent),
		between("system_percent", c.SystemPercent, 0, maxPercent),
		between("busy_percent", c.BusyPercent, 0, maxPercent),
	)
}

func rates(offeredPPS, receivedPPS, bps float64) error {
	return first(
		between("offered_pps", offeredPPS, 0, maxPPS),
		between("received_pps", receivedPPS, 0, maxPPS),
		between("bps", bps, 0, maxBPS),
	)
}

func frameOctets(n int) error { return between("frame_octets", float64(n), 1, maxFrameOctets) }

// between is false for NaN as well.
func between(name string, v, low, high float64) error {
	if v >= low && v <= high {
		return nil
	}
	return invalid(name, v, fmt.Sprintf("want %g to %g", low, high))
}

// text refuses what would do something to a terminal other than be read on it.
func text(name, s string) error {
	if len(s) > maxText {
		return invalid(name, len(s), "octets are too many")
	}
	for _, r := range s {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			return invalid(name, fmt.Sprintf("%+q", s), "control character, or one that changes the direction of text")
		}
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func invalid(name string, got any, why string) error {
	if f, ok := got.(float64); ok && math.Trunc(f) == f && math.Abs(f) < 1e15 {
		got = int64(f)
	}
	return fmt.Errorf("%w: %s %v: %s", ErrInvalid, name, got, why)
}
