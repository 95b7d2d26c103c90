package report

import (
	"fmt"
	"time"
)

// quantity is what is drawn over the time.
type quantity struct {
	title, axis string
	scale       func(low, high, length float64) axisScale
	of          func(Slot) (value float64, has bool)
}

var (
	receivedOverTime = quantity{"Received over time", "received, kpps", linearScale, func(s Slot) (float64, bool) { return s.ReceivedPPS / 1e3, true }}
	lossOverTime     = quantity{"Loss over time", "lost frames, %", newLossScale, func(s Slot) (float64, bool) { return 100 * s.LossRatio, true }}
	latencyOverTime  = quantity{"Latency over time", "one-way latency p99, µs", logScale,
		func(s Slot) (float64, bool) { return float64(max(s.P99NS, 1)) / 1e3, s.P99NS > 0 }}
)

// overTime are charts of how turns went, of the last one of each system, where they say so.
func (m *methodView) overTime() (shown, more []*chart) {
	for _, cell := range m.cells {
		for _, d := range m.directionsOf(cell) {
			for _, q := range []quantity{lossOverTime, latencyOverTime} {
				shown = appendChart(shown, m.systemsOverTime(cell, d, q))
			}
			shown = appendChart(shown, m.memoryOverTime(cell, d))
			more = appendChart(more, m.systemsOverTime(cell, d, receivedOverTime))
			for _, system := range m.systemsOf(cell) {
				for _, q := range []quantity{lossOverTime, latencyOverTime} {
					shown = appendChart(shown, m.streamsOverTime(cell, system, d, q))
				}
				more = appendChart(more, m.streamsOverTime(cell, system, d, receivedOverTime))
			}
		}
	}
	return shown, more
}

// course is slots of one trial after another, as if there were nothing between the trials.
type course struct {
	slots  []Slot
	phases []moment // that begin
}

// moment is a time that a chart marks.
type moment struct {
	at   float64 // in the unit of the axis
	text string
}

// courseOf is how a turn went in one direction: by the series of its trials, or, of
// trials that are intervals, by themselves. of is what has the series.
func courseOf(t *Turn, d Direction, intervals bool, of func(*Trial) []Slot) course {
	var c course
	before := int64(0)
	for i := range t.Trials {
		trial := &t.Trials[i]
		if trial.Direction != d {
			continue
		}
		if trial.Phase != "" {
			c.phases = append(c.phases, moment{float64(before), trial.Phase})
		}
		series := of(trial)
		if intervals {
			series = []Slot{{trial.DurationNS, trial.OfferedPPS, trial.ReceivedPPS, trial.LossRatio, trial.LatencyNS.P50, trial.LatencyNS.P99}}
		}
		for _, s := range series {
			s.AtNS += before
			c.slots = append(c.slots, s)
		}
		before += trial.DurationNS
	}
	return c
}

// intervals says whether the trials of the method are intervals of one measurement.
func (m *methodView) intervals() bool { return m.name == "soak" }

// lastTurn is the one that stands for a system; nil: there is none.
func (m *methodView) lastTurn(cell int, system string) *Turn {
	turns := m.of(cell, system)
	if len(turns) == 0 {
		return nil
	}
	return turns[len(turns)-1]
}

// systemsOverTime has a curve for each system, if its trials are of one stream.
func (m *methodView) systemsOverTime(cell int, d Direction, q quantity) *chart {
	var curves []curveOf
	for _, system := range m.systemsOf(cell) {
		c := courseOf(m.lastTurn(cell, system), d, m.intervals(), func(t *Trial) []Slot {
			if len(t.Streams) > 0 {
				return nil // they have charts of their own
			}
			return t.Series
		})
		if points := c.points(q); len(points) > 1 {
			curves = append(curves, curveOf{system, m.class(system), points, true})
		}
	}
	return timeChart(q, m.cell(cell).wordsOf(m.axes, d), curves, nil)
}

// streamsOverTime has a curve for each stream of the trials of a system.
func (m *methodView) streamsOverTime(cell int, system string, d Direction, q quantity) *chart {
	turn := m.lastTurn(cell, system)
	var curves []curveOf
	var phases []moment
	for i, name := range streamsOf(turn, d) {
		c := courseOf(turn, d, false, func(t *Trial) []Slot {
			if i >= len(t.Streams) {
				return nil
			}
			return t.Streams[i].Series
		})
		if points := c.points(q); len(points) > 1 {
			curves, phases = append(curves, curveOf{name, fmt.Sprintf("s%d", i%maxSystemCSS+1), points, true}), c.phases
		}
	}
	words := m.cell(cell).wordsOf(m.axes, d)
	if words != "" {
		words = ", " + words
	}
	return timeChart(q, system+words, curves, phases)
}

// streamsOf names the streams of a turn's first trial in a direction.
func streamsOf(t *Turn, d Direction) []string {
	for i := range t.Trials {
		if t.Trials[i].Direction != d {
			continue
		}
		var names []string
		for _, s := range t.Trials[i].Streams {
			names = append(names, s.Name)
		}
		return names
	}
	return nil
}

// points have the time in nanoseconds.
func (c *course) points(q quantity) []point {
	var points []point
	for _, s := range c.slots {
		if v, has := q.of(s); has {
			points = append(points, point{float64(s.AtNS), v})
		}
	}
	return points
}

// memoryOverTime is what the systems' processes occupied.
func (m *methodView) memoryOverTime(cell int, d Direction) *chart {
	var curves []curveOf
	for _, system := range m.systemsOf(cell) {
		turn, at := m.lastTurn(cell, system), int64(0)
		var points []point
		for i := range turn.Trials {
			t := &turn.Trials[i]
			if t.Direction != d {
				continue
			}
			at += t.DurationNS
			if t.Memory != nil {
				points = append(points, point{float64(at), float64(t.Memory.ResidentOctets) / (1 << 20)})
			}
		}
		if len(points) > 1 {
			curves = append(curves, curveOf{system, m.class(system), points, true})
		}
	}
	q := quantity{title: "Memory over time", axis: "resident set of the processes, MiB", scale: nearScale}
	return timeChart(q, m.cell(cell).wordsOf(m.axes, d), curves, nil)
}

// timeChart draws curves whose x is nanoseconds; nil: there are none.
func timeChart(q quantity, sub string, curves []curveOf, phases []moment) *chart {
	last := 0.0
	for _, c := range curves {
		last = max(last, c.points[len(c.points)-1].X)
	}
	name, unit := "s", float64(time.Second)
	switch {
	case last >= float64(2*time.Hour):
		name, unit = "h", float64(time.Hour)
	case last >= float64(5*time.Minute):
		name, unit = "min", float64(time.Minute)
	}
	for i := range curves {
		for j := range curves[i].points {
			curves[i].points[j].X /= unit
		}
	}
	marks := make([]moment, len(phases))
	for i, p := range phases {
		marks[i] = moment{p.at / unit, p.text}
	}
	return newCurveChart(curveChart{
		title: q.title, sub: sub, x: "time of the trials, " + name, y: q.axis, curves: curves, moments: marks, xScale: linearScale, yScale: q.scale,
	})
}
