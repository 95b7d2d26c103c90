package xdp

import (
	"math/bits"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
)

// bucket is the part of the totals that a rule counts in.
type bucket struct {
	slice  uint16
	uplink bool
}

func bucketOf(slice uint16, ctl uint32) bucket { return bucket{slice, ctl&ruleUplink != 0} }

type totals map[bucket]datapath.Total

func (t totals) add(b bucket, u datapath.Total) {
	sum := t[b]
	sum.Add(u)
	t[b] = sum
}

// scanWords is how many words of table.taken a scan looks at while it holds the
// driver's lock, so that no session waits for a whole scan.
const scanWords = 64

// SliceTotals adds up what the rules of each slice counted, in no order. It
// looks at every rule and is meant for now and then, such as a scrape of
// metrics. No value is ever less than one returned before.
func (d *Driver) SliceTotals() []datapath.SliceTotal {
	d.totalsMu.Lock()
	defer d.totalsMu.Unlock()
	d.scan()
	slices := map[uint16]*datapath.SliceTotal{}
	for b, t := range d.totals {
		s := slices[b.slice]
		if s == nil {
			s = &datapath.SliceTotal{Slice: uint32(b.slice)}
			slices[b.slice] = s
		}
		if b.uplink {
			s.Uplink = t
		} else {
			s.Downlink = t
		}
	}
	all := make([]datapath.SliceTotal, 0, len(slices))
	for _, s := range slices {
		all = append(all, *s)
	}
	return all
}

// scan brings d.totals up to date. What is retired is read first: a rule that
// goes meanwhile may be missed until the next scan, but is never counted twice,
// and the totals keep what they had.
func (d *Driver) scan() {
	now := totals{}
	d.mu.RLock()
	for b, t := range d.retired {
		now[b] = t
	}
	for _, s := range d.slowSessions {
		for i := range s.slow {
			if r := &s.slow[i]; r.rule != nil {
				now.add(r.bucket(), r.rule.Counters.Total())
			}
		}
	}
	d.mu.RUnlock()
	if !d.scanTable(d.teids, now) || !d.scanTable(d.ues, now) {
		return
	}
	for b, t := range now {
		had := d.totals[b]
		d.totals[b] = datapath.Total{Packets: max(had.Packets, t.Packets), Octets: max(had.Octets, t.Octets), Dropped: max(had.Dropped, t.Dropped)}
	}
}

// scanTable adds what the rules of t counted, and reports false if the driver
// is closed, and the tables' memory gone with it.
func (d *Driver) scanTable(t *table, now totals) bool {
	for first := 0; first < len(t.taken); first += scanWords {
		d.mu.RLock()
		if d.sessions == nil {
			d.mu.RUnlock()
			return false
		}
		for w := first; w < min(first+scanWords, len(t.taken)); w++ {
			for set := t.taken[w]; set != 0; set &= set - 1 {
				slot := w*64 + bits.TrailingZeros64(set)
				r := &t.slots[slot]
				now.add(bucketOf(t.slices[slot], atomic.LoadUint32(&r.Ctl)), r.total())
			}
		}
		d.mu.RUnlock()
	}
	return true
}

// total is what a rule counted.
func (r *upfRule) total() datapath.Total {
	return datapath.Total{Packets: atomic.LoadUint64(&r.Packets), Octets: atomic.LoadUint64(&r.Octets), Dropped: atomic.LoadUint64(&r.Dropped)}
}

// retire keeps what a slot counted for a rule that leaves it, and lets the slot
// start at 0. The caller holds Driver.mu.
func (t *table) retire(slot, ctl uint32) {
	t.retired.add(bucketOf(t.slices[slot], ctl), t.drain(slot))
}

// move lets a rule count in another bucket from now on: what it counted so far
// is taken from the new one (modulo 2^64) and given to the old one.
func (t *table) move(slot, ctl uint32, slice uint16, next uint32) {
	from, to := bucketOf(t.slices[slot], ctl), bucketOf(slice, next)
	t.slices[slot] = slice
	if from == to {
		return
	}
	had := t.slots[slot].total()
	t.retired.add(from, had)
	t.retired.add(to, datapath.Total{Packets: -had.Packets, Octets: -had.Octets, Dropped: -had.Dropped})
}
