// Package pfcp reads and writes PFCP, the protocol of N4 (and Sxa, Sxb): the
// header, all node and session messages, and their IEs. It does no I/O and keeps
// no state.
//
// [Parse] takes the first message off a datagram and validates its header. The
// Decode method of the message's type ([SessionEstablishmentRequest] and others)
// converts the body to Go values. A message that Decode accepted is structurally
// valid: mandatory IEs are present, lengths and flags agree, no IE extends beyond
// the datagram. Otherwise Decode returns an [Error] with the Cause and the
// Offending IE for the response. [Append] encodes.
//
// Decoding copies no text: octet strings ([Name], flow descriptions, opaque
// IEs) are views of the datagram and live as long as it does. A message that is
// reused for decoding keeps its slices, so that decoding does not allocate in the
// steady state. The number of rules in a message is bounded ([MaxRules] and
// others), and so is the memory that a datagram can allocate.
//
// The tables of this package (ies.go, and the one next to each type) define once
// which IE a container may or must have, its length and its treatment; decoder,
// encoder and docs/pfcp.md derive from them. support.go has the support by the UP
// function. IEs that are known but not supported are decoded, so that they can be
// shown and sent, and recorded in the field Noted, so that they are rejected. In
// a modification an IE of null length removes a parameter; those IEs are in
// Removed. Unknown and unexpected IEs are skipped; of a repeated IE that may occur
// once, the first counts (TS 29.244, 7.6.9 and 7.6.10).
//
// Numbers are big endian on the wire and native in Go. Lengths are in octets.
//
// Source: 3GPP TS 29.244 V18.6.0.
package pfcp
