// Package pcap reads capture files, pcap and pcapng, and finds the IP packet in a frame.
//
//	file ─ [Read] ─► [Packet]: link type, time, octets ─ [Packet.IP] ─► IP packet, or why there is none
//
// Times are nanoseconds since 1970. A packet is as long on the link as [Packet.Whole] says; a
// capture with a snap length has less of it.
//
// Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.
package pcap

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Packet is a packet of a capture file.
type Packet struct {
	Link  uint32        // link type: LINKTYPE_ of tcpdump.org/linktypes.html
	At    time.Duration // since 1970
	Data  []byte        // what was captured of it
	Whole int           // octets on the link, not less than in Data
}

// MaxOctets bounds a packet in a file, in octets: the most that tcpdump and dumpcap keep of one.
const MaxOctets = 1 << 18

// Error says that a file is no capture, or damaged.
var Error = errors.New("not a capture file, or damaged")

// Read calls f with each packet of a pcap or pcapng file, until f returns an error. The data is
// f's until it returns. other is how many blocks of pcapng there were whose type is not known,
// so that they may have held packets.
//
// Errors: that of f; [io.ErrUnexpectedEOF] if the file ends in the middle of a packet, as that
// of a capture does which was interrupted; [Error]; those of reading.
func Read(from io.Reader, f func(*Packet) error) (other int, err error) {
	r := bufio.NewReaderSize(from, 1<<16)
	magic, err := r.Peek(4)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", Error, err)
	}
	if binary.LittleEndian.Uint32(magic) == blockSection {
		n := &ngReader{r: r, f: f}
		err := n.read()
		return n.other, err
	}
	return 0, readPcap(r, f)
}

// Magic numbers of pcap files: times in microseconds and in nanoseconds.
const (
	pcapMicroseconds = 0xa1b2c3d4
	pcapNanoseconds  = 0xa1b23c4d
)

func readPcap(r io.Reader, f func(*Packet) error) error {
	var head [24]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return fmt.Errorf("header: %w: %w", Error, err)
	}
	order, unit := binary.ByteOrder(binary.LittleEndian), time.Microsecond
	if m := binary.BigEndian.Uint32(head[:]); m == pcapMicroseconds || m == pcapNanoseconds {
		order = binary.BigEndian
	}
	switch order.Uint32(head[:]) {
	case pcapMicroseconds:
	case pcapNanoseconds:
		unit = time.Nanosecond
	default:
		return fmt.Errorf("magic number %#08x: %w", order.Uint32(head[:]), Error)
	}
	link := order.Uint32(head[20:]) & 0xffff // above: FCS length
	buffer := make([]byte, MaxOctets)
	for {
		var record [16]byte
		if _, err := io.ReadFull(r, record[:]); err != nil {
			return atEnd(err)
		}
		octets := order.Uint32(record[8:])
		if octets > MaxOctets {
			return fmt.Errorf("packet of %d octets: %w", octets, Error)
		}
		if _, err := io.ReadFull(r, buffer[:octets]); err != nil {
			return inside(err)
		}
		at := time.Duration(order.Uint32(record[:]))*time.Second + time.Duration(order.Uint32(record[4:]))*unit
		if err := f(packet(link, at, buffer[:octets], order.Uint32(record[12:]))); err != nil {
			return err
		}
	}
}

// packet is one of the given length on the link.
func packet(link uint32, at time.Duration, data []byte, whole uint32) *Packet {
	return &Packet{Link: link, At: at, Data: data, Whole: max(int(whole), len(data))}
}

// atEnd is nil if a file has ended where it may.
func atEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// inside says that a file which has ended did so in the middle of something.
func inside(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
