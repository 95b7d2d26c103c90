package dci

import (
	"encoding/binary"
	"fmt"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// writer puts fields behind each other, the first one highest. The formats have at
// most 56 bits.
type writer struct {
	value uint64
	size  int
	bad   bool
}

func (w *writer) put(v, bits int) {
	w.bad = w.bad || v < 0 || v >= 1<<bits
	w.value = w.value<<bits | uint64(v)&(1<<bits-1)
	w.size += bits
}

func (w *writer) end(d *nfapi.DCI) error {
	if w.bad {
		return fmt.Errorf("dci: a field is too large for its bits: %w", ErrValue)
	}
	d.PayloadSizeBits = uint16(w.size)
	d.Payload, d.PayloadPadding = [nfapi.DCIPayloadLen]byte{}, 0
	binary.LittleEndian.PutUint64(d.Payload[:], w.value)
	return nil
}

type reader struct {
	value uint64
	left  int
	bad   bool
}

func (r *reader) get(bits int) int {
	r.left -= bits
	return int(r.value >> r.left & (1<<bits - 1))
}

// expect reads a field that has one value in this cell.
func (r *reader) expect(want, bits int) {
	r.bad = r.get(bits) != want || r.bad
}

func (r *reader) end(format string) error {
	if r.bad {
		return fmt.Errorf("dci: format %s, %#x: a field's value means nothing in this cell: %w", format, r.value, ErrValue)
	}
	return nil
}
