package traffic

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// captured is a packet of a capture file.
type captured struct {
	link  uint32 // link type: LINKTYPE_ of tcpdump.org/linktypes.html
	at    time.Duration
	data  []byte // what was captured of it
	whole int    // octets on the link
}

// maxCaptured bounds a packet in a file, in octets: the most that tcpdump and dumpcap keep of
// one.
const maxCaptured = 1 << 18

// errCapture says that a file is no capture, or damaged.
var errCapture = errors.New("not a capture file, or damaged")

// readCapture calls f with each packet of a pcap or pcapng file, until f returns false. The
// data is f's until it returns. A file that ends in the middle of a packet, as that of a
// capture which was interrupted, ends before. other is how many blocks of pcapng there were
// whose type is not known, so that they may have held packets.
//
// Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.
func readCapture(from io.Reader, f func(*captured) bool) (other int, err error) {
	r := bufio.NewReaderSize(from, 1<<16)
	magic, err := r.Peek(4)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errCapture, err)
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

func readPcap(r io.Reader, f func(*captured) bool) error {
	var head [24]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return fmt.Errorf("header: %w: %w", errCapture, err)
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
		return fmt.Errorf("magic number %#08x: %w", order.Uint32(head[:]), errCapture)
	}
	link := order.Uint32(head[20:]) & 0xffff // above: FCS length
	buffer := make([]byte, maxCaptured)
	for {
		var record [16]byte
		if _, err := io.ReadFull(r, record[:]); err != nil {
			return atEnd(err)
		}
		octets := order.Uint32(record[8:])
		if octets > maxCaptured {
			return fmt.Errorf("packet of %d octets: %w", octets, errCapture)
		}
		if _, err := io.ReadFull(r, buffer[:octets]); err != nil {
			return atEnd(err)
		}
		at := time.Duration(order.Uint32(record[:]))*time.Second + time.Duration(order.Uint32(record[4:]))*unit
		if !f(&captured{link: link, at: at, data: buffer[:octets], whole: int(order.Uint32(record[12:]))}) {
			return nil
		}
	}
}

// atEnd is nil if a file has ended, in the middle of something or not.
func atEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
