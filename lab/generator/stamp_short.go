package generator

import (
	"encoding/binary"
	"math/bits"
)

// ShortStampOctets is the length of a [ShortStamp] in a frame: the least payload. With
// IPv4 that is an Ethernet frame of 64 octets, FCS included.
const ShortStampOctets = 18

// ShortStamp is what stands at the start of a UDP payload that is too short for a
// [Stamp]: bpf/lab_stamp.h.
type ShortStamp struct {
	Head       uint32 // see ShortHead
	Sequence   uint32 // the low 32 bits
	IntendedNs uint64 // the low 40 bits
	Check      uint64 // see shortCheck; 40 bits
}

// maxShortStream is the highest number of a stream that goes into a short stamp.
const maxShortStream = 0xff

const (
	shortHeadBit  = 1 << 31 // SHORT_HEAD_BIT
	shortTimeBits = 40
	stampHash     = 0x9e3779b1
	stampHashBits = 14
)

// ShortHead is the first word of the short stamps of a run; its lowest octet is the
// number of the stream.
func ShortHead(run uint32) uint32 {
	hash := (magic ^ run) * stampHash
	return shortHeadBit | hash&^0xff
}

// shortCheck is what a short stamp says of the session of a frame.
func shortCheck(ue, teid uint32, qfi, dscp uint8) uint64 {
	hash := func(v uint32) uint64 { // of the octets as they stand in the header
		return uint64(bits.ReverseBytes32(v) * stampHash >> (32 - stampHashBits))
	}
	return uint64(qfi) | uint64(dscp)<<6 | hash(ue)<<12 | hash(teid)<<26
}

// Short returns the short stamp that says the same.
func (s Stamp) Short() ShortStamp {
	return ShortStamp{
		Head: ShortHead(s.Run) | uint32(s.Stream)&maxShortStream, Sequence: uint32(s.Sequence), IntendedNs: s.IntendedNs & (1<<shortTimeBits - 1),
		Check: shortCheck(s.UE, s.TEID, s.QFI, s.DSCP),
	}
}

// Append adds the octets of s to b, as the generator writes them.
func (s ShortStamp) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, s.Head)
	b = le.AppendUint32(b, s.Sequence)
	b = le.AppendUint64(b, s.IntendedNs&(1<<shortTimeBits-1)|s.Check<<shortTimeBits)
	return le.AppendUint16(b, uint16(s.Check>>(64-shortTimeBits)))
}
