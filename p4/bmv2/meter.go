package bmv2

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// meterOctets is the memory of a meter cell.
const meterOctets = 88

// meterCell is a two rate three colour meter, colour-blind.
//
// Buckets are filled by what has accrued since the cell was set, rounded down, less what had accrued at the last packet. So
// nothing is lost to rounding, however often packets come.
// Source: RFC 2698, 3 and 4.1.
type meterCell struct {
	mu     sync.Mutex
	set    atomic.Bool
	cfg    MeterConfig
	tc, tp uint64 // tokens in the buckets
	ac, ap uint64 // what had accrued at the last packet
	since  int64  // when the cell was set
	latest int64
}

// The colours of v1model.
const (
	green  = 0
	yellow = 1
	red    = 2
)

// meterUnits is what a packet takes from a bucket.
func meterUnits(octets bool, length int) uint64 {
	if octets {
		return uint64(length)
	}
	return 1
}

// configure fills the buckets and begins to count time. nil lets all packets be green.
func (m *meterCell) configure(c *MeterConfig, now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c == nil {
		m.set.Store(false)
		m.cfg = MeterConfig{}
		return
	}
	m.cfg = *c
	m.tc, m.tp, m.ac, m.ap, m.since, m.latest = c.CBurst, c.PBurst, 0, 0, now, now
	m.set.Store(true)
}

// execute takes units from the buckets, and gives the colour.
func (m *meterCell) execute(now int64, units uint64) uint64 {
	if !m.set.Load() {
		return green
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// Another worker may have been here with a later time.
	m.latest = max(m.latest, now)
	t := uint64(m.latest - m.since)
	fill(&m.tp, &m.ap, m.cfg.PIR, m.cfg.PBurst, t)
	fill(&m.tc, &m.ac, m.cfg.CIR, m.cfg.CBurst, t)
	switch {
	case m.tp < units:
		return red
	case m.tc < units:
		m.tp -= units
		return yellow
	}
	m.tp -= units
	m.tc -= units
	return green
}

// fill adds what has accrued in t nanoseconds.
func fill(tokens, accrued *uint64, rate, burst, t uint64) {
	hi, lo := bits.Mul64(rate, t)
	all := ^uint64(0)
	if hi < 1e9 {
		all, _ = bits.Div64(hi, lo, 1e9)
	}
	more := all - *accrued
	*accrued = all
	if *tokens += more; *tokens > burst || *tokens < more {
		*tokens = burst
	}
}

// count adds a packet to a cell, if there is such a one.
func count(cells []uint64, index uint64, octets int) {
	if index < uint64(len(cells)/2) {
		atomic.AddUint64(&cells[2*index], 1)
		atomic.AddUint64(&cells[2*index+1], uint64(octets))
	}
}

// take moves a cell, during an Update: no packet uses it.
func (m *meterCell) take(from *meterCell) {
	m.set.Store(from.set.Load())
	m.cfg, m.tc, m.tp, m.ac, m.ap = from.cfg, from.tc, from.tp, from.ac, from.ap
	m.since, m.latest = from.since, from.latest
}
