package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/probe/export"
)

// ProbeTable writes p as text for a terminal: how long packets stayed, what became of
// all of them, PFCP, where was measured, and what the figures must not be read without.
func ProbeTable(w io.Writer, p *Probe) error {
	var b strings.Builder
	fmt.Fprintf(&b, " %s, %s\n\n", p.title(), duration(p.DurationNS))
	grids := []*grid{p.seriesGrid()}
	if g := p.n4Grid(); g != nil {
		grids = append(grids, g)
	}
	for _, g := range []*grid{p.partsGrid(), p.beyondGrid()} {
		if g != nil {
			grids = append(grids, g)
		}
	}
	grids = append(grids, p.pointGrid())
	for _, g := range grids {
		if len(g.rows) == 0 {
			continue
		}
		g.nameOnce()
		g.fit(&b, p.naming())
	}
	for _, n := range p.notes() {
		writeNote(&b, n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// titleNames is how many UPFs a title names.
const titleNames = 3

// nameOnce leaves out the name of a UPF where the line above has it.
func (g *grid) nameOnce() {
	last := ""
	for _, row := range g.rows {
		if row[0] == last {
			row[0] = ""
		} else {
			last = row[0]
		}
	}
}

// title says in one line what was measured.
func (p *Probe) title() string {
	var names []string
	for i := range p.UPFs {
		names = append(names, p.UPFs[i].Name)
	}
	switch n := len(names); {
	case n == 0:
		return "no UPF"
	case n > titleNames:
		return fmt.Sprintf("delay in %s and %d more", strings.Join(names[:titleNames], ", "), n-titleNames)
	}
	return "delay in " + strings.Join(names, ", ")
}

// seriesGrid has a line for each series, and one for all of them.
func (p *Probe) seriesGrid() *grid {
	g := &grid{columns: []column{
		{"", "UPF", left}, {"", "slice", left}, {"", "direction", left},
		{"rate", "kpps", bar}, {"", "Mbit/s", 0},
		{"delay in the UPF" + p.timedText(" of 1/%d") + ", µs", "min", bar}, {"", "p50", 0}, {"", "p90", 0}, {"", "p99", 0}, {"", "p99.9", 0}, {"", "max", 0},
		{"packets", "in", bar}, {"", "= matched", 0}, {"", "+ lost", 0}, {"", "+ in flight", 0}, {"", "+ ambiguous", 0}, {"", "+ evicted", 0}, {"", "+ untimed", 0},
	}}
	for i := range p.Series {
		s := &p.Series[i]
		cells := append([]string{s.UPF, export.SliceName(s.Slice), s.Direction}, p.rateCells(s)...)
		cells = append(cells, delayCells(&s.DelayNS, s.Matched, s.Withheld)...)
		g.add(append(cells, accountCells(s)...)...)
	}
	if len(p.Series) > 1 {
		a := p.Total()
		all := export.Series{In: a.In, Matched: a.Matched, Lost: a.Lost, InFlight: a.InFlight, Ambiguous: a.Ambiguous, Evicted: a.Evicted, Octets: a.Octets,
			Untimed: a.Untimed, UntimedOctets: a.UntimedOctets}
		cells := append([]string{"all", "", ""}, p.rateCells(&all)...)
		cells = append(cells, "", "", "", "", "", "")
		g.add(append(cells, accountCells(&all)...)...)
	}
	if p.Settings.Timed <= 1 {
		g = g.part(0, 0, len(g.columns)-1)
	}
	return p.named(g)
}

// naming is how many columns say what a line is of.
func (p *Probe) naming() int {
	if len(p.UPFs) == 1 {
		return 2
	}
	return 3
}

// named leaves out the column of the UPF if there is one UPF alone.
func (p *Probe) named(g *grid) *grid {
	if len(p.UPFs) != 1 {
		return g
	}
	for _, row := range g.rows {
		if row[1] == "" { // the line of all series
			row[1] = row[0]
		}
	}
	return g.part(0, 1, len(g.columns))
}

func (p *Probe) rateCells(s *export.Series) []string {
	seconds := time.Duration(p.DurationNS).Seconds()
	if seconds == 0 {
		return []string{"", ""}
	}
	packets, octets := s.Account().Seen()
	return []string{fmt.Sprintf("%.2f", float64(packets)/seconds/1e3), fmt.Sprintf("%.2f", 8*float64(octets)/seconds/1e6)}
}

// delayCells are empty where nothing was measured, and have the word where it must not
// be used.
func delayCells(d *export.Delay, packets uint64, withheld string) []string {
	switch {
	case withheld != "":
		return []string{"", "withheld", "", "", "", ""}
	case packets == 0:
		return []string{"", "", "", "", "", ""}
	}
	return []string{delayMicros(d.Min), delayMicros(d.P50), delayMicros(d.P90), delayMicros(d.P99), delayMicros(d.P999), delayMicros(d.Max)}
}

// delayMicros has three places or more: what is below 10 µs would else have two.
func delayMicros(ns int64) string {
	switch {
	case ns < 10_000:
		return fmt.Sprintf("%.2f", float64(ns)/1e3)
	case ns < 1_000_000:
		return micros(ns)
	}
	return grouped(uint64(ns / 1e3))
}

func accountCells(s *export.Series) []string {
	return []string{grouped(s.In), grouped(s.Matched), grouped(s.Lost), grouped(s.InFlight), grouped(s.Ambiguous), grouped(s.Evicted), grouped(s.Untimed)}
}

// timedText is in format, which has a place for N, what there is to say if one packet of N is
// timed.
func (p *Probe) timedText(format string) string {
	if p.Settings.Timed <= 1 {
		return ""
	}
	return fmt.Sprintf(format, p.Settings.Timed)
}

// pointGrid has a line for each point.
func (p *Probe) pointGrid() *grid {
	g := &grid{columns: []column{
		{"", "UPF", left}, {"", "point", left}, {"", "device", left},
		{"packets", "all", bar}, {"", "matched", 0}, {"", "unmatched", 0}, {"", "ambiguous", 0}, {"", "untimed", 0}, {"", "foreign", 0}, {"", "unparsed", 0},
		{"cost, ns", "alone", bar}, {"", "in place", 0},
	}}
	for i := range p.Points {
		o := &p.Points[i]
		matched, unmatched, ambiguous, untimed := "", "", "", ""
		if o.Way == "out" {
			matched, unmatched, ambiguous = grouped(o.Matched), grouped(o.Unmatched), grouped(o.Ambiguous)
			if p.Settings.Timed > 1 {
				untimed = grouped(o.Untimed)
			}
		}
		g.add(o.UPF, o.Side+" "+o.Way, p.deviceText(o.UPF, o.Namespace, o.Device)+", "+o.Hook, grouped(o.Packets), matched, unmatched, ambiguous, untimed, grouped(o.Foreign), grouped(o.Unparsed), costText(o.CostNS), costText(o.CostInPlaceNS))
	}
	return p.named(g.withoutEmpty(3))
}

func costText(ns float64) string {
	if ns == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", ns)
}

// deviceText is a device, with its namespace where that is not the UPF's.
func (p *Probe) deviceText(upf, namespace, device string) string {
	for i := range p.UPFs {
		if u := &p.UPFs[i]; u.Name == upf && u.Namespace == namespace {
			return device
		}
	}
	if namespace == "" {
		return device + " of the host"
	}
	if pid, ok := strings.CutPrefix(namespace, "/proc/"); ok { // it has no name
		return device + " of process " + strings.TrimSuffix(pid, "/ns/net")
	}
	return device + " in " + filepath.Base(namespace)
}

// n4Grid has a line for each type of message; nil: N4 was not measured.
func (p *Probe) n4Grid() *grid {
	if p.N4 == nil {
		return nil
	}
	g := &grid{columns: []column{
		{"", "UPF", left}, {"", "asked", left}, {"", "N4 message", left},
		{"transactions", "answered", bar}, {"", "rejected", 0}, {"", "unanswered", 0}, {"", "outstanding", 0}, {"", "sent again", 0},
		{"response time, µs", "min", bar}, {"", "p50", 0}, {"", "p90", 0}, {"", "p99", 0}, {"", "p99.9", 0}, {"", "max", 0},
	}}
	for i := range p.N4.Messages {
		m := &p.N4.Messages[i]
		cells := []string{m.UPF, m.Asked, m.Message, grouped(m.Answered), grouped(m.Rejected), grouped(m.Unanswered + m.Evicted),
			grouped(m.Outstanding), grouped(m.Retransmissions)}
		g.add(append(cells, delayCells(&m.DelayNS, m.Answered, "")...)...)
	}
	return p.named(g)
}

// notes are what has no column.
func (p *Probe) notes() []note {
	var notes []note
	for _, w := range p.Warnings {
		notes = append(notes, note{"beware", w})
	}
	notes = append(notes, note{"account", p.accountText()})
	notes = append(notes, p.upfNotes()...)
	if p.N4 != nil {
		notes = append(notes, note{"N4", p.n4Text()})
	}
	if p.Samples != nil {
		notes = append(notes, note{"samples", fmt.Sprintf("%s written, %s lost for want of room", grouped(p.Samples.Written), grouped(p.Samples.Lost))})
	}
	h := &p.Host
	return append(notes, note{"probe", p.settingsText()},
		note{"host", fmt.Sprintf("%s, %s, Linux %s, plumb %s", h.CPUModel, count(uint64(h.CPUs), "CPU"), h.Kernel, strings.TrimSpace(h.Version+" "+h.Commit))})
}

// n4Text is what of N4 has no column.
func (p *Probe) n4Text() string {
	if len(p.N4.Points) == 0 {
		return "no N4 device was found: no message was seen, and no session's slice learnt"
	}
	var messages, malformed, orphans uint64
	var devices []string
	for i := range p.N4.Points {
		o := &p.N4.Points[i]
		messages, malformed, orphans = messages+o.Messages, malformed+o.Malformed, orphans+o.Orphans
		devices = append(devices, p.deviceText(o.UPF, o.Namespace, o.Device))
	}
	slices.Sort(devices)
	devices = slices.Compact(devices)
	return fmt.Sprintf("%s at %s, %s malformed, %s that answer nothing seen, %s lost on the way to the probe; slices of %s learnt",
		count(messages, "message"), strings.Join(devices, ", "), grouped(malformed), grouped(orphans), count(p.N4.Lost(), "datagram"),
		count(p.N4.Sessions, "session")) + refusedText(p.N4.Refused) + fragmentsText(p.N4.Fragments())
}

func fragmentsText(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; of %s in IP fragments only the first was seen, and sessions may not be learnt whole", count(n, "datagram"))
}

func refusedText(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", no room for %s more of sessions and their keys", grouped(n))
}

// upfNotes say what the UPFs are, and what could not be measured of them.
func (p *Probe) upfNotes() []note {
	var notes []note
	for i := range p.UPFs {
		u := &p.UPFs[i]
		pid := ""
		if u.PID > 0 {
			pid = fmt.Sprintf("PID %d", u.PID)
		}
		text := joined(", ", u.Command, pid, u.Container, u.Namespace, u.Datapath)
		if u.Why != "" {
			text += " (" + u.Why + ")"
		}
		if u.Missing != "" {
			text = joined("; ", text, "missing: "+u.Missing)
		}
		notes = append(notes, note{"UPF", u.Name + ": " + text})
		for j := range u.Gaps {
			notes = append(notes, note{"gap", u.Name + ": " + p.gapText(&u.Gaps[j])})
		}
	}
	return notes
}

// gapText says when of the run a UPF was not there to be measured.
func (p *Probe) gapText(g *export.Gap) string {
	from := g.From.Sub(p.Started).Round(time.Millisecond)
	switch {
	case g.Until.IsZero():
		return fmt.Sprintf("%s, seen %v after the start, until the end", g.Why, from)
	case g.Until.Equal(g.From):
		return fmt.Sprintf("%s, seen %v after the start", g.Why, from)
	}
	return fmt.Sprintf("%s, from %v to %v after the start", g.Why, from, g.Until.Sub(p.Started).Round(time.Millisecond))
}

func joined(between string, parts ...string) string {
	var all []string
	for _, part := range parts {
		if part != "" {
			all = append(all, part)
		}
	}
	return strings.Join(all, between)
}

func (p *Probe) accountText() string {
	a := p.Total()
	sign := "="
	if !a.Balanced() {
		sign = "≠"
	}
	text := fmt.Sprintf("in %s %s matched %s + lost %s + in flight %s + ambiguous %s + evicted %s", grouped(a.In), sign,
		grouped(a.Matched), grouped(a.Lost), grouped(a.InFlight), grouped(a.Ambiguous), grouped(a.Evicted))
	if p.Settings.Timed > 1 {
		text += " + untimed " + grouped(a.Untimed)
	}
	return text
}

func (p *Probe) settingsText() string {
	s := &p.Settings
	text := fmt.Sprintf("room for %s, lost after %s", count(uint64(s.InFlight), "packet"), duration(s.TimeoutNS))
	if s.NAT {
		text += ", addresses on N6 translated"
	}
	return text + p.timedText(", 1/%d of the packets timed, chosen by their content: delays and what is matched, lost, ambiguous are of these; rates and what came in are of all")
}
