package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// TableColumns is the widest that a line of [Table] gets, as long as no name in
// the result is longer than those that this project gives.
const TableColumns = 80

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

// trialList is trials of any systems.
type trialList []Trial

func (r trialList) correctness() string {
	var received, duplicated, reordered uint64
	for i := range r {
		t := &r[i]
		received += t.ReceivedFrames
		duplicated += t.Duplicated
		reordered += t.Reordered
	}
	return fmt.Sprintf("%s, %s duplicated, %s reordered of %s%s",
		r.misdelivered(), grouped(duplicated), grouped(reordered), count(received, "frame"), r.unenforced())
}

// misdelivered is how many frames were, and what was wrong with them.
func (r trialList) misdelivered() string {
	total, by := uint64(0), map[string]uint64{}
	for i := range r {
		total += r[i].Misdelivered
		addTo(by, r[i].MisdeliveredBy)
	}
	return grouped(total) + " misdelivered" + byKind(by)
}

// unenforced is how many frames were wrong in nothing but what the UPF is known not to
// enforce; empty: none.
func (r trialList) unenforced() string {
	by := map[string]uint64{}
	for i := range r {
		addTo(by, r[i].UnenforcedBy)
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

func (r trialList) drops() string {
	total := map[string]uint64{}
	for i := range r {
		for reason, n := range r[i].Drops {
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

func trimmed(v float64) string { return fmt.Sprintf("%.3g", v) }

// lastLine is where a program that failed says why, without its own name.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "plumb: ")
}
