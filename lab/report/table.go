package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plumbline-upf/plumbline/internal/stats"
)

// TableColumns is the widest that a line of [Table] gets, as long as no name in
// the result is longer than those that this project gives.
const TableColumns = 80

// Table writes r as text for a terminal: what was measured, the rates beside
// the bed limit, latency, and what the figures belong to.
func Table(w io.Writer, r *Result) error {
	var b strings.Builder
	heading(&b, r)
	for _, g := range []*grid{rateGrid(r), latencyGrid(r)} {
		if len(g.rows) > 0 {
			g.fit(&b, g.nextBar(0))
		}
	}
	for _, note := range r.notes() {
		writeNote(&b, note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func heading(b *strings.Builder, r *Result) {
	writeTitle(b, r.title())
}

// title says in one line what was measured.
func (r *Result) title() string {
	if len(r.Trials) == 0 {
		return "bed limit only"
	}
	t := &r.Trials[0]
	rules := ""
	if r.Setup.Rules != "" {
		rules = " with " + r.Setup.Rules
	}
	return fmt.Sprintf("%s, datapath %s%s, %s%s, access %s, UDP payload %d octets, %d x %s",
		t.DUT, t.Datapath, parenthesised(t.XDPMode), r.sessionsText(), rules, t.Access,
		r.Setup.PayloadOctets, r.Setup.Repeats, duration(r.Setup.DurationNS))
}

// sessionsText returns "1 session", or "1, 1,000 and 10,000 sessions".
func (r *Result) sessionsText() string {
	counts := r.SessionCounts()
	last := len(counts) - 1
	text := count(uint64(counts[last]), "session")
	if last == 0 {
		return text
	}
	var before []string
	for _, n := range counts[:last] {
		before = append(before, grouped(uint64(n)))
	}
	return strings.Join(before, ", ") + " and " + text
}

// rateGrid has a line for each row, under that of the bed limit with the same
// frames.
func rateGrid(r *Result) *grid {
	g := &grid{columns: []column{
		{"", "direction", left}, {"", "sessions", 0}, {"", "path", left},
		{"Gbit/s", "Tx", bar}, {"", "Rx", 0}, {"kpps", "Tx", bar}, {"", "Rx", 0},
		{"loss", "%", bar}, {"share of bed limit", "median", bar}, {"", "low-high", 0},
		{"cost", "ns", bar}, {"CPU %", "UPF", bar}, {"", "softirq", 0}, {"", "busy", 0},
	}}
	var last rowKey
	for _, row := range r.Rows(Throughput) {
		t := row.First()
		if key := (rowKey{direction: t.Direction, sessions: t.Sessions}); key != last {
			g.add(bedCells(r.Bed.Limit(t.Direction).FrameOctets, t, row.Bed)...)
			last = key
		}
		g.add(rateCells(row)...)
	}
	return g
}

func bedCells(frameOctets int, t *Trial, trials []BedTrial) []string {
	median := func(of func(BedTrial) float64) float64 { return medianOf(trials, of) }
	offered := median(func(t BedTrial) float64 { return t.OfferedPPS })
	return []string{
		string(t.Direction), fmt.Sprint(t.Sessions), bedPath,
		gbps(offered * float64(frameOctets) * 8), gbps(median(func(t BedTrial) float64 { return t.ReceivedBPS })),
		kpps(offered), kpps(median(func(t BedTrial) float64 { return t.ReceivedPPS })),
		percent(median(func(t BedTrial) float64 { return t.LossRatio })),
		"", "", "", "",
		cpu(median(func(t BedTrial) float64 { return t.CPU.SoftirqPercent })),
		cpu(median(func(t BedTrial) float64 { return t.CPU.BusyPercent })),
	}
}

// bedPath stands for the bed limit in the column of datapaths.
const bedPath = "bed"

func rateCells(row Row) []string {
	t := row.First()
	low, high := row.Spread(func(t *Trial) float64 { return t.BedRatio })
	cost := ""
	if ns, ok := row.CostNS(); ok {
		cost = fmt.Sprintf("%.0f", ns)
	}
	return []string{
		"", "", t.Datapath,
		gbps(row.Median(func(t *Trial) float64 { return t.OfferedBPS })),
		gbps(row.Median(func(t *Trial) float64 { return t.ReceivedBPS })),
		kpps(row.Median(func(t *Trial) float64 { return t.OfferedPPS })),
		kpps(row.Median(func(t *Trial) float64 { return t.ReceivedPPS })),
		percent(row.Median(func(t *Trial) float64 { return t.LossRatio })),
		fmt.Sprintf("%.3f", row.Median(func(t *Trial) float64 { return t.BedRatio })),
		fmt.Sprintf("%.3f-%.3f", low, high), cost,
		cpu(row.Median(func(t *Trial) float64 { return t.CPU.DUTPercent })),
		cpu(row.Median(func(t *Trial) float64 { return t.CPU.SoftirqPercent })),
		cpu(row.Median(func(t *Trial) float64 { return t.CPU.BusyPercent })),
	}
}

func latencyGrid(r *Result) *grid {
	g := &grid{columns: []column{
		{"", "direction", left}, {"", "sessions", 0}, {"", "path", left}, {"paced, kpps", "intended", bar}, {"", "offered", 0}, {"loss", "%", bar},
		{"one-way latency, µs", "min", bar}, {"", "p50", 0}, {"", "p90", 0}, {"", "p99", 0}, {"", "p99.9", 0}, {"", "max", 0},
	}}
	for _, row := range r.LatencyRows() {
		t, l := row.First(), row.LatencyNS()
		g.add(string(t.Direction), fmt.Sprint(t.Sessions), t.Datapath,
			kpps(t.IntendedPPS), kpps(row.Median(func(t *Trial) float64 { return t.OfferedPPS })),
			percent(row.Median(func(t *Trial) float64 { return t.LossRatio })),
			micros(l.Min), micros(l.P50), micros(l.P90), micros(l.P99), micros(l.P999), micros(l.Max))
	}
	return g
}

// note is one labelled line under the tables.
type note struct{ Label, Text string }

// writeNote breaks the text between words so that no line is too long.
func writeNote(b *strings.Builder, n note) {
	const indent = 14
	fmt.Fprintf(b, " %-*s", indent-1, n.Label)
	column := max(indent, 1+utf8.RuneCountInString(n.Label))
	if column > indent-1 && utf8.RuneCountInString(n.Label) >= indent-1 {
		b.WriteByte(' ')
		column++
	}
	for i, word := range strings.Fields(n.Text) {
		width := utf8.RuneCountInString(word)
		if i > 0 && column+1+width > TableColumns {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		} else if i > 0 {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	b.WriteByte('\n')
}

func (r *Result) notes() []note {
	h := &r.Host
	return append(r.resultNotes(),
		note{"arrangement", r.Setup.text()},
		note{"host", fmt.Sprintf("%s, %s, Linux %s, plumb %s", h.CPUModel, count(uint64(h.CPUs), "CPU"), h.Kernel, h.Commit)})
}

// resultNotes are the results that have no column.
func (r *Result) resultNotes() []note {
	notes := []note{{"correctness", r.correctness()}, {"frames", r.frames()}}
	if r.Ended != "" {
		notes = append(notes, note{"unfinished", r.Ended})
	}
	if busy, ok := r.disturbed(); ok {
		notes = append(notes, beware(busy))
	}
	if drops := r.drops(); drops != "" {
		notes = append(notes, note{"UPF dropped", drops})
	}
	if r.Install.Sessions > 0 {
		notes = append(notes, note{"N4", r.Install.text()})
	}
	for _, p := range r.Program {
		notes = append(notes, note{"BPF program", fmt.Sprintf("%s, %s, %s: %.0f ns a run, of which some is the kernel's accounting",
			p.Name, p.Direction, count(uint64(p.Sessions), "session"), p.RunNS)})
	}
	return notes
}

func beware(busyPercent float64) note {
	return note{"beware", fmt.Sprintf("other programs took about %.0f %% of a CPU meanwhile: rates are lower and more "+
		"scattered, and high percentiles of latency longer, than on a machine at rest", busyPercent)}
}

func (r *Result) correctness() string {
	var received, duplicated, reordered uint64
	for i := range r.Trials {
		t := &r.Trials[i]
		received += t.ReceivedFrames
		duplicated += t.Duplicated
		reordered += t.Reordered
	}
	return fmt.Sprintf("%s, %s duplicated, %s reordered of %s%s",
		r.misdelivered(), grouped(duplicated), grouped(reordered), count(received, "frame"), r.unenforced())
}

// misdelivered is how many frames were, and what was wrong with them.
func (r *Result) misdelivered() string {
	total, by := uint64(0), map[string]uint64{}
	for i := range r.Trials {
		total += r.Trials[i].Misdelivered
		addTo(by, r.Trials[i].MisdeliveredBy)
	}
	return grouped(total) + " misdelivered" + byKind(by)
}

// unenforced is how many frames were wrong in nothing but what the UPF is known not to
// enforce; empty: none.
func (r *Result) unenforced() string {
	by := map[string]uint64{}
	for i := range r.Trials {
		addTo(by, r.Trials[i].UnenforcedBy)
	}
	if len(by) == 0 {
		return ""
	}
	return ", " + grouped(sum(by)) + " wrong only in what is not enforced" + byKind(by)
}

func addTo(sum, by map[string]uint64) {
	for kind, n := range by {
		sum[kind] += n
	}
}

func sum(by map[string]uint64) (total uint64) {
	for _, n := range by {
		total += n
	}
	return total
}

// byKind is what was wrong with frames, in brackets: most frequent first.
func byKind(by map[string]uint64) string {
	if len(by) == 0 {
		return ""
	}
	kinds := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b))
	})
	for i, kind := range kinds {
		kinds[i] = grouped(by[kind]) + " " + kind
	}
	return " (" + strings.Join(kinds, ", ") + ")"
}

// disturbed reports what other programs took of a CPU during the trials at the
// highest rate, if it is enough to spoil them. Sender, UPF and meter take one
// CPU together, and no more than the UPF's process beside it; in any other
// arrangement it is not known. A real-time sender loses little of its CPU, but
// caches and memory are still shared.
func (r *Result) disturbed() (percent float64, ok bool) {
	const own, bearable = 100, 25
	var others []float64
	for i := range r.Trials {
		if t := &r.Trials[i]; t.IntendedPPS == 0 {
			others = append(others, t.CPU.BusyPercent-t.CPU.DUTPercent-own)
		}
	}
	if r.Setup.Threaded || len(others) == 0 {
		return 0, false
	}
	percent = stats.Median(others)
	return percent, percent > bearable
}

// frames says how long the offered frames are; the outer headers then come off
// or are added.
func (r *Result) frames() string {
	var parts []string
	for _, d := range Directions {
		if b := r.Bed.Limit(d); b != nil {
			parts = append(parts, fmt.Sprintf("%s %d octets", d, b.FrameOctets))
		}
	}
	return strings.Join(parts, ", ") + " as offered, Ethernet header included"
}

func (r *Result) drops() string {
	total := map[string]uint64{}
	for i := range r.Trials {
		for reason, n := range r.Trials[i].Drops {
			total[reason] += n
		}
	}
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(total)) {
		if total[reason] > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", reason, grouped(total[reason])))
		}
	}
	return strings.Join(parts, ", ")
}

func (s *Setup) text() string {
	if !s.Realtime {
		return s.Arrangement
	}
	return s.Arrangement + " Frames at the highest rate are sent from a real-time thread."
}

func (i *Install) text() string {
	s := fmt.Sprintf("%s established over PFCP in %s: %s/s, p99 %s", count(uint64(i.Sessions), "session"),
		duration(i.DurationNS), grouped(uint64(i.SessionsPerSec)), duration(i.LatencyNS.P99))
	if i.DUTMemoryOctets > 0 {
		s += fmt.Sprintf("; UPF holds %s", mebi(i.DUTMemoryOctets))
	}
	if i.MapMemoryOctets > 0 {
		s += fmt.Sprintf(", its BPF maps %s", mebi(i.MapMemoryOctets))
	}
	if i.Sessions >= perSessionFrom && i.DUTMemoryOctets > i.DUTMemoryBeforeOctets {
		n := uint64(i.Sessions)
		s += fmt.Sprintf(" (for each session %s and %s octets)", grouped((i.DUTMemoryOctets-i.DUTMemoryBeforeOctets)/n), grouped(i.MapMemoryOctets/n))
	}
	return s
}

// perSessionFrom is how many sessions there must be before memory that is there
// anyway is little beside theirs.
const perSessionFrom = 10_000
