package gtpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// Information elements of signalling messages. Source: TS 29.281 V18.1.0, 8.1.
const (
	ieRecovery      = 14  // TV, 1 octet
	ieTEIDDataI     = 16  // TV, 4 octets
	iePeerAddress   = 133 // TLV
	ieExtensionList = 141 // TLV with a length of one octet
	ieTLV           = 0x80
)

// ErrIE is wrapped by parsers of signalling messages if an information element
// is missing or cannot be read.
var ErrIE = errors.New("bad information element")

// Tunnel is a tunnel endpoint: a TEID at an address.
type Tunnel struct {
	TEID uint32
	Peer netip.Addr
}

// appendSignal appends the header of a signalling message, with the S flag set,
// which it must be, and room for its Length, which [finish] writes.
//
// Source: TS 29.281 V18.1.0, 5.1 (S).
func appendSignal(b []byte, msg byte, seq uint16) []byte {
	b = append(b, v1GTP|flagS, msg, 0, 0, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, seq)
	return append(b, 0, 0)
}

// finish writes the Length of the message that starts at start.
func finish(b []byte, start int) []byte {
	binary.BigEndian.PutUint16(b[start+offLength:], uint16(len(b)-start-lenFixed))
	return b
}

// AppendEchoRequest appends an Echo Request with the sequence number.
//
// Source: TS 29.281 V18.1.0, 7.2.1.
func AppendEchoRequest(b []byte, seq uint16) []byte {
	return finish(appendSignal(b, EchoRequest, seq), len(b))
}

// AppendEchoResponse appends the answer to an Echo Request with the sequence
// number. Its Recovery IE is there because it must be, and 0 because GTP-U
// gives it no meaning.
//
// Source: TS 29.281 V18.1.0, 7.2.2 and 8.2.
func AppendEchoResponse(b []byte, seq uint16) []byte {
	return finish(append(appendSignal(b, EchoResponse, seq), ieRecovery, 0), len(b))
}

// AppendEndMarker appends the End Marker of tunnel teid. If qfi is not 0 it is that of one
// QoS flow, which a PDU Session Container of the given PDU type names.
//
// Source: TS 29.281 V18.1.0, 7.3.2.
func AppendEndMarker(b []byte, teid uint32, pduType, qfi byte) []byte {
	start := len(b)
	b = AppendGPDU(b, teid, pduType, qfi, 0)
	b[start+offType] = EndMarker
	return b
}

// ToEndMarker makes an End Marker of the header of a G-PDU with no T-PDU, which
// [Marks.AppendRelayed] has made: one of a QoS flow, with its container.
//
// Source: TS 29.281 V18.1.0, 7.3.2.
func ToEndMarker(header []byte) []byte {
	header[offType] = EndMarker
	return header
}

// AppendErrorIndication appends the answer to a G-PDU to a TEID that we do not
// have, at our address t.Peer, which came from UDP port port.
//
// Source: TS 29.281 V18.1.0, 7.3.1, 5.2.2.1 (UDP Port), 8.3, 8.4.
func AppendErrorIndication(b []byte, t Tunnel, port uint16) []byte {
	start := len(b)
	b = appendSignal(b, ErrorIndication, 0)
	b[start] |= flagE
	b[start+offNext] = ExtUDPPort
	b = append(b, 1, byte(port>>8), byte(port), 0)
	b = append(b, ieTEIDDataI)
	b = binary.BigEndian.AppendUint32(b, t.TEID)
	address := t.Peer.AsSlice()
	b = append(b, iePeerAddress)
	b = binary.BigEndian.AppendUint16(b, uint16(len(address)))
	return finish(append(b, address...), start)
}

// ParseErrorIndication returns the tunnel that an Error Indication is about:
// the one that its sender does not have.
//
// Errors: those of [Parse], and [ErrIE].
func ParseErrorIndication(b []byte) (Tunnel, error) {
	h, err := Parse(b)
	if err != nil {
		return Tunnel{}, err
	}
	if h.Type() != ErrorIndication {
		return Tunnel{}, fmt.Errorf("gtpu: message type %d is no Error Indication: %w", h.Type(), ErrIE)
	}
	var (
		t       Tunnel
		hasTEID bool
	)
	for rest := b[len(h) : lenFixed+h.Length()]; len(rest) > 0; {
		var ie byte
		var value []byte
		if ie, value, rest, err = nextIE(rest); err != nil {
			return Tunnel{}, err
		}
		switch ie {
		case ieTEIDDataI:
			t.TEID, hasTEID = binary.BigEndian.Uint32(value), true
		case iePeerAddress:
			t.Peer, _ = netip.AddrFromSlice(value)
		}
	}
	if !hasTEID || !t.Peer.IsValid() {
		return Tunnel{}, fmt.Errorf("gtpu: Error Indication without TEID or peer address: %w", ErrIE)
	}
	return t, nil
}

// nextIE returns the first information element of b and what follows it. One of
// a TV type that we do not know has a length that we do not know.
func nextIE(b []byte) (ie byte, value, rest []byte, err error) {
	ie = b[0]
	head, size := 1, 0
	switch {
	case ie == ieRecovery:
		size = 1
	case ie == ieTEIDDataI:
		size = 4
	case ie&ieTLV == 0:
		return 0, nil, nil, fmt.Errorf("gtpu: type %d: %w", ie, ErrIE)
	case ie == ieExtensionList && len(b) >= 2:
		head, size = 2, int(b[1])
	case len(b) >= 3:
		head, size = 3, int(binary.BigEndian.Uint16(b[1:]))
	default:
		head = len(b) + 1
	}
	if head+size > len(b) {
		return 0, nil, nil, fmt.Errorf("gtpu: type %d ends at octet %d of %d: %w", ie, head+size, len(b), ErrIE)
	}
	return ie, b[head : head+size], b[head+size:], nil
}

// SupportedExtensionHeaders are the types that [Comprehended] knows and that an
// endpoint has to comprehend.
var SupportedExtensionHeaders = []byte{0x81, 0x82, 0x83, 0x84, ExtPDUSessionContainer, extPDCPNumber}

// AppendSupportedExtensionHeaders appends the notification that answers a
// message with an extension header that had to be comprehended and was not.
//
// Source: TS 29.281 V18.1.0, 7.2.3 and 8.5.
func AppendSupportedExtensionHeaders(b []byte) []byte {
	start := len(b)
	b = appendSignal(b, SupportedExtensionHeadersNotification, 0)
	b = append(b, ieExtensionList, byte(len(SupportedExtensionHeaders)))
	return finish(append(b, SupportedExtensionHeaders...), start)
}
