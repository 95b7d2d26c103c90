// Package pcapng writes capture files: packets of several interfaces, each with
// a direction and a comment, such as Wireshark, tshark and scapy read.
//
// A file is blocks one behind the other, each padded to 32 bits and with its
// length, in octets, at both ends: a Section Header Block, an Interface
// Description Block for each interface before its first packet, and Enhanced
// Packet Blocks. Times are nanoseconds since 1970. All is little endian, which the
// section's header says.
//
// Source: draft-ietf-opsawg-pcapng-04, 4.1 (section), 4.2 (interface), 4.3
// (packet), 4.6 (statistics).
package pcapng

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"time"
)

// LinkType says with which header the packets of an interface begin.
type LinkType uint16

// Link types. Source: the list of link types at tcpdump.org.
const (
	Ethernet LinkType = 1
	IP       LinkType = 101 // IPv4 or IPv6
)

// Direction is that of a packet at its interface.
type Direction uint32

// Directions. Source: draft-ietf-opsawg-pcapng-04, 4.3.1.
const (
	Unknown  Direction = 0
	Inbound  Direction = 1
	Outbound Direction = 2
)

// Packet is one packet to write.
type Packet struct {
	Interface int       // what [Writer.Interface] returned
	At        time.Time // between 1970 and 2262
	Direction Direction
	Octets    int    // as it was
	Data      []byte // its first octets
	Comment   string // UTF-8; "": none
}

// Writer writes one section. It buffers nothing, and is for one goroutine.
type Writer struct {
	w          io.Writer
	interfaces int
	block      []byte // the one that is being made
}

const (
	blockSection    = 0x0a0d0d0a
	blockInterface  = 1
	blockPacket     = 6
	blockStatistics = 5

	byteOrder     = 0x1a2b3c4d
	unknownLength = math.MaxUint64

	optionComment     = 1
	optionApplication = 4 // of a section
	optionName        = 2 // of an interface
	optionResolution  = 9 // of an interface: 10^-n s
	optionFlags       = 2 // of a packet
	optionDropped     = 5 // of statistics
	nanoseconds       = 9
	maxOption         = 65535
)

// NewWriter begins a section that was written by application.
func NewWriter(w io.Writer, application string) (*Writer, error) {
	p := &Writer{w: w}
	p.begin(blockSection)
	p.word(byteOrder)
	p.word(1) // version 1.0
	p.double(unknownLength)
	p.option(optionApplication, []byte(application))
	return p, p.end()
}

// Interface adds an interface and returns its number. snap is how many octets of
// a packet are kept; 0: all.
func (p *Writer) Interface(name string, link LinkType, snap int) (int, error) {
	p.begin(blockInterface)
	p.word(uint32(link))
	p.word(uint32(snap))
	p.option(optionName, []byte(name))
	p.option(optionResolution, []byte{nanoseconds})
	if err := p.end(); err != nil {
		return 0, err
	}
	p.interfaces++
	return p.interfaces - 1, nil
}

// Packet adds a packet.
func (p *Writer) Packet(x *Packet) error {
	if x.Interface < 0 || x.Interface >= p.interfaces {
		return fmt.Errorf("pcapng: interface %d: there are %d", x.Interface, p.interfaces)
	}
	p.begin(blockPacket)
	p.word(uint32(x.Interface))
	p.time(x.At)
	p.word(uint32(len(x.Data)))
	p.word(uint32(max(x.Octets, len(x.Data))))
	p.padded(x.Data)
	if x.Comment != "" {
		p.option(optionComment, []byte(x.Comment))
	}
	p.option(optionFlags, binary.LittleEndian.AppendUint32(nil, uint32(x.Direction)))
	return p.end()
}

// Dropped says how many packets of an interface the file does not have, though it
// should.
func (p *Writer) Dropped(iface int, at time.Time, packets uint64) error {
	p.begin(blockStatistics)
	p.word(uint32(iface))
	p.time(at)
	p.option(optionDropped, binary.LittleEndian.AppendUint64(nil, packets))
	return p.end()
}

// begin starts a block; its length is filled in by end.
func (p *Writer) begin(kind uint32) {
	p.block = p.block[:0]
	p.word(kind)
	p.word(0)
}

func (p *Writer) word(v uint32)   { p.block = binary.LittleEndian.AppendUint32(p.block, v) }
func (p *Writer) double(v uint64) { p.block = binary.LittleEndian.AppendUint64(p.block, v) }

// time adds the high half first.
func (p *Writer) time(at time.Time) {
	ns := uint64(at.UnixNano())
	p.word(uint32(ns >> 32))
	p.word(uint32(ns))
}

func (p *Writer) padded(b []byte) {
	p.block = append(p.block, b...)
	for len(p.block)%4 != 0 {
		p.block = append(p.block, 0)
	}
}

// option adds an option, cut to what one can hold.
func (p *Writer) option(code uint16, value []byte) {
	value = value[:min(len(value), maxOption)]
	p.word(uint32(code) | uint32(len(value))<<16)
	p.padded(value)
}

// end closes the options and writes the block.
func (p *Writer) end() error {
	p.word(0)
	length := uint32(len(p.block) + 4)
	p.word(length)
	binary.LittleEndian.PutUint32(p.block[4:], length)
	if _, err := p.w.Write(p.block); err != nil {
		return fmt.Errorf("pcapng: %w", err)
	}
	return nil
}
