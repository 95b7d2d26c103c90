package generator

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
)

// Access says which session each frame of a stream belongs to.
type Access uint8

// Access patterns.
const (
	Same    Access = iota // the first session only
	Uniform               // each session equally likely, independently
	Zipf                  // the r-th most popular session in proportion to 1/r^s
	Each                  // one session after the other, in an order drawn by lot
)

// String returns the name that [ParseAccess] takes.
func (a Access) String() string {
	if int(a) < len(accessNames) {
		return accessNames[a]
	}
	return fmt.Sprintf("Access(%d)", uint8(a))
}

// ParseAccess is the reverse of [Access.String].
func ParseAccess(name string) (Access, error) {
	for i, n := range accessNames {
		if n == name {
			return Access(i), nil
		}
	}
	return 0, fmt.Errorf("generator: access pattern %q: want same, uniform, zipf or each", name)
}

var accessNames = [...]string{"same", "uniform", "zipf", "each"}

// The access pattern repeats after so many frames. At four times the number of
// sessions, 98 % of the sessions have a frame in each period of Uniform.
const (
	minPeriod = 1 << 16
	maxPeriod = 1 << 22
)

// period returns the length of the pattern of n sessions.
func period(a Access, n int) int {
	switch {
	case a == Same || n == 1:
		return 1
	case a == Each:
		return min(n, maxPeriod)
	}
	p := 1 << bits.Len(uint(4*n-1))
	return min(max(p, minPeriod), maxPeriod)
}

// pattern returns the indices of n sessions in the order of so many frames.
func pattern(a Access, n, frames int, exponent float64, random *rand.Rand) []uint32 {
	order := make([]uint32, frames)
	switch {
	case a == Same || n == 1: // the first
	case a == Zipf:
		drawZipf(order, n, exponent, random)
	case a == Each:
		session := random.Perm(n)
		for i := range order {
			order[i] = uint32(session[i%n])
		}
	default:
		for i := range order {
			order[i] = random.Uint32N(uint32(n))
		}
	}
	return order
}

// drawZipf fills order with a stratified sample: every one of the len(order)
// equal parts of the distribution gives one frame, so that popular sessions have
// their share exactly. Popularity is not in the order of the list, or neighbours
// in the tables of a UPF would be hot together.
func drawZipf(order []uint32, n int, exponent float64, random *rand.Rand) {
	weights := make([]float64, n)
	total := 0.0
	for r := range weights {
		weights[r] = math.Pow(float64(r+1), -exponent)
		total += weights[r]
	}
	session := random.Perm(n)
	rank, upTo := 0, weights[0]
	for i := range order {
		at := (float64(i) + random.Float64()) / float64(len(order)) * total
		for upTo < at && rank < n-1 {
			rank++
			upTo += weights[rank]
		}
		order[i] = uint32(session[rank])
	}
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
}

// accessOctets is the size of struct access in bpf/lab_write.h.
const accessOctets = 32

// appendAccess adds an entry as the program wants it: the last two words of the
// stamp, then the IPv6 address.
func appendAccess(b []byte, stream uint16, e *entry, s *Session, ipv6 bool) []byte {
	b = binary.LittleEndian.AppendUint32(b, e.session)
	b = binary.BigEndian.AppendUint32(b, s.TEID)
	b = binary.BigEndian.AppendUint32(b, FoldUE(s.address(ipv6)))
	b = binary.LittleEndian.AppendUint16(b, stream)
	b = append(b, e.qfi, e.dscp)
	var ue6 [16]byte
	if a := s.address(true); a.IsValid() {
		ue6 = a.As16()
	}
	return append(b, ue6[:]...)
}
