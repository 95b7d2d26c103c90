package gnb

import (
	"bytes"
	"encoding/binary"
)

// Fields of headers that a join looks at, beside those of [parseTransport].
const (
	offIPv4TOS, offIPv4TTL, offIPv4Checksum = 1, 8, 10
	offTCPSequence, offTCPAck, offTCPWindow = 4, 8, 14
	offUDPLength                            = 4
	flagPSH, flagACK                        = 0x08, 0x10
)

// Limits of what is written to a device at once: an IP packet in octets, and
// datagrams of UDP (UDP_MAX_SEGMENTS, 128 since Linux 6.9).
const (
	maxJoined    = 65535
	maxJoinedUDP = 64
)

// maxOpen is how many flows are joined at once.
const maxOpen = 16

// joined is a packet for a device, or several of one flow that follow each other,
// which the device takes for one that is to be cut: their headers are those of
// the first, and behind it there is the others' payload.
type joined struct {
	header vnet
	first  []byte   // IP header on
	rest   [][]byte // payloads
	octets int      // of first and rest

	flow             // of a packet to which more can be joined
	next      uint32 // its sequence number (TCP)
	shortened bool   // no more can follow
}

// flow is where a packet can be joined to another.
type flow struct {
	transport
	headers int // octets of IP, and TCP or UDP
}

// joiner collects packets for one device in their order, joining what it can:
// that of one flow stays in order, flows need not. Packets stay where they are, and
// the first of those that are joined is changed; so each is written before its
// memory is used again.
type joiner struct {
	datagrams bool // the device takes datagrams of UDP that are joined
	list      []joined
	count     int   // of list in use
	open      []int // in list: those of which more may come
}

// add takes a whole packet.
func (j *joiner) add(b []byte) {
	f, ok := parseFlow(b)
	if !ok { // it may be of any flow, which it must not leave
		j.open = j.open[:0]
		j.append(b, vnet{})
		return
	}
	for i, at := range j.open {
		p := &j.list[at]
		if !p.sameFlow(f, b) {
			continue
		}
		if p.follows(f, b) && valid(f.transport, b) {
			p.join(f, b)
			return
		}
		j.open = append(j.open[:i], j.open[i+1:]...) // behind this one nothing may overtake it
		break
	}
	p := j.append(b, vnet{})
	if !f.begins(b) || f.protocol == protocolUDP && !j.datagrams || !valid(f.transport, b) {
		return
	}
	p.flow = f
	if f.protocol == protocolTCP {
		p.next = binary.BigEndian.Uint32(b[f.at+offTCPSequence:]) + uint32(len(b)-f.headers)
	}
	if len(j.open) == maxOpen {
		j.open = append(j.open[:0], j.open[1:]...)
	}
	j.open = append(j.open, j.count-1)
}

// append takes a packet to which nothing is joined, yet, with its virtio header.
func (j *joiner) append(b []byte, v vnet) *joined {
	if j.count == len(j.list) {
		j.list = append(j.list, joined{})
	}
	p := &j.list[j.count]
	*p = joined{header: v, first: b, octets: len(b), rest: p.rest[:0]}
	j.count++
	return p
}

// reset forgets all packets, and keeps the memory of the lists.
func (j *joiner) reset() { j.count, j.open = 0, j.open[:0] }

// packets returns those to be written, with headers that say what they are.
func (j *joiner) packets() []joined {
	for i := range j.list[:j.count] {
		if p := &j.list[i]; len(p.rest) > 0 {
			p.finish()
		}
	}
	return j.list[:j.count]
}

// parseFlow finds the headers of a whole packet of TCP or UDP. IPv4 options are not
// known.
func parseFlow(b []byte) (f flow, ok bool) {
	if f.transport, ok = parseTransport(b); !ok || f.at != lenIPv4 && b[0]>>4 == 4 {
		return f, false
	}
	switch {
	case f.protocol == protocolTCP && len(b) >= f.at+lenTCP:
		f.headers = f.at + int(b[f.at+offTCPData]>>4)*4
		ok = f.headers >= f.at+lenTCP
	case f.protocol == protocolUDP && len(b) >= f.at+lenUDP:
		f.headers = f.at + lenUDP
		ok = int(binary.BigEndian.Uint16(b[f.at+offUDPLength:])) == len(b)-f.at
	default:
		return f, false
	}
	return f, ok && f.headers <= len(b)
}

// begins reports whether more can be joined to b: of TCP, neither connections that
// begin or end nor what the receiver is to have soon; of UDP, what has a checksum.
func (f flow) begins(b []byte) bool {
	if f.headers == len(b) {
		return false
	}
	if f.protocol == protocolTCP {
		return b[f.at+offTCPFlags] == flagACK
	}
	return binary.BigEndian.Uint16(b[f.at+offUDPChecksum:]) != 0
}

// valid reports whether checksums of b are as they should be: joined, nobody
// could tell any more.
func valid(h transport, b []byte) bool {
	if b[0]>>4 == 4 && fold(sum(b[:h.at], 0)) != 0xffff {
		return false
	}
	return fold(sum(b[h.at:], uint64(h.pseudo))) == 0xffff
}

// sameFlow reports whether b has the addresses and ports of p.
func (p *joined) sameFlow(f flow, b []byte) bool {
	source := offIPv4Source
	if b[0]>>4 == 6 {
		source = offIPv6Source
	}
	return f.at == p.at && f.protocol == p.protocol && b[0]>>4 == p.first[0]>>4 &&
		bytes.Equal(b[source:f.at+4], p.first[source:f.at+4])
}

// follows reports whether b, of the same flow, can be joined to p.
func (p *joined) follows(f flow, b []byte) bool {
	size, most := len(b)-f.headers, len(p.first)-p.headers
	if p.shortened || size == 0 || size > most || p.octets+size > maxJoined || f.headers != p.headers || !sameIP(p.first, b) {
		return false
	}
	if f.protocol == protocolUDP {
		return len(p.rest)+2 <= maxJoinedUDP && binary.BigEndian.Uint16(b[f.at+offUDPChecksum:]) != 0
	}
	was, is := p.first[f.at:f.headers], b[f.at:f.headers]
	return binary.BigEndian.Uint32(is[offTCPSequence:]) == p.next && is[offTCPFlags]&^flagPSH == flagACK &&
		bytes.Equal(is[offTCPAck:offTCPFlags], was[offTCPAck:offTCPFlags]) &&
		bytes.Equal(is[offTCPWindow:offTCPChecksum], was[offTCPWindow:offTCPChecksum]) &&
		bytes.Equal(is[offTCPChecksum+2:], was[offTCPChecksum+2:]) // urgent pointer, options
}

// sameIP reports whether IP headers differ in nothing but length, ID and checksum,
// and addresses, which have been compared.
func sameIP(a, b []byte) bool {
	if a[0]>>4 == 4 {
		return a[offIPv4TOS] == b[offIPv4TOS] && a[offIPv4Fragment] == b[offIPv4Fragment] && a[offIPv4TTL] == b[offIPv4TTL]
	}
	return bytes.Equal(a[:offIPv6Length], b[:offIPv6Length]) && a[offIPv6Next+1] == b[offIPv6Next+1]
}

// join joins b to p, which it follows.
func (p *joined) join(f flow, b []byte) {
	payload := b[f.headers:]
	p.rest = append(p.rest, payload)
	p.octets += len(payload)
	p.next += uint32(len(payload))
	p.shortened = len(payload) < len(p.first)-p.headers
	if f.protocol == protocolTCP && b[f.at+offTCPFlags]&flagPSH != 0 {
		p.first[f.at+offTCPFlags] |= flagPSH
		p.shortened = true
	}
}

// finish makes the first packet's headers those of all.
func (p *joined) finish() {
	b, size := p.first, len(p.first)-p.headers
	p.header = vnet{
		flags: vnetNeedsChecksum, gsoType: vnetGSOTCPv4, headers: uint16(p.headers), gsoSize: uint16(size),
		checksumAt: uint16(p.at), checksumOff: offTCPChecksum,
	}
	addresses := b[offIPv4Source:lenIPv4]
	if b[0]>>4 == 6 {
		p.header.gsoType, addresses = vnetGSOTCPv6, b[offIPv6Source:lenIPv6]
		binary.BigEndian.PutUint16(b[offIPv6Length:], uint16(p.octets-lenIPv6))
	} else {
		binary.BigEndian.PutUint16(b[offIPv4Length:], uint16(p.octets))
		binary.BigEndian.PutUint16(b[offIPv4Checksum:], 0)
		binary.BigEndian.PutUint16(b[offIPv4Checksum:], ^fold(sum(b[:lenIPv4], 0)))
	}
	if p.protocol == protocolUDP {
		p.header.gsoType, p.header.checksumOff = vnetGSOUDP, offUDPChecksum
		binary.BigEndian.PutUint16(b[p.at+offUDPLength:], uint16(p.octets-p.at))
	}
	pseudo := fold(sum(addresses, uint64(p.protocol)+uint64(p.octets-p.at)))
	binary.BigEndian.PutUint16(b[p.at+int(p.header.checksumOff):], pseudo)
}
