// Package gtpu reads and writes GTPv1-U headers in place.
//
// A [Header] is a view of the caller's octets: nothing is copied. Fields are
// big endian on the wire and native in Go; every length is in octets.
//
//	 octet  0        1        2-3     4-7    8-9   10    11
//	┌────────────┬─────────┬────────┬──────┬─────┬──────┬──────┬──────────────┐
//	│ver PT·E S PN│ Message │ Length │ TEID │ Seq │ N-PDU│ Next │ extension    │
//	│            │ Type    │        │      │     │      │ type │ headers …    │
//	└────────────┴─────────┴────────┴──────┴─────┴──────┴──────┴──────────────┘
//	                                       └─ only if E, S or PN is set ──────┘
//
// Source: TS 29.281 V18.1.0, 5.1 (header), 5.2 (extension headers), table
// 6.1-1 (message types).
package gtpu

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Port is the UDP port of GTP-U. Source: TS 29.281 V18.1.0, 4.4.2.3.
const Port = 2152

// Message types. Source: TS 29.281 V18.1.0, table 6.1-1.
const (
	EchoRequest                           = 1
	EchoResponse                          = 2
	ErrorIndication                       = 26
	SupportedExtensionHeadersNotification = 31
	EndMarker                             = 254
	GPDU                                  = 255
)

// ExtPDUSessionContainer is the type of the extension header that carries a
// QFI. Source: TS 29.281 V18.1.0, figure 5.2.1-3.
const ExtPDUSessionContainer = 0x85

// Errors that [Parse] wraps; match them with [errors.Is].
var (
	ErrShort     = errors.New("truncated")
	ErrVersion   = errors.New("not GTP version 1")
	ErrExtension = errors.New("bad extension header")
	ErrUnknown   = errors.New("extension header not comprehended")
)

// Octet offsets and flag bits of the header (TS 29.281, 5.1).
const (
	offType, offLength, offTEID, offNext = 1, 2, 4, 11

	lenFixed, lenOptional = 8, 12

	flagE, flagS         = 0x04, 0x02
	maskOptional         = 0x07 // E, S or PN
	maskVersionPT, v1GTP = 0xf0, 0x30

	// MaxExtensions is how many extension headers [Parse] steps over. The
	// specification has no limit; a bound keeps the cost of a packet bounded.
	MaxExtensions = 8
)

// Header is a GTPv1-U header, extension headers included, as [Parse] found it.
type Header []byte

// Type returns the message type.
func (h Header) Type() byte { return h[offType] }

// TEID returns the tunnel endpoint identifier.
func (h Header) TEID() uint32 { return binary.BigEndian.Uint32(h[offTEID:]) }

// Length returns how many octets follow the first 8.
func (h Header) Length() int { return int(binary.BigEndian.Uint16(h[offLength:])) }

// Sequence returns the sequence number; ok is false if S is not set.
func (h Header) Sequence() (seq uint16, ok bool) {
	if h[0]&flagS == 0 {
		return 0, false
	}
	return binary.BigEndian.Uint16(h[lenFixed:]), true
}

// QFI returns the QoS Flow Identifier of the first PDU Session Container; ok
// is false if there is none.
//
// Source: TS 38.415 V18.0.0, 5.5.2 (QFI: low 6 bits of the second octet in both
// PDU types).
func (h Header) QFI() (qfi byte, ok bool) {
	if h[0]&flagE == 0 {
		return 0, false
	}
	next := h[offNext]
	for n := lenOptional; next != 0; {
		size := 4 * int(h[n])
		if next == ExtPDUSessionContainer {
			return h[n+2] & 0x3f, true
		}
		n += size
		next = h[n-1]
	}
	return 0, false
}

// Parse returns the header at the start of b; len of the result is the offset
// of the T-PDU in b. The message ends at octet 8+Length, which is not beyond
// len(b). The result shares b's memory.
//
// Errors: [ErrVersion] if version is not 1 or protocol type is not GTP,
// [ErrExtension] for an extension header of length 0 or more than
// [MaxExtensions], [ErrUnknown] for one of unknown type that an endpoint has
// to comprehend, [ErrShort] if b ends inside the header or before the Length
// that the header announces.
func Parse(b []byte) (Header, error) { return parse(b, Comprehended) }

// ParseRelayed is Parse for a possible intermediate node: an extension header of unknown type that
// only an endpoint must comprehend is no error. [Header.Foreign] reports it.
//
// Source: TS 29.281 V18.1.0, figure 5.2.1-2.
func ParseRelayed(b []byte) (Header, error) {
	return parse(b, func(t byte) bool { return Comprehended(t) || Relayed(t) })
}

// Foreign reports whether h, which [ParseRelayed] has let pass, has an extension header
// that an endpoint would have to comprehend.
func (h Header) Foreign() bool {
	some := false
	h.extensions(func(t byte, _ []byte) { some = some || !Comprehended(t) })
	return some
}

func parse(b []byte, passes func(t byte) bool) (Header, error) {
	if len(b) < lenFixed {
		return nil, fmt.Errorf("gtpu: header of %d octets: %w", len(b), ErrShort)
	}
	if b[0]&maskVersionPT != v1GTP {
		return nil, fmt.Errorf("gtpu: flags %#02x: %w", b[0], ErrVersion)
	}
	end := lenFixed + int(binary.BigEndian.Uint16(b[offLength:]))
	if end > len(b) {
		return nil, fmt.Errorf("gtpu: length %d in %d octets: %w", end, len(b), ErrShort)
	}
	if b[0]&maskOptional == 0 {
		return Header(b[:lenFixed]), nil
	}
	n, err := skipExtensions(b[:end], passes)
	if err != nil {
		return nil, err
	}
	return Header(b[:n]), nil
}

// skipExtensions returns the offset of the first octet after the optional word
// and the extension headers of b, a whole GTP-U message, all of types that may pass.
func skipExtensions(b []byte, passes func(t byte) bool) (int, error) {
	n := lenOptional
	if len(b) < n {
		return 0, fmt.Errorf("gtpu: optional word: %w", ErrShort)
	}
	var next byte
	if b[0]&flagE != 0 {
		next = b[offNext]
	}
	for i := 0; next != 0; i++ {
		if i == MaxExtensions {
			return 0, fmt.Errorf("gtpu: more than %d extension headers: %w", MaxExtensions, ErrExtension)
		}
		if !passes(next) {
			return 0, fmt.Errorf("gtpu: extension header type %#02x: %w", next, ErrUnknown)
		}
		if n >= len(b) {
			return 0, fmt.Errorf("gtpu: extension at octet %d: %w", n, ErrShort)
		}
		size := 4 * int(b[n])
		if size == 0 {
			return 0, fmt.Errorf("gtpu: length 0 at octet %d: %w", n, ErrExtension)
		}
		n += size
		if n > len(b) {
			return 0, fmt.Errorf("gtpu: extension ends at octet %d of %d: %w", n, len(b), ErrShort)
		}
		next = b[n-1]
	}
	return n, nil
}

// Comprehended reports whether an endpoint may continue after an extension header of type t: either
// this package knows the type, or its bit 8 is 0 (comprehension not required).
//
// Source: TS 29.281 V18.1.0, figures 5.2.1-2 and 5.2.1-3.
func Comprehended(t byte) bool {
	switch {
	case t&0x80 == 0:
		return true
	case t >= 0x81 && t <= ExtPDUSessionContainer: // RAN, Long PDCP, Xw, NR, PDU Session
		return true
	}
	return t == extPDCPNumber
}
