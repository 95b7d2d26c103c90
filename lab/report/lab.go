package report

import "time"

// LabSchema names the version of the form of a [Lab].
const LabSchema = "plumbline.lab/1"

// Lab is what one or several methods of the laboratory measured of one or several
// systems that took turns with each other: result.json of `plumb lab`.
//
// A run is a list of cells. A cell is a method at one point of its axes; in it every
// system has its turn, and then the next turn, Plan.Repeats times. What a turn leaves
// is its trials and its figures, appended as a whole: a run that was interrupted goes
// on behind the last turn that is in the file.
type Lab struct {
	Schema   string     `json:"schema"`
	Started  time.Time  `json:"started"`
	Finished *time.Time `json:"finished,omitempty"` // absent: the run was interrupted, or goes on
	Host     Host       `json:"host"`
	Plan     LabPlan    `json:"plan"`
	Systems  []System   `json:"systems"` // in the order of their turns; the bed is the first
	Turns    []Turn     `json:"turns"`   // in the order in which they were made
	// References are figures of others that were published elsewhere. They are shown
	// beside those of this run and never ranked or compared with them.
	References []Reference `json:"references,omitempty"`
}

// LabPlan is what was asked for. A file is gone on with only by the same plan.
type LabPlan struct {
	Methods     []string  `json:"methods"` // in the order in which they are measured
	Cells       []LabCell `json:"cells"`
	Repeats     int       `json:"repeats"`
	DurationNS  int64     `json:"duration_ns"` // of a trial, where the method does not say otherwise
	WarmUpNS    int64     `json:"warm_up_ns"`  // before each trial, not counted
	Arrangement string    `json:"arrangement"` // how sender, system and meter share the CPUs, and what links them
	// Options are those of the methods that are not axes, as text: loss goals, loads.
	Options map[string]string `json:"options,omitempty"`
}

// LabCell is a method at one point of its axes. What does not apply is absent.
type LabCell struct {
	Method    string    `json:"method"`
	Direction Direction `json:"direction,omitempty"` // empty: both at once
	Sessions  int       `json:"sessions,omitempty"`
	// Frames names the lengths of the user packets' Ethernet frames on N6, FCS included
	// (RFC 2544, 9.1): a number of octets, "imix", or the name of a traffic profile. On
	// N3 the same packets are longer by the outer headers.
	Frames string `json:"frames,omitempty"`
	Access string `json:"access,omitempty"` // which session each frame belongs to: same, uniform, zipf
	Rules  string `json:"rules,omitempty"`  // as [Setup.Rules]
	Churn  string `json:"churn,omitempty"`  // sessions per second while frames flow, in words
	Load   string `json:"load,omitempty"`   // of trials at given rates: "900kpps", "50 %", "idle"
}

// System is a UPF, or a bed alone, that took part.
type System struct {
	Name    string `json:"name"`           // "bed", "plumbline xdp", "eupf"
	Version string `json:"version"`        // as its project says
	Mode    string `json:"mode,omitempty"` // of its devices: native XDP, TUN
	// Missing says why it was not measured, or not to the end; empty: it was.
	Missing       string       `json:"missing,omitempty"`
	Configuration string       `json:"configuration,omitempty"` // files as they were given to it
	Offloads      string       `json:"offloads,omitempty"`      // of the outer ends of its links
	Memory        []PathMemory `json:"memory,omitempty"`        // by number of sessions
}

// Reference is what somebody else published of a system, measured elsewhere.
type Reference struct {
	System     string   `json:"system"`
	Version    string   `json:"version,omitempty"`
	Source     string   `json:"source"`               // publication
	Conditions string   `json:"conditions,omitempty"` // machine, links, generator, in words
	Cell       LabCell  `json:"cell"`                 // what it comes nearest to; need not be in the plan
	Figures    []Figure `json:"figures"`
}

// Turn is one system's turn in a cell.
type Turn struct {
	Cell    int       `json:"cell"` // index in Plan.Cells
	System  string    `json:"system"`
	Repeat  int       `json:"repeat"` // from 1
	Started time.Time `json:"started"`
	Failed  string    `json:"failed,omitempty"` // why there are no figures, or not all
	Figures []Figure  `json:"figures"`
	Trials  []Trial   `json:"trials,omitempty"`
	N4      []N4Phase `json:"n4,omitempty"` // of methods that load N4
}

// Figure is one quantity that a turn measured. Figures of the same cell and name are
// compared between systems, over the repeats.
type Figure struct {
	Name   string  `json:"name"` // "throughput at loss 0", "latency p99 at 50 %"
	Unit   string  `json:"unit"` // "pps", "bit/s", "ns", "ratio", "s", "frames", "ppm"
	Better Better  `json:"better,omitempty"`
	Value  float64 `json:"value"`
	// Low and High bound the value if the method itself leaves a range (MLRsearch: the
	// relevant bounds); both 0 otherwise.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	// Note says why the value is not what it was meant to be: a search that ended at its
	// highest rate, or when its time was up.
	Note string `json:"note,omitempty"`
}

// Better says which values of a figure are better: those higher, those lower; empty:
// neither.
type Better string

// What is better.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// System returns the system of that name; nil: there is none.
func (l *Lab) System(name string) *System {
	for i := range l.Systems {
		if l.Systems[i].Name == name {
			return &l.Systems[i]
		}
	}
	return nil
}

// Figure returns the figure of that name; nil: the turn has none.
func (t *Turn) Figure(name string) *Figure {
	for i := range t.Figures {
		if t.Figures[i].Name == name {
			return &t.Figures[i]
		}
	}
	return nil
}
