package report

import (
	"fmt"
	"strings"
)

// drawing is what the template draws, in its order. Numbers are pixels of its canvas.
type drawing struct {
	Grid     []segment
	Marks    []mark
	Whiskers []segment
	Strokes  []stroke
	Dots     []dot
	Labels   []label
}

// segment is a straight line.
type segment struct {
	X1, Y1, X2, Y2 float64
	Class          string
}

// mark is a filled rectangle. Class says which colour it has, Title what it is.
type mark struct {
	X, Y, Width, Height float64
	Class, Title        string
}

// stroke is a line through points.
type stroke struct{ Path, Class, Title string }

// dot is a point of a curve.
type dot struct {
	X, Y         float64
	Class, Title string
}

// label is a text; Anchor is start, middle or end.
type label struct {
	X, Y                float64
	Text, Class, Anchor string
}

// vertical and horizontal draw lines of the grid.
func (d *drawing) vertical(x, top, bottom float64) {
	d.Grid = append(d.Grid, segment{x, top, x, bottom, "grid"})
}

func (d *drawing) horizontal(y, left, right float64) {
	d.Grid = append(d.Grid, segment{left, y, right, y, "grid"})
}

func (d *drawing) label(x, y float64, text, class, anchor string) {
	d.Labels = append(d.Labels, label{x, y, text, class, anchor})
}

// point is a place on the canvas.
type point struct{ X, Y float64 }

// curve draws a line through points.
func (d *drawing) curve(points []point, class, title string) {
	var path strings.Builder
	for i, p := range points {
		command := 'L'
		if i == 0 {
			command = 'M'
		}
		fmt.Fprintf(&path, "%c%.1f %.1f", command, p.X, p.Y)
	}
	d.Strokes = append(d.Strokes, stroke{path.String(), class, title})
}
