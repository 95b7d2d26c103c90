package stopwatch

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Table is figures under a heading, for people: µs with three or four places.
type Table struct {
	Columns []string
	Text    int // how many columns, the first, are text
	Rows    [][]string
}

// Tables are those of the snapshot that have something in them: requests, ways, steps.
func (s *Snapshot) Tables() []Table {
	var tables []Table
	for _, t := range []Table{
		{[]string{"requests", "on time", "late", "early", "twice", "invalid", "unpaired", "late by clock", "by waiting", "lead µs: min", "p1", "p50", "max"}, 1, s.requestRows()},
		{[]string{"under way", "to", "messages", "µs: mean", "p50", "p99", "max", "jitter", "waited µs: p50", "p99", "max"}, 2, s.wayRows()},
		{[]string{"step", "of", "times", "µs: mean", "p50", "p99", "max"}, 2, s.stepRows()},
	} {
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// Print writes the snapshot as text, the spans of [Snapshot.Study] last.
func (s *Snapshot) Print(w io.Writer) error {
	var b strings.Builder
	b.WriteString(s.Headline() + "\n")
	for _, t := range s.Tables() {
		b.WriteString("\n" + t.String())
	}
	if rows := s.studyRows(); len(rows) > 0 {
		b.WriteString("\n" + Table{[]string{"OpenAirInterface, 2024", "there, µs", "here: times", "µs: mean", "p50", "p99", "max"}, 1, rows}.String())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Headline has owner, duration and clock lateness.
func (s *Snapshot) Headline() string {
	text := fmt.Sprintf("%s: %s", s.Name, s.Duration().Round(time.Millisecond))
	if c := &s.Clock; c.Slots > 0 {
		text += fmt.Sprintf(", %d slots, %d left out; the clock was late by %s µs (p50), %s (p99), %s (max)",
			c.Slots, c.Skipped, Micros(c.Late.Quantile(0.5)), Micros(c.Late.Quantile(0.99)), Micros(c.Late.Quantile(1)))
	}
	for _, d := range []struct {
		name string
		Sequences
	}{{"to the PNF", s.ToPNF}, {"to the VNF", s.ToVNF}} {
		if d.Received > 0 {
			text += fmt.Sprintf("\n%s: %d messages, %d lost, %d twice, %d out of order", d.name, d.Received, d.Lost, d.Duplicate, d.Reordered)
		}
	}
	return text
}

// String is the table with its columns aligned.
func (t Table) String() string {
	rows := append([][]string{t.Columns}, t.Rows...)
	widths := make([]int, len(t.Columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if i < t.Text {
				fmt.Fprintf(&b, "%-*s", widths[i]+2, cell)
			} else {
				fmt.Fprintf(&b, "%*s  ", widths[i], cell)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (s *Snapshot) requestRows() [][]string {
	var rows [][]string
	for i := range s.Messages {
		m := &s.Messages[i]
		c := &m.Counts
		if c.Came() == 0 {
			continue
		}
		row := []string{m.Name}
		for _, n := range c.list() {
			row = append(row, fmt.Sprint(*n))
		}
		rows = append(rows, append(row, Micros(m.Lead.Quantile(0)), Micros(m.Lead.Quantile(0.01)), Micros(m.Lead.Quantile(0.5)), Micros(m.Lead.Quantile(1))))
	}
	return rows
}

func (s *Snapshot) wayRows() [][]string {
	var rows [][]string
	for i := range s.Messages {
		m := &s.Messages[i]
		for _, d := range []struct {
			to string
			*Transits
		}{{"PNF", m.ToPNF}, {"VNF", m.ToVNF}} {
			if d.Transits != nil {
				row := append([]string{m.Name, d.to}, append(times(d.Delay), Micros(time.Duration(d.JitterNS)))...)
				rows = append(rows, append(row, Micros(m.Waited.Quantile(0.5)), Micros(m.Waited.Quantile(0.99)), Micros(m.Waited.Quantile(1))))
			}
		}
	}
	return rows
}

// times are what is shown of a distribution that has values: count, mean, p50, p99, max.
func times(d *Distribution) []string {
	return []string{fmt.Sprint(d.Count), Micros(d.Mean()), Micros(d.Quantile(0.5)), Micros(d.Quantile(0.99)), Micros(d.Quantile(1))}
}

func (s *Snapshot) stepRows() [][]string {
	var rows [][]string
	for _, t := range s.StepTimes() {
		rows = append(rows, append([]string{t.Step.String(), t.Of}, times(t.Times)...))
	}
	return rows
}

// studyRows are the spans that were measured.
func (s *Snapshot) studyRows() [][]string {
	var rows [][]string
	for _, r := range s.Study() {
		if r.Here.Total() > 0 {
			rows = append(rows, append([]string{r.Name, Micros(r.There)}, times(r.Here)...))
		}
	}
	return rows
}

// Text is a quantile, written as by [Micros]; "-": there is none.
func (d *Distribution) Text(q float64) string {
	if d.Total() == 0 {
		return "-"
	}
	return Micros(d.Quantile(q))
}

// Micros is µs with three or four places.
func Micros(d time.Duration) string {
	us := float64(d) / 1e3
	switch {
	case us > -10 && us < 10:
		return fmt.Sprintf("%.2f", us)
	case us > -1000 && us < 1000:
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.0f", us)
}
