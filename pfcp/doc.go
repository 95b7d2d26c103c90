// Package pfcp reads and writes PFCP, the protocol of N4 (and Sxa, Sxb): the
// header, all node and session messages, and the IEs that they are made of. It
// does no I/O and keeps no state.
//
// A datagram goes through it like this: [Parse] takes the first message off
// the datagram and validates its header; the Decode method of the message's
// type ([SessionEstablishmentRequest] and its like) turns the body into Go
// values. What Decode accepted is structurally valid and need not be looked at
// again: mandatory IEs are there, lengths and flags agree, nothing reaches
// beyond the datagram. What it refused comes as an [Error], which has the Cause
// and the Offending IE for the response. [Append] is the way back.
//
// Decoding copies no text: octet strings ([Name], flow descriptions, opaque
// IEs) are views of the datagram and live as long as it does. A message that
// is decoded into again and again keeps its slices, so that in the long run
// decoding allocates nothing. How many rules one message may hold is bounded
// ([MaxRules] and its like), and so is the memory that a datagram can claim.
//
// Which IE may stand where, whether it must, how long it is and what becomes
// of it is said once, in the tables of this package (ies.go, and the one
// beside each type); decoder, encoder and docs/pfcp.md follow from them. What
// the UP function then does with it is in support.go.
// What is understood but not done is decoded, so that it can be shown and sent,
// and kept in mind in the field Noted, so that it is refused. In a modification
// an IE of null length asks to remove a parameter; those IEs are in Removed.
// Unknown and unexpected IEs are skipped, and of an IE that may stand once the
// first counts (TS 29.244, 7.6.9 and 7.6.10).
//
// Numbers are big endian on the wire and native in Go. Lengths are in octets.
//
// Source: 3GPP TS 29.244 V18.6.0.
package pfcp
