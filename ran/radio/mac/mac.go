// Package mac encodes and decodes transport blocks: MAC PDUs of sub-PDUs.
//
//	┌─────────┬───────────┬─────────┬───────────┬─────────┬────┬─────────┬─────────┐
//	│subheader│ MAC SDU   │subheader│ MAC SDU   │subheader│ CE │subheader│ padding │
//	└─────────┴───────────┴─────────┴───────────┴─────────┴────┴─────────┴─────────┘
//
//	subheader of what has any length:  R F LCID(6) | L, 8 bits if F is 0, else 16
//	subheader of the rest:             R R LCID(6)
//
// Uplink control elements (CE) follow the SDUs, downlink ones precede them.
// Padding is last. Lengths are in octets, big endian.
//
// Source: TS 38.321 V18, 6.1.2 (PDUs), 6.1.3.1 (buffer status), 6.2.1 (LCIDs).
package mac

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Logical channel ids. Source: TS 38.321 V18, tables 6.2.1-1 and 6.2.1-2.
const (
	LCIDCCCH64            = 0 // uplink: CCCH of 8 octets; downlink: CCCH of any length
	LCIDMax               = 32
	LCIDCCCH48            = 52 // uplink: 6 octets
	LCIDShortTruncatedBSR = 59
	LCIDLongTruncatedBSR  = 60
	LCIDShortBSR          = 61
	LCIDLongBSR           = 62
	LCIDPadding           = 63
)

// DRB1 is the logical channel of a UE's first data radio bearer, behind those of SRB 1
// to 3, and Group the logical channel group that its buffer is reported in.
const (
	DRB1  = 4
	Group = 1
)

// ErrTruncated is that of a transport block that ends inside a sub-PDU.
var ErrTruncated = errors.New("truncated")

// ErrReserved is the error for an LCID without a known sub-PDU length.
var ErrReserved = errors.New("reserved LCID")

const (
	flagF        = 0x40
	maskLCID     = 0x3f
	maxShort     = 255
	headerShort  = 2
	headerLong   = 3
	paddingOctet = LCIDPadding
)

// HeaderSize is the subheader of an SDU of n octets.
func HeaderSize(n int) int {
	if n <= maxShort {
		return headerShort
	}
	return headerLong
}

// PutHeader writes the subheader of an SDU of n octets, below 65536, at the start of b,
// and returns its size.
func PutHeader(b []byte, lcid uint8, n int) int {
	if n <= maxShort {
		b[0], b[1] = lcid, byte(n)
		return headerShort
	}
	b[0] = lcid | flagF
	binary.BigEndian.PutUint16(b[1:], uint16(n))
	return headerLong
}

// Pad fills b, the rest of a transport block, with padding.
func Pad(b []byte) {
	if len(b) > 0 {
		clear(b)
		b[0] = paddingOctet
	}
}

// SubPDU is a sub-PDU: a MAC SDU, a control element or padding. Payload shares the
// memory of the transport block.
type SubPDU struct {
	LCID    uint8
	Payload []byte
}

// fixedUplink and fixedDownlink are the sizes of control elements, and of those SDUs
// that have no length field, by LCID. Extended ids are as good as reserved: nothing here
// uses them. Source: TS 38.321 V18, 6.1.3 and 6.2.1.
var fixedUplink, fixedDownlink = fixedSizes()

const (
	reserved = -2 // nothing says how long it is
	variable = -1 // a length field does
)

func fixedSizes() (up, down [64]int) {
	for i := range up {
		up[i], down[i] = reserved, reserved
	}
	for i := range LCIDMax + 1 {
		up[i], down[i] = variable, variable
	}
	up[LCIDCCCH64], up[LCIDCCCH48] = 8, 6
	for lcid, size := range map[int]int{
		53: 2, 54: variable, 55: 0, 56: variable, 57: 2, 58: 2, LCIDShortTruncatedBSR: 1, LCIDLongTruncatedBSR: variable,
		LCIDShortBSR: 1, LCIDLongBSR: variable,
	} {
		up[lcid] = size
	}
	for lcid, size := range map[int]int{
		47: 2, 48: 2, 49: 3, 50: variable, 51: 2, 52: 2, 53: variable, 54: variable, 55: variable, 56: 1, 57: 4, 58: 1,
		59: 0, 60: 0, 61: 1, 62: 6,
	} {
		down[lcid] = size
	}
	return up, down
}

// Reader takes a transport block apart.
type Reader struct {
	rest  []byte
	sizes *[64]int
}

// NewReader is at the first sub-PDU of a transport block.
func NewReader(tb []byte, uplink bool) Reader {
	if uplink {
		return Reader{rest: tb, sizes: &fixedUplink}
	}
	return Reader{rest: tb, sizes: &fixedDownlink}
}

// Next returns the next sub-PDU. ok is false at the end, and after padding.
//
// Errors: [ErrTruncated]; [ErrReserved], because the length of such a sub-PDU is not known: the
// following ones cannot be read, the previous ones are valid.
func (r *Reader) Next() (s SubPDU, ok bool, err error) {
	b := r.rest
	r.rest = nil
	if len(b) == 0 {
		return SubPDU{}, false, nil
	}
	s.LCID = b[0] & maskLCID
	if s.LCID == LCIDPadding {
		return SubPDU{}, false, nil
	}
	header, size := 1, r.sizes[s.LCID]
	switch {
	case size == reserved:
		return SubPDU{}, false, fmt.Errorf("mac: LCID %d: %w", s.LCID, ErrReserved)
	case size == variable && len(b) >= headerShort && b[0]&flagF == 0:
		header, size = headerShort, int(b[1])
	case size == variable && len(b) >= headerLong && b[0]&flagF != 0:
		header, size = headerLong, int(binary.BigEndian.Uint16(b[1:]))
	case size == variable:
		return SubPDU{}, false, fmt.Errorf("mac: subheader of LCID %d in %d octets: %w", s.LCID, len(b), ErrTruncated)
	}
	if header+size > len(b) {
		return SubPDU{}, false, fmt.Errorf("mac: LCID %d of %d octets in %d: %w", s.LCID, size, len(b)-header, ErrTruncated)
	}
	s.Payload, r.rest = b[header:header+size:header+size], b[header+size:]
	return s, true, nil
}
