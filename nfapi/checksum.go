package nfapi

import "hash/crc32"

// ChecksumState says what a P7 checksum is worth.
type ChecksumState uint8

// The states.
const (
	ChecksumAbsent  ChecksumState = iota // 0, or a header that has none
	ChecksumCorrect                      // what the octets give
	ChecksumWrong
)

var checksumNames = [...]string{"absent", "correct", "wrong"}

// String is absent, correct or wrong.
func (c ChecksumState) String() string { return checksumNames[c] }

var fourZeros [4]byte

// checksum computes the checksum of a P7 datagram: the CRC-32 of zlib over the header
// up to the field, four zero octets and the body, inverted. The time stamp is not
// covered.
//
// Source: SCF 225, as OpenAirInterface develop 2025-09 has it.
func checksum(g Generation, b []byte) uint32 {
	n := lenHeader(P7, g)
	sum := crc32.ChecksumIEEE(b[:n-8])
	sum = crc32.Update(sum, crc32.IEEETable, fourZeros[:])
	return ^crc32.Update(sum, crc32.IEEETable, b[n:])
}

// Verify compares the checksum of a datagram after [Profile.ParseP7], and returns the expected one.
func (p Profile) Verify(h *Header, b []byte) (ChecksumState, uint32) {
	if h.Generation == GenFAPI || len(b) < lenHeader(P7, h.Generation) {
		return ChecksumAbsent, 0
	}
	want := checksum(h.Generation, b)
	switch h.Checksum {
	case want:
		return ChecksumCorrect, want
	case 0:
		return ChecksumAbsent, want
	}
	return ChecksumWrong, want
}

// Seal writes checksum and time stamp into a P7 datagram that is complete otherwise.
// A GenFAPI header has neither.
func (p Profile) Seal(g Generation, b []byte, timestamp uint32) {
	n := lenHeader(P7, g)
	if g == GenFAPI || len(b) < n {
		return
	}
	p.order().PutUint32(b[n-8:], checksum(g, b))
	p.order().PutUint32(b[n-4:], timestamp)
}

// Stamp writes the time stamp, and no checksum: 0, which says that there is none.
func (p Profile) Stamp(g Generation, b []byte, timestamp uint32) {
	n := lenHeader(P7, g)
	if g == GenFAPI || len(b) < n {
		return
	}
	p.order().PutUint32(b[n-8:], 0)
	p.order().PutUint32(b[n-4:], timestamp)
}

// SFNCycle is how many microseconds the SFN takes to come round, and time stamps with
// it.
const SFNCycle = 10_240_000
