package report

import (
	"math"
	"strconv"
	"strings"
)

// unit is how the values of a [Figure.Unit] are shown.
type unit struct {
	name    string // as a reader wants it
	scale   float64
	decimal int // -1: four significant places
}

// units are those that are shown in another one than they are kept in.
var units = map[string]unit{
	"pps":    {"kpps", 1e-3, 1},
	"bit/s":  {"Gbit/s", 1e-9, 3},
	"ratio":  {"%", 100, -1},
	"octets": {"MiB", 1.0 / (1 << 20), 1},
	"frames": {"frames", 1, 0},

	"octets/h": {"MiB/h", 1.0 / (1 << 20), -1},
}

// unitOf returns how values of a unit are shown that lie between these two, without
// their signs. Nanoseconds are shown as such if all are few, and in ms or s only if none
// of them would be lost.
func unitOf(name string, lowest, highest float64) unit {
	if name == "ns" {
		switch {
		case highest < 1e4:
			return unit{"ns", 1, -1}
		case lowest >= 1e10:
			return unit{"s", 1e-9, 3}
		case lowest >= 1e7:
			return unit{"ms", 1e-6, 2}
		}
		return unit{"µs", 1e-3, 1}
	}
	if u, ok := units[name]; ok {
		return u
	}
	return unit{name, 1, -1}
}

// plotUnitOf is that of axes and bars, where there is less room.
func plotUnitOf(name string, lowest, highest float64) unit {
	if name == "pps" {
		return unit{"Mpps", 1e-6, 3}
	}
	return unitOf(name, lowest, highest)
}

func (u unit) value(v float64) float64 { return v * u.scale }

// text is a value in the unit, without it.
func (u unit) text(v float64) string {
	v = u.value(v)
	switch {
	case u.decimal < 0 || math.Abs(v) >= 1e15:
		return plain(v)
	case u.decimal > 0 && math.Abs(v) >= 1e5:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', u.decimal, 64)
}

// estimate is the median alone.
func (u unit) estimate(e Estimate) string {
	if e.Repeats == 0 {
		return ""
	}
	return u.text(e.Median)
}

// interval is empty where there is none.
func (u unit) interval(e Estimate) string {
	if !e.Known() {
		return ""
	}
	if e.Low < 0 {
		return u.text(e.Low) + " to " + u.text(e.High)
	}
	return u.text(e.Low) + "-" + u.text(e.High)
}

// both is the median with its interval.
func (u unit) both(e Estimate) string {
	if interval := u.interval(e); interval != "" {
		return u.estimate(e) + " (" + interval + ")"
	}
	return u.estimate(e)
}

// withUnit adds the unit to a name.
func (u unit) label(name string) string {
	if u.name == "" || u.name == name {
		return name
	}
	return name + ", " + u.name
}

// titled is s with a capital at its start.
func titled(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// String is the figure as a reader wants it: "throughput at loss 0: 812.4 kpps".
func (f Figure) String() string {
	u := unitOf(f.Unit, f.Value, f.Value)
	return strings.TrimSpace(f.Name + ": " + u.text(f.Value) + " " + u.name)
}
