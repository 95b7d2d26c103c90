package bmv2

import (
	"encoding/binary"
	"math/big"
	"math/bits"
)

// bitOp moves up to 64 bits between one word of ctx.f and the octets of a header. Octets are read and written as one
// big-endian number of size octets at offset at, with the bits shifted left by shift:
//
//	at          at+size
//	├───────────────┤
//	│   ▒▒▒▒▒▒      │  mask<<shift
//
// size is 0 for fields that span nine octets or exceed a short header; then bit and width apply.
type bitOp struct {
	word  int32
	at    int32
	size  uint8
	shift uint8
	mask  uint64
	bit   int32
	width int32
}

// bitOps creates the moves of one field that starts at bit, within a run of octets.
func bitOps(ops []bitOp, f *field, bit, octets int) []bitOp {
	for i := 0; i < f.words; i++ {
		end := bit + f.width - 64*i // beyond the piece's last bit
		w := min(64, f.width-64*i)
		begin := end - w
		op := bitOp{word: int32(f.off + i), bit: int32(begin), width: int32(w), mask: mask64(w)}
		first, n := begin/8, (end-1)/8-begin/8+1
		for size := 1; size <= 8; size *= 2 {
			if size < n || size > octets {
				continue
			}
			at := min(first, octets-size)
			op.at, op.size, op.shift = int32(at), uint8(size), uint8((at+size)*8-end)
			break
		}
		ops = append(ops, op)
	}
	return ops
}

// loadAll reads fields out of a header; b has at least the octets of its run.
func loadAll(ops []bitOp, f []uint64, b []byte) {
	for i := range ops {
		op := &ops[i]
		var v uint64
		at := int(op.at)
		switch op.size {
		case 1:
			v = uint64(b[at])
		case 2:
			v = uint64(binary.BigEndian.Uint16(b[at:]))
		case 4:
			v = uint64(binary.BigEndian.Uint32(b[at:]))
		case 8:
			v = binary.BigEndian.Uint64(b[at:])
		default:
			f[op.word] = loadBits(b, int(op.bit), int(op.width))
			continue
		}
		f[op.word] = v >> (op.shift & 63) & op.mask
	}
}

// storeAll writes fields into a header.
func storeAll(ops []bitOp, f []uint64, b []byte) {
	for i := range ops {
		op := &ops[i]
		v := f[op.word] & op.mask << (op.shift & 63)
		m := op.mask << (op.shift & 63)
		at := int(op.at)
		switch op.size {
		case 1:
			b[at] = b[at]&^byte(m) | byte(v)
		case 2:
			binary.BigEndian.PutUint16(b[at:], binary.BigEndian.Uint16(b[at:])&^uint16(m)|uint16(v))
		case 4:
			binary.BigEndian.PutUint32(b[at:], binary.BigEndian.Uint32(b[at:])&^uint32(m)|uint32(v))
		case 8:
			binary.BigEndian.PutUint64(b[at:], binary.BigEndian.Uint64(b[at:])&^m|v)
		default:
			storeBits(b, int(op.bit), int(op.width), f[op.word])
		}
	}
}

// loadBits reads up to 64 bits.
func loadBits(b []byte, bit, width int) uint64 {
	var v uint64
	for width > 0 {
		in := bit % 8
		n := min(8-in, width)
		v = v<<uint(n) | uint64(b[bit/8]>>uint(8-in-n))&mask64(n)
		bit += n
		width -= n
	}
	return v
}

// storeBits writes up to 64 bits.
func storeBits(b []byte, bit, width int, v uint64) {
	for width > 0 {
		in := bit % 8
		n := min(8-in, width)
		m := byte(mask64(n)) << uint(8-in-n)
		b[bit/8] = b[bit/8]&^m | byte(v>>uint(width-n))<<uint(8-in-n)&m
		bit += n
		width -= n
	}
}

// octetsWords gives the value of an octet string in network byte order, as n words, or false if it has more than width
// bits.
func octetsWords(b []byte, width int, out []uint64) bool {
	clear(out)
	for len(b) > 0 && b[0] == 0 {
		b = b[1:]
	}
	if len(b) > 0 && (len(b)-1)*8+bits.Len8(b[0]) > width {
		return false
	}
	if len(out) == 1 {
		for _, o := range b {
			out[0] = out[0]<<8 | uint64(o)
		}
		return true
	}
	for i := range b {
		j := len(b) - 1 - i
		out[i/8] |= uint64(b[j]) << uint(i%8*8)
	}
	return true
}

// wordsOctets gives the canonical octet string of a value.
func wordsOctets(w []uint64) []byte {
	v := new(big.Int)
	for i := len(w) - 1; i >= 0; i-- {
		v.Or(v.Lsh(v, 64), new(big.Int).SetUint64(w[i]))
	}
	b := v.Bytes()
	if len(b) == 0 {
		return []byte{0}
	}
	return b
}

// appendField appends a value in whole octets.
func appendField(b []byte, w []uint64, width int) []byte {
	for i := (width + 7) / 8; i > 0; i-- {
		b = append(b, byte(w[(i-1)/8]>>uint((i-1)%8*8)))
	}
	return b
}

// moves are the moves of those fields of a header that keep tells: before its variable part, and behind it.
func (h *header) moves(keep func(*field) bool) (out [2][]bitOp) {
	for i := range h.fields {
		f := &h.fields[i]
		if f.vl || !keep(f) {
			continue
		}
		if h.vl >= 0 && i > h.vl {
			out[1] = bitOps(out[1], f, f.bit-8*h.before, h.fixed-h.before)
		} else {
			out[0] = bitOps(out[0], f, f.bit, h.before)
		}
	}
	return out
}
