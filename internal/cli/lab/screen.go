package labcmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// liveScreen is what is known of a run while it goes on, and how that looks.
//
//	plumb lab throughput  [=====          ]  19 %  4m10s left
//	throughput, uplink, 1 session, frames 64: plumbline tun 1/3: trial 7, 812 kpps
//
//	  plumbline tun       offered    received    loss      p50      p99  UPF softirq
//	  uplink           812.0 kpps  811.9 kpps 0.00012  21.3 µs 105.2 µs  97%     61%
//	                  ▁▂▅▇▇▇▇▇▇▇  received, up to 812.3 kpps
//	                  drops: mbr 12
//
//	  bed            throughput at loss 0: 2812.1 kpps
//	  plumbline xdp  throughput at loss 0: 1210.4 kpps
type liveScreen struct {
	name   string // of the command
	now    report.Step
	since  time.Time
	detail string

	system string // whose trial is under way
	lanes  map[report.Direction]*liveLane
	notes  []liveNote
}

// liveLane is one direction of the trial under way.
type liveLane struct {
	last     system.Sample
	received []float64 // pps, of the last samples
}

// liveNote is what is last known of a system.
type liveNote struct{ system, text string }

const liveSamples = 60 // of the curve

// begin is the start of a step. What frames did before is no longer shown.
func (s *liveScreen) begin(step report.Step, at time.Time) {
	s.now, s.since, s.detail = step, at, ""
	s.system, s.lanes = "", nil
}

// sample is what a trial is like now.
func (s *liveScreen) sample(name string, x system.Sample) {
	if name != s.system {
		s.system, s.lanes = name, map[report.Direction]*liveLane{}
	}
	l := s.lanes[x.Direction]
	if l == nil {
		l = &liveLane{}
		s.lanes[x.Direction] = l
	}
	l.last = x
	l.received = append(l.received, x.ReceivedPPS)
	l.received = l.received[max(0, len(l.received)-liveSamples):]
}

// turn is the end of one.
func (s *liveScreen) turn(_ report.LabCell, turn report.Turn) {
	if text := turnText(turn); text != "" {
		s.note(turn.System, text)
	}
}

// turnText is the main figure of a turn, or why there is none; empty: it has none.
func turnText(turn report.Turn) string {
	if turn.Failed != "" {
		return "failed: " + term.FirstLine(turn.Failed)
	}
	if f := turn.Main(); f != nil {
		return f.String()
	}
	return ""
}

// note is the last thing to know of a system.
func (s *liveScreen) note(name, text string) {
	for i := range s.notes {
		if s.notes[i].system == name {
			s.notes[i].text = text
			return
		}
	}
	s.notes = append(s.notes, liveNote{name, text})
}

// render returns the lines, none wider than the terminal, and no more than fit.
func (s *liveScreen) render(now time.Time, width, height int) []string {
	elapsed := now.Sub(s.since)
	lines := []string{"plumb " + s.name + "  " + term.Bar(s.now, elapsed), term.Join(": ", s.now.Name, s.detail)}
	lines = append(lines, s.trial(width)...)
	if len(s.notes) > 0 {
		lines = append(lines, "")
	}
	longest := 0
	for _, n := range s.notes {
		longest = max(longest, len([]rune(n.system)))
	}
	for _, n := range s.notes {
		lines = append(lines, fmt.Sprintf("  %-*s  %s", longest, n.system, n.text))
	}
	lines = lines[:min(len(lines), max(height, 1))]
	for i, line := range lines {
		lines[i] = term.CutTo(printable.Line(line), width)
	}
	return lines
}

// trial is what is seen of the one under way, in the 80 columns that any terminal has.
func (s *liveScreen) trial(width int) []string {
	if len(s.lanes) == 0 {
		return nil
	}
	const (
		name  = 15
		curve = 2 + name + 1                          // where it begins
		said  = len("  received, up to 12345.6 kpps") // behind it
	)
	lines := []string{"", fmt.Sprintf("  %-*s %11s %11s %7s %8s %8s %4s %7s", name, term.CutTo(s.system, name), "offered", "received", "loss", "p50", "p99", "UPF", "softirq")}
	for _, d := range report.Directions {
		l := s.lanes[d]
		if l == nil {
			continue
		}
		x, past := &l.last, l.received[max(0, len(l.received)-max(1, width-curve-said)):]
		lines = append(lines,
			fmt.Sprintf("  %-*s %11s %11s %7.2g %8s %8s %3.0f%% %6.0f%%", name, d, liveRate(x.OfferedPPS), liveRate(x.ReceivedPPS),
				x.LossRatio, liveTime(x.P50NS), liveTime(x.P99NS), x.CPU.DUTPercent, x.CPU.SoftirqPercent),
			fmt.Sprintf("%*s%s  received, up to %s", curve, "", term.Sparkline(past), liveRate(slices.Max(past))))
		if len(x.Drops) > 0 {
			lines = append(lines, fmt.Sprintf("%*sdrops: %s", curve, "", liveDrops(x.Drops)))
		}
	}
	return lines
}

// liveDrops lists reasons, those of most packets first.
func liveDrops(drops map[string]uint64) string {
	reasons := slices.SortedFunc(maps.Keys(drops), func(a, b string) int {
		if drops[a] != drops[b] {
			return map[bool]int{true: -1, false: 1}[drops[a] > drops[b]]
		}
		return strings.Compare(a, b)
	})
	words := make([]string, len(reasons))
	for i, r := range reasons {
		words[i] = fmt.Sprintf("%s %d", r, drops[r])
	}
	return strings.Join(words, ", ")
}

func liveRate(pps float64) string { return fmt.Sprintf("%.1f kpps", pps/1e3) }

// liveTime has eight characters at most, up to 9999.9 s. It is empty where nothing arrived.
func liveTime(ns int64) string {
	switch {
	case ns == 0:
		return ""
	case ns < 999_950:
		return fmt.Sprintf("%.1f µs", float64(ns)/1e3)
	case ns < 999_950_000:
		return fmt.Sprintf("%.1f ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.1f s", float64(ns)/1e9)
}
