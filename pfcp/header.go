package pfcp

import (
	"encoding/binary"
	"fmt"
)

// Port is the UDP port of PFCP. Source: TS 29.244 V18.6.0, 6.4.2.
const Port = 8805

// Version is the PFCP version that this package speaks.
const Version = 1

// Layout of the header. Source: TS 29.244 V18.6.0, 7.2.2.
//
//	octet 1     | Version (3) | Spare (2) | FO | MP | S |
//	octet 2     | Message Type                          |
//	octets 3-4  | Length: of all that follows octet 4   |
//	octets 5-12 | SEID, if S is set                     |
//	3 octets    | Sequence Number                       |
//	last octet  | Message Priority, if MP (4) | Spare (4) |
const (
	offType, offLength, offSEID = 1, 2, 4

	lenPrefix = 4 // Length counts from here
	lenSEID   = 8
	lenTail   = 4 // sequence number, message priority

	flagFO, flagMP, flagS = 0x04, 0x02, 0x01
	shiftVersion          = 5
	shiftPriority         = 4

	maxSequence = 1<<24 - 1
	maxLength   = 1<<16 - 1
)

// Header is the header of a PFCP message. Source: TS 29.244 V18.6.0, 7.2.2.
type Header struct {
	Type     MessageType
	FO       bool   // another message follows in the same datagram
	MP       bool   // Priority means something
	S        bool   // SEID is there; set in session messages only
	SEID     uint64 // SEID of the receiver's F-SEID; 0 without S
	Sequence uint32 // 24 bits
	Priority uint8  // 4 bits, 0 is the highest; 0 without MP
}

// Parse takes the first message off a datagram: its header, its body (the
// IEs) and what follows it, which is empty unless FO is set. Body and rest
// share the datagram's memory. The type may be one that this package does not
// know.
//
// Errors: [ErrShort] if the datagram ends inside the header, to be discarded
// silently; [ErrVersion] if the version is not 1, to be answered with
// [AppendVersionNotSupported]; [ErrLength] if the Length is beyond the
// datagram, ends inside the header, or leaves octets behind although FO is not
// set, to be answered with Cause "Invalid length". h is valid with the last two.
//
// Source: TS 29.244 V18.6.0, 7.2.2, 7.6.2 and 7.6.3.
func Parse(datagram []byte) (h Header, body, rest []byte, err error) {
	b := datagram
	if len(b) < lenPrefix+lenTail {
		return h, nil, nil, fmt.Errorf("pfcp: header of %d octets: %w", len(b), ErrShort)
	}
	size := lenPrefix + lenTail
	if b[0]&flagS != 0 {
		size += lenSEID
	}
	if len(b) < size {
		return h, nil, nil, fmt.Errorf("pfcp: header of %d octets, flags %#02x: %w", len(b), b[0], ErrShort)
	}
	h = readHeader(b[:size])
	if v := b[0] >> shiftVersion; v != Version {
		return h, nil, nil, fmt.Errorf("pfcp: version %d: %w", v, ErrVersion)
	}
	end := lenPrefix + int(binary.BigEndian.Uint16(b[offLength:]))
	if end < size || end > len(b) || end < len(b) && !h.FO {
		return h, nil, nil, fmt.Errorf("pfcp: %s of %d octets in %d: %w", h.Type, end, len(b), ErrLength)
	}
	return h, b[size:end:end], b[end:], nil
}

// readHeader reads b, a whole header.
func readHeader(b []byte) Header {
	h := Header{
		Type: MessageType(b[offType]),
		FO:   b[0]&flagFO != 0,
		MP:   b[0]&flagMP != 0,
		S:    b[0]&flagS != 0,
	}
	b = b[offSEID:]
	if h.S {
		h.SEID = binary.BigEndian.Uint64(b)
		b = b[lenSEID:]
	}
	tail := binary.BigEndian.Uint32(b)
	h.Sequence = tail >> 8
	if h.MP {
		h.Priority = uint8(tail) >> shiftPriority
	}
	return h
}

// append writes h with a Length that setLength has to correct.
func (h Header) append(b []byte) []byte {
	flags := byte(Version << shiftVersion)
	if h.FO {
		flags |= flagFO
	}
	tail := h.Sequence << 8
	if h.MP {
		flags |= flagMP
		tail |= uint32(h.Priority&0xf) << shiftPriority
	}
	if !h.S {
		b = append(b, flags, byte(h.Type), 0, 0)
		return binary.BigEndian.AppendUint32(b, tail)
	}
	b = append(b, flags|flagS, byte(h.Type), 0, 0)
	b = binary.BigEndian.AppendUint64(b, h.SEID)
	return binary.BigEndian.AppendUint32(b, tail)
}

// AppendVersionNotSupported appends a Version Not Supported Response to the
// request with the given sequence number, a header alone.
//
// Source: TS 29.244 V18.6.0, 7.4.5.1 and 7.6.2.
func AppendVersionNotSupported(b []byte, sequence uint32) []byte {
	start := len(b)
	b = Header{Type: MsgVersionNotSupportedResponse, Sequence: sequence}.append(b)
	binary.BigEndian.PutUint16(b[start+offLength:], lenTail)
	return b
}
