package capture

import (
	"encoding/binary"
	"slices"
	"time"

	"plumbline/nfapi"
)

// udp takes a datagram as P7 if its header says its length and a message.
func (d *decoder) udp(at time.Time, f flow, b []byte) error {
	if p, h, body, ok := d.header(b); ok {
		return d.datagram(at, f, p, &h, body, b)
	}
	size := d.joined(b)
	if size == 0 {
		return nil
	}
	d.stats.Joined++
	for piece := range slices.Chunk(b, size) {
		p, h, body, _ := d.header(piece)
		if err := d.datagram(at, f, p, &h, body, piece); err != nil {
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
// of the sender cut them; 0: they are none. All but the last have the same length.
//
// Source: udp(7), UDP_SEGMENT.
func (d *decoder) joined(b []byte) int {
	if len(b) < 8 {
		return 0
	}
	for _, size := range []int{int(binary.BigEndian.Uint32(b[4:])), int(binary.BigEndian.Uint16(b[4:]))} {
		if size < 8 || size >= len(b) {
			continue
		}
		all := true
		for piece := range slices.Chunk(b, size) {
			_, _, _, ok := d.header(piece)
			all = all && ok
		}
		if all {
			return size
		}
	}
	return 0
}

func (d *decoder) datagram(at time.Time, f flow, p nfapi.Profile, h *nfapi.Header, body, b []byte) error {
	e := &Event{At: at, From: f.from, To: f.to, Plane: nfapi.P7, Profile: p, Header: *h, Segments: 1}
	e.Checksum, e.Expected = p.Verify(h, b)
	return d.p7(e, body)
}
