package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/plumbline-upf/plumbline/probe/export"
)

// heatLevels is how many shades a heat map has; probe.css has a class for each.
const heatLevels = 7

// heatBins are the delays that a heat map shows at most: 64 ns to a minute.
const lowestHeatBin, highestHeatBin = 6 << 2, 36 << 2

// heatCharts draw delay over time, a map for each series, those of most packets first.
func (v *probeView) heatCharts() []*chart {
	var charts []*chart
	for _, d := range Directions {
		for _, i := range v.of(d) {
			if len(charts) == probeHeatMaps {
				return charts
			}
			charts = appendChart(charts, v.heatChart(d, i))
		}
	}
	return charts
}

// heatChart has a rectangle for each time and range of delays in which there were
// packets, the stronger its colour the more of them there were in a second; nil: there were none.
func (v *probeView) heatChart(d Direction, series int) *chart {
	low, high, most := highestHeatBin, lowestHeatBin, 0.0
	v.cells(series, func(c *export.Column, cell *export.Cell) {
		for _, pair := range cell.Bins {
			bin := heatBin(pair[0])
			low, high = min(low, bin), max(high, bin)
			most = max(most, float64(pair[1])/float64(c.DurationNS))
		}
	})
	if most == 0 {
		return nil
	}
	from, _ := export.BinBounds(low)
	_, to := export.BinBounds(high)
	c := &chart{
		Title: fmt.Sprintf("%s, %s: delay over time", v.labels[series], d),
		Sub:   "the stronger the colour, the more packets, by powers of ten", Height: curveHead + chartPlot + chartFoot,
	}
	right, bottom := chartWidth-10, curveHead+chartPlot
	xs := newRun(v.DurationNS, right-chartLeft)
	ys := fewMarks(float64(from)/1e3, float64(to)/1e3, chartPlot)
	for _, t := range ys.ticks() {
		c.horizontal(bottom-t.At, chartLeft, right)
		c.label(chartLeft-7, bottom-t.At+4, t.Label, "soft", "end")
	}
	for _, t := range xs.ticks() {
		c.vertical(chartLeft+t.At, curveHead, bottom)
		c.label(chartLeft+t.At, bottom+16, t.Label, "soft", "middle")
	}
	c.label((chartLeft+right)/2, bottom+35, "s since the start", "soft", "middle")
	c.label(0, 12, "delay in the UPF, µs", "soft", "start")
	shades := newHeat(xs, ys, most)
	v.cells(series, shades.add)
	for level, path := range shades.paths {
		if path.Len() > 0 {
			c.Strokes = append(c.Strokes, stroke{path.String(), fmt.Sprintf("heat h%d %s", level+1, v.classes[series]), v.labels[series]})
		}
	}
	return c
}

func heatBin(bin uint64) int {
	return min(max(int(min(bin, highestHeatBin)), lowestHeatBin), highestHeatBin)
}

// heat draws cells, a path for each shade.
type heat struct {
	xs, ys axisScale
	most   float64 // packets per ns of a bin of a cell
	paths  [heatLevels]strings.Builder
}

func newHeat(xs, ys axisScale, most float64) *heat { return &heat{xs: xs, ys: ys, most: most} }

func (h *heat) add(c *export.Column, cell *export.Cell) {
	const overlap = 0.3 // or hairlines show between neighbours
	left := chartLeft + h.xs.at(float64(c.StartNS)/1e9)
	right := chartLeft + h.xs.at(float64(c.StartNS+c.DurationNS)/1e9)
	for _, pair := range cell.Bins {
		from, to := export.BinBounds(heatBin(pair[0]))
		bottom := curveHead + chartPlot - h.ys.at(float64(from)/1e3)
		top := curveHead + chartPlot - h.ys.at(float64(to)/1e3)
		width, height := right-left+overlap, bottom-top+overlap
		fmt.Fprintf(&h.paths[h.level(float64(pair[1])/float64(c.DurationNS))], "M%.1f %.1fh%.1fv%.1fh-%.1fz", left, top, width, height, width)
	}
}

// level is the shade of a rate: a thousandth of the highest and less have the lightest.
func (h *heat) level(rate float64) int {
	const decades = 3.0
	share := 1 + math.Log10(max(rate/h.most, 1e-9))/decades
	return min(max(int(math.Ceil(share*heatLevels))-1, 0), heatLevels-1)
}
