package split

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/ran/radio/grid"
)

// Schema is the form of a [Result] as JSON.
const Schema = "plumbline.nfapi-split/1"

// Result is what was measured.
type Result struct {
	Schema   string      `json:"schema"`
	Started  time.Time   `json:"started"`
	Finished *time.Time  `json:"finished,omitempty"`
	Host     report.Host `json:"host"`
	Outcomes []Outcome   `json:"outcomes"`
}

// Outcome is what was measured of a [Case].
type Outcome struct {
	Name       string  `json:"name"`
	OnePiece   bool    `json:"one_piece"`
	SlotAhead  int     `json:"slot_ahead"`
	Radio      Radio   `json:"radio"`
	Loss       float64 `json:"p7_loss"`
	CRCFailure float64 `json:"crc_failure"`
	Grid       bool    `json:"of_losses"` // it belongs to the table of losses
	Realtime   bool    `json:"realtime"`  // all threads of its processes were
	Failed     string  `json:"failed,omitempty"`

	Floor *Floor `json:"floor,omitempty"` // of the round trip
	Ping  *Ping  `json:"ping,omitempty"`
	Bound Bound  `json:"bound"`

	DownlinkTCP *TCP `json:"downlink_tcp,omitempty"`
	UplinkTCP   *TCP `json:"uplink_tcp,omitempty"`
	DownlinkUDP *UDP `json:"downlink_udp,omitempty"`
	UplinkUDP   *UDP `json:"uplink_udp,omitempty"`

	Processes []Process `json:"processes"`
}

// Radio is what matters of a cell.
type Radio struct {
	Numerology    uint8  `json:"numerology"`
	PRBs          int    `json:"prbs"`
	Layers        int    `json:"layers"`
	MCS           uint8  `json:"mcs"`
	MCSTable      uint8  `json:"mcs_table"`
	Pattern       string `json:"pattern"`
	K1            int    `json:"k1"`
	K2            int    `json:"k2"`
	SRPeriod      int    `json:"sr_period"` // slots
	StandingGrant bool   `json:"standing_grant"`
	RLC           string `json:"rlc"`
}

// Floor is the least that the radio allows of a round trip, over all instants at which
// it may begin.
type Floor struct {
	MinNS  int64 `json:"min_ns"`
	MeanNS int64 `json:"mean_ns"`
	MaxNS  int64 `json:"max_ns"`
}

// Ping is what ping says. Percentiles are of times of three digits.
type Ping struct {
	Sent     int     `json:"sent"`
	Received int     `json:"received"`
	MinNS    int64   `json:"min_ns"`
	MeanNS   int64   `json:"mean_ns"`
	MaxNS    int64   `json:"max_ns"`
	P50NS    int64   `json:"p50_ns"`
	P99NS    int64   `json:"p99_ns"`
	RTTsNS   []int64 `json:"rtts_ns"` // of each answer
}

// Bound is the most that the cell's transport blocks can carry to and from one UE, in
// bit/s.
type Bound struct {
	DownlinkBPS float64 `json:"downlink_bps"`
	UplinkBPS   float64 `json:"uplink_bps"`
	// HARQLimited: the slots have room for more, but the UE's HARQ processes wait for
	// feedback.
	HARQLimited bool `json:"harq_limited,omitempty"`
}

// TCP is what iperf3 says of a connection.
type TCP struct {
	BPS         float64 `json:"bps"` // of payload
	Retransmits int     `json:"retransmits"`
}

// UDP is what iperf3 says of more datagrams than the cell can carry.
type UDP struct {
	BPS     float64 `json:"bps"`     // of payload, that arrived
	IPBPS   float64 `json:"ip_bps"`  // with the headers of UDP and IP
	Packets int     `json:"packets"` // that iperf3 has sent
	Wanted  int     `json:"wanted"`  // that it was to send
	Lost    int     `json:"lost"`
}

// Process is a VNF, a PNF or both in one.
type Process struct {
	Name string `json:"name"`
	// CPUNS is the processor time that it has taken, WallNS how long it has run.
	CPUNS  int64 `json:"cpu_ns"`
	WallNS int64 `json:"wall_ns"`
	// Mallocs is how many objects it has allocated for each slot while nothing was sent;
	// nil: it was not counted.
	Mallocs *float64            `json:"mallocs_per_slot,omitempty"`
	Watch   *stopwatch.Snapshot `json:"stopwatch,omitempty"`
	// Relay is what plumb nfapi impair says that it did.
	Relay json.RawMessage `json:"relay,omitempty"`
}

// newOutcome has what is known before anything is measured.
func newOutcome(c *Case) (*Outcome, error) {
	r := &c.Radio
	o := &Outcome{
		Name: c.Name, OnePiece: c.OnePiece, SlotAhead: c.SlotAhead, Loss: c.Loss, CRCFailure: c.CRCFailure, Grid: c.Grid, Realtime: c.Realtime,
		Radio: Radio{
			Numerology: uint8(r.Numerology), PRBs: r.PRBs, Layers: r.Layers, MCS: r.MCS, MCSTable: r.MCSTable, Pattern: r.Pattern,
			K1: r.K1, K2: r.K2, SRPeriod: r.SRPeriod, StandingGrant: r.StandingGrant, RLC: r.RLC,
		},
	}
	cells, err := grid.New(r)
	if err != nil {
		return nil, err
	}
	down, up := cells.Bound()
	o.Bound.DownlinkBPS, o.Bound.UplinkBPS = cells.HARQBound(c.SlotAhead)
	o.Bound.HARQLimited = o.Bound.DownlinkBPS < down || o.Bound.UplinkBPS < up
	o.Floor, err = floorOf(c)
	return o, err
}

// Write stores r as JSON, in one line: indented, its histograms would take seven times the octets.
func Write(w io.Writer, r *Result) error {
	if err := plainjson.Lines(w).Encode(r); err != nil {
		return fmt.Errorf("split: write result: %w", err)
	}
	return nil
}

// process is the one of a name; nil: there is none.
func (o *Outcome) process(name string) *Process {
	for i := range o.Processes {
		if o.Processes[i].Name == name {
			return &o.Processes[i]
		}
	}
	return nil
}

// slotKeeper is the process that has the clock, and gets the requests: nil if it has not
// said anything.
func (o *Outcome) slotKeeper() *Process {
	name := nameSplit[1]
	if o.OnePiece {
		name = nameOnePiece
	}
	if p := o.process(name); p != nil && p.Watch != nil {
		return p
	}
	return nil
}

// Names of the processes.
var nameSplit = [2]string{"vnf", "pnf"}

const (
	nameOnePiece = "mono"
	nameRelay    = "impair"
)
