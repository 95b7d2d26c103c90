// Package exact holds the meters of a datapath against exact arithmetic: each
// packet's verdict, not a mean. Its oracle is a bucket of whole numbers without
// bounds (math/big), which knows nothing of theoretical arrival times, fixed-point
// places or a clock that goes round.
//
// It is linked into tests only.
package exact

import (
	"math/big"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Meter is a bucket. What passes fills it, time drains it, and a packet conforms
// unless the level is above the burst. So a packet that begins below the burst may
// end above it: ITU-T I.371, Annex A.
//
// A level has the unit in which the rate drains a whole number in a nanosecond: of
// bit/s an octet is 8·10^9, of n packets in a time a packet is that time in ns.
type Meter struct {
	drain  *big.Int // in a nanosecond
	burst  *big.Int // level up to which packets conform
	full   *big.Int // what of a change of rate keeps its part
	packet *big.Int // of each; nil: octets count
	level  *big.Int
	spare  *big.Int // what would have been drained since m was empty
	// slack is by how much a datapath may be off that counts in 2^-8 ns, in 2^-25 ns:
	// half a unit of an octet's time, and a whole one of what is rounded down to 2^-8.
	slack *big.Int
}

// threePackets is the least burst, in octets: docs/architecture.md, Meters.
const threePackets = 3 * 1500

const (
	slackBits  = 25
	slackPlace = 1 << (slackBits - 8) // 2^-8 ns
)

func whole(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

func product(a *big.Int, b uint64) *big.Int { return new(big.Int).Mul(a, whole(b)) }

// NewMBR returns the meter of a rate of octets that has seen nothing.
func NewMBR(bps uint64, burst time.Duration) *Meter {
	m := &Meter{drain: whole(bps), level: new(big.Int), spare: whole(1 << 62), slack: whole(slackPlace + threePackets)}
	m.burst = product(m.drain, uint64(burst))
	if least := whole(threePackets * 8e9); m.burst.Cmp(least) < 0 {
		m.burst = least
	}
	m.full = m.burst
	return m
}

// NewPacketRate returns the meter of a rate of packets that has seen nothing. All of
// its time may come at once.
func NewPacketRate(r *api.PacketRate) *Meter {
	m := &Meter{drain: whole(uint64(r.GetPackets())), packet: product(whole(1e6), uint64(r.GetTimeMs())), level: new(big.Int), spare: whole(1 << 62)}
	m.burst = product(m.packet, uint64(r.GetPackets()-1))
	m.full = product(m.packet, uint64(r.GetPackets()))
	m.slack = whole(slackPlace * uint64(r.GetPackets()))
	return m
}

// Pass lets time pass.
func (m *Meter) Pass(d time.Duration) {
	m.level.Sub(m.level, product(m.drain, uint64(d)))
	if m.level.Sign() >= 0 {
		return
	}
	m.spare.Sub(m.spare, m.level)
	m.level.SetUint64(0)
	if m.idle() {
		m.slack = whole(slackPlace * 32) // what was rounded is over
	}
}

// idle reports whether m is empty for certain.
func (m *Meter) idle() bool {
	return new(big.Int).Lsh(m.spare, slackBits).Cmp(m.error()) > 0
}

// error is the slack as a level, times 2^slackBits.
func (m *Meter) error() *big.Int { return new(big.Int).Mul(m.slack, m.drain) }

// Conforms reports whether a packet would pass; sure is false if it is too close for
// who counts in 2^-8 ns.
func (m *Meter) Conforms() (ok, sure bool) {
	if m.idle() {
		return true, true
	}
	over := new(big.Int).Sub(m.level, m.burst)
	ok = over.Sign() <= 0
	return ok, over.Abs(over).Lsh(over, slackBits).Cmp(m.error()) > 0
}

func (m *Meter) cost(octets int) *big.Int {
	if m.packet != nil {
		return m.packet
	}
	return product(whole(8e9), uint64(octets))
}

// Take fills in a packet, whether it conforms or not.
func (m *Meter) Take(octets int) {
	m.level.Add(m.level, m.cost(octets))
	m.spare.SetUint64(0)
	m.slack.Add(m.slack, whole(slackPlace+uint64(octets)))
}

// Force fills in a packet as [Meter.Take] does, but no further than one that conforms
// could.
func (m *Meter) Force(octets int) {
	if ok, _ := m.Conforms(); ok {
		m.Take(octets)
		return
	}
	if most := new(big.Int).Add(m.burst, m.cost(octets)); m.level.Cmp(most) < 0 {
		m.level = most
		m.slack.Add(m.slack, whole(slackPlace+uint64(octets)))
	}
}

// Become makes m one of another rate, of which the same part is in use.
func (m *Meter) Become(next *Meter) {
	level := new(big.Int).Mul(m.level, next.full)
	level.Div(level, m.full)
	// The slack is a time, and so is what a burst takes to drain.
	slack := new(big.Int).Mul(m.slack, next.full)
	slack.Mul(slack, m.drain).Div(slack, new(big.Int).Mul(m.full, next.drain))
	next.spare = new(big.Int).Mul(m.spare, next.drain)
	next.spare.Div(next.spare, m.drain)
	next.level, next.slack = level, slack.Add(slack, whole(slackPlace*64)).Add(slack, next.slack)
	*m = *next
}
