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
	p := newPicture(v.key())
	for _, m := range v.methods() {
		shown, _ := m.charts()
		p.add(shown)
	}
	return p.write(w)
}

// newPicture begins one with what the colours mean.
func newPicture(key []keyEntry) *svgPage {
	p := &svgPage{Width: 2*svgMargin + svgColumns*chartWidth + (svgColumns-1)*svgGap}
	y, x := svgMargin, svgMargin
	for _, k := range key {
		width := 34 + chartNames*float64(utf8.RuneCountInString(k.Name))
		if x > svgMargin && x+width > p.Width-svgMargin {
			x, y = svgMargin, y+18
		}
		p.Key = append(p.Key, svgKey{x, y, k})
		x += width
	}
	p.Height = y + 26 + svgMargin
	return p
}

// add puts charts in lines below those that are there, and no more than a page has.
func (p *svgPage) add(charts []*chart) {
	y := p.Height - svgMargin
	for line := range slices.Chunk(charts[:min(len(charts), maxCharts-len(p.Charts))], svgColumns) {
		height := 0.0
		for i, c := range line {
			p.Charts = append(p.Charts, svgChart{svgMargin + float64(i)*(chartWidth+svgGap), y + svgTitle, c})
			height = max(height, c.Height)
		}
		y += svgTitle + height + svgGap
	}
	p.Height = y + svgMargin
}

func (p *svgPage) write(w io.Writer) error {
	if err := labTemplate.ExecuteTemplate(w, "lab.svg", p); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	return nil
}
