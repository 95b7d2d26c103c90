package report

import "time"

// SlicesSchema names the version of the form of a [Slices].
const SlicesSchema = "plumbline.slices/1"

// Slices is how long packets of network slices stayed in UPFs while real programs used
// the slices: result.json of `plumb slices`.
//
// A run is a list of cells: a system at a load, Plan.Repeats times. All of a cell was
// measured at the same time.
type Slices struct {
	Schema   string         `json:"schema"`
	Started  time.Time      `json:"started"`
	Finished *time.Time     `json:"finished,omitempty"` // absent: the run was interrupted, or goes on
	Host     Host           `json:"host"`
	Plan     SlicesPlan     `json:"plan"`
	Systems  []SlicesSystem `json:"systems"` // in the order of their turns
	Cells    []SlicesCell   `json:"cells"`   // in the order in which they were measured
}

// SlicesPlan is what was asked for.
type SlicesPlan struct {
	Arrangement string  `json:"arrangement"` // of UPFs, UEs and programs, in words
	Instances   int     `json:"instances"`   // UPFs of each system: one for each slice, or one for all
	DurationNS  int64   `json:"duration_ns"` // that packets are watched in each cell
	WarmUpNS    int64   `json:"warm_up_ns"`  // of the programs before that
	TimeoutNS   int64   `json:"timeout_ns"`  // a packet that is in a UPF for longer is lost
	Repeats     int     `json:"repeats"`
	ModifyRate  float64 `json:"modify_per_second"` // PFCP Session Modification Requests to each UPF meanwhile
	SampleEvery uint32  `json:"sample_every"`      // one packet of so many is in the samples; 0: none
	// LossGoal is how much of the packets the throughput may lose that loads are parts of.
	LossGoal float64      `json:"loss_goal_ratio,omitempty"`
	Slices   []SlicePlan  `json:"slices"`
	Loads    []SlicesLoad `json:"loads"`
}

// SlicePlan is a slice, and what uses it.
type SlicePlan struct {
	Name    string `json:"name"` // "eMBB"
	SST     uint8  `json:"sst"`
	DNN     string `json:"dnn"`
	Program string `json:"program"` // in words
}

// SlicesLoad is what the programs are told to do.
type SlicesLoad struct {
	Name           string  `json:"name"`                    // "light", "50 %"
	StreamBPS      float64 `json:"stream_bps"`              // of UDP payload, each way; 0: a part of the throughput
	OfThroughput   float64 `json:"of_throughput,omitempty"` // 0 to 1
	CallsPerSecond float64 `json:"calls_per_second"`
}

// SlicesSystem is a UPF that took part.
type SlicesSystem struct {
	Name          string   `json:"name"`  // "tun", "eupf"
	Title         string   `json:"title"` // "Plumbline tun"
	Version       string   `json:"version"`
	Missing       string   `json:"missing,omitempty"`       // why it was not measured, or not to the end
	Configuration string   `json:"configuration,omitempty"` // of the first instance, as it was given to it
	Points        []string `json:"points,omitempty"`        // where packets of the first instance were seen, in words
}

// SlicesCell is one system at one load.
type SlicesCell struct {
	System     string    `json:"system"`
	Load       string    `json:"load"`
	Repeat     int       `json:"repeat"` // from 1
	Started    time.Time `json:"started"`
	DurationNS int64     `json:"duration_ns"` // that packets were watched
	Failed     string    `json:"failed,omitempty"`

	StreamBPS     float64 `json:"stream_bps"`               // that was sent each way
	ThroughputBPS float64 `json:"throughput_bps,omitempty"` // that it is a part of

	SamplesLost uint64 `json:"samples_lost,omitempty"` // for want of room; the distributions have all packets

	Delays   []SliceDelay   `json:"delays,omitempty"`
	Points   []SlicePoint   `json:"points,omitempty"`
	N4       []SliceN4      `json:"n4,omitempty"`
	Programs []SliceProgram `json:"programs,omitempty"`
}

// SliceDelay is one slice in one direction through one UPF:
// In = Matched + Lost + InFlight + Ambiguous + Evicted.
type SliceDelay struct {
	UPF       string    `json:"upf"`
	Slice     string    `json:"slice"` // empty: of no slice that is known
	Direction Direction `json:"direction"`

	In        uint64 `json:"in"`        // packets that came to the UPF
	Matched   uint64 `json:"matched"`   // left it
	Lost      uint64 `json:"lost"`      // did not within the time-out
	InFlight  uint64 `json:"in_flight"` // were in it at the end
	Ambiguous uint64 `json:"ambiguous"` // could not be told from another one
	Evicted   uint64 `json:"evicted"`   // were forgotten for want of room
	Octets    uint64 `json:"octets"`    // of user packets, of Matched

	DelayNS   N4Latency `json:"delay_ns"` // of Matched
	MeanNS    float64   `json:"mean_ns"`
	Histogram string    `json:"histogram,omitempty"` // ns, in HdrHistogram's V2 encoding
}

// SlicePoint is what a point of the UPFs has seen.
type SlicePoint struct {
	UPF       string `json:"upf"`
	Point     string `json:"point"` // in words
	Packets   uint64 `json:"packets"`
	Unmatched uint64 `json:"unmatched"`     // left, and were not seen to come
	Ambiguous uint64 `json:"ambiguous_out"` // left, and could not be told from others
	Foreign   uint64 `json:"foreign"`       // for no UE
	Unparsed  uint64 `json:"unparsed"`      // not understood
	Dropped   uint64 `json:"dropped"`       // by the device behind the point, on the way to the UPF: they count as lost
	HookNS    int64  `json:"hook_ns"`       // what the program costs a packet, measured at its start
}

// SliceN4 is PFCP transactions of one kind, of one UPF.
type SliceN4 struct {
	UPF     string    `json:"upf"`
	Seen    string    `json:"seen"`    // SeenByCP, SeenByDevice
	Message string    `json:"message"` // "Session Modification"
	Count   uint64    `json:"count"`   // answered
	Refused uint64    `json:"refused"`
	Lost    uint64    `json:"lost"`
	Repeats uint64    `json:"repeated"` // transmissions after the first
	DelayNS N4Latency `json:"delay_ns"`
	MeanNS  float64   `json:"mean_ns"`

	Histogram string `json:"histogram,omitempty"` // ns, in HdrHistogram's V2 encoding
}

// Where the time between PFCP request and response was taken.
const (
	SeenByCP     = "CP function" // from the intended send time to the response in its hands
	SeenByDevice = "N4 device"   // from packet to packet
)

// SliceProgram is a program's own account of all its run, the warm-up as well.
type SliceProgram struct {
	Slice   string   `json:"slice"`
	Program string   `json:"program"`
	Figures []Figure `json:"figures"`
}

// System returns the system of that name; nil: there is none.
func (s *Slices) System(name string) *SlicesSystem {
	for i := range s.Systems {
		if s.Systems[i].Name == name {
			return &s.Systems[i]
		}
	}
	return nil
}

// Balanced reports whether every packet that came in is accounted for.
func (d *SliceDelay) Balanced() bool {
	return d.In == d.Matched+d.Lost+d.InFlight+d.Ambiguous+d.Evicted
}
