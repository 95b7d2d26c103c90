package stages

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// The UPF as the web server of all the world: it answers a request to any address
// at port 80 with 302. Nothing is kept of a connection. Our first sequence number
// is a cookie that only we can make of the addresses and ports, and how far a
// connection is follows from what a segment acknowledges:
//
//	SYN                        ► SYN, ACK         sequence number: cookie
//	ACK cookie+1, a request    ► response, FIN
//	ACK cookie+1+n, data, FIN  ► what it has not of the response yet, FIN
//	ACK beyond our FIN, FIN    ► ACK
//	ACK cookie+1, else         ► ACK              the beginning, or the middle, of a request
//	ACK of anything else       ► RST              also of connections from before
//
// All other ports are closed: what is sent there gets a RST, and a datagram to port
// 443, where QUIC is, an ICMP error, so that clients go on to HTTP at once.
//
// A segment that is lost the client sends again, or makes it send the one again
// that answers it.
//
// Source: RFC 9293, 3.5 (cookies: RFC 4987, 3.6) and 3.10.7.1 (closed ports).

const (
	portWeb    = 80
	portSecure = 443

	tcpFIN, tcpSYN, tcpRST, tcpPSH, tcpACK = 0x01, 0x02, 0x04, 0x08, 0x10

	webMSS    = minMTU6 - inet.LenIPv6 - inet.LenTCP // so that what the client sends fits anywhere
	webWindow = 16384

	minMethod = 3 // letters of a request's method
)

// segment is a TCP segment with what of its header matters here.
type segment struct {
	seq, ack uint32
	flags    byte
	payload  []byte
}

// http returns the answer to a segment; nil: none.
func (d *Redirects) http(u user, url string) user {
	in, port, ok := u.segment()
	if !ok {
		return nil
	}
	if port != portWeb {
		return u.reset(in)
	}
	out, ok := in.answer(d.cookie(u), found(url))
	if !ok {
		return nil
	}
	return u.reply(out)
}

// reset returns the answer of a closed port; nil: none.
//
// Source: RFC 9293, 3.10.7.1.
func (u user) reset(s segment) user {
	switch {
	case s.flags&tcpRST != 0:
		return nil
	case s.flags&tcpACK != 0:
		return u.reply(segment{seq: s.ack, flags: tcpRST})
	}
	end := s.seq + uint32(len(s.payload))
	if s.flags&tcpSYN != 0 {
		end++
	}
	if s.flags&tcpFIN != 0 {
		end++
	}
	return u.reply(segment{ack: end, flags: tcpRST | tcpACK})
}

// segment returns the TCP segment in u, whole and with a right checksum, and the port
// to which it is.
func (u user) segment() (s segment, to uint16, ok bool) {
	up := u.upper()
	at := len(u) - len(up.payload)
	if up.protocol != inet.ProtoTCP || len(up.payload) < inet.LenTCP || u.moreFragments() || !isHost(u.source()) || !isHost(u.destination()) {
		return segment{}, 0, false
	}
	t := up.payload
	header := 4 * int(t[12]>>4)
	if header < inet.LenTCP || header > len(t) || !u.upperSumRight(inet.ProtoTCP, at) {
		return segment{}, 0, false
	}
	s = segment{seq: binary.BigEndian.Uint32(t[4:]), ack: binary.BigEndian.Uint32(t[8:]), flags: t[13], payload: t[header:]}
	return s, binary.BigEndian.Uint16(t[2:]), true
}

// isQUIC reports whether u may be of QUIC: a datagram to port 443.
func (u user) isQUIC() bool {
	up := u.upper()
	return up.protocol == inet.ProtoUDP && len(up.payload) >= inet.LenUDP && binary.BigEndian.Uint16(up.payload[2:]) == portSecure
}

// moreFragments reports whether u is a first fragment with others behind it.
func (u user) moreFragments() bool {
	if !u.isIPv6() {
		return binary.BigEndian.Uint16(u[6:])&maskFragment != 0
	}
	return u[6] != inet.ProtoTCP // with extension headers it is none that we take
}

// answer returns what a server says to s whose first sequence number is cookie
// and whose only response is this one.
func (s segment) answer(cookie uint32, response []byte) (segment, bool) {
	first := cookie + 1
	fin := uint32(s.flags & tcpFIN)
	end := s.seq + uint32(len(s.payload)) + fin
	asks := len(s.payload) > 0 || fin != 0
	acked := s.ack - first // octets of response and FIN
	n := uint32(len(response))
	switch {
	case s.flags&tcpRST != 0:
		return segment{}, false
	case s.flags&(tcpSYN|tcpACK|tcpFIN) == tcpSYN:
		return segment{seq: cookie, ack: s.seq + 1, flags: tcpSYN | tcpACK}, true
	case s.flags&tcpACK == 0:
		return segment{}, false
	case s.flags&tcpSYN != 0 || acked > n+1:
		return segment{seq: s.ack, flags: tcpRST}, true
	case !asks:
		return segment{}, false
	case acked == 0 && len(s.payload) > 0 && fin == 0 && !isRequest(s.payload) && !endsHead(s.payload):
		return segment{seq: first, ack: end, flags: tcpACK}, true // another part of a request
	case acked == 0 && len(s.payload) == 0:
		return segment{seq: first, ack: end, flags: tcpFIN | tcpACK}, true
	case acked <= n:
		return segment{seq: s.ack, ack: end, flags: tcpPSH | tcpFIN | tcpACK, payload: response[acked:]}, true
	}
	return segment{seq: s.ack, ack: end, flags: tcpACK}, true
}

// isRequest reports whether b is how an HTTP request begins: a method, of which
// none is shorter than GET, and a space.
//
// Source: RFC 9112, 3; RFC 9110, 16.1.1 (methods).
func isRequest(b []byte) bool {
	for i, c := range b[:min(len(b), 17)] {
		if c == ' ' {
			return i >= minMethod
		}
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return false
}

// endsHead reports whether b has the empty line behind a head, or the end of it.
func endsHead(b []byte) bool {
	return bytes.Contains(b, []byte("\n\r\n")) || bytes.Contains(b, []byte("\n\n")) ||
		b[len(b)-1] == '\n' && len(bytes.Trim(b, "\r\n")) == 0
}

// found is the response. The URL has only octets that may stand in one, and few
// enough for one segment: [datapath.Check]. Source: RFC 9110, 15.4.3.
func found(url string) []byte {
	return []byte("HTTP/1.1 302 Found\r\nLocation: " + url +
		"\r\nContent-Length: 0\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n")
}

// cookie returns our first sequence number for the flow of u.
func (d *Redirects) cookie(u user) uint32 {
	h := hmac.New(sha256.New, d.secret)
	h.Write(u.addresses())
	h.Write(u.upper().payload[:4])
	return binary.BigEndian.Uint32(h.Sum(nil))
}

// reply puts an answer to u into a packet back.
func (u user) reply(s segment) user {
	ports := u.upper().payload[:4]
	t := append([]byte{ports[2], ports[3], ports[0], ports[1]}, make([]byte, inet.LenTCP-4)...)
	binary.BigEndian.PutUint32(t[4:], s.seq)
	binary.BigEndian.PutUint32(t[8:], s.ack)
	t[13] = s.flags
	binary.BigEndian.PutUint16(t[14:], webWindow)
	if s.flags&tcpSYN != 0 {
		t = append(t, 2, 4, webMSS>>8, webMSS&0xff) // Maximum Segment Size
	}
	t[12] = byte(len(t)/4) << 4
	t = append(t, s.payload...)
	if u.isIPv6() {
		return packet6(inet.ProtoTCP, 0, u.destination(), u.source(), ttlOuter, t, 16)
	}
	b := packet4(inet.ProtoTCP, 0, u.destination(), u.source(), t)
	binary.BigEndian.PutUint16(b[inet.LenIPv4+16:], UpperChecksum(b, inet.ProtoTCP, inet.LenIPv4))
	return b
}
