// Package nfapi encodes and decodes the messages between the two halves of a 5G
// gNB: P5 (configuration) and P7 (each slot), from VNF (MAC and above) to PNF
// (PHY) and back.
//
//	P5  ┌──────────────┬──────────────────────────┐
//	    │ header 8, 10 │ fields, TLVs             │   TCP or SCTP
//	    └──────────────┴──────────────────────────┘
//	P7  ┌──────────────┬──────────────────────────┐
//	    │ header 16,18 │ body, or a segment of it │   UDP, one datagram each
//	    └──────────────┴──────────────────────────┘
//
// A datagram is decoded in steps: [ParseP7] parses the header, [Profile.Verify] verifies the
// checksum, [Reassembly] joins segments, [Profile.PeekSlot] reads SFN and slot of a body, and
// [Message.DecodeBody] decodes it into a reusable structure. [Profile.EncodeP7] and
// [Profile.Segments] encode.
//
// A [Profile] describes the peer: the layouts of OpenAirInterface differ between its versions and
// from SCF 222. The structures, decoders and encoders are generated from the layouts in
// internal/gen: straight-line code for each profile with one bounds check for each run of fields of
// fixed size. The JSON view, docs/nfapi-messages.md and the Wireshark dissector are generated as
// well.
//
// Bounds: each count is checked against the remaining octets before memory is allocated for it, so
// the memory of a message is bounded by its length, and that by [MaxMessage]. PDUs of unknown type
// are skipped by their size and kept.
//
// Memory: a message keeps its lists, so decoding into it again does not allocate. Octet strings
// (payload of RX_DATA.indication, UCI bits, Extra, Trailing) share the datagram; the payload of
// TX_DATA.request, whose octets are in another order on the wire, is copied into the message.
//
// Lengths are in octets, numbers native, times in microseconds. Nothing here is safe for concurrent
// use, unless documented.
//
// Source: SCF 222.10.02 and 222.10.04, SCF 225, as implemented by OpenAirInterface develop 2025-09.
package nfapi

import (
	"errors"
	"fmt"
)

//go:generate go run ./internal/gen

// Profile is the peer that one speaks with: layouts, byte order, deviations.
type Profile uint8

// The profiles.
const (
	OAI2025 Profile = iota // OpenAirInterface develop, 2025-09
	OAI2024                // OpenAirInterface, branch nfapi-fixes-NTUST, 2024-05
	Aerial                 // what OpenAirInterface sends to NVIDIA Aerial: FAPI, little endian
)

var profileNames = [...]string{"oai-2025", "oai-2024", "aerial"}

// Profiles returns all profiles.
func Profiles() []Profile { return []Profile{OAI2025, OAI2024, Aerial} }

// String returns the name of the profile, as [ParseProfile] reads it.
func (p Profile) String() string {
	if int(p) < len(profileNames) {
		return profileNames[p]
	}
	return fmt.Sprintf("profile(%d)", uint8(p))
}

// ParseProfile reads a profile's name.
func ParseProfile(name string) (Profile, error) {
	for _, p := range Profiles() {
		if p.String() == name {
			return p, nil
		}
	}
	return 0, fmt.Errorf("nfapi: no profile %q: there are %v", name, Profiles())
}

// MaxMessage is the longest message that is decoded, in octets, reassembled or not. An
// RX_DATA.indication of 100 MHz, 4 layers and 256QAM has less than 160 kB.
const MaxMessage = 1 << 20

// MessageID says what a message is. Source: SCF 222, as OpenAirInterface develop
// 2025-09 has it.
type MessageID uint16

// Vendor extensions have these numbers.
const (
	MsgVendorFirst MessageID = 0x300
	MsgVendorLast  MessageID = 0x3ff
)

// unknown names a message that this package does not know.
func (id MessageID) unknown() string {
	if id >= MsgVendorFirst && id <= MsgVendorLast {
		return fmt.Sprintf("vendor message %#04x", uint16(id))
	}
	return fmt.Sprintf("message %#04x", uint16(id))
}

// Message is the body of a message of P5 or P7.
//
// DecodeBody reads the octets behind the header. The message may have been decoded
// before; its memory is used again. An error is an [*Error], which belongs to the
// message until it is decoded or encoded again; the fields then have no defined
// value.
//
// EncodeBody writes them into b and returns how many; the error is an [*Error], too,
// and is [ErrRoom] if b has not enough room.
type Message interface {
	MessageID() MessageID
	DecodeBody(p Profile, b []byte) error
	EncodeBody(p Profile, b []byte) (int, error)

	toJSON(w *jsonWriter, p Profile)
	fromJSON(r *jsonReader, p Profile)
}

// Known reports whether this package has a layout for a message.
func (id MessageID) Known() bool { return newKnown(id) != nil }

// NewMessage makes an empty message for an id; one that is not known becomes an
// [Opaque].
func NewMessage(id MessageID) Message {
	if m := newKnown(id); m != nil {
		return m
	}
	return &Opaque{ID: id}
}

// Opaque is a message of an unknown type: a vendor's, or one of another version.
type Opaque struct {
	ID   MessageID
	Body []byte // shares the datagram
}

// MessageID is the one that was read.
func (m *Opaque) MessageID() MessageID { return m.ID }

// DecodeBody keeps b.
func (m *Opaque) DecodeBody(_ Profile, b []byte) error {
	m.Body = b
	return nil
}

// EncodeBody writes the body as it is.
func (m *Opaque) EncodeBody(_ Profile, b []byte) (int, error) {
	if len(b) < len(m.Body) {
		return 0, &Error{Message: "opaque message", kind: kindRoom, Need: len(m.Body), Have: len(b), PDU: -1}
	}
	return copy(b, m.Body), nil
}

// Errors that an [*Error] is, by [errors.Is].
var (
	ErrShort     = errors.New("truncated")
	ErrRoom      = errors.New("no room")
	ErrValue     = errors.New("value out of range")
	ErrHeader    = errors.New("bad header")
	ErrChecksum  = errors.New("wrong checksum")
	ErrTooLong   = errors.New("message too long")
	ErrNoMessage = errors.New("not a message")
)
