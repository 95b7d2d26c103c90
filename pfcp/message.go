package pfcp

import (
	"encoding/binary"
	"fmt"
)

// MessageType is a PFCP message type. Source: TS 29.244 V18.6.0, table 7.3-1.
type MessageType uint8

// Message types, by the names of the specification.
const (
	MsgHeartbeatRequest             MessageType = 1
	MsgHeartbeatResponse            MessageType = 2
	MsgPFDManagementRequest         MessageType = 3
	MsgPFDManagementResponse        MessageType = 4
	MsgAssociationSetupRequest      MessageType = 5
	MsgAssociationSetupResponse     MessageType = 6
	MsgAssociationUpdateRequest     MessageType = 7
	MsgAssociationUpdateResponse    MessageType = 8
	MsgAssociationReleaseRequest    MessageType = 9
	MsgAssociationReleaseResponse   MessageType = 10
	MsgVersionNotSupportedResponse  MessageType = 11
	MsgNodeReportRequest            MessageType = 12
	MsgNodeReportResponse           MessageType = 13
	MsgSessionSetDeletionRequest    MessageType = 14
	MsgSessionSetDeletionResponse   MessageType = 15
	MsgSessionSetModifyRequest      MessageType = 16
	MsgSessionSetModifyResponse     MessageType = 17
	MsgSessionEstablishmentRequest  MessageType = 50
	MsgSessionEstablishmentResponse MessageType = 51
	MsgSessionModificationRequest   MessageType = 52
	MsgSessionModificationResponse  MessageType = 53
	MsgSessionDeletionRequest       MessageType = 54
	MsgSessionDeletionResponse      MessageType = 55
	MsgSessionReportRequest         MessageType = 56
	MsgSessionReportResponse        MessageType = 57
)

var messageNames = map[MessageType]string{
	MsgHeartbeatRequest:             "Heartbeat Request",
	MsgHeartbeatResponse:            "Heartbeat Response",
	MsgPFDManagementRequest:         "PFD Management Request",
	MsgPFDManagementResponse:        "PFD Management Response",
	MsgAssociationSetupRequest:      "Association Setup Request",
	MsgAssociationSetupResponse:     "Association Setup Response",
	MsgAssociationUpdateRequest:     "Association Update Request",
	MsgAssociationUpdateResponse:    "Association Update Response",
	MsgAssociationReleaseRequest:    "Association Release Request",
	MsgAssociationReleaseResponse:   "Association Release Response",
	MsgVersionNotSupportedResponse:  "Version Not Supported Response",
	MsgNodeReportRequest:            "Node Report Request",
	MsgNodeReportResponse:           "Node Report Response",
	MsgSessionSetDeletionRequest:    "Session Set Deletion Request",
	MsgSessionSetDeletionResponse:   "Session Set Deletion Response",
	MsgSessionSetModifyRequest:      "Session Set Modification Request",
	MsgSessionSetModifyResponse:     "Session Set Modification Response",
	MsgSessionEstablishmentRequest:  "Session Establishment Request",
	MsgSessionEstablishmentResponse: "Session Establishment Response",
	MsgSessionModificationRequest:   "Session Modification Request",
	MsgSessionModificationResponse:  "Session Modification Response",
	MsgSessionDeletionRequest:       "Session Deletion Request",
	MsgSessionDeletionResponse:      "Session Deletion Response",
	MsgSessionReportRequest:         "Session Report Request",
	MsgSessionReportResponse:        "Session Report Response",
}

// String returns the name of the specification, or "message N".
func (t MessageType) String() string {
	if s, ok := messageNames[t]; ok {
		return s
	}
	return fmt.Sprintf("message %d", uint8(t))
}

// IsSession reports whether messages of this type belong to a session and
// have a SEID. Source: TS 29.244 V18.6.0, table 7.3-1.
func (t MessageType) IsSession() bool { return t >= MsgSessionEstablishmentRequest && t < 100 }

// IsRequest reports whether t is a request that has a response of its own.
func (t MessageType) IsRequest() bool {
	if t.IsSession() {
		return t%2 == 0
	}
	return t != 0 && t != MsgVersionNotSupportedResponse && (t < MsgVersionNotSupportedResponse) == (t%2 == 1)
}

// Message is the body of one PFCP message. The types of this package that end
// in Request and Response implement it.
type Message interface {
	// MessageType says which message it is.
	MessageType() MessageType

	// Decode replaces the whole message by what body says. Octet strings
	// share body's memory, slices of an earlier Decode are used again. The
	// error is nil or an *[Error]; after an error the content is undefined,
	// except that a response can be composed from the error.
	Decode(body []byte) error

	// AppendBody appends the IEs, in the order of the specification's tables.
	AppendBody(b []byte) []byte
}

// Append appends the message with its header to b. h.Type and h.S are taken
// from m. Octet strings may be of any length as long as the whole fits.
//
// Errors: [ErrTooLong] if the message has more octets than its Length can
// say or h.Sequence more than 24 bits; b is then returned as it was.
func Append(b []byte, h Header, m Message) ([]byte, error) {
	h.Type = m.MessageType()
	h.S = h.Type.IsSession()
	if h.Sequence > maxSequence {
		return b, fmt.Errorf("pfcp: sequence number %d: %w", h.Sequence, ErrTooLong)
	}
	start := len(b)
	out := m.AppendBody(h.append(b))
	size := len(out) - start - lenPrefix
	if size > maxLength {
		return b, fmt.Errorf("pfcp: %s of %d octets: %w", h.Type, size+lenPrefix, ErrTooLong)
	}
	binary.BigEndian.PutUint16(out[start+offLength:], uint16(size))
	return out, nil
}
