package gnb

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/plumbline-upf/plumbline/gtpu"
)

// Information elements of an Error Indication: types below 128 have a fixed
// length, the others a length of 2 octets. Source: TS 29.281 V18.1.0, table
// 8.1-1.
const (
	ieRecovery = 14  // 1 octet
	ieTEIDData = 16  // 4 octets
	iePeer     = 133 // GTP-U Peer Address: 4 or 16 octets
)

// indicationsPerSecond bounds what strangers can make this gNB send.
const indicationsPerSecond = 10

// errorIndicator tells UPFs that a G-PDU's TEID is not known here.
type errorIndicator struct {
	conn  *net.UDPConn
	local netip.Addr // where the G-PDU arrived
	limit *rate.Limiter
	sent  atomic.Uint64
}

func newErrorIndicator(conn *net.UDPConn, local netip.Addr) *errorIndicator {
	return &errorIndicator{
		conn: conn, local: local,
		limit: rate.NewLimiter(indicationsPerSecond, indicationsPerSecond),
	}
}

// send sends an Error Indication about teid to the GTP-U port of to, unless
// there were too many of late.
//
// Source: TS 29.281 V18.1.0, 4.4.2.4 (port) and 7.3.1.
func (e *errorIndicator) send(teid uint32, to netip.Addr) {
	if !e.limit.Allow() {
		return
	}
	b := appendErrorIndication(nil, teid, e.local)
	if _, err := e.conn.WriteToUDPAddrPort(b, netip.AddrPortFrom(to, gtpu.Port)); err == nil {
		e.sent.Add(1)
	}
}

// appendErrorIndication appends an Error Indication: peer has no context for
// teid. peer is IPv4.
//
// Source: TS 29.281 V18.1.0, 5.1 (S is set, the TEID is 0) and 7.3.1.
func appendErrorIndication(b []byte, teid uint32, peer netip.Addr) []byte {
	const flags, lenOptional, lenIEs = 0x32, 4, 5 + 7
	b = append(b, flags, gtpu.ErrorIndication, 0, lenOptional+lenIEs, 0, 0, 0, 0)
	b = append(b, 0, 0, 0, 0) // sequence number 0, no N-PDU number, no extension
	b = append(b, ieTEIDData)
	b = binary.BigEndian.AppendUint32(b, teid)
	b = append(b, iePeer, 0, 4)
	return append(b, peer.AsSlice()...)
}

// parseErrorIndication returns what an Error Indication is about from its IEs.
// ok is false if they are cut short or one of the two is not there. IEs that
// are not known are skipped.
func parseErrorIndication(b []byte) (teid uint32, peer netip.Addr, ok bool) {
	var hasTEID, hasPeer bool
	for len(b) > 0 {
		value, rest, whole := nextIE(b)
		if !whole {
			return 0, netip.Addr{}, false
		}
		switch b[0] {
		case ieTEIDData:
			teid, hasTEID = binary.BigEndian.Uint32(value), true
		case iePeer:
			peer, hasPeer = netip.AddrFromSlice(value)
		}
		b = rest
	}
	return teid, peer, hasTEID && hasPeer
}

// nextIE splits b, which is not empty, after its first IE. ok is false if b
// ends before the IE does, or its type has a fixed length that is not known.
func nextIE(b []byte) (value, rest []byte, ok bool) {
	var start, size int
	switch {
	case b[0] >= 0x80 && len(b) >= 3:
		start, size = 3, int(binary.BigEndian.Uint16(b[1:]))
	case b[0] == ieTEIDData:
		start, size = 1, 4
	case b[0] == ieRecovery:
		start, size = 1, 1
	default:
		return nil, nil, false
	}
	if len(b) < start+size {
		return nil, nil, false
	}
	return b[start : start+size], b[start+size:], true
}
