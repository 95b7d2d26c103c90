package slot

import (
	"fmt"
	"strings"
)

// Use is what a symbol is for. The values are those of FAPI's SlotConfig.
type Use uint8

// The uses.
const (
	Downlink Use = iota
	Uplink
	Guard
)

// TDD says what each symbol of a frame is for: [Numerology.PerFrame] slots, no more and
// no less. The zero value has no slots: that is not "all downlink", it is unset.
type TDD struct {
	mu    Numerology
	slots [][Symbols]Use
}

// NewTDD is a table for mu.
//
// Errors: it has not exactly one frame.
func NewTDD(mu Numerology, slots [][Symbols]Use) (TDD, error) {
	if !mu.Valid() {
		return TDD{}, fmt.Errorf("slot: numerology %d is above %d", mu, MaxNumerology)
	}
	if len(slots) != mu.PerFrame() {
		return TDD{}, fmt.Errorf("slot: tdd table of %d slots, a frame of numerology %d has %d", len(slots), mu, mu.PerFrame())
	}
	for i, s := range slots {
		for j, u := range s {
			if u > Guard {
				return TDD{}, fmt.Errorf("slot: tdd table: slot %d, symbol %d: %d is none of 0 (downlink), 1 (uplink), 2 (guard)", i, j, u)
			}
		}
	}
	return TDD{mu: mu, slots: slots}, nil
}

// ParseTDD converts a pattern such as "DDDDDDDSUU", which is repeated over the frame, to a table: D
// downlink, U uplink, S special, with first symbols downlink and last symbols uplink.
//
// Errors: another letter, a pattern that does not fit into a frame a whole number of
// times, more symbols than a slot has.
func ParseTDD(mu Numerology, pattern string, specialDL, specialUL int) (TDD, error) {
	if specialDL < 0 || specialUL < 0 || specialDL+specialUL > Symbols {
		return TDD{}, fmt.Errorf("slot: tdd: special slot of %d downlink and %d uplink symbols, a slot has %d", specialDL, specialUL, Symbols)
	}
	if !mu.Valid() || pattern == "" || mu.PerFrame()%len(pattern) != 0 {
		return TDD{}, fmt.Errorf("slot: tdd: pattern %q of %d slots does not divide a frame of numerology %d", pattern, len(pattern), mu)
	}
	var one [][Symbols]Use
	for _, letter := range pattern {
		var s [Symbols]Use
		for i := range s {
			switch {
			case letter == 'U' || letter == 'S' && i >= Symbols-specialUL:
				s[i] = Uplink
			case letter == 'S' && i >= specialDL:
				s[i] = Guard
			case letter != 'D' && letter != 'S':
				return TDD{}, fmt.Errorf("slot: tdd: pattern %q: %q is none of D, S, U", pattern, letter)
			}
		}
		one = append(one, s)
	}
	table := make([][Symbols]Use, 0, mu.PerFrame())
	for len(table) < mu.PerFrame() {
		table = append(table, one...)
	}
	return NewTDD(mu, table)
}

// IsZero reports whether the table was not set.
func (t TDD) IsZero() bool { return len(t.slots) == 0 }

// At returns the symbols of a slot.
func (t TDD) At(n Number) [Symbols]Use { return t.slots[int(n)%len(t.slots)] }

// DownlinkSymbols is how many symbols of a slot are downlink, from the first on.
func (t TDD) DownlinkSymbols(n Number) int {
	s := t.At(n)
	for i, u := range s {
		if u != Downlink {
			return i
		}
	}
	return Symbols
}

// UplinkSymbols is how many symbols of a slot are uplink, up to the last.
func (t TDD) UplinkSymbols(n Number) int {
	s := t.At(n)
	for i := range s {
		if s[Symbols-1-i] != Uplink {
			return i
		}
	}
	return Symbols
}

// String is a letter for each slot of the frame.
func (t TDD) String() string {
	var b strings.Builder
	for n := range t.slots {
		switch {
		case t.DownlinkSymbols(Number(n)) == Symbols:
			b.WriteByte('D')
		case t.UplinkSymbols(Number(n)) == Symbols:
			b.WriteByte('U')
		default:
			b.WriteByte('S')
		}
	}
	return b.String()
}
