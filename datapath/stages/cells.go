package stages

import "encoding/binary"

// cells is memory for packets: slabs, cut into cells of one size. A packet takes
// as many cells as it needs, so that it costs little more than its octets, and
// nothing in there is for the garbage collector to follow. When nothing is held
// any more, all of it is given back.
type cells struct {
	slabs [][]byte
	free  cell // the first one of those that were given back
	next  cell // the first one that never was in use
	used  int
}

// cell is the number of a cell, from 1 on; 0: none.
type cell uint32

// The first cell of a packet, and those that follow. Numbers are native.
//
//	 0        4         8        16       18         20         24
//	┌────────┬─────────┬────────┬────────┬──────────┬──────────┬──────────┐
//	│ cell   │ packet  │ at, ns │ octets │ octets   │ PDR, its │ octets … │
//	│ behind │ behind  │        │ GTP-U  │ user     │ place    │          │
//	├────────┼─────────┴────────┴────────┴──────────┴──────────┴──────────┤
//	│ cell   │ octets …                                                   │
//	└────────┴────────────────────────────────────────────────────────────┘
const (
	cellOctets  = 128
	slabCells   = 512
	cellHeader  = 4
	firstHeader = 24
)

// cellsOf returns how many cells a packet of so many octets takes.
func cellsOf(octets int) int {
	rest := max(octets-(cellOctets-firstHeader), 0)
	return 1 + (rest+cellOctets-cellHeader-1)/(cellOctets-cellHeader)
}

func (c *cells) at(id cell) []byte {
	i := uint32(id - 1)
	offset := i % slabCells * cellOctets
	return c.slabs[i/slabCells][offset : offset+cellOctets : offset+cellOctets]
}

// get takes a cell.
func (c *cells) get() cell {
	c.used++
	if id := c.free; id != 0 {
		c.free = behind(c.at(id))
		return id
	}
	if int(c.next) == len(c.slabs)*slabCells {
		c.slabs = append(c.slabs, make([]byte, slabCells*cellOctets))
	}
	c.next++
	return c.next
}

// behind returns the cell that follows b in its packet.
func behind(b []byte) cell { return cell(binary.NativeEndian.Uint32(b)) }

func setBehind(b []byte, id cell) { binary.NativeEndian.PutUint32(b, uint32(id)) }

// packet is what is kept of a packet beside its octets.
type packet struct {
	next        cell // the packet behind it in its session
	at          uint64
	header, all int // octets: of the GTP-U header, and with the user packet
	place       uint32
}

func (c *cells) packet(id cell) packet {
	b := c.at(id)
	header := int(binary.NativeEndian.Uint16(b[16:]))
	return packet{
		next:   cell(binary.NativeEndian.Uint32(b[4:])),
		at:     binary.NativeEndian.Uint64(b[8:]),
		header: header, all: header + int(binary.NativeEndian.Uint16(b[18:])),
		place: binary.NativeEndian.Uint32(b[20:]),
	}
}

func (c *cells) setNext(id, next cell) { binary.NativeEndian.PutUint32(c.at(id)[4:], uint32(next)) }

// put copies a packet. A GTP-U header and a user packet have below 2^16 octets.
func (c *cells) put(a arrived, at uint64, place uint32) cell {
	first := c.get()
	b := c.at(first)
	clear(b[:firstHeader])
	binary.NativeEndian.PutUint64(b[8:], at)
	binary.NativeEndian.PutUint16(b[16:], uint16(len(a.header)))
	binary.NativeEndian.PutUint16(b[18:], uint16(len(a.user)))
	binary.NativeEndian.PutUint32(b[20:], place)
	room := b[firstHeader:]
	for _, octets := range [...][]byte{a.header, a.user} {
		for len(octets) > 0 {
			if len(room) == 0 {
				id := c.get()
				setBehind(b, id)
				b = c.at(id)
				setBehind(b, 0)
				room = b[cellHeader:]
			}
			n := copy(room, octets)
			room, octets = room[n:], octets[n:]
		}
	}
	return first
}

// read appends the octets of a packet to b.
func (c *cells) read(b []byte, id cell) []byte {
	left, header := c.packet(id).all, firstHeader
	for left > 0 {
		from := c.at(id)
		n := min(left, cellOctets-header)
		b = append(b, from[header:header+n]...)
		left -= n
		id, header = behind(from), cellHeader
	}
	return b
}

// release gives the cells of a packet back, and says how many those are.
func (c *cells) release(id cell) (n int) {
	for id != 0 {
		b := c.at(id)
		next := behind(b)
		setBehind(b, c.free)
		c.free = id
		id = next
		n++
	}
	if c.used -= n; c.used == 0 {
		*c = cells{}
	}
	return n
}
