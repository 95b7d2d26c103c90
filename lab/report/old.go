package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Results of before plumb bench was a part of plumb lab are read as those of plumb lab.

// The schemas of before: of one datapath beside the bed, and of several.
const (
	oldResultSchema     = "plumbline.result/1"
	oldComparisonSchema = "plumbline.comparison/1"
)

// Names of figures that package method gives, too.
const (
	FigureReceived = "received"
	FigureLoss     = "loss"
	FigureMost     = "maximum receive rate"
	FigureAdded    = "time added per frame"
)

// oldResult is what is taken of plumbline.result/1.
type oldResult struct {
	Started time.Time `json:"started"`
	Host    Host      `json:"host"`
	Setup   struct {
		Arrangement   string `json:"arrangement"`
		Configuration string `json:"configuration"`
		DurationNS    int64  `json:"duration_ns"`
		Repeats       int    `json:"repeats"`
		PayloadOctets int    `json:"payload_octets"`
		Rules         string `json:"rules"`
	} `json:"setup"`
	Bed struct {
		Uplink   *oldBed `json:"uplink"`
		Downlink *oldBed `json:"downlink"`
	} `json:"bed"`
	Trials []Trial `json:"trials"`
}

// oldBed is what the bed carried in a direction.
type oldBed struct {
	Repeats []struct {
		Sessions    int     `json:"sessions"`
		Repeat      int     `json:"repeat"`
		ReceivedPPS float64 `json:"received_pps"`
		LossRatio   float64 `json:"loss_ratio"`
	} `json:"repeats"`
}

// oldComparison is what is taken of plumbline.comparison/1.
type oldComparison struct {
	Started time.Time `json:"started"`
	Host    Host      `json:"host"`
	Setup   struct {
		Arrangement   string  `json:"arrangement"`
		LossGoalRatio float64 `json:"loss_goal_ratio"`
		DurationNS    int64   `json:"duration_ns"`
		Repeats       int     `json:"repeats"`
		Rules         string  `json:"rules"`
	} `json:"setup"`
	Paths []struct {
		System
	} `json:"paths"`
	Trials []struct {
		Payload     string `json:"payload"`
		LoadPercent int    `json:"load_percent"`
		Trial
	} `json:"trials"`
	TCP []struct {
		Path        string    `json:"path"`
		Direction   Direction `json:"direction"`
		Repeat      int       `json:"repeat"`
		BPS         float64   `json:"bps"`
		Retransmits int       `json:"retransmits"`
	} `json:"tcp"`
}

// readOld returns the result of an earlier schema as a Lab; nil: it is none.
func readOld(b []byte) (*Lab, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, nil // the reader of the present schema reports it
	}
	switch head.Schema {
	case oldResultSchema:
		var r oldResult
		if err := json.Unmarshal(b, &r); err != nil {
			return nil, fmt.Errorf("read result: %w", err)
		}
		return r.lab(), nil
	case oldComparisonSchema:
		var c oldComparison
		if err := json.Unmarshal(b, &c); err != nil {
			return nil, fmt.Errorf("read result: %w", err)
		}
		return c.lab(), nil
	}
	return nil, nil
}

// oldLab is a Lab that is being made: cells and turns are found or added.
type oldLab struct {
	*Lab
	started time.Time
	cells   map[LabCell]int
	turns   map[oldTurn]int
}

type oldTurn struct {
	cell, repeat int
	system       string
}

func newOldLab(started time.Time, h Host, arrangement string, durationNS int64, repeats int) oldLab {
	return oldLab{&Lab{
		Schema: LabSchema, Started: started, Finished: &started, Host: h,
		Plan: LabPlan{Repeats: repeats, DurationNS: durationNS, Arrangement: arrangement},
	}, started, map[LabCell]int{}, map[oldTurn]int{}}
}

// turn returns that of a system in a cell.
func (l oldLab) turn(c LabCell, system string, repeat int) *Turn {
	if !slices.Contains(l.Plan.Methods, c.Method) {
		l.Plan.Methods = append(l.Plan.Methods, c.Method)
	}
	at, ok := l.cells[c]
	if !ok {
		at = len(l.Plan.Cells)
		l.cells[c] = at
		l.Plan.Cells = append(l.Plan.Cells, c)
	}
	if l.System(system) == nil {
		l.Systems = append(l.Systems, System{Name: system})
	}
	key := oldTurn{at, repeat, system}
	if i, ok := l.turns[key]; ok {
		return &l.Turns[i]
	}
	l.turns[key] = len(l.Turns)
	l.Turns = append(l.Turns, Turn{Cell: at, System: system, Repeat: repeat, Started: l.started, Figures: []Figure{}})
	return &l.Turns[len(l.Turns)-1]
}

func (t *Turn) add(name, unit string, better Better, value float64) {
	t.Figures = append(t.Figures, Figure{Name: name, Unit: unit, Better: better, Value: value})
}

// trial keeps a trial, and its latency if the rate was given.
func (t *Turn) trial(from Trial) {
	from.Kind = Saturated
	if from.IntendedPPS > 0 {
		from.Kind = Paced
		t.add("latency p50", "ns", Lower, float64(from.LatencyNS.P50))
		t.add("latency p99", "ns", Lower, float64(from.LatencyNS.P99))
	}
	t.Trials = append(t.Trials, from)
}

// oldFrames is the length of frames with a UDP payload: IPv4, UDP and Ethernet headers and FCS.
func oldFrames(payload int) string { return strconv.Itoa(payload + 20 + 8 + 14 + 4) }

const oldHalf = "50 %"

func (r *oldResult) lab() *Lab {
	l := newOldLab(r.Started, r.Host, r.Setup.Arrangement, r.Setup.DurationNS, r.Setup.Repeats)
	l.Systems = []System{{Name: SystemBed}}
	type point struct {
		direction Direction
		sessions  int
	}
	access := map[point]string{} // the bed's trials do not say it
	for i := range r.Trials {
		access[point{r.Trials[i].Direction, r.Trials[i].Sessions}] = r.Trials[i].Access
	}
	cell := func(d Direction, sessions int) LabCell {
		return LabCell{
			Method: "share", Direction: d, Sessions: sessions, Frames: oldFrames(r.Setup.PayloadOctets), Access: access[point{d, sessions}],
			Rules: r.Setup.Rules, Load: "max",
		}
	}
	for i, bed := range []*oldBed{r.Bed.Uplink, r.Bed.Downlink} {
		d := Directions[i]
		if bed == nil {
			continue
		}
		for _, b := range bed.Repeats {
			t := l.turn(cell(d, b.Sessions), SystemBed, b.Repeat)
			t.add(FigureReceived, "pps", Higher, b.ReceivedPPS)
			t.add(FigureLoss, "ratio", Lower, b.LossRatio)
		}
	}
	for _, from := range r.Trials {
		c := cell(from.Direction, from.Sessions)
		if from.Kind == Paced {
			c.Method, c.Load = "latency", oldHalf
		}
		name := "plumbline " + from.Datapath
		t := l.turn(c, name, from.Repeat)
		if from.Kind != Paced {
			t.add(FigureReceived, "pps", Higher, from.ReceivedPPS)
		}
		t.add(FigureLoss, "ratio", Lower, from.LossRatio)
		if from.CostNS != nil {
			t.add(FigureAdded, "ns", Lower, *from.CostNS)
		}
		t.trial(from)
		s := l.System(name)
		s.Mode, s.Configuration = from.XDPMode, r.Setup.Configuration
	}
	return l.Lab
}

func (c *oldComparison) lab() *Lab {
	l := newOldLab(c.Started, c.Host, c.Setup.Arrangement, c.Setup.DurationNS, c.Setup.Repeats)
	name := func(path string) string {
		if isBed(path) {
			return path
		}
		return "plumbline " + path
	}
	for _, p := range c.Paths {
		p.Name = name(p.Name)
		l.Systems = append(l.Systems, p.System)
	}
	throughput := fmt.Sprintf("throughput at loss %.3g %%", 100*c.Setup.LossGoalRatio)
	for i := range c.Trials {
		from := &c.Trials[i]
		frames := from.Payload
		if n, err := strconv.Atoi(frames); err == nil {
			frames = oldFrames(n)
		}
		cell := LabCell{Method: "throughput", Direction: from.Direction, Sessions: from.Sessions, Frames: frames, Access: from.Access, Rules: c.Setup.Rules}
		if from.Kind == Paced {
			cell.Method, cell.Load = "latency", "idle"
			if from.LoadPercent > 0 {
				cell.Load = fmt.Sprintf("%d %%", from.LoadPercent)
			}
			t := l.turn(cell, name(from.Datapath), from.Repeat)
			t.add(FigureLoss, "ratio", Lower, from.LossRatio)
			t.trial(from.Trial)
			continue
		}
		t := l.turn(cell, name(from.Datapath), from.Repeat)
		if from.Kind == Saturated {
			t.add(FigureMost, "pps", Higher, from.ReceivedPPS)
		}
		if from.LossRatio <= c.Setup.LossGoalRatio {
			if f := t.Figure(throughput); f == nil {
				t.add(throughput, "pps", Higher, from.ReceivedPPS)
			} else {
				f.Value = max(f.Value, from.ReceivedPPS)
			}
		}
		t.Trials = append(t.Trials, from.Trial)
	}
	for _, from := range c.TCP {
		t := l.turn(LabCell{Method: "tcp", Direction: from.Direction, Rules: c.Setup.Rules}, name(from.Path), from.Repeat)
		t.add("TCP", "bit/s", Higher, from.BPS)
		t.add("retransmitted segments", "segments", Lower, float64(from.Retransmits))
	}
	return l.Lab
}
