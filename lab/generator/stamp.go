package generator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// StampOctets is the length of a [Stamp] in a frame. A shorter payload has a
// [ShortStamp].
const StampOctets = 48

// Port is the UDP port of both ends of the user packets. It is one of the
// dynamic ports, which nobody can have registered.
const Port = 49200

const magic = 0x424d4c50 // bpf/lab/stamp.h: STAMP_MAGIC

// Stamp is what stands at the start of a frame's UDP payload.
type Stamp struct {
	Run        uint32
	Stream     uint16
	Sequence   uint64 // per stream, from 0
	IntendedNs uint64 // when the frame was due, CLOCK_MONOTONIC
	SentNs     uint64 // when it was made
	Session    uint32 // index in Config.Sessions
	TEID       uint32 // uplink: that of the frame; downlink: the one to arrive with
	QFI        uint8
	DSCP       uint8  // of the user packet
	UE         uint32 // see FoldUE
}

// Errors that [DecodeStamp] wraps.
var (
	ErrShort = errors.New("payload shorter than a stamp")
	ErrMagic = errors.New("no stamp")
)

// DecodeStamp reads the stamp at the start of payload.
//
// Errors: [ErrShort], [ErrMagic].
func DecodeStamp(payload []byte) (Stamp, error) {
	if len(payload) < StampOctets {
		return Stamp{}, fmt.Errorf("generator: %d octets: %w", len(payload), ErrShort)
	}
	le, be := binary.LittleEndian, binary.BigEndian
	if got := le.Uint32(payload); got != magic {
		return Stamp{}, fmt.Errorf("generator: magic %#08x: %w", got, ErrMagic)
	}
	return Stamp{
		Run:        le.Uint32(payload[4:]),
		Sequence:   le.Uint64(payload[8:]),
		IntendedNs: le.Uint64(payload[16:]),
		SentNs:     le.Uint64(payload[24:]),
		Session:    le.Uint32(payload[32:]),
		TEID:       be.Uint32(payload[36:]),
		UE:         be.Uint32(payload[40:]),
		Stream:     le.Uint16(payload[44:]),
		QFI:        payload[46],
		DSCP:       payload[47],
	}, nil
}

// Append adds the octets of s to b, as the generator writes them.
func (s Stamp) Append(b []byte) []byte {
	le, be := binary.LittleEndian, binary.BigEndian
	b = le.AppendUint32(b, magic)
	b = le.AppendUint32(b, s.Run)
	b = le.AppendUint64(b, s.Sequence)
	b = le.AppendUint64(b, s.IntendedNs)
	b = le.AppendUint64(b, s.SentNs)
	b = le.AppendUint32(b, s.Session)
	b = be.AppendUint32(b, s.TEID)
	b = be.AppendUint32(b, s.UE)
	b = le.AppendUint16(b, s.Stream)
	return append(b, s.QFI, s.DSCP)
}

// FoldUE is a UE address as a stamp has it: the IPv4 address, or the four words
// of the IPv6 address xored.
func FoldUE(ue netip.Addr) uint32 {
	b := ue.AsSlice()
	fold := uint32(0)
	for ; len(b) >= 4; b = b[4:] {
		fold ^= binary.BigEndian.Uint32(b)
	}
	return fold
}
