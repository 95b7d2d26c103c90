package capture

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// udp takes a datagram as P7 if its header says its length and a message, as SCTP if it is
// that. The capture has b of it.
func (d *decoder) udp(f flow, b []byte, whole int) error {
	if inUDP(f, b, d) {
		return d.sctp(flow{f.portOf(b, 0), f.back().portOf(b, 2)}, b, whole)
	}
	if whole > len(b) {
		return d.cutOff(f, b, whole)
	}
	if p, h, body, ok := d.header(b); ok {
		return d.datagram(f, p, &h, body, b)
	}
	size := d.joined(b, len(b))
	if size == 0 {
		return nil
	}
	d.stats.Joined++
	for piece := range slices.Chunk(b, size) {
		p, h, body, _ := d.header(piece)
		if err := d.datagram(f, p, &h, body, piece); err != nil {
			return err
		}
	}
	return nil
}

// header is that of a datagram of P7.
func (d *decoder) header(b []byte) (p nfapi.Profile, h nfapi.Header, body []byte, ok bool) {
	for _, p := range d.candidates() {
		h, body, err := p.ParseP7(b)
		if err != nil || !h.MessageID.Known() && (h.MessageID < nfapi.MsgVendorFirst || h.MessageID > nfapi.MsgVendorLast) {
			continue
		}
		if d.Profile == nil && h.Generation == nfapi.Gen2024 {
			p = nfapi.OAI2024
		}
		return p, h, body, true
	}
	return 0, h, nil, false
}

// joined is how long each of several datagrams is that were captured before the kernel
// of the sender cut them; 0: they are none. All but the last have the same length, and the
// whole of them, of which b has captured octets and zeros behind them, has none left over.
//
// Source: udp(7), UDP_SEGMENT.
func (d *decoder) joined(b []byte, captured int) int {
	if captured < 8 {
		return 0
	}
	for _, size := range []int{int(binary.BigEndian.Uint32(b[4:])), int(binary.BigEndian.Uint16(b[4:]))} {
		if size < 8 || size >= len(b) {
			continue
		}
		all := true
		for at := 0; at+8 <= captured && all; at += size {
			_, _, _, all = d.header(b[at:min(at+size, len(b))])
		}
		if rest := len(b) % size; all && (rest == 0 || rest >= 8) {
			return size
		}
	}
	return 0
}

// maxDatagram is how many octets a UDP datagram may have.
const maxDatagram = 1<<16 - 1

// cutOff handles a truncated datagram with the beginning b: complete messages are decoded, and the
// others are reported by their headers.
func (d *decoder) cutOff(f flow, b []byte, whole int) error {
	if whole > maxDatagram {
		return nil
	}
	d.padded = append(d.padded[:0], b...)
	d.padded = append(d.padded, make([]byte, whole-len(b))...)
	size := whole
	if _, _, _, ok := d.header(d.padded); !ok || len(b) < 8 {
		if size = d.joined(d.padded, len(b)); size == 0 {
			return nil
		}
		d.stats.Joined++
	}
	for at := 0; at < whole; at += size {
		piece := d.padded[at:min(at+size, whole)]
		p, h, body, _ := d.header(piece)
		has := max(len(b)-at, 0)
		var err error
		switch {
		case has >= len(piece):
			err = d.datagram(f, p, &h, body, piece)
		case has < 8 || has < len(piece)-len(body):
			d.stats.Unseen++
		default:
			e := &Event{At: d.now, From: f.from, To: f.to, Plane: nfapi.P7, Profile: p, Header: h, Octets: len(body), Segments: 1}
			e.Err = fmt.Errorf("%d of %d octets: %w", has, len(piece), ErrCut)
			if !h.Whole() {
				d.stats.Segments++
				e.Err = fmt.Errorf("segment %d: %w", h.SegmentNumber(), e.Err)
			}
			d.stats.Incomplete++
			err = d.f(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) datagram(f flow, p nfapi.Profile, h *nfapi.Header, body, b []byte) error {
	e := &Event{At: d.now, From: f.from, To: f.to, Plane: nfapi.P7, Profile: p, Header: *h, Segments: 1}
	e.Checksum, e.Expected = p.Verify(h, b)
	return d.p7(e, body)
}
