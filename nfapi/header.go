package nfapi

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Generation is the form of a header.
type Generation uint8

// The generations. Source: SCF 225, as implemented by OpenAirInterface.
const (
	Gen2025 Generation = iota // P5 10 octets, P7 18: length of 32 bits
	Gen2024                   // P5 8 octets, P7 16: length of 16 bits
	GenFAPI                   // 8 octets: number of messages, opaque, message id, length of the body
)

var generationNames = [...]string{"2025", "2024", "fapi"}

// String returns the name of the generation.
func (g Generation) String() string {
	if int(g) < len(generationNames) {
		return generationNames[g]
	}
	return fmt.Sprintf("generation(%d)", uint8(g))
}

// Generation is that of the profile's headers.
func (p Profile) Generation() Generation {
	switch p {
	case OAI2024:
		return Gen2024
	case Aerial:
		return GenFAPI
	}
	return Gen2025
}

// Plane is P5 or P7.
type Plane uint8

// The planes.
const (
	P7 Plane = iota
	P5
)

// String is P7 or P5.
func (p Plane) String() string {
	if p == P5 {
		return "P5"
	}
	return "P7"
}

// lenHeader is the length of a header in octets.
func lenHeader(plane Plane, g Generation) int {
	switch {
	case g == GenFAPI:
		return 8
	case plane == P5:
		return 10 - 2*int(g)
	}
	return 18 - 2*int(g)
}

// HeaderLen is how many octets a header of the profile has.
func (p Profile) HeaderLen(plane Plane) int { return lenHeader(plane, p.Generation()) }

// Header is that of a P5 or P7 message. Length is what is on the wire: on P5 and in
// FAPI the octets of the body, on P7 those of the segment with its header. Encoding recomputes it.
type Header struct {
	Generation Generation
	PhyID      uint16 // GenFAPI: the opaque handle
	MessageID  MessageID
	Length     uint32
	Spare      uint16 // P5
	Segment    uint16 // P7, m_segment_sequence: more<<15 | segment<<8 | sequence
	Checksum   uint32 // P7
	Timestamp  uint32 // P7: us in the SFN cycle of 10.24 s
	Messages   uint8  // GenFAPI: how many, 1
}

// More reports whether further segments follow.
func (h *Header) More() bool { return h.Segment&0x8000 != 0 }

// SegmentNumber is that of the segment, 0 to 127.
func (h *Header) SegmentNumber() uint8 { return uint8(h.Segment>>8) & 0x7f }

// Sequence is that of the message, modulo 256, one count for each sender and PHY.
func (h *Header) Sequence() uint8 { return uint8(h.Segment) }

// Whole reports whether the message is not segmented.
func (h *Header) Whole() bool { return h.Segment&0xff00 == 0 }

// order is the byte order where time does not matter.
func (p Profile) order() binary.ByteOrder {
	if p == Aerial {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

func (p Profile) uint16(b []byte) uint16 {
	v := binary.BigEndian.Uint16(b)
	if p == Aerial {
		v = bits.ReverseBytes16(v)
	}
	return v
}

func (p Profile) uint32(b []byte) uint32 {
	v := binary.BigEndian.Uint32(b)
	if p == Aerial {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func (p Profile) putUint16(b []byte, v uint16) {
	if p == Aerial {
		v = bits.ReverseBytes16(v)
	}
	binary.BigEndian.PutUint16(b, v)
}

func (p Profile) putUint32(b []byte, v uint32) {
	if p == Aerial {
		v = bits.ReverseBytes32(v)
	}
	binary.BigEndian.PutUint32(b, v)
}

// ParseP7 reads the header of a datagram; body shares b. The generation is found by
// the length field, which has to be that of the datagram.
func (p Profile) ParseP7(b []byte) (h Header, body []byte, err error) {
	return p.parse(P7, b)
}

// ParseP5 reads the header of a P5 message, which b has to be, no more and no less.
func (p Profile) ParseP5(b []byte) (h Header, body []byte, err error) {
	return p.parse(P5, b)
}

func (p Profile) parse(plane Plane, b []byte) (h Header, body []byte, err error) {
	order := [3]Generation{Gen2025, Gen2024, GenFAPI}
	if p == Aerial {
		order = [3]Generation{GenFAPI, Gen2025, Gen2024}
	}
	for _, g := range order {
		n := lenHeader(plane, g)
		if len(b) < n || len(b) > MaxMessage || g == GenFAPI && b[0] != 1 {
			continue
		}
		if p.lengthIn(g, b) == uint32(len(b)-without(plane, g, n)) {
			p.read(&h, plane, g, b)
			return h, b[n:], nil
		}
	}
	return h, nil, p.noHeader(b)
}

// noHeader says why b has no header.
func (p Profile) noHeader(b []byte) error {
	switch {
	case len(b) > MaxMessage:
		return fmt.Errorf("nfapi: %d octets, there may be %d: %w", len(b), MaxMessage, ErrTooLong)
	case len(b) < 8:
		return fmt.Errorf("nfapi: header: %d octets: %w", len(b), ErrShort)
	}
	return fmt.Errorf("nfapi: header: length field at octet 4 is %d of 32 bits or %d of 16, the message has %d octets: %w",
		p.uint32(b[4:]), p.uint16(b[4:]), len(b), ErrHeader)
}

// without is how many octets the length field does not count.
func without(plane Plane, g Generation, header int) int {
	if plane == P7 && g != GenFAPI {
		return 0
	}
	return header
}

// lengthIn reads the length field; b has 8 octets at least.
func (p Profile) lengthIn(g Generation, b []byte) uint32 {
	if g == Gen2024 {
		return uint32(p.uint16(b[4:]))
	}
	return p.uint32(b[4:])
}

// read takes the fields out of b, which has them.
func (p Profile) read(h *Header, plane Plane, g Generation, b []byte) {
	h.Generation, h.Length, h.MessageID = g, p.lengthIn(g, b), MessageID(p.uint16(b[2:]))
	if g == GenFAPI {
		h.Messages, h.PhyID = b[0], uint16(b[1])
		return
	}
	h.PhyID = p.uint16(b)
	rest := b[8-2*int(g):]
	if plane == P5 {
		h.Spare = p.uint16(rest)
		return
	}
	h.Segment, h.Checksum, h.Timestamp = p.uint16(rest), p.uint32(rest[2:]), p.uint32(rest[6:])
}

// put writes the header in front of a body that ends with b.
func (p Profile) put(plane Plane, h *Header, b []byte) {
	n := lenHeader(plane, h.Generation)
	length := uint32(len(b) - without(plane, h.Generation, n))
	p.putUint16(b[2:], uint16(h.MessageID))
	if h.Generation == GenFAPI {
		b[0], b[1] = h.Messages, uint8(h.PhyID)
		p.putUint32(b[4:], length)
		return
	}
	p.putUint16(b, h.PhyID)
	rest := b[6:]
	if h.Generation == Gen2024 {
		p.putUint16(b[4:], uint16(length))
	} else {
		p.putUint32(b[4:], length)
		rest = b[8:]
	}
	if plane == P5 {
		p.putUint16(rest, h.Spare)
		return
	}
	p.putUint16(rest, h.Segment)
	p.putUint32(rest[2:], h.Checksum)
	p.putUint32(rest[6:], h.Timestamp)
}

// EncodeP7 writes header and message into b and returns how many octets. Length,
// and MessageID, are set; Checksum is written as it is: [Profile.Seal] computes it.
//
// A message may be longer than a datagram, and in the generation of 2024 than the
// length field holds: [Profile.Segments] writes the lengths of its segments.
func (p Profile) EncodeP7(h *Header, m Message, b []byte) (int, error) {
	return p.encode(P7, h, m, b)
}

// EncodeP5 writes header and message into b and returns how many octets.
func (p Profile) EncodeP5(h *Header, m Message, b []byte) (int, error) {
	return p.encode(P5, h, m, b)
}

func (p Profile) encode(plane Plane, h *Header, m Message, b []byte) (int, error) {
	at := lenHeader(plane, h.Generation)
	if len(b) < at {
		return 0, fmt.Errorf("nfapi: header of %d octets into %d: %w", at, len(b), ErrRoom)
	}
	n, err := m.EncodeBody(p, b[at:])
	if err != nil {
		return 0, err
	}
	n += at
	counted := n - without(plane, h.Generation, at)
	if h.Generation == Gen2024 && counted > 0xffff && plane == P5 {
		return 0, tooLong2024(counted)
	}
	h.MessageID, h.Length = m.MessageID(), uint32(counted)
	p.put(plane, h, b[:n])
	return n, nil
}

// FrameP5 says how many octets the P5 message has that a stream begins with; ok is
// false if b has not yet its header.
func (p Profile) FrameP5(b []byte) (octets int, ok bool) {
	g := p.Generation()
	n := lenHeader(P5, g)
	if len(b) < n {
		return 0, false
	}
	return n + int(p.lengthIn(g, b)), true
}

// PeekSlot reads SFN and slot, with which most bodies of P7 begin, without decoding
// the rest; ok is false if this one does not.
func (p Profile) PeekSlot(id MessageID, body []byte) (sfn, slot uint16, ok bool) {
	if (id < MsgDLTTIRequest || id > MsgRACHIndication) && id != MsgSlotResponse || len(body) < 4 {
		return 0, 0, false
	}
	return p.uint16(body), p.uint16(body[2:]), true
}
