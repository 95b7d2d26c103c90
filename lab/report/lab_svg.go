package report

import (
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// The picture of all charts has them side by side, in lines.
const (
	svgColumns = 2
	svgGap     = 28.0
	svgMargin  = 20.0
	svgTitle   = 44.0 // above each chart
)

// svgPage is what the template draws.
type svgPage struct {
	Width, Height float64
	Charts        []svgChart
	Key           []svgKey
}

// svgChart is a chart and where it stands.
type svgChart struct {
	X, Y float64
	*chart
}

// svgKey is a system and where its colour stands.
type svgKey struct {
	X, Y float64
	keyEntry
}

// LabSVG writes the charts that the page shows as a picture of its own.
func LabSVG(w io.Writer, l *Lab) error {
	v := newLabView(l)
	p := &svgPage{Width: 2*svgMargin + svgColumns*chartWidth + (svgColumns-1)*svgGap}
	y, x := svgMargin, svgMargin
	for _, k := range v.key() {
		width := 34 + chartNames*float64(utf8.RuneCountInString(k.Name))
		if x > svgMargin && x+width > p.Width-svgMargin {
			x, y = svgMargin, y+18
		}
		p.Key = append(p.Key, svgKey{x, y, k})
		x += width
	}
	y += 26
	for _, m := range v.methods() {
		shown, _ := m.charts()
		shown = shown[:min(len(shown), maxCharts-len(p.Charts))]
		y = p.place(shown, y)
	}
	p.Height = y + svgMargin
	if err := labTemplate.ExecuteTemplate(w, "lab.svg", p); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	return nil
}

// place adds charts below y, in lines, and returns where the last one ends.
func (p *svgPage) place(charts []*chart, y float64) float64 {
	for line := range slices.Chunk(charts, svgColumns) {
		height := 0.0
		for i, c := range line {
			p.Charts = append(p.Charts, svgChart{svgMargin + float64(i)*(chartWidth+svgGap), y + svgTitle, c})
			height = max(height, c.Height)
		}
		y += svgTitle + height + svgGap
	}
	return y
}
