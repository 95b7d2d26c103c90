package rancmd

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// nfapiScreen is what is shown of stopwatches while they run, and how that looks: rates
// and times are those of the last seconds, counts those since the beginning.
//
//	pnf phy 1  1m4s  128000 slots, 0 left out  clock late 25.1 µs, p99 152, max 1203
//	  message, µs          per s  late early other lead min     p50 way p50  jitter
//	  DL_TTI.request      1400.0     0     0     0     2310    2890    21.0    3.41
//	  to the PNF: 240000 messages, 0 lost, 0 twice, 0 out of order
type nfapiScreen struct {
	command string
	past    [][]*stopwatch.Snapshot // of the last seconds, oldest first
}

const nfapiRecently = 20 // snapshots that "the last seconds" are of

// add takes the snapshots of now.
func (s *nfapiScreen) add(now []*stopwatch.Snapshot) {
	s.past = append(s.past, now)
	s.past = s.past[max(0, len(s.past)-nfapiRecently):]
}

// render returns the lines, none wider than the terminal, and no more than fit.
func (s *nfapiScreen) render(width, height int, logged []string) []string {
	lines := []string{"plumb nfapi " + s.command}
	if len(s.past) > 0 {
		for _, now := range s.past[len(s.past)-1] {
			lines = append(append(lines, ""), nfapiLines(now, s.recent(now), width)...)
		}
	}
	const notes = 3
	if len(logged) > 0 {
		lines = append(lines, "")
	}
	lines = append(lines, logged[max(0, len(logged)-notes):]...)
	lines = lines[:min(len(lines), max(height, 1))]
	for i, line := range lines {
		lines[i] = term.CutTo(printable.Line(strings.TrimRight(line, " ")), width)
	}
	return lines
}

// recent is what a watch has recorded in the last seconds; all of it if it is new.
func (s *nfapiScreen) recent(now *stopwatch.Snapshot) *stopwatch.Snapshot {
	for _, then := range s.past[:len(s.past)-1] {
		for _, earlier := range then {
			if earlier.Name == now.Name {
				return now.Since(earlier)
			}
		}
	}
	return now
}

// nfapiLines are those of one watch.
func nfapiLines(now, recent *stopwatch.Snapshot, width int) []string {
	lines := []string{fmt.Sprintf("%s  %s", now.Name, now.Duration().Round(time.Second))}
	if c := &now.Clock; c.Slots > 0 {
		late := recent.Clock.Late
		clock := fmt.Sprintf("  %d slots, %d left out  clock late %s µs, p99 %s, max %s", c.Slots, c.Skipped,
			late.Text(0.5), late.Text(0.99), late.Text(1))
		if utf8.RuneCountInString(lines[0]+clock) <= width {
			lines[0] += clock
		} else {
			lines = append(lines, clock)
		}
	}
	lines = append(lines, nfapiMessageLines(now, recent, width)...)
	for _, d := range []struct {
		to string
		stopwatch.Sequences
	}{{"PNF", now.ToPNF}, {"VNF", now.ToVNF}} {
		if d.Received > 0 {
			lines = append(lines, fmt.Sprintf("  to the %s: %d messages, %d lost, %d twice, %d out of order", d.to, d.Received, d.Lost, d.Duplicate, d.Reordered))
		}
	}
	return append(lines, nfapiStepLines(recent, width)...)
}

// nfapiMessageLines are the messages that came, under a heading.
func nfapiMessageLines(now, recent *stopwatch.Snapshot, width int) []string {
	var rows [][]string
	for i := range now.Messages {
		m := &now.Messages[i]
		way := m.ToPNF
		if way == nil {
			way = m.ToVNF
		}
		if way == nil && m.Counts.Came() == 0 {
			continue
		}
		late := recent.Message(m.ID)
		row := []string{m.Name, perSecond(nfapiCame(late), recent.Duration())}
		c := &m.Counts
		row = append(row, fmt.Sprint(c.Late), fmt.Sprint(c.Early), fmt.Sprint(c.Duplicate+c.Invalid+c.Unpaired),
			late.Lead.Text(0), late.Lead.Text(0.5))
		if way == nil {
			way = &stopwatch.Transits{}
		}
		delay := late.Way()
		rows = append(rows, append(row, delay.Text(0.5), delay.Text(0.99), stopwatch.Micros(time.Duration(way.JitterNS)), late.Waited.Text(0.99), late.Handled.Text(0.5), late.Handled.Text(0.99)))
	}
	if len(rows) == 0 {
		return []string{"  no messages yet"}
	}
	return term.LiveRows(width, rows, []term.LiveColumn{
		{Name: "message, µs", Width: -18}, {Name: "per s", Width: 7}, {Name: "late", Width: 5}, {Name: "early", Width: 5, Rank: 1}, {Name: "other", Width: 5, Rank: 1}, {Name: "lead min", Width: 8}, {Name: "p50", Width: 7},
		{Name: "way p50", Width: 7, Rank: 2}, {Name: "p99", Width: 7, Rank: 3}, {Name: "jitter", Width: 7, Rank: 2}, {Name: "waited p99", Width: 10, Rank: 3}, {Name: "handled p50", Width: 11, Rank: 4}, {Name: "p99", Width: 7, Rank: 4},
	})
}

// nfapiCame is how many of a type of message came.
func nfapiCame(m *stopwatch.Message) uint64 { return max(m.Counts.Came(), m.Way().Total()) }

func perSecond(n uint64, over time.Duration) string {
	if over <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(n)/over.Seconds())
}

// nfapiStepLines are the steps of slots, and those of messages together.
func nfapiStepLines(recent *stopwatch.Snapshot, width int) []string {
	var rows [][]string
	for _, step := range recent.StepTimes() {
		d := step.Times
		rows = append(rows, []string{
			step.Step.String(), step.Of, perSecond(d.Total(), recent.Duration()), stopwatch.Micros(d.Mean()), d.Text(0.5), d.Text(0.99), d.Text(1),
		})
	}
	if len(rows) == 0 {
		return nil
	}
	return term.LiveRows(width, rows, []term.LiveColumn{
		{Name: "step", Width: -8}, {Name: "of", Width: -18}, {Name: "per s", Width: 7}, {Name: "mean µs", Width: 7, Rank: 1}, {Name: "p50", Width: 7}, {Name: "p99", Width: 7}, {Name: "max", Width: 7},
	})
}
