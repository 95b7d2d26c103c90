package pcap

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"time"
)

// Blocks of pcapng that are read, and those that are known to have no packet. All others are
// stepped over, too, and counted.
// Source: draft-ietf-opsawg-pcapng, 4 and appendix A.
const (
	blockSection    = 0x0a0d0d0a
	blockInterface  = 1
	blockPacket     = 2 // obsolete
	blockSimple     = 3
	blockNames      = 4
	blockStatistics = 5
	blockEnhanced   = 6
	blockJournal    = 9
	blockSecrets    = 10

	sectionOrder     = 0x1a2b3c4d
	optionResolution = 9
	optionOffset     = 14
	maxInterfaces    = 1024
	maxBlock         = 1 << 20 // octets of a block that is read; others may be longer
)

// latest is the latest and, below 0, the earliest time that a packet may have: so that two are
// never further apart than a [time.Duration] holds.
const latest = time.Duration(math.MaxInt64 / 2)

// ngReader reads a pcapng file.
type ngReader struct {
	r          *bufio.Reader
	f          func(*Packet) error
	order      binary.ByteOrder
	interfaces []ngInterface // of the section
	buffer     []byte
	newest     time.Duration // time of the packet before
	other      int           // blocks whose type is not known
}

type ngInterface struct {
	link       uint32
	resolution uint8 // if_tsresol: units of 10^-n s, with 0x80 of 2^-n s
	offset     int64 // seconds to add to them
}

func (n *ngReader) read() error {
	n.order = binary.LittleEndian
	n.buffer = make([]byte, maxBlock)
	for {
		kind, body, err := n.block()
		if err != nil {
			return atEnd(err)
		}
		switch kind {
		case blockSection:
			n.interfaces = nil
		case blockInterface:
			err = n.addInterface(body)
		case blockEnhanced:
			err = n.enhanced(body)
		case blockPacket:
			err = n.packet(body)
		case blockSimple:
			err = n.simple(body)
		case blockNames, blockStatistics, blockJournal, blockSecrets:
		default:
			n.other++
		}
		if err != nil {
			return err
		}
	}
}

// block reads the next block: its type and what is between the lengths, nothing of one that
// is not looked into.
func (n *ngReader) block() (kind uint32, body []byte, err error) {
	head, err := n.r.Peek(12)
	if err != nil && len(head) > 0 {
		err = inside(err)
	}
	if err != nil {
		return 0, nil, err
	}
	if binary.LittleEndian.Uint32(head) == blockSection { // the same in both orders
		switch uint32(sectionOrder) {
		case binary.LittleEndian.Uint32(head[8:]):
			n.order = binary.LittleEndian
		case binary.BigEndian.Uint32(head[8:]):
			n.order = binary.BigEndian
		default:
			return 0, nil, fmt.Errorf("byte order %x: %w", head[8:12], Error)
		}
	}
	kind, octets := n.order.Uint32(head), n.order.Uint32(head[4:])
	if octets < 12 || octets%4 != 0 {
		return 0, nil, fmt.Errorf("block of %d octets: %w", octets, Error)
	}
	switch kind {
	case blockInterface, blockPacket, blockSimple, blockEnhanced:
	default:
		_, err := io.CopyN(io.Discard, n.r, int64(octets))
		return kind, nil, inside(err)
	}
	if octets > maxBlock {
		return 0, nil, fmt.Errorf("block of %d octets of type %d: %w", octets, kind, Error)
	}
	block := n.buffer[:octets]
	if _, err := io.ReadFull(n.r, block); err != nil {
		return 0, nil, inside(err)
	}
	return kind, block[8 : octets-4], nil
}

func (n *ngReader) addInterface(body []byte) error {
	if len(body) < 8 || len(n.interfaces) == maxInterfaces {
		return fmt.Errorf("interface %d of %d octets: %w", len(n.interfaces), len(body), Error)
	}
	i := ngInterface{link: uint32(n.order.Uint16(body)), resolution: 6}
	n.options(&i, body[8:])
	n.interfaces = append(n.interfaces, i)
	return nil
}

// options looks for the resolution of times, microseconds if there is none, and for what is to
// be added to them.
func (n *ngReader) options(i *ngInterface, options []byte) {
	for len(options) >= 4 {
		code, octets := n.order.Uint16(options), int(n.order.Uint16(options[2:]))
		value := options[4:]
		if code == 0 || octets > len(value) {
			return
		}
		switch {
		case code == optionResolution && octets == 1:
			i.resolution = value[0]
		case code == optionOffset && octets == 8:
			i.offset = int64(n.order.Uint64(value))
		}
		options = value[min((octets+3)&^3, len(value)):]
	}
}

// at is the time of a number of units.
func (i *ngInterface) at(ticks uint64) time.Duration {
	var high, low uint64 // nanoseconds
	switch n := i.resolution & 0x7f; {
	case i.resolution&0x80 != 0 && n < 64:
		high, low = bits.Mul64(ticks, 1e9)
		high, low = high>>n, high<<(64-n)|low>>n
	case i.resolution&0x80 != 0:
		high, _ = bits.Mul64(ticks, 1e9)
		high, low = 0, high>>(n-64)
	case n <= 9:
		high, low = bits.Mul64(ticks, power10(9-n))
	case n <= 9+19:
		low = ticks / power10(n-9)
	}
	if high > 0 || low > uint64(latest) {
		low = uint64(latest)
	}
	offset := max(min(i.offset, int64(latest/time.Second)), -int64(latest/time.Second))
	return max(min(time.Duration(low)+time.Duration(offset)*time.Second, latest), -latest)
}

// power10 is 10 to the n, n at most 19.
func power10(n uint8) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// enhanced is a packet as programs write it now.
func (n *ngReader) enhanced(body []byte) error {
	if len(body) < 20 {
		return fmt.Errorf("packet block of %d octets: %w", len(body), Error)
	}
	return n.timed(n.order.Uint32(body), body[4:])
}

// packet is one as programs wrote it before: with an interface of 16 bits, and a count of drops.
// Source: draft-ietf-opsawg-pcapng, appendix A.
func (n *ngReader) packet(body []byte) error {
	if len(body) < 20 {
		return fmt.Errorf("packet block of %d octets: %w", len(body), Error)
	}
	return n.timed(uint32(n.order.Uint16(body)), body[4:])
}

// timed is a packet from its time on, of the interface with that number.
func (n *ngReader) timed(number uint32, b []byte) error {
	octets := n.order.Uint32(b[8:])
	if number >= uint32(len(n.interfaces)) || octets > uint32(len(b)-16) {
		return fmt.Errorf("packet of %d octets of interface %d: %w", octets, number, Error)
	}
	i := &n.interfaces[number]
	n.newest = i.at(uint64(n.order.Uint32(b))<<32 | uint64(n.order.Uint32(b[4:])))
	return n.f(packet(i.link, n.newest, b[16:16+octets], n.order.Uint32(b[12:])))
}

// simple is a packet of the first interface, without a time: it has that of the one before.
func (n *ngReader) simple(body []byte) error {
	if len(body) < 4 || len(n.interfaces) == 0 {
		return fmt.Errorf("simple packet block of %d octets: %w", len(body), Error)
	}
	whole := n.order.Uint32(body)
	octets := min(whole, uint32(len(body)-4))
	return n.f(packet(n.interfaces[0].link, n.newest, body[4:4+octets], whole))
}
