package n4

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// Where the parts of a record are; the payload is behind them.
const (
	offTime     = unsafe.Offsetof(tapN4Head{}.TimeNs)
	offSrc      = unsafe.Offsetof(tapN4Head{}.Src)
	offDst      = unsafe.Offsetof(tapN4Head{}.Dst)
	offSrcPort  = unsafe.Offsetof(tapN4Head{}.SrcPort)
	offDstPort  = unsafe.Offsetof(tapN4Head{}.DstPort)
	offOctets   = unsafe.Offsetof(tapN4Head{}.Octets)
	offSegment  = unsafe.Offsetof(tapN4Head{}.Segment)
	offTap      = unsafe.Offsetof(tapN4Head{}.Tap)
	offFragment = unsafe.Offsetof(tapN4Head{}.Fragment)

	lenHead = unsafe.Sizeof(tapN4Head{})
)

// tap is a point as its records see it.
type tap struct {
	Point
	n4    []endpointAddr // of the UPF; empty: any
	count PointCount
}

// parseRecord reads a record of the ring: a datagram, or a super-packet of many, which
// share b's memory. ok is false for a record in an unknown format.
func parseRecord(b []byte) (number int, d datagram, segment int, ok bool) {
	if uintptr(len(b)) < lenHead {
		return 0, d, 0, false
	}
	native := binary.NativeEndian
	octets := native.Uint32(b[offOctets:])
	if uint64(octets) > uint64(len(b))-uint64(lenHead) {
		return 0, d, 0, false
	}
	d = datagram{
		ns:       native.Uint64(b[offTime:]),
		from:     endpoint{endpointAddr(b[offSrc:]), native.Uint16(b[offSrcPort:])},
		to:       endpoint{endpointAddr(b[offDst:]), native.Uint16(b[offDstPort:])},
		payload:  b[lenHead:][:octets:octets],
		fragment: native.Uint16(b[offFragment:]) != 0,
	}
	segment = int(native.Uint32(b[offSegment:]))
	if segment == 0 || d.fragment {
		segment = int(octets)
	}
	return int(native.Uint16(b[offTap:])), d, segment, true
}

// takeRecord takes in the datagrams of a record.
func (p *pairing) takeRecord(taps []*tap, b []byte) {
	number, d, segment, ok := parseRecord(b)
	if !ok || number >= len(taps) {
		return
	}
	d.tap = taps[number]
	if d.tap.foreign(&d) {
		d.tap.count.Foreign++
		return
	}
	for payload := range slices.Chunk(d.payload, max(segment, 1)) {
		d.payload = payload
		p.take(&d)
	}
}

// foreign reports whether a datagram is of other addresses than the UPF's.
func (t *tap) foreign(d *datagram) bool {
	return len(t.n4) > 0 && !slices.Contains(t.n4, d.from.addr) && !slices.Contains(t.n4, d.to.addr)
}
