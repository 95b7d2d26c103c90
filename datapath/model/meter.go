package model

import (
	"math/bits"
	"sync/atomic"
)

// Meter is a rate as GCRA knows it. Its layout is that of struct meter in
// bpf/rules.h, so that fast and slow path can share one. Times are in units of
// 2^-8 ns.
//
// Source: ITU-T I.371, Annex A (virtual scheduling).
type Meter struct {
	tat       uint64 // theoretical arrival time of the next packet
	octetTime uint64 // of one octet, in 2^-24 ns
}

// Fixed-point places of [Meter], and its tolerance. TS 29.244 leaves the burst
// to the UPF: 10 ms of the rate, and never less than three full-size packets,
// below which TCP cannot use a low rate.
const (
	meterFraction = 8
	meterShift    = 16
	burstTime     = 10_000_000 // ns
	burstOctets   = 3 * 1500
	meterTries    = 16
)

// SetRate makes m a meter of rate bit/s, from 1 to 10^12, and keeps its state.
func (m *Meter) SetRate(bps uint64) { atomic.StoreUint64(&m.octetTime, octetTime(bps)) }

// Reset forgets what m has seen.
func (m *Meter) Reset() { atomic.StoreUint64(&m.tat, 0) }

// burst returns the tolerance of a rate.
func burst(octetTime uint64) uint64 {
	return max(burstTime<<meterFraction, octetTime*burstOctets>>meterShift)
}

// octetTime returns 8·10^9/bps ns in units of 2^-24 ns, rounded.
func octetTime(bps uint64) uint64 {
	hi, lo := bits.Mul64(8_000_000_000, 1<<(meterFraction+meterShift))
	lo, carry := bits.Add64(lo, bps/2, 0)
	q, _ := bits.Div64(hi+carry, lo, bps)
	return q
}

// Conforms takes a packet of size octets at time now_ns from the meter if it
// fits, and reports whether it does.
func (m *Meter) Conforms(nowNs uint64, octets int) bool {
	now := nowNs << meterFraction
	octet := atomic.LoadUint64(&m.octetTime)
	cost := octet * uint64(octets) >> meterShift
	latest := now + burst(octet)
	for range meterTries {
		tat := atomic.LoadUint64(&m.tat)
		start := max(tat, now)
		if start > latest {
			break
		}
		if atomic.CompareAndSwapUint64(&m.tat, tat, start+cost) {
			return true
		}
	}
	return false
}
