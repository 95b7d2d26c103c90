package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// CorrectnessTable writes r as text for a terminal.
func CorrectnessTable(w io.Writer, r *Correctness) error {
	var b strings.Builder
	writeTitle(&b, fmt.Sprintf("What the UPF (%s) does of what its rules say", r.System))
	for _, g := range []*grid{mbrGrid(r), volumeGrid(r), limitGrid(r), effectGrid(r), bufferGrid(r), restartGrid(r), unmeasuredGrid(r)} {
		if len(g.rows) > 0 {
			g.fit(&b, g.nextBar(0))
		}
	}
	for _, n := range r.notes() {
		writeNote(&b, n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func mbrGrid(r *Correctness) *grid {
	g := &grid{columns: []column{
		{"", "MBR", left}, {"", "direction", left}, {"Mbit/s of user packets", "asked", bar}, {"", "offered", 0}, {"", "passed", 0}, {"", "error %", bar},
	}}
	for i := range r.Rates {
		f := &r.Rates[i]
		offered, wrong := mbps(f.OfferedBPS), fmt.Sprintf("%+.3f", f.ErrorPercent)
		if f.OfferedBPS == 0 {
			offered = ""
		}
		if why := f.Unknown(); why != "" {
			wrong = why
		}
		g.add(f.Protocol, string(f.Direction), mbps(f.AskedBPS), offered, mbps(f.PassedBPS), wrong)
	}
	return g
}

func mbps(bps float64) string { return fmt.Sprintf("%.3f", bps/1e6) }

func volumeGrid(r *Correctness) *grid {
	g := &grid{columns: []column{
		{"", "usage", left}, {"", "kpps", bar}, {"octets of user packets", "metered", bar}, {"", "reported", 0}, {"", "error ppm", bar},
	}}
	for i := range r.Volumes {
		f := &r.Volumes[i]
		name := string(f.Direction)
		if f.MBR {
			name += ", above an MBR"
		}
		g.add(name, kpps(f.RatePPS), grouped(f.MeteredOctets), grouped(f.ReportedOctets), fmt.Sprintf("%+.3f", f.ErrorPPM))
	}
	return g
}

func limitGrid(r *Correctness) *grid {
	g := &grid{columns: []column{
		{"", "limit", left}, {"", "direction", left}, {"", "kpps", bar}, {"octets of user packets", "asked", bar}, {"", "reported", 0},
		{"", "passed", 0}, {"", "over, packets", bar}, {"", "report after µs", 0},
	}}
	for i := range r.Limits {
		f := &r.Limits[i]
		after := ""
		if f.DelayNS != 0 {
			after = micros(f.DelayNS)
		}
		g.add(f.Kind, string(f.Direction), kpps(f.RatePPS), grouped(f.AskedOctets), grouped(f.ReportedOctets), grouped(f.PassedOctets),
			fmt.Sprintf("%+.2f", f.OverPackets), after)
	}
	return g
}

func effectGrid(r *Correctness) *grid {
	g := &grid{columns: []column{
		{"", "rule to", left}, {"", "kpps", bar}, {"", "times", 0}, {"old rule after the response", "packets", bar}, {"", "last, µs", 0}, {"", "latest, µs", 0},
		{"", "lost", bar}, {"", "reordered", 0}, {"gap µs", "median", bar}, {"", "highest", 0}, {"", "End Markers", bar},
	}}
	for i := range r.Effects {
		f := &r.Effects[i]
		gap, highest, markers := "", "", ""
		if f.GapNS != 0 {
			gap, highest, markers = micros(f.GapNS), micros(f.GapMaxNS), fmt.Sprint(f.EndMarkers)
		}
		g.add(f.Kind, kpps(f.RatePPS), fmt.Sprint(f.Repeats), fmt.Sprint(f.OldAfter), micros(f.LastOldNS), micros(f.LastOldMaxNS),
			fmt.Sprint(f.Lost), fmt.Sprint(f.Reordered), gap, highest, markers)
	}
	return g
}

func bufferGrid(r *Correctness) *grid {
	g := &grid{columns: []column{
		{"", "buffering at kpps", 0}, {"", "times", bar}, {"packets", "sent", bar}, {"", "buffered", 0}, {"", "lost", 0}, {"", "reordered", 0},
		{"", "doubled", 0}, {"report after µs", "median", bar}, {"", "highest", 0},
	}}
	for i := range r.Buffers {
		f := &r.Buffers[i]
		g.add(kpps(f.RatePPS), fmt.Sprint(f.Repeats), fmt.Sprint(f.Frames), fmt.Sprint(f.Buffered), fmt.Sprint(f.Lost), fmt.Sprint(f.Reordered),
			fmt.Sprint(f.Duplicated), micros(f.NoticeNS), micros(f.NoticeMaxNS))
	}
	return g
}

func restartGrid(r *Correctness) *grid {
	g := &grid{columns: []column{
		{"", "kill and start at kpps", 0}, {"", "times", bar}, {"N4 after ms", "median", bar}, {"", "highest", 0}, {"no packet for ms", "median", bar},
		{"", "highest", 0}, {"", "packets lost", bar}, {"", "sessions kept", 0},
	}}
	for i := range r.Restarts {
		f := &r.Restarts[i]
		g.add(kpps(f.RatePPS), fmt.Sprint(f.Repeats), millis(f.ReadyNS), millis(f.ReadyMaxNS), millis(f.OutageNS), millis(f.OutageMaxNS),
			fmt.Sprint(f.Lost), fmt.Sprintf("%d times", f.Kept))
	}
	return g
}

func millis(ns int64) string { return fmt.Sprintf("%.1f", float64(ns)/1e6) }

func unmeasuredGrid(r *Correctness) *grid {
	g := &grid{columns: []column{{"", "not done by the UPF", left}, {"", "why", left | bar}}}
	for _, u := range r.Unmeasured {
		g.add(u.What, u.Why)
	}
	return g
}

func (r *Correctness) notes() []note {
	h := &r.Host
	var notes []note
	if len(r.Effects) > 0 {
		notes = append(notes, note{"rule to", "times are when the last packet of the old rule was sent, after the CP function had the response " +
			"to its modification; below 0 it was before"})
	}
	if slices.ContainsFunc(r.Rates, func(f RateFigure) bool { return f.FreeBPS > 0 && f.Unknown() != "" }) {
		notes = append(notes, note{"error %", "not enforced: as much passed as without an MBR; not known: hardly more than the MBR passed without one; " +
			"lost without it: the UPF loses so much without an MBR that the MBR is not reached"})
	}
	if len(r.NotEnforced) > 0 {
		notes = append(notes, note{"not enforced", strings.Join(r.NotEnforced, " ")})
	}
	if len(r.UnenforcedBy) > 0 {
		notes = append(notes, note{"frames", grouped(sum(r.UnenforcedBy)) + " wrong only in what is not enforced" + byKind(r.UnenforcedBy)})
	}
	return append(notes, note{"host", fmt.Sprintf("%s, %s, Linux %s, plumb %s", h.CPUModel, count(uint64(h.CPUs), "CPU"), h.Kernel, h.Commit)})
}
