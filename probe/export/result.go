package export

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/internal/histogram"
	"github.com/plumbline-upf/plumbline/probe"
)

// Schema names the version of the form of a [Result].
const Schema = "plumbline.probe/1"

// Result is what a probe measured, and all that it has to be judged by: the manifest
// of a run.
type Result struct {
	Schema     string    `json:"schema"`
	Started    time.Time `json:"started"`
	DurationNS int64     `json:"duration_ns"`
	Host       Host      `json:"host"`
	Settings   Settings  `json:"settings"`
	UPFs       []UPF     `json:"upfs"`
	Points     []Point   `json:"points"`
	Series     []Series  `json:"series"`           // by UPF, slice, direction
	Beyond     []Series  `json:"beyond,omitempty"` // what the kernel does beside UPFs: between their TUN devices and N6
	N4         *N4       `json:"n4,omitempty"`
	Samples    *Samples  `json:"samples,omitempty"`
	Timeline   Timeline  `json:"timeline"`
	Warnings   []string  `json:"warnings,omitempty"` // what the figures must not be read without
}

// Host is the machine.
type Host struct {
	OS           string `json:"os"`     // PRETTY_NAME of /etc/os-release
	Kernel       string `json:"kernel"` // release of uname(2)
	Arch         string `json:"arch"`
	CPUModel     string `json:"cpu_model"`
	CPUs         int    `json:"cpus"`
	MemoryOctets uint64 `json:"memory_octets"`
	BPFJIT       string `json:"bpf_jit"`
	SpectreV2    string `json:"spectre_v2"`
	GoVersion    string `json:"go_version"`
	Version      string `json:"version"` // of plumb
	Commit       string `json:"commit"`
	CommandLine  string `json:"command_line"`
}

// Settings are those of the probe.
type Settings struct {
	InFlight     int     `json:"in_flight"`
	TimeoutNS    int64   `json:"timeout_ns"`
	NAT          bool    `json:"nat"`
	IntervalNS   int64   `json:"interval_ns"`
	SampleEvery  uint32  `json:"sample_every"`    // 0: none
	SampleAbove  int64   `json:"sample_above_ns"` // 0: none
	MaxAmbiguous float64 `json:"max_ambiguous"`   // ratio of In, without Untimed, above which delays are withheld
	Timed        uint32  `json:"timed,omitempty"` // delays are of one packet of so many, chosen by fingerprint; 0, 1: of all
}

// UPF is one of those measured.
type UPF struct {
	Name      string   `json:"name"`
	PID       int      `json:"pid,omitempty"`
	Command   string   `json:"command,omitempty"`
	Container string   `json:"container,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	Datapath  string   `json:"datapath,omitempty"` // as far as it shows from outside
	Why       string   `json:"why,omitempty"`      // what that was told by
	N3        []string `json:"n3,omitempty"`
	N4        []string `json:"n4,omitempty"`
	Missing   string   `json:"missing,omitempty"` // why it is measured in part or not at all
	Gaps      []Gap    `json:"gaps,omitempty"`    // in order of time; the latest 100
}

// Gap is a time in which a UPF, or a device of it, was not there to be measured. Packets
// that were inside when it began are lost.
type Gap struct {
	From  time.Time `json:"from"`           // when it was seen, which is after it began
	Until time.Time `json:"until,omitzero"` // programs stand there again; zero: they do not
	Why   string    `json:"why"`
}

// Point is one end of the way through a UPF, and what it saw.
type Point struct {
	UPF       string  `json:"upf"`
	Namespace string  `json:"namespace,omitempty"`
	Device    string  `json:"device"`
	Hook      string  `json:"hook"` // ingress, egress, host ingress, host egress
	Way       string  `json:"way"`  // in, out
	Side      string  `json:"side"` // N3, N6, both
	Packets   uint64  `json:"packets"`
	Matched   uint64  `json:"matched"`           // way out
	Unmatched uint64  `json:"unmatched"`         // way out: never seen coming in
	Ambiguous uint64  `json:"ambiguous"`         // way out
	Untimed   uint64  `json:"untimed,omitempty"` // way out: not chosen to be timed
	Foreign   uint64  `json:"foreign"`           // for no UE of the UPF; not in Packets
	Unparsed  uint64  `json:"unparsed"`          // no user packet in it; not in Packets
	CostNS    float64 `json:"cost_ns"`           // of the program, for a packet by itself, measured when it was attached

	CostInPlaceNS float64 `json:"cost_in_place_ns,omitempty"` // its mean where it stands, as the kernel accounts it; 0: not asked for
}

// Series is one slice in one direction through one UPF.
type Series struct {
	UPF       string `json:"upf"`
	Slice     string `json:"slice"` // empty: of no known slice
	Direction string `json:"direction"`

	In        uint64 `json:"in"`
	Matched   uint64 `json:"matched"`
	Lost      uint64 `json:"lost"`
	InFlight  uint64 `json:"in_flight"`
	Ambiguous uint64 `json:"ambiguous"`
	Evicted   uint64 `json:"evicted"`
	Octets    uint64 `json:"octets"` // of Matched

	Untimed       uint64 `json:"untimed,omitempty"` // of In: not chosen to be timed
	UntimedOctets uint64 `json:"untimed_octets,omitempty"`

	DelayNS   Delay  `json:"delay_ns"`
	Histogram string `json:"histogram,omitempty"` // of ns, HdrHistogram V2 compressed, base64
	Withheld  string `json:"withheld,omitempty"`  // why DelayNS must not be used
	Parts     *Parts `json:"parts,omitempty"`     // absent: not asked for
}

// Parts is what delays consist of.
type Parts struct {
	Packets  uint64 `json:"packets"`   // that were taken apart
	Batched  uint64 `json:"batched"`   // of these: read together with others that left before
	Unknown  uint64 `json:"unknown"`   // matched, and not taken apart
	QueuedNS Delay  `json:"queued_ns"` // until the UPF had read them
	InsideNS Delay  `json:"inside_ns"` // from then on
}

func newParts(p *probe.Parts) *Parts {
	if p == nil {
		return nil
	}
	out := &Parts{Batched: p.Batched, Unknown: p.Unknown, QueuedNS: delayOf(p.Queued), InsideNS: delayOf(p.Inside)}
	if p.Queued != nil {
		out.Packets = uint64(p.Queued.TotalCount())
	}
	return out
}

// Delay is a distribution in short.
type Delay struct {
	Min  int64 `json:"min"`
	Mean int64 `json:"mean"`
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// Samples says what became of packets that were to be reported one by one.
type Samples struct {
	Written uint64 `json:"written"`
	Lost    uint64 `json:"lost"` // for want of room on the way to user space
}

// N4 is what PFCP did meanwhile.
type N4 struct {
	Messages []N4Messages `json:"messages"`
	Points   []N4Point    `json:"points"`
	Sessions uint64       `json:"sessions"` // whose slices are known now
	Refused  uint64       `json:"refused"`  // sessions and keys for which there was no room
}

// N4Messages is the transactions of one UPF, role and type of message:
//
//	Requests = Answered + Unanswered + Outstanding + Evicted
type N4Messages struct {
	UPF             string            `json:"upf"`
	Asked           string            `json:"asked"`   // who sent the request: CP, UP, or unknown
	Message         string            `json:"message"` // the request
	Requests        uint64            `json:"requests"`
	Answered        uint64            `json:"answered"`
	Unanswered      uint64            `json:"unanswered"`  // in time
	Outstanding     uint64            `json:"outstanding"` // may yet be answered
	Evicted         uint64            `json:"evicted"`     // for want of room
	Retransmissions uint64            `json:"retransmissions"`
	Rejected        uint64            `json:"rejected"` // of Answered: by another Cause than Request accepted
	Causes          map[string]uint64 `json:"causes,omitempty"`
	DelayNS         Delay             `json:"delay_ns"`
	Histogram       string            `json:"histogram,omitempty"`

	Delays *hdrhistogram.Histogram `json:"-"` // what the last two are of, while the probe runs
}

// N4Point is a device at which PFCP is listened to.
type N4Point struct {
	UPF       string `json:"upf"`
	Namespace string `json:"namespace,omitempty"`
	Device    string `json:"device"`
	Datagrams uint64 `json:"datagrams"`
	Messages  uint64 `json:"messages"`
	Fragments uint64 `json:"fragments"` // datagrams in IP fragments, of which the first alone was seen
	Malformed uint64 `json:"malformed"`
	Orphans   uint64 `json:"orphans"` // responses to nothing that was seen
	Lost      uint64 `json:"lost"`    // datagrams, for want of room on the way to user space
}

// Lost is how many datagrams were lost on the way to user space.
func (n *N4) Lost() uint64 {
	lost := uint64(0)
	for i := range n.Points {
		lost += n.Points[i].Lost
	}
	return lost
}

// Fragments is how many datagrams came in IP fragments. What is said in the others is not learnt
// from.
func (n *N4) Fragments() uint64 {
	fragments := uint64(0)
	for i := range n.Points {
		fragments += n.Points[i].Fragments
	}
	return fragments
}

// encode fills in what is said of Delays.
func (m *N4Messages) encode() (err error) {
	m.DelayNS = delayOf(m.Delays)
	m.Histogram, err = histogram.Encode(m.Delays)
	return err
}

// Timeline is how delays and packets went on, in columns of time. When there are too
// many for a picture two and two become one, so that it is bounded however long the
// probe runs.
type Timeline struct {
	ColumnNS int64    `json:"column_ns"`
	Columns  []Column `json:"columns"`
}

// Column is some time of all series that had packets in it.
type Column struct {
	StartNS    int64  `json:"start_ns"` // since Started
	DurationNS int64  `json:"duration_ns"`
	Cells      []Cell `json:"cells"`
}

// Cell is one series in a column.
type Cell struct {
	Series    int    `json:"series"` // index in Series
	In        uint64 `json:"in"`
	Matched   uint64 `json:"matched"`
	Lost      uint64 `json:"lost"`
	Ambiguous uint64 `json:"ambiguous"`
	Untimed   uint64 `json:"untimed,omitempty"`
	P50       int64  `json:"p50_ns"`
	P99       int64  `json:"p99_ns"`
	// Bins has pairs: number of a bin as [BinOf] has it, packets.
	Bins [][2]uint64 `json:"bins,omitempty"`
}

// Account is the account of a series.
func (s *Series) Account() probe.Account {
	return probe.Account{
		In: s.In, Matched: s.Matched, Lost: s.Lost, InFlight: s.InFlight, Ambiguous: s.Ambiguous, Evicted: s.Evicted, Octets: s.Octets,
		Untimed: s.Untimed, UntimedOctets: s.UntimedOctets,
	}
}

// Total is the account of all series.
func (r *Result) Total() probe.Account {
	var all probe.Account
	for i := range r.Series {
		all = Sum(all, r.Series[i].Account())
	}
	return all
}

// Sum adds two accounts.
func Sum(a, b probe.Account) probe.Account {
	return probe.Account{
		In: a.In + b.In, Matched: a.Matched + b.Matched, Lost: a.Lost + b.Lost, InFlight: a.InFlight + b.InFlight,
		Ambiguous: a.Ambiguous + b.Ambiguous, Evicted: a.Evicted + b.Evicted, Octets: a.Octets + b.Octets,
		Untimed: a.Untimed + b.Untimed, UntimedOctets: a.UntimedOctets + b.UntimedOctets,
	}
}
