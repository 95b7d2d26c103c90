// Package transport carries nFAPI messages between VNF and PNF: P7 over UDP, P5 over
// TCP or SCTP.
//
//	P7  Message ─ encode ─ segments ─ checksum ─ batch ─ sendmmsg ─► UDP
//	    UDP ─► recvmmsg ─ header, checksum ─ segments put together ─ Datagram
//
//	P5  Message ─ encode ─ one write ─► TCP, or one SCTP message
//	    TCP or SCTP ─► frame ─ decode ─ Message
//
// The peer's header determines its generation of nFAPI, which is then used towards it.
//
// Datagrams of unknown senders use bounded memory: the number of senders, of partial messages and
// of octets of each is limited. [P7.Admit] rejects unknown senders.
//
// Lengths are in octets, time stamps in microseconds of the SFN cycle.
//
// Source: SCF 225, as implemented by OpenAirInterface develop 2025-09.
package transport

import (
	"errors"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// Errors, by [errors.Is].
var (
	ErrFraming     = errors.New("transport: not a stream of P5 messages")
	ErrUnsupported = errors.New("not supported here")
	ErrRefused     = errors.New("not an address that may connect")
)

// speakable reports whether a peer with headers of generation g may be one of profile p:
// those of OpenAirInterface know each other, FAPI only itself.
func speakable(p nfapi.Profile, g nfapi.Generation) bool {
	return (p == nfapi.Aerial) == (g == nfapi.GenFAPI)
}

// profileOf is the profile of a peer with headers of generation g, if the configured one is p.
func profileOf(p nfapi.Profile, g nfapi.Generation) nfapi.Profile {
	switch {
	case p == nfapi.Aerial:
		return p
	case g == nfapi.Gen2024:
		return nfapi.OAI2024
	case g == nfapi.Gen2025:
		return nfapi.OAI2025
	}
	return p
}
