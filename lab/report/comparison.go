package report

import (
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/stats"
)

// ComparisonSchema names the version of the form of a [Comparison].
const ComparisonSchema = "plumbline.comparison/1"

// Comparison is one run in which several datapaths took turns with each other and
// with the bed, each in a test bed of its own that is like the others'.
type Comparison struct {
	Schema  string          `json:"schema"`
	Started time.Time       `json:"started"`
	Host    Host            `json:"host"`
	Setup   ComparisonSetup `json:"setup"`
	Paths   []Path          `json:"paths"`  // in the order of their turns; the bed is the first
	Trials  []PathTrial     `json:"trials"` // in the order in which they were made
	TCP     []TCPTrial      `json:"tcp"`
	// TCPMissing says why TCP was not measured; empty: it was.
	TCPMissing string `json:"tcp_missing,omitempty"`
	// Ended is why it ended before its end; empty: it did not.
	Ended string `json:"ended,omitempty"`
}

// ComparisonSetup is what was asked for, and how it was arranged.
type ComparisonSetup struct {
	Arrangement   string   `json:"arrangement"` // how sender, UPF and meter share the CPUs
	Payloads      []string `json:"payloads"`    // UDP payload of the user packets in octets, or PayloadIMIX
	Sessions      []int    `json:"sessions"`
	Access        string   `json:"access"`
	LoadsPercent  []int    `json:"loads_percent"` // of latency trials; 0 is idle, IdlePPS
	IdlePPS       float64  `json:"idle_pps"`
	LossGoalRatio float64  `json:"loss_goal_ratio"` // the throughput is the highest rate that loses no more
	DurationNS    int64    `json:"duration_ns"`     // of each trial
	SearchNS      int64    `json:"search_ns"`       // of each trial of the search for the throughput
	TCPNS         int64    `json:"tcp_ns"`          // of each TCP trial
	Repeats       int      `json:"repeats"`
	Realtime      bool     `json:"realtime"`        // frames at the highest rate are sent from a real-time thread
	OuterChecksum bool     `json:"outer_checksum"`  // uplink frames have an outer UDP checksum
	Rules         string   `json:"rules,omitempty"` // as [Setup.Rules]
}

// PathBed is the name of the bed among the paths, PathBedTC that of one whose program
// redirects socket buffers, and PayloadIMIX that of the mix among the payloads.
const (
	PathBed     = "bed"
	PathBedTC   = "bed tc"
	PayloadIMIX = "imix"
)

// isBed reports whether a path is no datapath.
func isBed(path string) bool { return path == PathBed || path == PathBedTC }

// Path is the bed or a datapath.
type Path struct {
	Name     string `json:"name"`
	Mode     string `json:"mode,omitempty"`     // of its devices, as the UPF says
	Offloads string `json:"offloads,omitempty"` // of the outer ends of its links
	// Missing says why it was not measured, or not to the end; empty: it was.
	Missing       string       `json:"missing,omitempty"`
	Configuration string       `json:"configuration,omitempty"` // of the UPF, as it was given to it
	Memory        []PathMemory `json:"memory,omitempty"`        // by number of sessions
}

// PathMemory is what a UPF occupies with so many sessions, before any packet.
type PathMemory struct {
	Sessions       int     `json:"sessions"`
	ResidentOctets uint64  `json:"resident_octets"`    // of the process, as far as it touched what it has mapped
	MapOctets      uint64  `json:"map_octets"`         // of its BPF maps, by the kernel's account
	InstallPerSec  float64 `json:"install_per_second"` // sessions over PFCP, all so far
}

// The kinds of a [PathTrial] beside [Paced], whose rate is a part of the path's
// throughput.
const (
	// Saturated trials offer as much as possible.
	Saturated Kind = "saturated"
	// Search trials are those of the search for the throughput, where as much as
	// possible is too much.
	Search Kind = "search"
)

// PathTrial is one measurement of a path.
type PathTrial struct {
	Payload string `json:"payload"` // one of ComparisonSetup.Payloads
	// LoadPercent is what a Paced trial offers of the path's throughput; 0: IdlePPS.
	LoadPercent int `json:"load_percent"`
	// Trial has the path's name as its datapath. Its bed_ratio is not set: shares
	// are of what the bed received in the same repeat, and the throughput may be
	// that of another trial.
	Trial
}

// TCPTrial is one TCP connection through a UPF and package gnb.
type TCPTrial struct {
	Path        string    `json:"path"`
	Direction   Direction `json:"direction"`
	Repeat      int       `json:"repeat"`
	BPS         float64   `json:"bps"` // of payload, at the receiver
	Retransmits int       `json:"retransmits"`
	CPU         CPU       `json:"cpu"`
}

// Cell is what the trials of all paths have in common that are compared with each
// other.
type Cell struct {
	Payload   string
	Sessions  int
	Direction Direction
}

// Cells lists what was measured, in the order of the setup.
func (c *Comparison) Cells() []Cell {
	var cells []Cell
	for _, payload := range c.Setup.Payloads {
		for _, sessions := range c.Setup.Sessions {
			for _, d := range Directions {
				cell := Cell{payload, sessions, d}
				if slices.ContainsFunc(c.Trials, cell.has) {
					cells = append(cells, cell)
				}
			}
		}
	}
	return cells
}

func (c Cell) has(t PathTrial) bool {
	return t.Payload == c.Payload && t.Sessions == c.Sessions && t.Direction == c.Direction
}

// PathRow is the trials of one path in a cell.
type PathRow struct {
	Cell
	Path       string
	Saturated  []*Trial // by repeat
	Throughput []*Trial // by repeat; nil where no rate was low enough
	Bed        []*Trial // of the bed: Saturated
	Paced      map[int]*Trial
}

// Row gathers the trials of a path in a cell; nil if there are none.
func (c *Comparison) Row(cell Cell, path string) *PathRow {
	row := &PathRow{Cell: cell, Path: path, Paced: map[int]*Trial{}}
	for repeat := 1; repeat <= c.Setup.Repeats; repeat++ {
		saturated, best := c.best(cell, path, repeat)
		if saturated == nil {
			break
		}
		bed, _ := c.best(cell, PathBed, repeat)
		row.Saturated, row.Throughput, row.Bed = append(row.Saturated, saturated), append(row.Throughput, best), append(row.Bed, bed)
	}
	for i := range c.Trials {
		if t := &c.Trials[i]; cell.has(*t) && t.Datapath == path && t.Kind == Paced {
			row.Paced[t.LoadPercent] = &t.Trial
		}
	}
	if len(row.Saturated) == 0 {
		return nil
	}
	return row
}

// best returns the saturated trial of a repeat, and the fastest of all with no
// more loss than the goal.
func (c *Comparison) best(cell Cell, path string, repeat int) (saturated, best *Trial) {
	for i := range c.Trials {
		t := &c.Trials[i]
		if !cell.has(*t) || t.Datapath != path || t.Repeat != repeat || t.Kind == Paced {
			continue
		}
		if t.Kind == Saturated {
			saturated = &t.Trial
		}
		if t.LossRatio <= c.Setup.LossGoalRatio && (best == nil || t.ReceivedPPS > best.ReceivedPPS) {
			best = &t.Trial
		}
	}
	return saturated, best
}

// SaturatedPPS is the median of what was received at the highest rate.
func (r *PathRow) SaturatedPPS() float64 {
	return medianOf(r.Saturated, receivedPPS)
}

// ThroughputPPS returns the throughputs, 0 where there is none, and their median.
func (r *PathRow) ThroughputPPS() (all []float64, median float64) {
	for _, t := range r.Throughput {
		pps := 0.0
		if t != nil {
			pps = t.ReceivedPPS
		}
		all = append(all, pps)
	}
	return all, stats.Median(all)
}

// Shares are the throughputs by what the bed received in the same repeat.
func (r *PathRow) Shares() []float64 {
	all, _ := r.ThroughputPPS()
	var shares []float64
	for i, pps := range all {
		if r.Bed[i] != nil {
			shares = append(shares, pps/r.Bed[i].ReceivedPPS)
		}
	}
	return shares
}

// CPUNS returns the CPU time for each frame received at the throughput, in ns:
// that of the UPF's process and that of all softirq. Medians; false without any.
func (r *PathRow) CPUNS() (process, softirq float64, ok bool) {
	var p, s []float64
	for _, t := range r.Throughput {
		if t != nil {
			p = append(p, nsPerFrame(t.CPU.DUTPercent, t))
			s = append(s, nsPerFrame(t.CPU.SoftirqPercent, t))
		}
	}
	return stats.Median(p), stats.Median(s), len(p) > 0
}

func nsPerFrame(percent float64, t *Trial) float64 { return percent / 100 * 1e9 / t.ReceivedPPS }

// TCPRates are the rates of TCP of a path in a direction, in bit/s.
func (c *Comparison) TCPRates(path string, d Direction) []float64 {
	var rates []float64
	for _, t := range c.TCP {
		if t.Path == path && t.Direction == d {
			rates = append(rates, t.BPS)
		}
	}
	return rates
}

// Path returns the path of that name; nil: there is none.
func (c *Comparison) Path(name string) *Path {
	for i := range c.Paths {
		if c.Paths[i].Name == name {
			return &c.Paths[i]
		}
	}
	return nil
}
