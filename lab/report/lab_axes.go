package report

import (
	"slices"
	"strings"
)

// axisOf is one of the axes of a cell.
type axisOf struct {
	name string
	text func(*LabCell) string
	left bool // its values are text
}

var labAxes = []axisOf{
	{"direction", directionText, true},
	{"frames", func(c *LabCell) string { return c.Frames }, false},
	{"sessions", func(c *LabCell) string { return sessionsText(c.Sessions) }, false},
	{"access", func(c *LabCell) string { return c.Access }, true},
	{"rules", func(c *LabCell) string { return c.Rules }, true},
	{"churn", func(c *LabCell) string { return c.Churn }, true},
	{"load", func(c *LabCell) string { return c.Load }, true},
}

// directionText of a cell without frames is empty: nothing is sent.
func directionText(c *LabCell) string {
	if c.Direction == "" && c.Frames != "" {
		return "both at once"
	}
	return string(c.Direction)
}

func sessionsText(n int) string {
	if n == 0 {
		return ""
	}
	return grouped(uint64(n))
}

// findAxes returns those along which the cells differ.
func (m *methodView) findAxes() []axisOf {
	return slices.DeleteFunc(slices.Clone(labAxes), func(a axisOf) bool { return len(m.valuesOf(a)) < 2 })
}

// valuesOf returns the values of an axis, in the order of the cells.
func (m *methodView) valuesOf(a axisOf) []string {
	var values []string
	seen := map[string]bool{}
	for _, i := range m.cells {
		if text := a.text(m.cell(i)); !seen[text] {
			seen[text] = true
			values = append(values, text)
		}
	}
	return values
}

// constants says what all cells of the method have in common.
func (m *methodView) constants() string {
	c := *m.cell(m.cells[0])
	var parts []string
	for _, a := range labAxes {
		if len(m.valuesOf(a)) == 1 {
			if text := axisText(a, &c); text != "" {
				parts = append(parts, text)
			}
		}
	}
	return strings.Join(parts, ", ")
}

// axisText is the value of an axis in words; empty: it does not apply.
func axisText(a axisOf, c *LabCell) string {
	value := a.text(c)
	if value == "" {
		return ""
	}
	switch a.name {
	case "sessions":
		return count(uint64(c.Sessions), "session")
	case "frames":
		return framesText(value)
	case "direction", "load":
		return value
	}
	return a.name + " " + value
}

func framesText(frames string) string {
	if strings.Trim(frames, "0123456789") == "" {
		return "frames of " + frames + " octets"
	}
	return "frames " + frames
}

// words is a cell in words, of the axes that are given.
func (c *LabCell) words(axes []axisOf) string {
	var parts []string
	for _, a := range axes {
		if text := axisText(a, c); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}
