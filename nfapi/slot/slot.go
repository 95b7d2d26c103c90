// Package slot counts slots: the time of a 5G NR cell, as MAC and PHY see it.
//
//	SFN      0 ─ 1 ─ 2 ─ … ─ 1023 ─ 0        10 ms each, 10.24 s for the cycle
//	slot     0 … 10<<mu-1 in each            1 ms >> mu each
//	Number   0 … 10240<<mu-1, then 0 again   SFN and slot as one number
//
// There is one function that compares slots, [Numerology.Distance], which is signed
// and knows that numbers come round: a slot behind 1023.19 is 0.0, and that is one
// slot later.
//
// Source: TS 38.211 V18.2.0, 4.3.1 and 4.3.2 (frames, slots).
package slot

import (
	"fmt"
	"time"
)

// Frames is how many frames a cycle of the SFN has.
const Frames = 1024

// Symbols is how many symbols a slot has, with normal cyclic prefix.
const Symbols = 14

// Cycle is how long an SFN cycle takes.
const Cycle = Frames * 10 * time.Millisecond

// Number is SFN and slot as one number: sfn * slots per frame + slot. Its range depends on the
// numerology.
type Number uint32

// Numerology is mu: slots have 1 ms >> mu.
type Numerology uint8

// MaxNumerology is the highest one that there is a slot clock for: slots of 125 us.
const MaxNumerology Numerology = 3

// Valid reports whether there is a slot clock for mu.
func (mu Numerology) Valid() bool { return mu <= MaxNumerology }

// PerFrame is how many slots a frame of 10 ms has.
func (mu Numerology) PerFrame() int { return 10 << mu }

// PerCycle is how many slots there are until the SFN comes round.
func (mu Numerology) PerCycle() int { return Frames * 10 << mu }

// Duration is how long a slot takes.
func (mu Numerology) Duration() time.Duration { return time.Millisecond >> mu }

// Number is the slot of an SFN. ok is false if there is no such SFN or slot.
func (mu Numerology) Number(sfn, slot uint16) (n Number, ok bool) {
	if sfn >= Frames || int(slot) >= mu.PerFrame() {
		return 0, false
	}
	return Number(int(sfn)*mu.PerFrame() + int(slot)), true
}

// Split is the inverse of [Numerology.Number].
func (mu Numerology) Split(n Number) (sfn, slot uint16) {
	per := mu.PerFrame()
	return uint16(int(n) / per % Frames), uint16(int(n) % per)
}

// Add is the slot that is d slots after n, or before if d is negative.
func (mu Numerology) Add(n Number, d int) Number {
	all := mu.PerCycle()
	return Number(((int(n)+d)%all + all) % all)
}

// Distance is how many slots a is after b: negative if it is before. Of the two ways
// around the cycle it is the shorter one, from -half to half-1.
func (mu Numerology) Distance(a, b Number) int {
	all := mu.PerCycle()
	return (int(a)-int(b)+all+all/2)%all - all/2
}

// Micros is the time of a slot's start in us of the SFN cycle, as time stamps and
// node sync count it.
func (mu Numerology) Micros(n Number) uint32 {
	return uint32(uint64(n) * 1000 >> mu)
}

// String is SFN and slot, "1023.19".
func (mu Numerology) String(n Number) string {
	sfn, slot := mu.Split(n)
	return fmt.Sprintf("%d.%d", sfn, slot)
}
