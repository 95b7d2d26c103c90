package timestamp

import (
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Collector has the stamps of one trial in one direction. Its methods may be called by
// several goroutines at once.
type Collector struct {
	source Source
	shift  uint8

	mu             sync.Mutex
	asked          uint64
	sent, received map[uint32]int64 // stamp by mark
}

// Bounds of how many frames are stamped.
const (
	perSecond = 10_000
	maxShift  = 9
	maxStamps = 1 << 20 // of a trial
)

// NewCollector collects stamps of frames that are sent at a rate, 0: as fast as
// possible. Of those not more than 10,000 in a second are stamped, but one in 512
// always.
func NewCollector(s Source, pps uint64) *Collector {
	c := &Collector{source: s, sent: map[uint32]int64{}, received: map[uint32]int64{}}
	for c.shift < maxShift && (pps == 0 || pps>>c.shift > perSecond) {
		c.shift++
	}
	return c
}

// Source returns what stamps.
func (c *Collector) Source() Source { return c.source }

// Shift says which frames are stamped: of each stream one in 2^Shift.
func (c *Collector) Shift() uint8 { return c.shift }

// Mark returns the mark of a frame that is to be stamped, 0 if it is not to be:
// stamp_mark of bpf/meter.bpf.c. The lowest 32 bits of the sequence number are enough.
func (c *Collector) Mark(stream uint16, sequence uint64) uint32 {
	if sequence&(1<<c.shift-1) != 0 {
		return 0
	}
	return 1<<31 | uint32(stream&0xff)<<23 | uint32(sequence>>c.shift)&0x7fffff
}

// Asked counts a frame whose stamp was asked for.
func (c *Collector) Asked() {
	c.mu.Lock()
	c.asked++
	c.mu.Unlock()
}

// all reports whether the stamps of all frames that were sent are there.
func (c *Collector) all() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return uint64(len(c.sent)) >= min(c.asked, maxStamps)
}

// put keeps a stamp. The sender may have had to offer a frame twice: the last stamp is
// that of the frame that left.
func (c *Collector) put(to map[uint32]int64, mark uint32, ns int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := to[mark]; ok || len(to) < maxStamps {
		to[mark] = ns
	}
}

// Result is what stamps say of a trial.
type Result struct {
	Asked    uint64 // frames that were to be stamped
	Sent     uint64 // of these, have one of when they left
	Received uint64 // frames with one of when they arrived
	Backward uint64 // of those with both: arrived before they left, since somebody set the clock
	// Delays are of frames with both, in ns, without Backward.
	Delays *hdrhistogram.Histogram
}

// Result compares the stamps.
func (c *Collector) Result() Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Result{
		Asked: c.asked, Sent: uint64(len(c.sent)), Received: uint64(len(c.received)),
		Delays: hdrhistogram.New(1, 1<<36-1, 2), // as the meter's
	}
	for mark, at := range c.received {
		left, ok := c.sent[mark]
		switch {
		case !ok:
		case at < left:
			r.Backward++
		default:
			_ = r.Delays.RecordValue(min(at-left, 1<<36-1))
		}
	}
	return r
}
