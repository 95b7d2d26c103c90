package report

import (
	"fmt"
	"strings"
)

// NameN4 is the method of cells of loads on N4.
const NameN4 = "n4"

// Lab puts a load into the form in which several results and systems are shown and
// compared. name is what the UP function is called in it.
func (r *N4Result) Lab(name string) *Lab {
	cell := LabCell{Method: NameN4, Sessions: r.Setup.Sessions, Rules: r.Setup.Shape, Load: r.operations()}
	return &Lab{
		Schema: LabSchema, Started: r.Started, Host: r.Host, Systems: []System{{Name: name}},
		Plan:  LabPlan{Methods: []string{NameN4}, Cells: []LabCell{cell}, Repeats: 1, Arrangement: r.Setup.Pacing},
		Turns: []Turn{{System: name, Repeat: 1, Started: r.Started, Figures: r.AllFigures(), N4: r.Loads(), Failed: r.Ended}},
	}
}

// operations are those of the loads.
func (r *N4Result) operations() string {
	var words []string
	seen := map[string]bool{N4Fill: true, N4Drain: true}
	for i := range r.Phases {
		p := &r.Phases[i]
		if seen[p.Name] || seen[p.Operation] {
			continue
		}
		seen[p.Operation] = true
		words = append(words, p.Operation)
	}
	return strings.Join(words, ", ")
}

// Loads are the phases without fill and drain, and without a load that was interrupted, called after their rates, or windows.
func (r *N4Result) Loads() []N4Phase {
	var list []N4Phase
	for _, p := range r.Phases {
		if p.Name != N4Fill && p.Name != N4Drain && p.Name != N4Interrupted {
			p.Name = p.text()
			list = append(list, p)
		}
	}
	return list
}

// text is how requests follow each other.
func (p *N4Phase) text() string {
	switch {
	case p.Rate == 0:
		return fmt.Sprintf("window %d", p.Window)
	case p.Arrival == "burst":
		return fmt.Sprintf("%.6g/s in bursts of %d", p.Rate, p.Burst)
	case p.Arrival == "poisson":
		return fmt.Sprintf("%.6g/s at random", p.Rate)
	}
	return fmt.Sprintf("%.6g/s", p.Rate)
}

// AllFigures are those of searches and checks, then those of the loads that were asked
// for, each name once.
func (r *N4Result) AllFigures() []Figure {
	list, seen := []Figure{}, map[string]bool{}
	add := func(f Figure) {
		if !seen[f.Name] && len(list) < maxFigures {
			seen[f.Name] = true
			list = append(list, f)
		}
	}
	for _, f := range r.Figures {
		add(f)
	}
	for i := range r.Phases {
		p := &r.Phases[i]
		if p.Name == N4Search || p.Name == N4Interrupted {
			continue
		}
		for _, f := range p.figures() {
			add(f)
		}
	}
	return list
}

// figures of a load are its response times, and what did not become of it; of a closed
// loop its rate first.
func (p *N4Phase) figures() []Figure {
	c, at := &p.Total, " at "+p.text()
	if p.Name == N4Fill || p.Name == N4Drain {
		return []Figure{{Name: p.Name + ": sessions/s", Unit: "1/s", Better: Higher, Value: c.AcceptedPerSec, Note: p.text()}}
	}
	var list []Figure
	if p.Rate == 0 {
		list = append(list, Figure{Name: "requests/s" + at, Unit: "1/s", Better: Higher, Value: c.AcceptedPerSec})
	}
	list = append(list,
		Figure{Name: "p50" + at, Unit: "ns", Better: Lower, Value: float64(c.LatencyNS.P50)},
		Figure{Name: "p99" + at, Unit: "ns", Better: Lower, Value: float64(c.LatencyNS.P99)},
		Figure{Name: "p99.9" + at, Unit: "ns", Better: Lower, Value: float64(c.LatencyNS.P999)},
		Figure{Name: "not accepted" + at, Unit: "ratio", Better: Lower, Value: 1 - float64(c.Accepted)/float64(max(c.Intended, 1))})
	if p.DUT != nil && p.DUT.CPUNSPerRequest > 0 {
		list = append(list, Figure{Name: "CPU per request" + at, Unit: "ns", Better: Lower, Value: p.DUT.CPUNSPerRequest})
	}
	return list
}

// text is the figure in a line.
func (f *Figure) text() string {
	text := fmt.Sprintf("%s: %.6g", f.Name, f.Value)
	if f.Unit != "" {
		text += " " + f.Unit
	}
	if f.Bounded() {
		text += fmt.Sprintf(" (less than %.6g)", f.High)
	}
	if f.Note != "" {
		text += "; " + f.Note
	}
	return text
}
