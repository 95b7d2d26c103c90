package export

import (
	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/probe"
)

// NewPoints says what the points of a snapshot saw. upfs has the names of UPFs by
// their index in points.
func NewPoints(counts []probe.PointCount, upfs []string) []Point {
	points := make([]Point, 0, len(counts))
	for i := range counts {
		c := &counts[i]
		p := Point{
			Namespace: printable.Name(c.Point.Namespace), Device: printable.Name(c.Point.Device),
			Hook: c.Point.Hook.String(), Way: c.Point.Way.String(), Side: c.Point.Side.String(),
			Packets: c.Packets, Foreign: c.Foreign, Unparsed: c.Unparsed, CostNS: float64(c.Cost.Alone), CostInPlaceNS: float64(c.Cost.PerRun()),
		}
		if c.Point.UPF < len(upfs) {
			p.UPF = upfs[c.Point.UPF]
		}
		if c.Point.Way == probe.Out {
			p.Unmatched, p.Ambiguous, p.Untimed = c.Unmatched, c.AmbiguousOut, c.UntimedOut
			p.Matched = c.Packets - min(c.Packets, c.Unmatched+c.AmbiguousOut+c.UntimedOut) // a counter may be read later than another
		}
		points = append(points, p)
	}
	return points
}
