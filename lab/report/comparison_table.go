package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/stats"
)

// ComparisonTable writes c as text for a terminal: a line for each path under the
// bed limit with the same frames, then what a path has once, and what the figures
// belong to.
func ComparisonTable(w io.Writer, c *Comparison) error {
	var b strings.Builder
	writeTitle(&b, c.title())
	for _, g := range []*grid{c.pathGrid(), c.onceGrid()} {
		g.fit(&b, g.nextBar(0))
	}
	for _, note := range c.notes() {
		writeNote(&b, note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// title says in one line what was measured.
func (c *Comparison) title() string {
	var names []string
	for _, p := range c.Paths {
		if !isBed(p.Name) {
			names = append(names, p.Name)
		}
	}
	rules := ""
	if c.Setup.Rules != "" {
		rules = " with " + c.Setup.Rules
	}
	return fmt.Sprintf("plumbline, datapaths %s in turn%s, access %s, %d x %s", strings.Join(names, ", "), rules, c.Setup.Access,
		c.Setup.Repeats, duration(c.Setup.DurationNS))
}

// tableLoads are the loads whose latency has room in the table.
var tableLoads = []int{0, 50}

func (c *Comparison) pathGrid() *grid {
	g := &grid{columns: []column{
		{"", "payload", left}, {"", "sessions", 0}, {"", "direction", left}, {"", "path", left},
		{"received, kpps", "saturated", bar}, {"", "loss <= goal", 0}, {"share of bed limit", "median", bar}, {"", "low-high", 0},
		{"CPU, ns/frame", "UPF", bar}, {"", "softirq", 0},
	}}
	for _, load := range tableLoads {
		g.columns = append(g.columns, column{"µs, " + loadName(load), "p50", bar}, column{"", "p99", 0})
	}
	c.eachRow(func(row *PathRow, new bool) {
		names := []string{"", "", "", row.Path}
		if new {
			names = []string{row.Payload, fmt.Sprint(row.Sessions), string(row.Direction), row.Path}
		}
		cells := append(names, rateOf(row)...)
		for _, load := range tableLoads {
			cells = append(cells, latencyOf(row, load, func(l Latency) []int64 { return []int64{l.P50, l.P99} })...)
		}
		g.add(cells...)
	})
	return g
}

// eachRow calls f with every row, and whether it is the first of its cell.
func (c *Comparison) eachRow(f func(row *PathRow, first bool)) {
	for _, cell := range c.Cells() {
		first := true
		for _, p := range c.Paths {
			if row := c.Row(cell, p.Name); row != nil {
				f(row, first)
				first = false
			}
		}
	}
}

func rateOf(row *PathRow) []string {
	_, pps := row.ThroughputPPS()
	cells := []string{kpps(row.SaturatedPPS()), throughputText(pps), "", "", "", ""}
	if shares := row.Shares(); row.Path != PathBed && len(shares) > 0 && pps > 0 {
		cells[2] = fmt.Sprintf("%.3f", stats.Median(shares))
		cells[3] = fmt.Sprintf("%.3f-%.3f", slices.Min(shares), slices.Max(shares))
	}
	if process, softirq, ok := row.CPUNS(); ok {
		cells[4], cells[5] = fmt.Sprintf("%.0f", process), fmt.Sprintf("%.0f", softirq)
	}
	if isBed(row.Path) {
		cells[4] = ""
	}
	return cells
}

// throughputText of 0 says that no rate that was tried was low enough.
func throughputText(pps float64) string {
	if pps == 0 {
		return "none"
	}
	return kpps(pps)
}

// latencyOf returns a cell for each value of the latency at a load, empty if that
// was not measured.
func latencyOf(row *PathRow, load int, of func(Latency) []int64) []string {
	t := row.Paced[load]
	if t == nil {
		return make([]string, len(of(Latency{})))
	}
	var cells []string
	for _, ns := range of(t.LatencyNS) {
		cells = append(cells, shortMicros(ns))
	}
	return cells
}

// shortMicros leaves the decimal to those whom it matters to.
func shortMicros(ns int64) string {
	if ns >= 1e6 {
		return fmt.Sprintf("%.0f", float64(ns)/1e3)
	}
	return micros(ns)
}

func loadName(percent int) string {
	if percent == 0 {
		return "idle"
	}
	return fmt.Sprintf("%d %%", percent)
}

// onceGrid is what a path has once: TCP, memory, and how it stands.
func (c *Comparison) onceGrid() *grid {
	g := &grid{columns: []column{
		{"", "path", left}, {"", "mode", left}, {"", "offloads of the outer ends", left}, {"TCP, Gbit/s", "uplink", bar}, {"", "downlink", 0},
	}}
	for i, n := range c.Setup.Sessions {
		group, flags := "", 0
		if i == 0 {
			group, flags = "memory, MiB: process + maps", bar
		}
		g.columns = append(g.columns, column{group, count(uint64(n), "session"), flags})
	}
	for _, p := range c.Paths {
		cells := []string{p.Name, p.Mode, p.Offloads, tcpText(c.TCPRates(p.Name, Uplink)), tcpText(c.TCPRates(p.Name, Downlink))}
		for _, n := range c.Setup.Sessions {
			cells = append(cells, p.memoryText(n))
		}
		g.add(cells...)
	}
	return g
}

func (p *Path) memoryText(sessions int) string {
	for _, m := range p.Memory {
		if m.Sessions == sessions {
			return fmt.Sprintf("%.0f + %.0f", float64(m.ResidentOctets)/(1<<20), float64(m.MapOctets)/(1<<20))
		}
	}
	return ""
}

func tcpText(rates []float64) string {
	if len(rates) == 0 {
		return ""
	}
	return gbps(stats.Median(rates))
}

// lastLine is where a program that failed says why, without its own name.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "plumb: ")
}

func (c *Comparison) notes() []note {
	s := &c.Setup
	var notes []note
	for _, p := range c.Paths {
		if p.Missing != "" {
			notes = append(notes, note{p.Name, "missing: " + lastLine(p.Missing)})
		}
	}
	if c.Ended != "" {
		notes = append(notes, note{"unfinished", c.Ended})
	}
	if busy, ok := c.disturbed(); ok {
		notes = append(notes, beware(busy))
	}
	notes = append(notes, []note{
		{"correctness", c.correctness()},
		{"rates", fmt.Sprintf("saturated: received while as much as possible was sent. Loss <= goal: the highest rate with a loss of %s %% at most, "+
			"searched in trials of %s where saturation loses more; the share is of that, by what the bed received in the same repeat. CPU is of that "+
			"trial; softirq counts all CPUs, and the meter and the way to it are in it, as they are in the bed's",
			trimmed(100*s.LossGoalRatio), time.Duration(s.SearchNS))},
		{"latency", fmt.Sprintf("one-way, from the intended send time. Idle: %.0f frames per second; else that part of each path's own throughput", s.IdlePPS)},
	}...)
	if c.TCPMissing == "" {
		notes = append(notes, note{"TCP", fmt.Sprintf("iperf3, one connection of a UE behind package gnb, %s, median", time.Duration(s.TCPNS))})
	} else {
		notes = append(notes, note{"TCP", "missing: " + c.TCPMissing})
	}
	if slices.Contains(s.Payloads, PayloadIMIX) {
		notes = append(notes, note{"imix", "payloads of 64, 548 and 1400 octets, 7 to 4 to 1"})
	}
	if s.OuterChecksum {
		notes = append(notes, note{"frames", "uplink with an outer UDP checksum"})
	}
	if drops := c.drops(); drops != "" {
		notes = append(notes, note{"UPF dropped", drops})
	}
	h := &c.Host
	return append(notes, note{"arrangement", c.arrangement()},
		note{"host", fmt.Sprintf("%s, %s, Linux %s, plumb %s", h.CPUModel, count(uint64(h.CPUs), "CPU"), h.Kernel, h.Commit)})
}

func trimmed(v float64) string { return fmt.Sprintf("%.3g", v) }

func (c *Comparison) arrangement() string {
	s := Setup{Arrangement: c.Setup.Arrangement, Realtime: c.Setup.Realtime}
	return s.text()
}

// disturbed is that of [Result], by the trials of the bed, which takes one CPU.
func (c *Comparison) disturbed() (percent float64, ok bool) {
	var r Result
	for _, t := range c.Trials {
		if t.Datapath == PathBed && t.Kind == Saturated {
			r.Trials = append(r.Trials, t.Trial)
		}
	}
	return r.disturbed()
}

// correctness tells order within one session from that among many: a datapath may
// take up the packets of one UE after those of another, but not those of a flow.
func (c *Comparison) correctness() string {
	var one, all Result
	for _, t := range c.Trials {
		if t.Sessions == 1 {
			one.Trials = append(one.Trials, t.Trial)
		}
		all.Trials = append(all.Trials, t.Trial)
	}
	total := func(r Result, of func(*Trial) uint64) string {
		n := uint64(0)
		for i := range r.Trials {
			n += of(&r.Trials[i])
		}
		return grouped(n)
	}
	reordered := func(t *Trial) uint64 { return t.Reordered }
	text := fmt.Sprintf("%s, %s duplicated of %s frames; ", all.misdelivered(),
		total(all, func(t *Trial) uint64 { return t.Duplicated }), total(all, func(t *Trial) uint64 { return t.ReceivedFrames }))
	if len(one.Trials) > 0 {
		text += fmt.Sprintf("%s of %s reordered with one session, ", total(one, reordered), total(one, func(t *Trial) uint64 { return t.ReceivedFrames }))
	}
	return text + total(all, reordered) + " of all, where frames of different sessions may overtake each other" + all.unenforced()
}

// drops are those of saturated trials above all, by path.
func (c *Comparison) drops() string {
	var parts []string
	for _, p := range c.Paths {
		r := Result{}
		for _, t := range c.Trials {
			if t.Datapath == p.Name {
				r.Trials = append(r.Trials, t.Trial)
			}
		}
		if drops := r.drops(); drops != "" {
			parts = append(parts, p.Name+": "+drops)
		}
	}
	return strings.Join(parts, "; ")
}
