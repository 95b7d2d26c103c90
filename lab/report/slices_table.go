package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// SlicesTable writes s as text for a terminal: the two tables of the study that it
// repeats, with its figures beside; all slices in both directions; PFCP; what the
// programs say themselves; and what the figures belong to.
func SlicesTable(w io.Writer, s *Slices) error {
	v := newSlicesView(s)
	var b strings.Builder
	writeTitle(&b, v.title())
	for _, part := range v.parts() {
		if len(part.grid.rows) == 0 {
			continue
		}
		writeTitle(&b, part.heading)
		part.grid.fit(&b, part.fixed)
	}
	for _, n := range v.notes() {
		writeNote(&b, n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// slicesPart is a table with its heading. The first columns stand in each part of it
// if it has to be cut.
type slicesPart struct {
	id, heading, sub string
	grid             *grid
	fixed            int
}

func (v *slicesView) parts() []slicesPart {
	parts := []slicesPart{
		{"forwarding", "forwarding delay per slice, uplink", "From the N3 device to the N6 device of the UPF. N is packets of all repeats.", v.forwardingGrid(), 3},
		{"n4", "PFCP Session Modification", "From request to response, of all UPFs of a system together.", v.modificationGrid(), 2},
		{"all", "all slices, both directions", "In = matched + lost + in flight + ambiguous + evicted, of all repeats.", v.delayGrid(), 4},
		{"messages", "all PFCP messages", "", v.messageGrid(), 4},
		{"programs", "what the programs say themselves", "Of all their run, the warm-up as well.", v.programGrid(), 4},
	}
	return parts
}

// publishedRow is the name of what the study has, among the systems.
const publishedRow = "published"

// forwardingGrid is table II of the study, and ours below each of its rows.
func (v *slicesView) forwardingGrid() *grid {
	g := &grid{columns: []column{
		{"", "slice", left}, {"", "load", left}, {"", "system", left}, {"", "N", bar}, {"delay, µs", "p50", bar}, {"", "p99", 0},
	}}
	for _, s := range v.Plan.Slices {
		for _, l := range v.Plan.Loads {
			var rows [][]string
			for _, name := range v.systems {
				if delays := v.delays(name, l.Name, s.Name, Uplink); len(delays) > 0 {
					n := sumOf(delays, func(d *SliceDelay) uint64 { return d.Matched })
					rows = append(rows, []string{name, grouped(n), microUnit.both(over(delays, p50Of)), microUnit.both(over(delays, p99Of))})
				}
			}
			if p := publishedOf(s.Name, l.Name); p != nil && len(rows) > 0 {
				rows = append([][]string{{publishedRow, grouped(p.n), fmt.Sprint(p.p50), fmt.Sprint(p.p99)}}, rows...)
			}
			g.under(rows, s.Name, l.Name)
		}
	}
	return g
}

// under adds rows with the same first cells, which stand in the first of them alone.
func (g *grid) under(rows [][]string, first ...string) {
	for i, row := range rows {
		if i > 0 {
			first = make([]string, len(first))
		}
		g.add(slices.Concat(first, row)...)
	}
}

// modification is what the study has in table III.
const modification = "Session Modification"

// modificationGrid is table III of the study, and ours below each of its rows.
func (v *slicesView) modificationGrid() *grid {
	g := &grid{columns: []column{{"", "load", left}, {"", "system", left}, {"", "N", bar}, {"time, µs", "mean", bar}, {"", "p99", 0}}}
	all := v.n4()
	for _, l := range v.Plan.Loads {
		var rows [][]string
		for _, name := range v.systems {
			if w := modifications(all, name, l.Name); w != nil {
				rows = append(rows, []string{name, grouped(w.count), microUnit.both(w.estimate(meanOf)), microUnit.both(w.estimate(quantileOf(99)))})
			}
		}
		if p, ok := publishedN4s[l.Name]; ok && len(rows) > 0 {
			rows = append([][]string{{publishedRow, grouped(p.n), fmt.Sprint(p.mean), fmt.Sprint(p.p99)}}, rows...)
		}
		g.under(rows, l.Name)
	}
	return g
}

// modifications are those of a system at a load, as the CP function saw them, as in
// the study; nil: there are none.
func modifications(all []*n4View, system, load string) *n4View {
	for _, w := range all {
		if w.system == system && w.load == load && w.message == modification && w.seen == SeenByCP {
			return w
		}
	}
	return nil
}

// delayGrid has a row for each slice, direction, load and system.
func (v *slicesView) delayGrid() *grid {
	g := &grid{columns: []column{
		{"", "slice", left}, {"", "way", left}, {"", "load", left}, {"", "system", left},
		{"packets", "per s", bar}, {"", "in", 0}, {"", "lost", 0}, {"", "ambiguous", 0}, {"", "evicted", 0},
		{"delay, µs", "p50", bar}, {"", "p90", 0}, {"", "p99", 0}, {"", "p99.9", 0}, {"", "max", 0}, {"", "mean", 0},
	}}
	names := []string{}
	for _, s := range v.Plan.Slices {
		names = append(names, s.Name)
	}
	for _, slice := range append(names, "") {
		for _, d := range Directions {
			for _, l := range v.Plan.Loads {
				for _, system := range v.systems {
					v.delayRow(g, slice, d, l.Name, system)
				}
			}
		}
	}
	return g
}

func (v *slicesView) delayRow(g *grid, slice string, d Direction, load, system string) {
	delays := v.delays(system, load, slice, d)
	sum := func(count func(*SliceDelay) uint64) uint64 { return sumOf(delays, count) }
	in := sum(func(d *SliceDelay) uint64 { return d.In })
	if in == 0 {
		return
	}
	ns := int64(0)
	for _, c := range v.cells(system, load) {
		ns += c.DurationNS
	}
	shown := slice
	if shown == "" {
		shown = "-"
	}
	q := func(of func(*SliceDelay) float64) string { return microUnit.estimate(over(delays, of)) }
	g.add(shown, string(d), load, system,
		rateText(float64(in)*1e9/float64(max(ns, 1))), grouped(in), grouped(sum(func(d *SliceDelay) uint64 { return d.Lost })),
		grouped(sum(func(d *SliceDelay) uint64 { return d.Ambiguous })), grouped(sum(func(d *SliceDelay) uint64 { return d.Evicted })),
		q(p50Of), q(func(d *SliceDelay) float64 { return float64(d.DelayNS.P90) }), q(p99Of),
		q(func(d *SliceDelay) float64 { return float64(d.DelayNS.P999) }), q(func(d *SliceDelay) float64 { return float64(d.DelayNS.Max) }),
		q(func(d *SliceDelay) float64 { return d.MeanNS }))
}

// rateText is a rate per second.
func rateText(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.1f", v)
	}
	return grouped(uint64(v + 0.5))
}

// messageGrid has a row for each message, place and load of a system.
func (v *slicesView) messageGrid() *grid {
	g := &grid{columns: []column{
		{"", "message", left}, {"", "seen by", left}, {"", "load", left}, {"", "system", left},
		{"transactions", "answered", bar}, {"", "refused", 0}, {"", "lost", 0},
		{"time, µs", "p50", bar}, {"", "p90", 0}, {"", "p99", 0}, {"", "max", 0}, {"", "mean", 0},
	}}
	for _, w := range v.n4() {
		q := func(of func(*hdrhistogram.Histogram) float64) string { return microUnit.estimate(w.estimate(of)) }
		g.add(w.message, w.seen, w.load, w.system, grouped(w.count), grouped(w.refused), grouped(w.lost),
			q(quantileOf(50)), q(quantileOf(90)), q(quantileOf(99)), q(quantileOf(100)), q(meanOf))
	}
	return g
}

// programGrid has the figures of the programs, the median of the repeats.
func (v *slicesView) programGrid() *grid {
	g := &grid{columns: []column{{"", "slice", left}, {"", "program", left}, {"", "load", left}, {"", "system", left}, {"", "figure", bar | left}, {"", "value", 0}, {"", "unit", left}}}
	for _, s := range v.Plan.Slices {
		for _, l := range v.Plan.Loads {
			for _, system := range v.systems {
				v.programRows(g, s.Name, l.Name, system)
			}
		}
	}
	return g
}

func (v *slicesView) programRows(g *grid, slice, load, system string) {
	type key struct{ program, figure, unit string }
	var order []key
	values := map[key][]float64{}
	for _, c := range v.cells(system, load) {
		for _, p := range c.Programs {
			if p.Slice != slice {
				continue
			}
			for _, f := range p.Figures {
				k := key{p.Program, f.Name, f.Unit}
				if values[k] == nil {
					order = append(order, k)
				}
				values[k] = append(values[k], f.Value)
			}
		}
	}
	var rows [][]string
	for _, k := range order {
		e := estimateOf(values[k])
		u := programUnit(k.unit, e.Median)
		rows = append(rows, []string{k.program, load, system, k.figure, u.both(e), u.name})
	}
	for i := range rows[min(len(rows), 1):] {
		clear(rows[i+1][:3])
	}
	g.under(rows, slice)
}

// programUnit is that of what programs say, whose rates are small.
func programUnit(name string, v float64) unit {
	switch name {
	case "bit/s":
		return unit{"Mbit/s", 1e-6, 2}
	case "ratio":
		return unit{"%", 100, 2}
	}
	return unitOf(name, v, v)
}

// notes are what has no table.
func (v *slicesView) notes() []note {
	packets, ambiguous, ok := v.balanced()
	account := fmt.Sprintf("%s packets came in; in = matched + lost + in flight + ambiguous + evicted in every series", grouped(packets))
	if !ok {
		account = "does NOT balance: in is not matched + lost + in flight + ambiguous + evicted in every series"
	}
	if packets > 0 && ambiguous > 0 {
		account += fmt.Sprintf("; %.3g %% ambiguous: no delay is claimed for them", 100*float64(ambiguous)/float64(packets))
	}
	notes := append(v.failures(), note{"account", account})
	notes = append(notes, v.beforeUPF()...)
	for _, name := range v.systems {
		if at := slices.IndexFunc(v.Cells, func(c SlicesCell) bool { return c.System == name && c.ThroughputBPS > 0 }); at >= 0 {
			notes = append(notes, note{"throughput", fmt.Sprintf("%s: %.1f Mbit/s each way with a loss of %g %% at most",
				name, v.Cells[at].ThroughputBPS/1e6, 100*v.Plan.LossGoal)})
		}
	}
	if cost := v.hookCost(); cost != "" {
		notes = append(notes, note{"probe", cost})
	}
	for i := range v.Systems {
		if s := &v.Systems[i]; s.Version != "" || len(s.Points) > 0 {
			notes = append(notes, note{s.Name, strings.TrimSpace(s.Title + " " + s.Version + "; " + strings.Join(s.Points, "; "))})
		}
	}
	h := &v.Host
	return append(notes,
		note{"published", slicesSource}, note{"arrangement", v.Plan.Arrangement},
		note{"host", fmt.Sprintf("%s, %s, Linux %s, plumb %s", h.CPUModel, count(uint64(h.CPUs), "CPU"), h.Kernel, h.Commit)})
}

// beforeUPF says for each system how many packets were dropped on the way to it.
func (v *slicesView) beforeUPF() (notes []note) {
	for _, name := range v.systems {
		dropped, lost := uint64(0), uint64(0)
		for i := range v.Cells {
			c := &v.Cells[i]
			if c.System != name {
				continue
			}
			for _, p := range c.Points {
				dropped += p.Dropped
			}
			for j := range c.Delays {
				lost += c.Delays[j].Lost
			}
		}
		if dropped > 0 {
			notes = append(notes, note{"links", fmt.Sprintf("%s: the devices before the UPF dropped %s packets (the queue of a veth was full); %s are lost in all",
				name, grouped(dropped), grouped(lost))})
		}
	}
	return notes
}

// hookCost is what the programs of the probe cost a packet.
func (v *slicesView) hookCost() string {
	lowest, highest := int64(math.MaxInt64), int64(0)
	for i := range v.Cells {
		for _, p := range v.Cells[i].Points {
			if p.HookNS > 0 {
				lowest, highest = min(lowest, p.HookNS), max(highest, p.HookNS)
			}
		}
	}
	if highest == 0 {
		return ""
	}
	return fmt.Sprintf("a program of the probe costs %d to %d ns a packet, measured before each cell by itself", lowest, highest)
}
