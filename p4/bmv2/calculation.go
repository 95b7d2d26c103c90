package bmv2

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/bits"
)

// calcItem is a part of what a calculation is about: a field, a constant, or a whole header.
type calcItem struct {
	header int // it is left out if this is not valid; -1 for a constant
	f      *field
	k      []uint64
	width  int
}

// calculation is a checksum or hash of fields, one after the other without padding, and maybe of what was not parsed.
type calculation struct {
	algo    string
	items   []calcItem
	payload bool
	hash    func([]byte) uint64
}

// checksum is a calculation with a target field.
type checksum struct {
	calc *calculation
	f    *field
	cond func(*ctx) bool // nil: always
}

var hashes = map[string]func([]byte) uint64{
	"crc16": crc16, "crc16_custom": crc16,
	"crc32": crc32IEEE, "crc32_custom": crc32IEEE,
	"identity": identity, "xor16": xor16,
	"csum16": nil, "cksum16": nil, // output has these
}

func (l *loader) loadCalculations() error {
	if _, _, err := names("calculation", l.j.Calculations, func(c *jsonCalculation) jsonNamed { return c.jsonNamed }); err != nil {
		return err
	}
	l.calcByName = map[string]*calculation{}
	for i := range l.j.Calculations {
		j := &l.j.Calculations[i]
		hash, ok := hashes[j.Algo]
		if !ok {
			return fmt.Errorf("calculation %q: %w: hash algorithm %q", j.Name, ErrUnsupported, j.Algo)
		}
		c := &calculation{algo: j.Algo, hash: hash}
		for k := range j.Input {
			if c.payload {
				return fmt.Errorf("calculation %q: the payload is not last", j.Name)
			}
			if err := l.calcItem(c, &j.Input[k]); err != nil {
				return fmt.Errorf("calculation %q: %w", j.Name, err)
			}
		}
		l.calcByName[j.Name] = c
	}
	return nil
}

func (l *loader) calcItem(c *calculation, v *jsonValue) error {
	switch v.Type {
	case "payload":
		c.payload = true
		return nil
	case "hexstr":
		n, err := l.value(v, 0)
		if err != nil {
			return err
		}
		if v.Bitwidth < 1 || v.Bitwidth > maxFieldWidth {
			return fmt.Errorf("constant of %d bits", v.Bitwidth)
		}
		k := words(n.k, (v.Bitwidth+63)/64)
		k[len(k)-1] &= mask64(v.Bitwidth - 64*(len(k)-1))
		c.items = append(c.items, calcItem{header: -1, k: k, width: v.Bitwidth})
		return nil
	case "header":
		n, err := l.value(v, 0)
		if err != nil {
			return err
		}
		h := &l.p.headers[n.hdr]
		for i := range h.fields {
			h.fields[i].used = true
			c.items = append(c.items, calcItem{header: n.hdr, f: &h.fields[i], width: h.fields[i].width})
		}
		return nil
	case "field":
		var pair []string
		if json.Unmarshal(v.Value, &pair) != nil || len(pair) != 2 {
			return fmt.Errorf("field %.60s is not a header and a name", v.Value)
		}
		f, err := l.field(pair[0], pair[1])
		if err != nil {
			return err
		}
		f.used = true
		c.items = append(c.items, calcItem{header: f.header, f: f, width: f.width})
		return nil
	}
	return fmt.Errorf("%w: input of type %q", ErrUnsupported, v.Type)
}

func (l *loader) loadChecksums() error {
	for i := range l.j.Checksums {
		j := &l.j.Checksums[i]
		if err := l.checksum(j); err != nil {
			return fmt.Errorf("checksum %q: %w", j.Name, err)
		}
	}
	return nil
}

func (l *loader) checksum(j *jsonChecksum) error {
	if j.Type != "generic" {
		return fmt.Errorf("%w: type %q", ErrUnsupported, j.Type)
	}
	calc, ok := l.calcByName[j.Calculation]
	if !ok {
		return fmt.Errorf("no calculation %q", j.Calculation)
	}
	if len(j.Target) != 2 {
		return fmt.Errorf("target %q is not a header and a name", j.Target)
	}
	f, err := l.field(j.Target[0], j.Target[1])
	if err != nil {
		return err
	}
	if f.words != 1 {
		return fmt.Errorf("%w: target of more than 64 bits", ErrUnsupported)
	}
	f.used = true
	sum := checksum{calc: calc, f: f}
	if j.IfCond != nil && j.IfCond.Type != "" {
		n, err := l.value(j.IfCond, 0)
		if err != nil {
			return err
		}
		if sum.cond, err = l.condition(n); err != nil {
			return err
		}
	}
	if j.Verify == nil || *j.Verify {
		l.p.verify = append(l.p.verify, sum)
	}
	if j.Update == nil || *j.Update {
		f.written = true
		l.p.update = append(l.p.update, sum)
	}
	return nil
}

// verifyAll tells whether all checksums are right; those of headers that are not valid are.
func (c *ctx) verifyAll() {
	for i := range c.s.p.verify {
		s := &c.s.p.verify[i]
		if !c.h[s.f.header].valid && !c.s.p.headers[s.f.header].meta || s.cond != nil && !s.cond(c) {
			continue
		}
		if s.calc.output(c) != c.f[s.f.off] {
			c.csumErr = true
		}
	}
}

// updateAll sets the checksums.
func (c *ctx) updateAll() {
	for i := range c.s.p.update {
		s := &c.s.p.update[i]
		if s.cond != nil && !s.cond(c) {
			continue
		}
		c.f[s.f.off] = s.calc.output(c) & mask64(s.f.width)
		c.h[s.f.header].dirty = true
	}
}

// output computes the calculation for a packet.
func (k *calculation) output(c *ctx) uint64 {
	if k.hash == nil {
		return k.csum16(c)
	}
	c.buf = c.buf[:0]
	bit := 0
	for i := range k.items {
		it := &k.items[i]
		if it.header >= 0 && !c.h[it.header].valid && !c.s.p.headers[it.header].meta {
			continue
		}
		v := it.k
		if it.f != nil {
			if it.f.vl {
				st := &c.h[it.header]
				c.buf = append(c.buf[:(bit+7)/8], c.data[st.vlPos:st.vlPos+st.vlLen]...)
				bit = 8 * len(c.buf)
				continue
			}
			v = c.f[it.f.off : it.f.off+it.f.words]
		}
		for len(c.buf)*8 < bit+it.width {
			c.buf = append(c.buf, 0)
		}
		for w := len(v) - 1; w >= 0; w-- {
			n := min(64, it.width-64*w)
			storeBits(c.buf, bit, n, v[w])
			bit += n
		}
	}
	if k.payload {
		c.buf = append(c.buf, c.data[c.pos:]...)
	}
	return k.hash(c.buf)
}

// csum16 is the Internet checksum. It adds the values themselves: modulo 2^16 - 1 a shift is a
// rotation, so a value contributes correctly at any word boundary.
func (k *calculation) csum16(c *ctx) uint64 {
	var sum uint64
	end := 0 // bits so far
	for i := range k.items {
		it := &k.items[i]
		if it.header >= 0 && !c.h[it.header].valid && !c.s.p.headers[it.header].meta {
			continue
		}
		switch {
		case it.f == nil:
			end += it.width
			for w := range it.k {
				sum = addOnes(sum, bits.RotateLeft64(it.k[w], -end&15))
			}
		case it.f.vl:
			st := &c.h[it.header]
			sum, end = sumOctets(sum, end, c.data[st.vlPos:st.vlPos+st.vlLen])
		default:
			end += it.width
			for w := it.f.off; w < it.f.off+it.f.words; w++ {
				sum = addOnes(sum, bits.RotateLeft64(c.f[w], -end&15))
			}
		}
	}
	if k.payload {
		sum, _ = sumOctets(sum, (end+7)&^7, c.data[c.pos:])
	}
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	return ^sum & 0xffff
}

// addOnes adds with the carry coming round.
func addOnes(a, b uint64) uint64 {
	s, carry := bits.Add64(a, b, 0)
	return s + carry
}

// sumOctets adds octets that begin at a bit, which is the first of an octet.
func sumOctets(sum uint64, bit int, b []byte) (uint64, int) {
	end := bit + 8*len(b)
	for ; len(b) >= 8; b = b[8:] {
		sum = addOnes(sum, bits.RotateLeft64(binary.BigEndian.Uint64(b), -bit&15))
	}
	at := bit & 15
	for _, o := range b {
		at += 8
		sum = addOnes(sum, bits.RotateLeft64(uint64(o), -at&15))
	}
	return sum, end
}

func crc32IEEE(b []byte) uint64 { return uint64(crc32.ChecksumIEEE(b)) }

// crc16Table is that of CRC-16/ARC: x^16 + x^15 + x^2 + 1, reflected.
var crc16Table = func() (t [256]uint16) {
	for i := range t {
		r := uint16(i)
		for range 8 {
			r = r>>1 ^ 0xa001*(r&1)
		}
		t[i] = r
	}
	return t
}()

func crc16(b []byte) uint64 {
	var r uint16
	for _, o := range b {
		r = r>>8 ^ crc16Table[byte(r)^o]
	}
	return uint64(r)
}

// identity is the first eight octets as a number.
func identity(b []byte) uint64 {
	var v uint64
	for _, o := range b[:min(8, len(b))] {
		v = v<<8 | uint64(o)
	}
	return v
}

func xor16(b []byte) uint64 {
	var v uint16
	for i, o := range b {
		v ^= uint16(o) << uint(8-8*(i&1))
	}
	return uint64(v)
}
