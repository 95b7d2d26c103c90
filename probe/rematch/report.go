package rematch

import (
	"github.com/HdrHistogram/hdrhistogram-go"
)

// Report is the result of a file, with its limits.
type Report struct {
	Schema     string   `json:"schema"`
	Format     Format   `json:"format"`
	WindowNS   uint64   `json:"window_ns"`
	Overhead   int      `json:"overhead_octets"` // of the frame that enters; 0: lengths were not looked at
	Lines      uint64   `json:"lines"`
	Events     uint64   `json:"events"`      // entries and exits that were read
	Ignored    uint64   `json:"ignored"`     // lines that are neither an event nor a heading nor empty
	LostEvents uint64   `json:"lost_events"` // that the kernel says its trace buffer had no room for
	Slices     []Slice  `json:"slices"`      // in the order in which they appear
	Unknown    []string `json:"unknown"`     // what cannot be known from the file, in sentences
}

// Slice is what the file says of a slice. The study has one slice to a UPF.
type Slice struct {
	Name       string `json:"slice"`
	Entries    uint64 `json:"entries"`    // frames of user packets that came to the UPF
	Exits      uint64 `json:"exits"`      // packets that left it
	Signalling uint64 `json:"signalling"` // frames that came with TEID 0
	Strangers  uint64 `json:"strangers"`  // exits that no entry of the window, and of their length, can belong to
	Late       uint64 `json:"late"`       // events that came too late to be put in order, left out of all but Written and Nearest
	Forgotten  uint64 `json:"forgotten"`  // entries that there was no room for
	Disagree   uint64 `json:"disagree"`   // rows whose delay_us is not the difference of their times
	TooLong    uint64 `json:"too_long"`   // rows with a delay of more than the window, left out of all but Written

	Candidates Candidates `json:"candidates"`

	Written     Pairing `json:"written"`      // CSV: the pairs of the file
	Nearest     Pairing `json:"nearest"`      // the entry nearest in time, as the study pairs
	OldestFirst Pairing `json:"oldest_first"` // as in a UPF that keeps the order and drops nothing
	Only        Pairing `json:"only"`         // exits with a single candidate, alone: these pairs are right if every exit's entry is in the file
	Bounds      Bounds  `json:"bounds"`       // over all pairings
}

// Candidates is the number of possible entries for each packet that left: entries
// of the slice and of the right length, not older than the window, whose packet has
// not certainly left. Packets without an entry are not counted.
type Candidates struct {
	One     uint64 `json:"one"`     // exits with a single candidate
	Several uint64 `json:"several"` // exits with more
	Most    uint64 `json:"most"`
	Sum     uint64 `json:"sum"`
}

// Share is the part of the exits that have more than one candidate, 0 to 1.
func (c Candidates) Share() float64 { return share(c.Several, c.One+c.Several) }

// Mean is how many candidates an exit has.
func (c Candidates) Mean() float64 { return share(c.Sum, c.One+c.Several) }

func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func (c *Candidates) count(n int) {
	if n == 1 {
		c.One++
	} else {
		c.Several++
	}
	c.Sum += uint64(n)
	c.Most = max(c.Most, uint64(n))
}

// Pairing is what one way of pairing makes of a slice.
type Pairing struct {
	Pairs       uint64 `json:"pairs"`
	Chosen      uint64 `json:"chosen"`       // Nearest: pairs for which there was more than one entry to choose from
	WrongLength uint64 `json:"wrong_length"` // Nearest: pairs of different packets for certain, by their lengths
	Overtaken   uint64 `json:"overtaken"`    // pairs that say that a packet which entered later had left before
	Differing   uint64 `json:"differing"`    // CSV: pairs that are not those of the file

	P50NS  int64   `json:"p50_ns"`
	P90NS  int64   `json:"p90_ns"`
	P99NS  int64   `json:"p99_ns"`
	P999NS int64   `json:"p999_ns"`
	MaxNS  int64   `json:"max_ns"`
	MeanNS float64 `json:"mean_ns"`

	latest uint64 // entry of the packets that have left, ns
	delays *hdrhistogram.Histogram
}

// maxDelay is the greatest delay that a histogram holds, in ns; longer ones count as it.
const maxDelay = 1<<36 - 1

// pair counts a pair.
func (p *Pairing) pair(entry, exit event) {
	if p.delays == nil {
		p.delays = hdrhistogram.New(1, maxDelay, 2)
	}
	p.Pairs++
	_ = p.delays.RecordValue(int64(min(exit.ns-entry.ns, maxDelay))) // of this range by construction
	if entry.ns < p.latest {
		p.Overtaken++
	}
	p.latest = max(p.latest, entry.ns)
	if entry.row != exit.row {
		p.Differing++
	}
}

// finish takes the percentiles of the histogram.
func (p *Pairing) finish() {
	if p.Pairs == 0 {
		return
	}
	p.P50NS = p.delays.ValueAtQuantile(50)
	p.P90NS = p.delays.ValueAtQuantile(90)
	p.P99NS = p.delays.ValueAtQuantile(99)
	p.P999NS = p.delays.ValueAtQuantile(99.9)
	p.MaxNS = p.delays.Max()
	p.MeanNS = p.delays.Mean()
}

// Range is two delays that another one lies between, in ns: more than From, at most To.
type Range struct {
	From uint64 `json:"from_ns"`
	To   uint64 `json:"to_ns"`
}

// Bounds are the ranges of the percentiles over all pairings: as many exits as possible have an
// entry, no entry has two, and none is older than the window. The ranges are as fine as steps of 21
// %.
type Bounds struct {
	Pairs uint64 `json:"pairs"`
	P50   Range  `json:"p50"`
	P90   Range  `json:"p90"`
	P99   Range  `json:"p99"`
	P999  Range  `json:"p999"`
}
