package xdp

import (
	"math/bits"
	"sync/atomic"
)

// Total is what all rules of one direction counted since the start, those
// included that are gone. Octets are those of user packets, from their IP
// header on.
type Total struct {
	Packets, Octets uint64 // forwarded
	Dropped         uint64 // packets that matched, then were dropped by gate, meter or FAR
}

func (t *Total) add(u Total) {
	t.Packets += u.Packets
	t.Octets += u.Octets
	t.Dropped += u.Dropped
}

// scanWords is how many words of table.taken a scan looks at while it holds the
// driver's lock, so that no session waits for a whole scan.
const scanWords = 64

// Totals adds up what uplink and downlink rules counted. It looks at every rule
// and is meant for now and then, such as a scrape of metrics. No value is ever
// less than one returned before.
func (d *Driver) Totals() (uplink, downlink Total) {
	d.totalsMu.Lock()
	defer d.totalsMu.Unlock()
	d.scan(d.uplink, &d.totals[0])
	d.scan(d.downlink, &d.totals[1])
	return d.totals[0], d.totals[1]
}

// scan brings said up to date. What is retired is read first: a rule that goes
// meanwhile may be missed until the next scan, but is never counted twice, and
// said keeps what it had.
func (d *Driver) scan(t *table, said *Total) {
	d.mu.RLock()
	now := t.retired
	d.mu.RUnlock()
	for first := 0; first < len(t.taken); first += scanWords {
		d.mu.RLock()
		if d.sessions == nil { // closed, and the tables' memory with it
			d.mu.RUnlock()
			return
		}
		for w := first; w < min(first+scanWords, len(t.taken)); w++ {
			for set := t.taken[w]; set != 0; set &= set - 1 {
				now.add(t.slots[w*64+bits.TrailingZeros64(set)].total())
			}
		}
		d.mu.RUnlock()
	}
	said.Packets = max(said.Packets, now.Packets)
	said.Octets = max(said.Octets, now.Octets)
	said.Dropped = max(said.Dropped, now.Dropped)
}

// total is what a rule counted.
func (r *upfRule) total() Total {
	return Total{atomic.LoadUint64(&r.Packets), atomic.LoadUint64(&r.Octets), atomic.LoadUint64(&r.Dropped)}
}

// retire keeps what a slot counted for a rule that leaves it, and lets the slot
// start at 0. The caller holds Driver.mu.
func (t *table) retire(r *upfRule) {
	t.retired.add(Total{
		Packets: atomic.SwapUint64(&r.Packets, 0),
		Octets:  atomic.SwapUint64(&r.Octets, 0),
		Dropped: atomic.SwapUint64(&r.Dropped, 0),
	})
}
