package capture

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
)

// SCTP. Source: RFC 9260, 3.1 to 3.3; RFC 6951, 5.2 (port).
//
//	+-------------------------------+-------------------------------+
//	|          source port          |       destination port        |
//	|                       verification tag                        |
//	|                            CRC32c                             |
//	+---------------+---------------+-------------------------------+
//	|   chunk type  |  flags: B, E  |        length, unpadded       |
//	|  DATA: TSN                                                    |
//	|  stream                       |  sequence number in it        |
//	|  payload protocol             |  user data                    |
const (
	sctpHeader    = 12
	chunkHeader   = 4
	dataHeader    = 16 // with that of the chunk
	initHeader    = 20
	encapsulation = 9899
	chunkData     = 0
	chunkInit     = 1
	chunkInitAck  = 2
	chunkAbort    = 6
	chunkEnd      = 14 // SHUTDOWN COMPLETE
	chunkIData    = 64 // DATA of interleaved messages, RFC 8260
	flagEnd       = 1
	flagBegin     = 2

	maxChunks = 4096    // so far behind the newest TSN one is waited for
	maxJump   = 1 << 16 // what is further from the newest TSN is another numbering
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// inUDP reports whether a UDP datagram carries SCTP of P5: on its port, or with a right
// checksum.
func inUDP(f flow, b []byte, d *decoder) bool {
	if len(b) < sctpHeader || !d.isP5(flow{f.portOf(b, 0), f.back().portOf(b, 2)}) {
		return false
	}
	if f.from.Port() == encapsulation || f.to.Port() == encapsulation {
		return true
	}
	sum := crc32.Update(0, castagnoli, b[:8])
	sum = crc32.Update(sum, castagnoli, []byte{0, 0, 0, 0})
	return crc32.Update(sum, castagnoli, b[sctpHeader:]) == binary.LittleEndian.Uint32(b[8:])
}

// portOf is the sender of f with the port in b.
func (f flow) portOf(b []byte, at int) netip.AddrPort {
	return netip.AddrPortFrom(f.from.Addr(), binary.BigEndian.Uint16(b[at:]))
}

// association is one direction of an SCTP association.
type association struct {
	tag     uint32 // verification tag; 0: no data came yet
	begun   bool
	first   uint32 // TSN: what comes before is not waited for
	highest uint32
	seen    [maxChunks]bool // by TSN
	held    map[uint32]chunk
	octets  int // that are held
}

// chunk is a fragment of a message.
type chunk struct {
	flags  uint8
	stream uint16
	data   []byte
}

// sctp takes an SCTP packet, of which the capture has b. Its checksum is not looked at: the
// sender's device may not have computed it yet.
func (d *decoder) sctp(f flow, b []byte, whole int) error {
	if len(b) < sctpHeader || !d.isP5(f) {
		return nil
	}
	tag := binary.BigEndian.Uint32(b[4:])
	for b = b[sctpHeader:]; len(b) >= chunkHeader; {
		octets := int(binary.BigEndian.Uint16(b[2:]))
		if octets < chunkHeader {
			return nil
		}
		if err := d.chunk(f, tag, b[:min(octets, len(b))], octets); err != nil {
			return err
		}
		b = b[min((octets+3)&^3, len(b)):]
	}
	return nil
}

// chunk takes a chunk of the given length, of which the capture has b.
func (d *decoder) chunk(f flow, tag uint32, b []byte, octets int) error {
	switch b[0] {
	case chunkInit, chunkInitAck:
		if len(b) >= initHeader {
			tsn := binary.BigEndian.Uint32(b[16:])
			d.forget(f)
			d.follow(f, &association{begun: true, first: tsn, highest: tsn - 1})
		}
	case chunkAbort, chunkEnd:
		d.forget(f)
		d.forget(f.back())
	case chunkIData:
		d.stats.IData++
	case chunkData:
		if len(b) >= dataHeader {
			return d.data(f, tag, b, octets)
		}
		if octets > len(b) {
			d.stats.LostChunks++
		}
	}
	return nil
}

func (d *decoder) follow(f flow, a *association) bool {
	if len(d.associations) == maxFlows {
		d.unwatched()
		return false
	}
	a.held = map[uint32]chunk{}
	d.associations[f] = a
	return true
}

func (d *decoder) forget(f flow) {
	if a := d.associations[f]; a != nil {
		d.lose(a)
		delete(d.associations, f)
	}
}

// lose counts what an association that ends still lacks.
func (d *decoder) lose(a *association) {
	for tsn := a.highest - min(a.highest-a.first, maxChunks-1); int32(a.highest-tsn) >= 0 && int32(tsn-a.first) >= 0; tsn++ {
		d.giveUp(a, tsn)
	}
}

// giveUp counts a chunk that is not waited for any more, if it lacks or waits itself.
func (d *decoder) giveUp(a *association, tsn uint32) {
	c, held := a.held[tsn]
	if held {
		a.octets -= len(c.data)
		delete(a.held, tsn)
	}
	if held && c.flags&flagBegin != 0 {
		d.stats.Unfinished++
	}
	if int32(tsn-a.first) >= 0 && !a.seen[tsn%maxChunks] {
		d.stats.LostChunks++
	}
	a.seen[tsn%maxChunks] = false
}

func (d *decoder) data(f flow, tag uint32, b []byte, octets int) error {
	a, tsn := d.associations[f], binary.BigEndian.Uint32(b[4:])
	if a != nil && a.tag != 0 && a.tag != tag { // another association, with an uncaptured beginning
		d.forget(f)
		a = nil
	}
	if a == nil {
		if a = new(association); !d.follow(f, a) {
			return nil
		}
	}
	if !a.begun {
		a.begun, a.first, a.highest = true, tsn, tsn-1
	}
	a.tag = tag
	switch ahead := int32(tsn - a.highest); {
	case ahead > 0:
		d.advance(a, tsn)
	case ahead <= -maxChunks, a.seen[tsn%maxChunks]:
		return nil // sent again
	}
	if int32(tsn-a.first) < 0 {
		a.first = tsn
	}
	a.seen[tsn%maxChunks] = true
	c := chunk{b[1], binary.BigEndian.Uint16(b[8:]), b[dataHeader:]}
	if octets > len(b) {
		d.stats.LostChunks++
		return nil
	}
	if c.flags&(flagBegin|flagEnd) == flagBegin|flagEnd {
		return d.p5Message(f, c.data)
	}
	if a.octets+len(c.data) > maxHeld {
		d.stats.Unheld++
		return nil
	}
	c.data = append([]byte(nil), c.data...)
	a.held[tsn] = c
	a.octets += len(c.data)
	return d.join(f, a, tsn)
}

// advance makes tsn the highest one, and counts what is not waited for any more.
func (d *decoder) advance(a *association, tsn uint32) {
	before := a.highest
	for range min(tsn-before, maxChunks) {
		a.highest++
		d.giveUp(a, a.highest-maxChunks)
	}
	if tsn-before <= maxChunks {
		return
	}
	if skipped := tsn - before - 1; skipped < maxJump {
		d.stats.LostChunks += int(skipped)
	}
	a.first, a.highest = tsn, tsn
}

// join passes on a message with all fragments.
func (d *decoder) join(f flow, a *association, tsn uint32) error {
	from, to := tsn, tsn
	stream := a.held[tsn].stream
	for a.held[from].flags&flagBegin == 0 {
		c, ok := a.held[from-1]
		if !ok || c.flags&flagEnd != 0 || c.stream != stream {
			return nil
		}
		from--
	}
	for a.held[to].flags&flagEnd == 0 {
		c, ok := a.held[to+1]
		if !ok || c.flags&flagBegin != 0 || c.stream != stream {
			return nil
		}
		to++
	}
	var b []byte
	for ; from != to+1; from++ {
		b = append(b, a.held[from].data...)
		a.octets -= len(a.held[from].data)
		delete(a.held, from)
	}
	return d.p5Message(f, b)
}
