package traffic

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"time"
)

// Blocks of pcapng that are read; all others are stepped over.
// Source: draft-ietf-opsawg-pcapng, 4.
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockSimple    = 3
	blockEnhanced  = 6

	sectionOrder     = 0x1a2b3c4d
	optionResolution = 9
	maxInterfaces    = 1024
	maxBlock         = 1 << 20 // octets of a block
)

// ngReader reads a pcapng file.
type ngReader struct {
	r          *bufio.Reader
	f          func(*captured) bool
	order      binary.ByteOrder
	interfaces []ngInterface // of the section
	buffer     []byte
}

type ngInterface struct {
	link uint32
	unit float64 // nanoseconds of a unit of its times
}

func (n *ngReader) read() error {
	n.order = binary.LittleEndian
	n.buffer = make([]byte, maxBlock)
	for {
		kind, body, err := n.block()
		if err != nil {
			return atEnd(err)
		}
		more := true
		switch kind {
		case blockSection:
			n.interfaces = nil
		case blockInterface:
			err = n.addInterface(body)
		case blockEnhanced:
			more, err = n.enhanced(body)
		case blockSimple:
			more, err = n.simple(body)
		}
		if err != nil || !more {
			return err
		}
	}
}

// block reads the next block: its type and what is between the lengths.
func (n *ngReader) block() (kind uint32, body []byte, err error) {
	head, err := n.r.Peek(12)
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
			return 0, nil, fmt.Errorf("byte order %x: %w", head[8:12], errCapture)
		}
	}
	kind, octets := n.order.Uint32(head), n.order.Uint32(head[4:])
	if octets < 12 || octets > maxBlock || octets%4 != 0 {
		return 0, nil, fmt.Errorf("block of %d octets: %w", octets, errCapture)
	}
	block := n.buffer[:octets]
	if _, err := io.ReadFull(n.r, block); err != nil {
		return 0, nil, err
	}
	return kind, block[8 : octets-4], nil
}

func (n *ngReader) addInterface(body []byte) error {
	if len(body) < 8 || len(n.interfaces) == maxInterfaces {
		return fmt.Errorf("interface %d of %d octets: %w", len(n.interfaces), len(body), errCapture)
	}
	n.interfaces = append(n.interfaces, ngInterface{link: uint32(n.order.Uint16(body)), unit: n.unit(body[8:])})
	return nil
}

// unit looks in options for the resolution of times; microseconds if there is none.
func (n *ngReader) unit(options []byte) float64 {
	for len(options) >= 4 {
		code, octets := n.order.Uint16(options), int(n.order.Uint16(options[2:]))
		value := options[4:]
		if octets > len(value) {
			break
		}
		if code == optionResolution && octets == 1 {
			if v := value[0]; v&0x80 != 0 {
				return 1e9 * math.Pow(2, -float64(v&0x7f))
			}
			return math.Pow10(9 - int(value[0]))
		}
		options = value[min((octets+3)&^3, len(value)):]
	}
	return 1000
}

func (n *ngReader) enhanced(body []byte) (more bool, err error) {
	if len(body) < 20 {
		return false, fmt.Errorf("packet block of %d octets: %w", len(body), errCapture)
	}
	number, octets := n.order.Uint32(body), n.order.Uint32(body[12:])
	if number >= uint32(len(n.interfaces)) || octets > uint32(len(body)-20) {
		return false, fmt.Errorf("packet of %d octets of interface %d: %w", octets, number, errCapture)
	}
	i := n.interfaces[number]
	ticks := uint64(n.order.Uint32(body[4:]))<<32 | uint64(n.order.Uint32(body[8:]))
	at := time.Duration(min(float64(ticks)*i.unit, math.MaxInt64/2))
	if exact := uint64(i.unit); exact > 0 && ticks < math.MaxInt64/2/exact {
		at = time.Duration(ticks * exact) // a float64 has no nanoseconds since 1970
	}
	return n.f(&captured{link: i.link, at: at, data: body[20 : 20+octets], whole: int(n.order.Uint32(body[16:]))}), nil
}

// simple is a packet of the first interface, without a time.
func (n *ngReader) simple(body []byte) (more bool, err error) {
	if len(body) < 4 || len(n.interfaces) == 0 {
		return false, fmt.Errorf("simple packet block of %d octets: %w", len(body), errCapture)
	}
	whole := n.order.Uint32(body)
	octets := min(whole, uint32(len(body)-4))
	return n.f(&captured{link: n.interfaces[0].link, data: body[4 : 4+octets], whole: int(whole)}), nil
}
