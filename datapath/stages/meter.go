package stages

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Meter is a rate of octets or packets as GCRA knows it. Its layout is that of
// struct meter in bpf/upf/rules.h, so that fast and slow path can share one. Times
// are in units of 2^-8 ns.
//
// Source: ITU-T I.371, Annex A (virtual scheduling).
type Meter struct {
	tat       uint64 // theoretical arrival time of the next packet
	unitTime  uint64 // of one octet, in 2^-24 ns; of one packet, in 2^-8 ns
	tolerance uint64 // how far tat may be ahead of the clock: the burst
	coarse    uint64 // so far ahead of the programs' coarse clock is too far; 0: they do not ask it
}

// MeterKind says what a meter of a QER holds packets against.
type MeterKind uint8

// The meters that a QER may have in each direction.
const (
	MBR MeterKind = iota
	GBR
	PacketRate
)

// DefaultBurst is how much of a rate may come at once, if the configuration does
// not say. TS 29.244 leaves it to the UPF. TCP waits for a retransmission
// time-out of at least 200 ms (Linux) when a policer has dropped the end of a
// window: what the rate has in that time has to be there when it goes on, or TCP
// never gets its rate.
const DefaultBurst = 250 * time.Millisecond

// OnePacket is the size of a packet for a meter of packets.
const OnePacket = 0

// Fixed-point places of [Meter], and its limits.
const (
	meterFraction = 8
	meterShift    = 16
	// burstOctets is three full-size packets: with less of a burst TCP cannot use
	// a low rate.
	burstOctets = 3 * 1500
	meterTries  = 16
	// meterAhead is how far tat may be beyond tolerance and the cost of one
	// packet, which is less than unitTime. What is further ahead is from long ago,
	// and the clock has gone round.
	meterAhead = 1 << 38
)

// Set makes m what q says for a direction. What it has seen stays, as [Meter.set]
// says.
func (m *Meter) Set(q *api.QER, kind MeterKind, uplink bool, burst time.Duration, nowNs uint64) {
	source := api.Interface_CORE
	if uplink {
		source = api.Interface_ACCESS
	}
	switch kind {
	case MBR:
		m.SetRate(datapath.MBR(q, source), burst, nowNs)
	case GBR:
		m.SetRate(datapath.GBR(q, source), burst, nowNs)
	case PacketRate:
		m.setPacketRate(datapath.PacketRate(q, source), nowNs)
	}
}

// SetRate makes m a meter of rate bit/s, from 10^3 to 10^12, which lets through
// at once what the rate has in a time of burst, but never less than three packets
// of full size.
func (m *Meter) SetRate(bps uint64, burst time.Duration, nowNs uint64) {
	if burst == 0 {
		burst = DefaultBurst
	}
	octet := octetTime(bps)
	tolerance := max(uint64(burst)<<meterFraction, octet*burstOctets>>meterShift)
	m.set(nowNs, octet, tolerance, atomic.LoadUint64(&m.tolerance), tolerance)
}

// setPacketRate makes m a meter of so many packets in a time, which may all come
// at once.
func (m *Meter) setPacketRate(r *api.PacketRate, nowNs uint64) {
	const fractionsInMs = 1_000_000 << meterFraction
	each := uint64(r.GetTimeMs()) * fractionsInMs / uint64(r.GetPackets())
	tolerance := each * uint64(r.GetPackets()-1)
	m.set(nowNs, each, tolerance, atomic.LoadUint64(&m.tolerance)+atomic.LoadUint64(&m.unitTime), tolerance+each)
}

// set makes m one of another rate. The part of the burst that is in use stays in use:
// no change of the rate wins any of it, nor loses any. was and is are the whole of it
// before and from now on.
//
// What grows is stored first, and what shrinks last, so that a packet that comes
// meanwhile does not find tat too far ahead and takes the meter for an idle one.
func (m *Meter) set(nowNs, unitTime, tolerance, was, is uint64) {
	now := nowNs << meterFraction
	atomic.CompareAndSwapUint64(&m.tat, 0, now) // idle from now on, wherever the clock stands
	far := m.far()
	atomic.StoreUint64(&m.coarse, 0)
	atomic.StoreUint64(&m.unitTime, max(unitTime, atomic.LoadUint64(&m.unitTime)))
	atomic.StoreUint64(&m.tolerance, max(tolerance, atomic.LoadUint64(&m.tolerance)))
	for was != is {
		tat := atomic.LoadUint64(&m.tat)
		ahead := tat - now
		hi, lo := bits.Mul64(ahead, is)
		if ahead > far || hi >= was {
			break // idle
		}
		ahead, _ = bits.Div64(hi, lo, was)
		if atomic.CompareAndSwapUint64(&m.tat, tat, now+ahead) {
			break
		}
	}
	atomic.StoreUint64(&m.unitTime, unitTime)
	atomic.StoreUint64(&m.tolerance, tolerance)
	if tolerance >= burstTicks*tick() {
		atomic.StoreUint64(&m.coarse, tolerance+1)
	}
}

// burstTicks is how many ticks of the coarse clock a burst has at least where a
// tick more does not matter.
const burstTicks = 32

// tick is that of the coarse clock, in units of 2^-8 ns.
var tick = sync.OnceValue(func() uint64 {
	var ts unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &ts); err != nil {
		panic(err) // the clock exists on every Linux
	}
	return uint64(ts.Nano()) << meterFraction
})

// Rate returns the time of one octet, in 2^-24 ns, and how far the theoretical arrival time
// may be ahead of the clock, in 2^-8 ns, for a target that has meters of its own.
func (m *Meter) Rate() (unitTime, tolerance uint64) {
	return atomic.LoadUint64(&m.unitTime), atomic.LoadUint64(&m.tolerance)
}

// Reset forgets what m has seen.
func (m *Meter) Reset() { atomic.StoreUint64(&m.tat, 0) }

// octetTime returns 8·10^9/bps ns in units of 2^-24 ns, rounded.
func octetTime(bps uint64) uint64 {
	hi, lo := bits.Mul64(8_000_000_000, 1<<(meterFraction+meterShift))
	lo, carry := bits.Add64(lo, bps/2, 0)
	q, _ := bits.Div64(hi+carry, lo, bps)
	return q
}

// cost returns for how long size octets use the meter, or [OnePacket].
func (m *Meter) cost(octets int) uint64 {
	if octets == OnePacket {
		return atomic.LoadUint64(&m.unitTime)
	}
	return atomic.LoadUint64(&m.unitTime) * uint64(octets) >> meterShift
}

// far is how far tat is ahead of the clock at most. What is further is behind it, or
// from long ago.
func (m *Meter) far() uint64 {
	return atomic.LoadUint64(&m.tolerance) + atomic.LoadUint64(&m.unitTime) + meterAhead
}

// ahead returns how far the meter is ahead of the clock, at most as far as the
// packet that was let through last could bring it; 0: it is idle.
func (m *Meter) ahead(tat, now uint64) uint64 {
	if ahead := tat - now; ahead <= m.far() {
		return ahead
	}
	return 0
}

// take charges the meter with size octets, or with [OnePacket], at time now_ns if
// they fit, and reports whether they do. What it charged it returns, for
// [Meter.giveBack].
func (m *Meter) take(nowNs uint64, octets int) (charged uint64, ok bool) {
	now, cost := nowNs<<meterFraction, m.cost(octets)
	for i := 1; ; i++ {
		tat := atomic.LoadUint64(&m.tat)
		ahead := m.ahead(tat, now)
		if ahead > atomic.LoadUint64(&m.tolerance) {
			return 0, false
		}
		if atomic.CompareAndSwapUint64(&m.tat, tat, now+ahead+cost) {
			return cost, true
		}
		if i == meterTries { // the others have left tat at the clock or ahead of it
			atomic.AddUint64(&m.tat, cost)
			return cost, true
		}
	}
}

// Take charges the meter with octets at time now_ns if they fit, and reports whether
// they do.
func (m *Meter) Take(nowNs uint64, octets int) bool {
	_, ok := m.take(nowNs, octets)
	return ok
}

// force charges the meter with octets that do not fit, but no further than one
// packet that fits could bring it: they hold back others, and not for long.
func (m *Meter) force(nowNs uint64, octets int) (charged uint64) {
	now := nowNs << meterFraction
	most := atomic.LoadUint64(&m.tolerance) + m.cost(octets)
	for range meterTries {
		tat := atomic.LoadUint64(&m.tat)
		ahead := m.ahead(tat, now)
		if ahead >= most {
			break
		}
		if atomic.CompareAndSwapUint64(&m.tat, tat, now+most) {
			return most - ahead
		}
	}
	return 0
}

// giveBack takes back what was charged.
func (m *Meter) giveBack(charged uint64) { atomic.AddUint64(&m.tat, -charged) }
