package report

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// NameCorrectness is the method of cells of [CorrectnessLab].
const NameCorrectness = "correctness"

// CorrectnessLab puts what several UPFs do of what their rules say beside each other, as
// figures: a cell for each direction. Changes of rules, buffering and restarts are
// measured downlink.
func CorrectnessLab(results []*Correctness, finished time.Time) *Lab {
	l := &Lab{Schema: LabSchema, Finished: &finished, Plan: LabPlan{Methods: []string{NameCorrectness}, Repeats: 1}}
	for _, d := range Directions {
		l.Plan.Cells = append(l.Plan.Cells, LabCell{Method: NameCorrectness, Direction: d, Sessions: 1})
	}
	var ignored []string
	for i, r := range results {
		if i == 0 {
			l.Started, l.Host = r.Started, r.Host
		}
		if len(r.NotEnforced) > 0 {
			ignored = append(ignored, r.System+": "+strings.Join(r.NotEnforced, " "))
		}
		l.Systems = append(l.Systems, System{Name: r.System, Version: r.Version, Configuration: r.Configuration})
		for cell, d := range Directions {
			figures := r.figures(d)
			turn := Turn{Cell: cell, System: r.System, Repeat: 1, Started: r.Started, Figures: figures}
			if cell == 0 {
				turn.Failed = r.notDone()
			}
			if len(figures) > 0 || turn.Failed != "" {
				l.Turns = append(l.Turns, turn)
			}
		}
	}
	if len(ignored) > 0 {
		l.Plan.Options = map[string]string{"not enforced": strings.Join(ignored, " ")}
	}
	return l
}

// asked is the MBR in words.
func (f *RateFigure) asked() string {
	return fmt.Sprintf("%s kbit/s, %s", grouped(uint64(f.AskedBPS/1000)), f.Protocol)
}

// notDone lists what the UPF refused or did not do, and MBRs of which nothing is known.
func (r *Correctness) notDone() string {
	var lines []string
	for i := range r.Rates {
		if f := &r.Rates[i]; f.Unknown() != "" {
			lines = append(lines, fmt.Sprintf("MBR %s %s: %s: %.1f of %.1f Mbit/s passed", f.asked(), f.Direction, f.Unknown(), f.PassedBPS/1e6, f.OfferedBPS/1e6))
		}
	}
	for _, u := range r.Unmeasured {
		lines = append(lines, u.What+": "+u.Why)
	}
	return strings.Join(lines, "\n")
}

// figures are those of a direction, each name once.
func (r *Correctness) figures(d Direction) []Figure {
	var all []Figure
	add := func(name, unit string, value float64) {
		all = append(all, Figure{Name: name, Unit: unit, Better: Lower, Value: value})
	}
	for _, f := range r.Rates {
		if f.Direction != d {
			continue
		}
		if f.Unknown() == "" {
			add("MBR error at "+f.asked(), "percent", math.Abs(f.ErrorPercent))
		}
	}
	for _, f := range r.Volumes {
		if f.Direction == d {
			add("URR error "+load(f.AskedPPS, f.MBR), "ppm", math.Abs(f.ErrorPPM))
		}
	}
	for _, f := range r.Limits {
		if f.Direction == d {
			add(f.Kind+" overshoot "+load(f.AskedPPS, false), "frames", math.Max(0, f.OverPackets))
		}
	}
	if d == Downlink {
		all = append(all, r.changes()...)
	}
	return all
}

func load(pps uint64, mbr bool) string {
	switch {
	case mbr:
		return "above an MBR"
	case pps == 0:
		return "at the highest rate"
	}
	return fmt.Sprintf("at %g kpps", float64(pps)/1e3)
}

// changes are figures of changes of rules under downlink traffic.
func (r *Correctness) changes() []Figure {
	var all []Figure
	add := func(name, unit string, value float64) {
		all = append(all, Figure{Name: name, Unit: unit, Better: Lower, Value: value})
	}
	for _, f := range r.Effects {
		name := "rule to " + f.Kind
		add(name+": effective after the response", "ns", float64(f.LastOldNS))
		add(name+": packets of the old rule after it", "frames", float64(f.OldAfter))
		if f.Kind != "drop" {
			add(name+": lost", "frames", float64(f.Lost))
		}
		if f.EndMarkers > 0 || f.GapNS > 0 {
			add(name+": gap", "ns", float64(f.GapNS))
			add(name+": reordered", "frames", float64(f.Reordered))
			add(name+": without End Marker at the end", "ratio", 1-float64(f.EndMarkers)/float64(f.Repeats))
		}
	}
	for _, f := range r.Buffers {
		add("buffering: lost", "frames", float64(f.Lost))
		add("buffering: reordered", "frames", float64(f.Reordered))
		add("buffering: doubled", "frames", float64(f.Duplicated))
		add("buffering: Downlink Data Report after", "ns", float64(f.NoticeNS))
	}
	for _, f := range r.Restarts {
		add("restart: outage", "ns", float64(f.OutageNS))
		add("restart: N4 ready after", "ns", float64(f.ReadyNS))
		add("restart: sessions lost", "ratio", 1-float64(f.Kept)/float64(f.Repeats))
	}
	return all
}
