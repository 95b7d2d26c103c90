package bmv2

import (
	"encoding/json"
	"fmt"
)

// extract takes a header without a variable part from the frame.
func (c *ctx) extract(i int) int32 {
	h := &c.s.p.headers[i]
	b := c.data[c.pos:]
	if len(b) < h.fixed {
		return c.s.p.parser.tooShort
	}
	loadAll(h.loads[0], c.f, b)
	c.h[i] = hdrState{raw: int32(c.pos), valid: true}
	c.pos += h.fixed
	return ok
}

// extractVL extracts a header with a variable part of a computed number of bits.
func (c *ctx) extractVL(i int, bits uint64) int32 {
	h := &c.s.p.headers[i]
	p := &c.s.p.parser
	b := c.data[c.pos:]
	switch {
	case bits%8 != 0:
		return p.invalidArgument
	case bits/8 > uint64(len(b)) || len(b) < h.fixed+int(bits/8):
		return p.tooShort
	case h.fixed+int(bits/8) > h.maxLen:
		return p.headerTooShort
	}
	n := int(bits / 8)
	loadAll(h.loads[0], c.f, b)
	loadAll(h.loads[1], c.f, b[h.before+n:])
	c.h[i] = hdrState{raw: int32(c.pos), valid: true, vlPos: int32(c.pos + h.before), vlLen: int32(n)}
	c.pos += h.fixed + n
	return ok
}

// parserOp compiles an operation of a state.
func (l *loader) parserOp(j *jsonParserOp) (parserOp, error) {
	want := map[string]int{"extract": 1, "extract_VL": 2, "set": 2, "verify": 2, "shift": 1, "advance": 1, "primitive": 1}
	n, there := want[j.Op]
	if !there {
		return nil, ErrUnsupported
	}
	if len(j.Parameters) != n {
		return nil, fmt.Errorf("has %d parameters instead of %d", len(j.Parameters), n)
	}
	if j.Op == "shift" {
		var octets int
		if json.Unmarshal(j.Parameters[0], &octets) != nil || octets < 0 || octets > MaxFrame {
			return nil, fmt.Errorf("%.60s is not a number of octets", j.Parameters[0])
		}
		return func(c *ctx) int32 { return c.advance(8 * uint64(octets)) }, nil
	}
	if j.Op == "primitive" {
		var p jsonPrimitive
		if err := json.Unmarshal(j.Parameters[0], &p); err != nil {
			return nil, err
		}
		b, err := l.body([]jsonPrimitive{p})
		return func(c *ctx) int32 {
			b.run(c)
			return ok
		}, err
	}
	p := make([]jsonValue, n)
	for i := range p {
		if err := json.Unmarshal(j.Parameters[i], &p[i]); err != nil {
			return nil, err
		}
	}
	switch j.Op {
	case "extract", "extract_VL":
		return l.extractOp(p)
	case "verify":
		return l.verifyOp(p)
	case "advance":
		bits, err := l.indexParam(&p[0])
		return func(c *ctx) int32 { return c.advance(bits(c)) }, err
	}
	return l.setOp(p)
}

// advance skips bits, which have to be whole octets.
func (c *ctx) advance(bits uint64) int32 {
	switch {
	case bits%8 != 0:
		return c.s.p.parser.invalidArgument
	case bits/8 > uint64(len(c.data)-c.pos):
		return c.s.p.parser.tooShort
	}
	c.pos += int(bits / 8)
	return ok
}

func (l *loader) verifyOp(p []jsonValue) (parserOp, error) {
	n, err := l.value(&p[0], 0)
	if err != nil {
		return nil, err
	}
	cond, err := l.condition(n)
	if err != nil {
		return nil, err
	}
	e, err := l.data(&p[1])
	if err != nil {
		return nil, err
	}
	v, err := l.word(e, 31)
	fn := v.fn
	return func(c *ctx) int32 {
		if cond(c) {
			return ok
		}
		return int32(fn(c) & 0x7fffffff)
	}, err
}

func (l *loader) setOp(p []jsonValue) (parserOp, error) {
	if p[1].Type == "lookahead" {
		return l.setAhead(p)
	}
	if n, err := l.value(&p[0], 0); err == nil && n.op == "vl" {
		fn, err := l.assignVL(p)
		return func(c *ctx) int32 {
			fn(c)
			return ok
		}, err
	}
	set, err := l.assign(p)
	if err != nil {
		return nil, err
	}
	b := body{prims: []prim{set}}
	b.compile()
	return func(c *ctx) int32 {
		c.exec(b.code, b.start)
		return ok
	}, nil
}

func (l *loader) setAhead(p []jsonValue) (parserOp, error) {
	bit, width, err := lookahead(&p[1])
	if err != nil {
		return nil, err
	}
	t, err := l.target(&p[0])
	if err != nil {
		return nil, err
	}
	n := max(t.f.words, (width+63)/64)
	off, err := l.temp(n)
	if err != nil {
		return nil, err
	}
	words := (width + 63) / 64
	return func(c *ctx) int32 {
		if 8*(len(c.data)-c.pos) < bit+width {
			return c.s.p.parser.tooShort
		}
		d := c.w[off : off+n]
		clear(d[words:])
		ahead(c, bit, width, d[:words])
		if t.set != nil {
			t.set(c, d[0])
		} else {
			t.setWide(c, d[:t.f.words])
		}
		return ok
	}, nil
}

// extractOp compiles extract and, with a second parameter for the bits of the variable field,
// extract_VL.
func (l *loader) extractOp(p []jsonValue) (parserOp, error) {
	var name string
	if json.Unmarshal(p[0].Value, &name) != nil {
		return nil, fmt.Errorf("%.60s is not a name", p[0].Value)
	}
	var bits func(*ctx) uint64
	if len(p) == 2 {
		var err error
		if bits, err = l.indexParam(&p[1]); err != nil {
			return nil, err
		}
	}
	switch p[0].Type {
	case "regular":
		h, there := l.headerByName[name]
		if !there || l.p.headers[h].meta {
			return nil, fmt.Errorf("no header %q", name)
		}
		if err := l.checkVL(h, bits != nil); err != nil {
			return nil, err
		}
		if bits == nil {
			return func(c *ctx) int32 { return c.extract(h) }, nil
		}
		return func(c *ctx) int32 { return c.extractVL(h, bits(c)) }, nil
	case "stack":
		s, there := l.stackByName[name]
		if !there {
			return nil, fmt.Errorf("no header stack %q", name)
		}
		return l.extractNext(s, bits)
	}
	return nil, fmt.Errorf("%w: to %q", ErrUnsupported, p[0].Type)
}

func (l *loader) checkVL(h int, with bool) error {
	if with != (l.p.headers[h].vl >= 0) {
		return fmt.Errorf("header %q: whether it has a variable field does not fit", l.p.headers[h].name)
	}
	return nil
}

// extractNext takes the next element of a stack.
func (l *loader) extractNext(s int, bits func(*ctx) uint64) (parserOp, error) {
	hs := l.p.stacks[s].headers
	if err := l.checkVL(hs[0], bits != nil); err != nil {
		return nil, err
	}
	return func(c *ctx) int32 {
		next := int(c.next[s])
		if next >= len(hs) {
			return c.s.p.parser.outOfBounds
		}
		var err int32
		if bits == nil {
			err = c.extract(hs[next])
		} else {
			err = c.extractVL(hs[next], bits(c))
		}
		if err == ok {
			c.next[s]++
		}
		return err
	}, nil
}
