package report

import (
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/probe/export"
)

// probeView is a probe's result with the names and colours of its series.
type probeView struct {
	*Probe
	labels  []string // of each series, without its direction
	classes []string // of each series: one colour for both directions
	key     []keyEntry
}

// newProbeView names a series after its slice where no other UPF has that, else after
// the UPF where that has only one, else after both.
func newProbeView(p *Probe) *probeView {
	v := &probeView{Probe: p}
	upfsOf, slicesOf := map[string]map[string]bool{}, map[string]map[string]bool{}
	for i := range p.Series {
		s := &p.Series[i]
		note := func(m map[string]map[string]bool, k, v string) {
			if m[k] == nil {
				m[k] = map[string]bool{}
			}
			m[k][v] = true
		}
		note(upfsOf, s.Slice, s.UPF)
		note(slicesOf, s.UPF, s.Slice)
	}
	for i := range p.Series {
		s := &p.Series[i]
		label := s.UPF + " " + export.SliceName(s.Slice)
		switch {
		case s.Slice != "" && len(upfsOf[s.Slice]) == 1:
			label = s.Slice
		case len(slicesOf[s.UPF]) == 1:
			label = s.UPF
		}
		v.add(label)
	}
	return v
}

func (v *probeView) add(label string) {
	at := slices.IndexFunc(v.key, func(k keyEntry) bool { return k.Name == label })
	if at < 0 {
		at = len(v.key)
		class := fmt.Sprintf("s%d", at%maxSystemCSS+1)
		if at >= maxSystemCSS {
			class += " dashed"
		}
		v.key = append(v.key, keyEntry{Class: class, Name: label})
	}
	v.labels, v.classes = append(v.labels, label), append(v.classes, v.key[at].Class)
}

// of lists the series of a direction that have delays to show, those of most packets first.
func (v *probeView) of(d Direction) []int {
	var list []int
	for i := range v.Series {
		if s := &v.Series[i]; s.Direction == string(d) && s.Matched > 0 && s.Withheld == "" {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int {
		switch na, nb := v.Series[a].Matched, v.Series[b].Matched; {
		case na > nb:
			return -1
		case na < nb:
			return 1
		}
		return 0
	})
	return list
}

// cells calls f with every cell of a series, and its column.
func (v *probeView) cells(series int, f func(*export.Column, *export.Cell)) {
	for i := range v.Timeline.Columns {
		c := &v.Timeline.Columns[i]
		for j := range c.Cells {
			if c.Cells[j].Series == series {
				f(c, &c.Cells[j])
			}
		}
	}
}
