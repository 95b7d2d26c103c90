package report

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// pngScale is pixels of the picture for one of the canvas: for screens of today and
// for print.
const pngScale = 2

// maxPNG bounds a side of the picture, in pixels.
const maxPNG = 1 << 15

// writePNG draws the page that lab.svg draws, in the same colours.
func writePNG(w io.Writer, p *svgPage) error {
	width, height := int(math.Ceil(p.Width*pngScale)), int(math.Ceil(p.Height*pngScale))
	if width < 1 || height < 1 || width > maxPNG || height > maxPNG {
		return fmt.Errorf("picture of %d x %d pixels: want 1 to %d", width, height, maxPNG)
	}
	fonts, err := pngFonts()
	if err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	c := &canvas{to: image.NewRGBA(image.Rect(0, 0, width, height)), fonts: fonts}
	draw.Draw(c.to, c.to.Bounds(), image.White, image.Point{}, draw.Src)
	for _, k := range p.Key {
		c.rect(k.X, k.Y, 11, 11, k.Class)
		c.text(label{k.X + 17, k.Y + 10, k.Name, "", "start"})
	}
	for _, one := range p.Charts {
		c.x, c.y = one.X, one.Y
		c.text(label{0, -26, one.Title, "title", "start"})
		c.text(label{0, -9, one.Sub, "soft", "start"})
		c.drawing(&one.drawing)
	}
	if err := png.Encode(w, c.to); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	return nil
}

// canvas is a picture. What is drawn is moved by x and y.
type canvas struct {
	to    *image.RGBA
	fonts map[string]font.Face
	x, y  float64
}

// drawing draws d in the order of drawing.html.
func (c *canvas) drawing(d *drawing) {
	for _, s := range d.Grid {
		c.line([]point{{s.X1, s.Y1}, {s.X2, s.Y2}}, 1, s.Class)
	}
	for _, m := range d.Marks {
		c.rect(m.X, m.Y, m.Width, m.Height, m.Class)
	}
	for _, s := range d.Whiskers {
		c.line([]point{{s.X1, s.Y1}, {s.X2, s.Y2}}, 1.2, s.Class)
	}
	for _, s := range d.Strokes {
		points := pathPoints(s.Path)
		if strings.Contains(s.Class, "dashed") {
			for _, dash := range dashes(points, 5, 4) {
				c.line(dash, 2, s.Class)
			}
			continue
		}
		c.line(points, 2, s.Class)
	}
	for _, one := range d.Dots {
		c.disc(point{one.X, one.Y}, 2.6, one.Class)
	}
	for _, l := range d.Labels {
		c.text(l)
	}
}

// pngColours are those of lab.svg.
var pngColours = map[string]color.RGBA{
	"grid": {0xe8, 0xec, 0xf1, 255}, "soft": {0x5b, 0x68, 0x78, 255}, "whisker": ink, "bed": {0x8a, 0x97, 0xa8, 255}, "second": {0xba, 0xc3, 0xce, 255},
	"s1": {0x1f, 0x6f, 0xeb, 255}, "s2": {0xd9, 0x73, 0x0d, 255}, "s3": {0x17, 0x80, 0x3d, 255}, "s4": {0xa3, 0x3e, 0xa1, 255},
	"s5": {0xc6, 0x28, 0x28, 255}, "s6": {0x0b, 0x7f, 0x91, 255}, "s7": {0x8a, 0x5a, 0x00, 255}, "s8": {0x5b, 0x5b, 0xd6, 255},
	"s9": {0xc2, 0x41, 0x7c, 255}, "s10": {0x6b, 0x7a, 0x00, 255},
}

var ink = color.RGBA{0x16, 0x20, 0x2c, 255}

// colour is that of the last of the classes that has one.
func colour(class string) color.RGBA {
	found := ink
	for _, word := range strings.Fields(class) {
		if c, ok := pngColours[word]; ok {
			found = c
		}
	}
	return found
}

// fill fills a polygon.
func (c *canvas) fill(points []point, class string) {
	bounds := c.to.Bounds()
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	scaled := make([]point, len(points))
	for i, p := range points {
		scaled[i] = point{(p.X + c.x) * pngScale, (p.Y + c.y) * pngScale}
		low, high = point{min(low.X, scaled[i].X), min(low.Y, scaled[i].Y)}, point{max(high.X, scaled[i].X), max(high.Y, scaled[i].Y)}
	}
	if !(low.X >= 0 && low.Y >= 0 && high.X <= float64(bounds.Dx()) && high.Y <= float64(bounds.Dy())) {
		return // nothing that is drawn leaves the picture
	}
	left, top := math.Floor(low.X), math.Floor(low.Y)
	width, height := int(math.Ceil(high.X)-left)+1, int(math.Ceil(high.Y)-top)+1
	r := vector.NewRasterizer(width, height)
	for i, p := range scaled {
		x, y := float32(p.X-left), float32(p.Y-top)
		if i == 0 {
			r.MoveTo(x, y)
		} else {
			r.LineTo(x, y)
		}
	}
	r.ClosePath()
	r.Draw(c.to, image.Rect(int(left), int(top), int(left)+width, int(top)+height), image.NewUniform(colour(class)), image.Point{})
}

func (c *canvas) rect(x, y, width, height float64, class string) {
	c.fill([]point{{x, y}, {x + width, y}, {x + width, y + height}, {x, y + height}}, class)
}

func (c *canvas) disc(at point, radius float64, class string) {
	const corners = 24
	points := make([]point, corners)
	for i := range points {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		points[i] = point{at.X + radius*cos, at.Y + radius*sin}
	}
	c.fill(points, class)
}

// line draws a line of straight parts, round where they meet.
func (c *canvas) line(points []point, width float64, class string) {
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		length := math.Hypot(b.X-a.X, b.Y-a.Y)
		if length == 0 {
			continue
		}
		dx, dy := (b.X-a.X)/length*width/2, (b.Y-a.Y)/length*width/2
		c.fill([]point{{a.X - dy, a.Y + dx}, {b.X - dy, b.Y + dx}, {b.X + dy, b.Y - dx}, {a.X + dy, a.Y - dx}}, class)
		if i > 1 {
			c.disc(a, width/2, class)
		}
	}
}

// pathPoints takes back what [drawing.curve] wrote.
func pathPoints(path string) []point {
	var points []point
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == 'M' || r == 'L' }) {
		xText, yText, _ := strings.Cut(part, " ")
		x, xErr := strconv.ParseFloat(xText, 64)
		y, yErr := strconv.ParseFloat(yText, 64)
		if xErr == nil && yErr == nil {
			points = append(points, point{x, y})
		}
	}
	return points
}

// dashes cuts a line into dashes.
func dashes(points []point, on, off float64) [][]point {
	var list [][]point
	var now []point
	left, drawing := on, true
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		length := math.Hypot(b.X-a.X, b.Y-a.Y)
		for at := 0.0; at < length; {
			step := min(left, length-at)
			from, to := at/length, (at+step)/length
			if drawing {
				if len(now) == 0 {
					now = append(now, along(a, b, from))
				}
				now = append(now, along(a, b, to))
			}
			at, left = at+step, left-step
			if left <= 1e-9 {
				if drawing {
					list, now = append(list, now), nil
				}
				drawing = !drawing
				left = map[bool]float64{true: on, false: off}[drawing]
			}
		}
	}
	if len(now) > 1 {
		list = append(list, now)
	}
	return list
}

// along is a point on the way from a to b.
func along(a, b point, part float64) point {
	return point{a.X + (b.X-a.X)*part, a.Y + (b.Y-a.Y)*part}
}

// text writes a label.
func (c *canvas) text(l label) {
	face := c.fonts["text"]
	for _, class := range []string{"title", "name"} {
		if strings.Contains(l.Class, class) {
			face = c.fonts[class]
		}
	}
	d := &font.Drawer{Dst: c.to, Src: image.NewUniform(colour(l.Class)), Face: face}
	x := (l.X + c.x) * pngScale
	wide := float64(d.MeasureString(l.Text)) / 64
	switch l.Anchor {
	case "middle":
		x -= wide / 2
	case "end":
		x -= wide
	}
	d.Dot = fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6((l.Y + c.y) * pngScale * 64)}
	d.DrawString(l.Text)
}

// pngFonts are those of texts, titles and names.
func pngFonts() (map[string]font.Face, error) {
	faces := map[string]font.Face{}
	for name, of := range map[string]struct {
		ttf  []byte
		size float64
	}{"text": {goregular.TTF, 12}, "title": {gobold.TTF, 15}, "name": {gobold.TTF, 12}} {
		parsed, err := opentype.Parse(of.ttf)
		if err != nil {
			return nil, err
		}
		if faces[name], err = opentype.NewFace(parsed, &opentype.FaceOptions{Size: of.size * pngScale, DPI: 72, Hinting: font.HintingNone}); err != nil {
			return nil, err
		}
	}
	return faces, nil
}
