package report

import "github.com/plumbline-upf/plumbline/probe/export"

// beyondGrid has a line for each series that the kernel was seen to treat beside a UPF;
// nil: there is none.
func (p *Probe) beyondGrid() *grid {
	if len(p.Beyond) == 0 {
		return nil
	}
	g := &grid{columns: []column{
		{"", "UPF", left}, {"", "slice", left}, {"", "direction", left},
		{"in the kernel, between TUN and N6 device, µs", "min", bar}, {"", "p50", 0}, {"", "p90", 0}, {"", "p99", 0}, {"", "p99.9", 0}, {"", "max", 0},
		{"packets", "matched", bar}, {"", "lost", 0}, {"", "ambiguous", 0},
	}}
	for i := range p.Beyond {
		s := &p.Beyond[i]
		cells := append([]string{s.UPF, export.SliceName(s.Slice), s.Direction}, delayCells(&s.DelayNS, s.Matched, s.Withheld)...)
		g.add(append(cells, grouped(s.Matched), grouped(s.Lost), grouped(s.Ambiguous))...)
	}
	return p.named(g)
}

// partsGrid has a line for each series whose delay was taken apart; nil: none was.
func (p *Probe) partsGrid() *grid {
	g := &grid{columns: []column{
		{"", "UPF", left}, {"", "slice", left}, {"", "direction", left},
		{"before the UPF reads, µs", "p50", bar}, {"", "p90", 0}, {"", "p99", 0}, {"", "max", 0},
		{"inside, µs", "p50", bar}, {"", "p90", 0}, {"", "p99", 0}, {"", "max", 0},
		{"packets", "taken apart", bar}, {"", "read with others", 0}, {"", "not known", 0},
	}}
	for i := range p.Series {
		s := &p.Series[i]
		if s.Parts == nil || s.Withheld != "" {
			continue
		}
		cells := []string{s.UPF, export.SliceName(s.Slice), s.Direction}
		for _, d := range []*export.Delay{&s.Parts.QueuedNS, &s.Parts.InsideNS} {
			c := delayCells(d, s.Parts.Packets, "")
			cells = append(cells, c[1], c[2], c[3], c[5])
		}
		g.add(append(cells, grouped(s.Parts.Packets), grouped(s.Parts.Batched), grouped(s.Parts.Unknown))...)
	}
	if len(g.rows) == 0 {
		return nil
	}
	return p.named(g)
}
