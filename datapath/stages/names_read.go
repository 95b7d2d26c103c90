package stages

import (
	"encoding/binary"
	"strings"
)

// nameVerdict is what the first octets of a stream say of its name.
type nameVerdict int

const (
	nameNone nameVerdict = iota // it shows none
	nameMore                    // not yet
	nameFound
)

const (
	tlsHandshake   = 22
	tlsClientHello = 1
	tlsServerName  = 0
	tlsHostName    = 0
	lenRecord      = 5
	maxRecord      = 1 << 14
	maxHostName    = 253
	maxEmpty       = 4  // octets of empty lines before a request; with more it is invalid
	maxMethod      = 16 // letters of a request's method
)

// showsName reports whether the first segment of what one side says may have the
// beginning of a name.
func showsName(b []byte) bool {
	return isHello(b) || mayBeRequest(b)
}

// isHello reports whether b may be the beginning of a ClientHello.
func isHello(b []byte) bool {
	return len(b) > 0 && b[0] == tlsHandshake && (len(b) < 2 || b[1] == 3) && (len(b) <= lenRecord || b[lenRecord] == tlsClientHello)
}

// mayBeRequest reports whether b may be the beginning of a request, which may be
// cut off in its method, and have empty lines before it.
func mayBeRequest(b []byte) bool {
	lines := 0
	for lines < len(b) && lines < maxEmpty && (b[lines] == '\r' || b[lines] == '\n') {
		lines++
	}
	for i, c := range b[lines:] {
		if c == ' ' {
			return i >= minMethod
		}
		if c < 'A' || c > 'Z' || i == maxMethod {
			return false
		}
	}
	return len(b) > 0
}

// cutter takes fields off the front of octets that may end anywhere.
type cutter struct {
	b     []byte
	short bool // something was not there
}

func (c *cutter) take(n int) []byte {
	if c.short || n > len(c.b) {
		c.short = true
		return nil
	}
	taken := c.b[:n]
	c.b = c.b[n:]
	return taken
}

// number takes one of n octets.
func (c *cutter) number(n int) int {
	v := 0
	for _, o := range c.take(n) {
		v = v<<8 | int(o)
	}
	return v
}

// helloName returns the server name in a ClientHello, which may be in several
// records, the last of which may be cut off.
func helloName(b []byte) (flowName, nameVerdict) {
	hello, ok := handshake(b)
	if !ok {
		return flowName{}, nameNone
	}
	return messageName(hello)
}

// messageName returns the server name in a ClientHello without records, which may be
// cut off.
//
// Source: RFC 8446, 4.1.2 and 5.1; RFC 6066, 3.
func messageName(hello []byte) (flowName, nameVerdict) {
	c := cutter{b: hello}
	kind, size := c.number(1), c.number(3)
	if !c.short && kind != tlsClientHello {
		return flowName{}, nameNone
	}
	whole := !c.short && size <= len(c.b)
	if whole {
		c.b = c.b[:size]
	}
	c.take(2 + 32)      // version, random
	c.take(c.number(1)) // session ID
	c.take(c.number(2)) // cipher suites
	c.take(c.number(1)) // compression methods
	c.number(2)         // length of all extensions
	for !c.short && len(c.b) > 0 {
		kind := c.number(2)
		extension := c.take(c.number(2))
		if !c.short && kind == tlsServerName {
			return serverName(extension)
		}
	}
	if whole {
		return flowName{}, nameNone
	}
	return flowName{}, nameMore
}

// handshake returns what the records at the start of b carry, as far as they are
// there. It reports false if they are no handshake.
func handshake(b []byte) (message []byte, ok bool) {
	for len(b) >= lenRecord {
		size := int(binary.BigEndian.Uint16(b[3:]))
		if b[0] != tlsHandshake || b[1] != 3 || size == 0 || size > maxRecord {
			return message, len(message) > 0 // others may come behind a whole message
		}
		b = b[lenRecord:]
		n := min(size, len(b))
		message, b = append(message, b[:n]...), b[n:]
	}
	return message, true
}

func serverName(extension []byte) (flowName, nameVerdict) {
	c := cutter{b: extension}
	c.number(2) // length of the list
	for !c.short && len(c.b) > 0 {
		kind := c.number(1)
		name := c.take(c.number(2))
		if !c.short && kind == tlsHostName {
			return named(string(name), "")
		}
	}
	return flowName{}, nameNone
}

// named returns a name, if host can be one.
func named(host, path string) (flowName, nameVerdict) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || len(host) > maxHostName {
		return flowName{}, nameNone
	}
	for _, c := range []byte(host) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("/?#@\\", c) >= 0 {
			return flowName{}, nameNone
		}
	}
	return flowName{host, path}, nameFound
}

// withoutPort cuts the port off a host, which may be an IPv6 address in brackets.
func withoutPort(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host[:i]
	}
	return host
}
