package bmv2

import (
	"fmt"
	"math/big"
)

// num is compiled data of one word. If it is a constant or a field of exactly one word, it is stored next to the function.
type num struct {
	fn      func(*ctx) uint64
	isConst bool
	k       uint64
	isField bool
	off     int
	do      *instr // what assigns it, to word 0 without a mask; nil: nothing but opNum
}

func constNum(k uint64) num {
	return num{fn: func(*ctx) uint64 { return k }, isConst: true, k: k, do: &instr{op: opConst, k: k}}
}

func fieldNum(off int) num {
	return num{fn: func(c *ctx) uint64 { return c.f[off] }, isField: true, off: off,
		do: &instr{op: opSum, b: int32(off), m: ^uint64(0)}}
}

// word compiles data of which only the bits lowest bits matter, at most 64. With 64 the result is exact if the value is
// within the numbers of a word, signed or not.
func (l *loader) word(n *node, bits int) (num, error) {
	switch n.op {
	case "const":
		return constNum(words(n.k, 1)[0]), nil
	case "field":
		return fieldWord(n.f.off, n.f.width, n.f.signed && bits > n.f.width), nil
	case "local":
		return localWord(n.local), nil
	case "validbit":
		h := n.hdr
		return num{fn: func(c *ctx) uint64 { return b2d(c.h[h].valid) }}, nil
	case "last", "elementfield", "last_stack_index", "size_stack":
		return l.stackWord(n)
	case "b2d":
		b, err := l.boolean(n.r)
		return num{fn: func(c *ctx) uint64 { return b2d(b(c)) }}, err
	case "?":
		return l.ternaryWord(n, bits)
	case "+", "-", "*", "&", "|", "^", "~":
		return l.ringWord(n, bits)
	case "<<":
		return l.shiftLeftWord(n, bits)
	case ">>":
		return l.shiftRightWord(n, bits)
	case "/", "%":
		return l.divideWord(n)
	case "two_comp_mod":
		return l.signWord(n, bits)
	case "usat_cast", "sat_cast":
		return l.saturateWord(n)
	}
	return num{}, fmt.Errorf("%w: %q as a number", ErrUnsupported, n.op)
}

func b2d(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// fieldWord is the lowest word of a field, with its sign if that matters.
func fieldWord(off, width int, signed bool) num {
	if signed && width < 64 {
		s := uint(64 - width)
		return num{fn: func(c *ctx) uint64 { return uint64(int64(c.f[off]<<s) >> s) }}
	}
	return fieldNum(off)
}

func localWord(p paramRef) num {
	w, s, m := p.word, uint(p.shift), mask64(p.width)
	do := &instr{op: opLocal, b: int32(w), shift: uint8(s), m: m}
	if s == 0 && m == ^uint64(0) {
		return num{fn: func(c *ctx) uint64 { return c.loc[w] }, do: do}
	}
	return num{fn: func(c *ctx) uint64 { return c.loc[w] >> s & m }, do: do}
}

// stackWord is a field of the last element or of one with an index, or a number of elements.
func (l *loader) stackWord(n *node) (num, error) {
	i := n.stk
	s := l.p.stacks[i].headers
	switch n.op {
	case "last_stack_index":
		return num{fn: func(c *ctx) uint64 { return uint64(int64(c.next[i]) - 1) }}, nil
	case "size_stack":
		return num{fn: func(c *ctx) uint64 { return uint64(c.next[i]) }}, nil
	}
	offs := l.elementOffs(n)
	ext := uint(0)
	if n.f.signed && n.f.width < 64 {
		ext = uint(64 - n.f.width)
	}
	if n.op == "last" {
		return num{fn: func(c *ctx) uint64 {
			if c.next[i] < 1 || int(c.next[i]) > len(s) {
				return 0
			}
			return uint64(int64(c.f[offs[c.next[i]-1]]<<ext) >> ext)
		}}, unsignedOnly(n, ext)
	}
	index, err := l.index(n.l.r)
	if err != nil {
		return num{}, err
	}
	return num{fn: func(c *ctx) uint64 {
		at := index(c)
		if at >= uint64(len(s)) {
			return 0
		}
		v := c.f[offs[at]]
		if ext > 0 {
			return uint64(int64(v<<ext) >> ext)
		}
		return v
	}}, nil
}

func unsignedOnly(n *node, ext uint) error {
	if ext > 0 {
		return fmt.Errorf("%w: signed field %q of the last element of a stack", ErrUnsupported, n.f.name)
	}
	return nil
}

// elementOffs are the word offsets of a field in each element of a stack.
func (l *loader) elementOffs(n *node) []int {
	var offs []int
	for _, h := range l.p.stacks[n.stk].headers {
		offs = append(offs, l.p.headers[h].fields[n.rel].off)
	}
	return offs
}

// index compiles what counts or shifts: a number that may be too great, which then is the greatest of a word.
func (l *loader) index(n *node) (func(*ctx) uint64, error) {
	if n.narrow() {
		v, err := l.word(n, 64)
		if err != nil || n.lo.Sign() >= 0 {
			return v.fn, err
		}
		// What is negative is as a great number beyond any bound.
		return v.fn, nil
	}
	w := n.exactWords()
	fn, err := l.wideTemp(n, w)
	if err != nil {
		return nil, err
	}
	return func(c *ctx) uint64 {
		v := fn(c)
		for _, x := range v[1:] {
			if x != 0 {
				return ^uint64(0)
			}
		}
		return v[0]
	}, nil
}

func (l *loader) ternaryWord(n *node, bits int) (num, error) {
	cond, err := l.boolean(n.cond)
	if err != nil {
		return num{}, err
	}
	a, err := l.word(n.l, bits)
	if err != nil {
		return num{}, err
	}
	b, err := l.word(n.r, bits)
	af, bf := a.fn, b.fn
	return num{fn: func(c *ctx) uint64 {
		if cond(c) {
			return af(c)
		}
		return bf(c)
	}}, err
}

// ringWord compiles operators with lowest bits that depend only on the lowest bits of the operands.
func (l *loader) ringWord(n *node, bits int) (num, error) {
	if n.op == "&" {
		if v, done, err := l.maskWord(n, bits); done || err != nil {
			return v, err
		}
	}
	b, err := l.word(n.r, bits)
	if err != nil {
		return num{}, err
	}
	bf := b.fn
	if n.op == "~" {
		return num{fn: func(c *ctx) uint64 { return ^bf(c) }}, nil
	}
	a, err := l.word(n.l, bits)
	if err != nil {
		return num{}, err
	}
	af := a.fn
	if b.isConst {
		v := ringConst(n.op, a, b.k)
		v.do = a.ring(n.op, b.k)
		return v, nil
	}
	switch n.op {
	case "+":
		return num{fn: func(c *ctx) uint64 { return af(c) + bf(c) }}, nil
	case "-":
		return num{fn: func(c *ctx) uint64 { return af(c) - bf(c) }}, nil
	case "*":
		return num{fn: func(c *ctx) uint64 { return af(c) * bf(c) }}, nil
	case "&":
		return num{fn: func(c *ctx) uint64 { return af(c) & bf(c) }}, nil
	case "|":
		return num{fn: func(c *ctx) uint64 { return af(c) | bf(c) }}, nil
	}
	return num{fn: func(c *ctx) uint64 { return af(c) ^ bf(c) }}, nil
}

// ring is what assigns the result of an operator and a constant; nil: nothing but opNum.
func (v *num) ring(op string, k uint64) *instr {
	if v.do == nil || v.isConst {
		return nil
	}
	do := *v.do
	switch sum := do.op == opSum && do.m == ^uint64(0); {
	case op == "&":
		do.m &= k
	case op == "+" && sum:
		do.k += k
	case op == "-" && sum:
		do.k -= k
	default:
		return nil
	}
	return &do
}

// isWord reports whether what is assigned is a word under a mask.
func (in *instr) isWord() bool { return in.op == opSum && in.k == 0 }

func ringConst(op string, a num, k uint64) num {
	af := a.fn
	switch op {
	case "+":
		if a.isField {
			off := a.off
			return num{fn: func(c *ctx) uint64 { return c.f[off] + k }}
		}
		return num{fn: func(c *ctx) uint64 { return af(c) + k }}
	case "-":
		return num{fn: func(c *ctx) uint64 { return af(c) - k }}
	case "*":
		return num{fn: func(c *ctx) uint64 { return af(c) * k }}
	case "&":
		return num{fn: func(c *ctx) uint64 { return af(c) & k }}
	case "|":
		return num{fn: func(c *ctx) uint64 { return af(c) | k }}
	}
	return num{fn: func(c *ctx) uint64 { return af(c) ^ k }}
}

// maskWord leaves out a mask that changes nothing: the compiler writes one around all arithmetic.
func (l *loader) maskWord(n *node, bits int) (num, bool, error) {
	a, k := n.l, n.r
	if a.op == "const" {
		a, k = k, a
	}
	if k.op != "const" || k.k.Sign() < 0 {
		return num{}, false, nil
	}
	low := words(k.k, 1)[0] & mask64(bits)
	if new(big.Int).Add(k.k, bigOne).BitLen() == k.k.BitLen()+1 && a.within(k.k.BitLen()) || low == mask64(bits) {
		v, err := l.word(a, bits)
		return v, true, err
	}
	v, err := l.word(a, min(bits, k.k.BitLen()))
	if err != nil {
		return num{}, false, err
	}
	out := ringConst("&", v, low)
	out.do = v.ring("&", low)
	return out, true, nil
}
