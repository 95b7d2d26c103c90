package interop

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Types and codes of ICMP. Source: RFC 792; RFC 4443, 3 and 4.
const (
	echoReply4, unreachable4, echo4, exceeded4          = 0, 3, 8, 11
	unreachable6, tooBig6, exceeded6, echo6, echoReply6 = 1, 2, 3, 128, 129
	fragmentationNeeded                                 = 4
)

// Octets of what an echo request carries.
const (
	lenToken   = 8
	minPayload = lenToken + 2
)

// headerOctets is how much of a packet is IP's.
func headerOctets(version int) int {
	if version == 6 {
		return inet.LenIPv6
	}
	return inet.LenIPv4
}

// message is an echo request of a series. Its payload is the token of the series, the
// sequence number, and octets that follow from it.
type message struct {
	version int
	id      uint16
	token   [lenToken]byte
	size    int // of the payload
}

// request returns the ICMP message with a sequence number.
func (m *message) request(sequence uint16) []byte {
	b := make([]byte, inet.LenICMP, inet.LenICMP+m.size)
	b[0] = echo4
	if m.version == 6 {
		b[0] = echo6
	}
	be := binary.BigEndian
	be.PutUint16(b[4:], m.id)
	be.PutUint16(b[6:], sequence)
	b = append(b, m.token[:]...)
	b = be.AppendUint16(b, sequence)
	for i := len(b); i < inet.LenICMP+m.size; i++ {
		b = append(b, byte(i)+byte(sequence))
	}
	if m.version == 4 { // of ICMPv6 the kernel computes it
		be.PutUint16(b[2:], checksum.Of(b))
	}
	return b
}

// reply reports whether b answers a request of the series, which one, and whether with
// the octets that were sent.
func (m *message) reply(b []byte) (sequence uint16, intact, ok bool) {
	reply := byte(echoReply4)
	if m.version == 6 {
		reply = echoReply6
	}
	be := binary.BigEndian
	if len(b) < inet.LenICMP || b[0] != reply || be.Uint16(b[4:]) != m.id {
		return 0, false, false
	}
	sequence = be.Uint16(b[6:])
	return sequence, bytes.Equal(b[inet.LenICMP:], m.request(sequence)[inet.LenICMP:]), true
}

// refusal says what an ICMP error about a request of the series means; empty: b is none.
func (m *message) refusal(from netip.Addr, b []byte) string {
	header := headerOctets(m.version)
	be := binary.BigEndian
	if len(b) < inet.LenICMP+header+inet.LenICMP {
		return ""
	}
	quoted := b[inet.LenICMP:]
	if m.version == 4 {
		header = int(quoted[0]&0xf) * 4
	}
	if len(quoted) < header+inet.LenICMP || be.Uint16(quoted[header+4:]) != m.id {
		return ""
	}
	kind, code := b[0], b[1]
	switch {
	case m.version == 4 && kind == unreachable4 && code == fragmentationNeeded:
		return fmt.Sprintf("%v: fragmentation needed, MTU %d", from, be.Uint16(b[6:]))
	case m.version == 6 && kind == tooBig6:
		return fmt.Sprintf("%v: packet too big, MTU %d", from, be.Uint32(b[4:]))
	case m.version == 4 && kind == unreachable4, m.version == 6 && kind == unreachable6:
		return fmt.Sprintf("%v: destination unreachable, code %d", from, code)
	case m.version == 4 && kind == exceeded4, m.version == 6 && kind == exceeded6:
		return fmt.Sprintf("%v: time exceeded", from)
	}
	return ""
}
