package bmv2

import (
	"fmt"
	"math/bits"
)

// wideFn computes a number into all of dst, in two's complement, the lowest word first. What does not fit falls off.
type wideFn func(c *ctx, dst []uint64)

// wide compiles data of any number of words.
func (l *loader) wide(n *node, words int) (wideFn, error) {
	if n.narrow() {
		v, err := l.word(n, 64)
		fn, signed := v.fn, !n.unsigned64()
		return func(c *ctx, dst []uint64) {
			dst[0] = fn(c)
			extend(dst, 1, signed)
		}, err
	}
	switch n.op {
	case "const":
		return l.wideConst(n, words), nil
	case "field":
		off, w, width, signed := n.f.off, n.f.words, n.f.width, n.f.signed
		return func(c *ctx, dst []uint64) {
			k := copy(dst, c.f[off:off+w])
			clear(dst[k:])
			if signed {
				signBit(dst, width)
			}
		}, nil
	case "local":
		off, w := n.local.word, (n.local.width+63)/64
		return func(c *ctx, dst []uint64) { clear(dst[copy(dst, c.loc[off:off+w]):]) }, nil
	case "elementfield", "last":
		return l.wideElement(n)
	case "?":
		return l.wideTernary(n, words)
	case "+", "-", "*", "&", "|", "^", "~":
		return l.wideRing(n, words)
	case "<<":
		a, err := l.wide(n.l, words)
		if err != nil {
			return nil, err
		}
		s, err := l.index(n.r)
		return func(c *ctx, dst []uint64) {
			a(c, dst)
			shiftLeft(dst, s(c))
		}, err
	case ">>", "usat_cast", "sat_cast":
		return l.wideExact(n)
	case "two_comp_mod":
		w := int(n.r.k.Int64())
		a, err := l.wide(n.l, words)
		return func(c *ctx, dst []uint64) {
			a(c, dst)
			signBit(dst, w)
		}, err
	}
	return nil, fmt.Errorf("%w: %q of more than 64 bits", ErrUnsupported, n.op)
}

func (l *loader) wideConst(n *node, count int) wideFn {
	k := words(n.k, count)
	return func(_ *ctx, dst []uint64) { copy(dst, k) }
}

// wideElement is a wide field of an element of a stack.
func (l *loader) wideElement(n *node) (wideFn, error) {
	if n.f.signed {
		return nil, fmt.Errorf("%w: signed field %q of more than 64 bits in a stack", ErrUnsupported, n.f.name)
	}
	offs, w, stk := l.elementOffs(n), n.f.words, n.stk
	index := func(c *ctx) uint64 { return uint64(int64(c.next[stk]) - 1) }
	if n.op == "elementfield" {
		var err error
		if index, err = l.index(n.l.r); err != nil {
			return nil, err
		}
	}
	return func(c *ctx, dst []uint64) {
		i, k := index(c), 0
		if i < uint64(len(offs)) {
			k = copy(dst, c.f[offs[i]:offs[i]+w])
		}
		clear(dst[k:])
	}, nil
}

func (l *loader) wideTernary(n *node, words int) (wideFn, error) {
	cond, err := l.boolean(n.cond)
	if err != nil {
		return nil, err
	}
	a, err := l.wide(n.l, words)
	if err != nil {
		return nil, err
	}
	b, err := l.wide(n.r, words)
	return func(c *ctx, dst []uint64) {
		if cond(c) {
			a(c, dst)
		} else {
			b(c, dst)
		}
	}, err
}

func (l *loader) wideRing(n *node, words int) (wideFn, error) {
	if n.op == "~" {
		r, err := l.wide(n.r, words)
		return func(c *ctx, dst []uint64) {
			r(c, dst)
			for i := range dst {
				dst[i] = ^dst[i]
			}
		}, err
	}
	a, err := l.wide(n.l, words)
	if err != nil {
		return nil, err
	}
	b, err := l.wideTemp(n.r, words)
	if err != nil {
		return nil, err
	}
	if n.op == "*" {
		off, err := l.temp(words)
		return func(c *ctx, dst []uint64) {
			a(c, dst)
			t := c.w[off : off+words]
			copy(t, dst)
			multiply(dst, t, b(c))
		}, err
	}
	ops := map[string]func(dst, b []uint64){"+": add, "-": subtract, "&": and, "|": or, "^": xor}
	op := ops[n.op]
	return func(c *ctx, dst []uint64) {
		a(c, dst)
		op(dst, b(c))
	}, nil
}

// wideExact compiles operators for which all bits of the operand matter.
func (l *loader) wideExact(n *node) (wideFn, error) {
	if !fits(n.l.lo, n.l.hi) {
		return nil, fmt.Errorf("%w: value of more than %d bits", ErrUnsupported, maxExprBits)
	}
	w := n.l.exactWords()
	if n.op != ">>" {
		w = max(w, n.exactWords())
	}
	a, err := l.wideTemp(n.l, w)
	if err != nil {
		return nil, err
	}
	if n.op == ">>" {
		s, err := l.index(n.r)
		return func(c *ctx, dst []uint64) {
			v := a(c)
			shiftRight(v, s(c))
			extend(dst, copy(dst, v), true)
		}, err
	}
	lo, hi := words(n.lo, w), words(n.hi, w)
	return func(c *ctx, dst []uint64) {
		v := a(c)
		if cmpSigned(v, lo) < 0 {
			v = lo
		} else if cmpSigned(v, hi) > 0 {
			v = hi
		}
		extend(dst, copy(dst, v), true)
	}, nil
}

// extend fills dst from word n on, with the sign of what is before or with zeros.
func extend(dst []uint64, n int, signed bool) {
	var fill uint64
	if signed && n > 0 && int64(dst[n-1]) < 0 {
		fill = ^uint64(0)
	}
	for i := n; i < len(dst); i++ {
		dst[i] = fill
	}
}

// signBit takes the lowest width bits as a signed number.
func signBit(dst []uint64, width int) {
	i, s := (width-1)/64, uint(63-(width-1)%64)
	if i >= len(dst) {
		return
	}
	dst[i] = uint64(int64(dst[i]<<s) >> s)
	extend(dst, i+1, true)
}

func add(dst, b []uint64) {
	var carry uint64
	for i := range dst {
		dst[i], carry = bits.Add64(dst[i], b[i], carry)
	}
}

func subtract(dst, b []uint64) {
	var borrow uint64
	for i := range dst {
		dst[i], borrow = bits.Sub64(dst[i], b[i], borrow)
	}
}

func and(dst, b []uint64) {
	for i := range dst {
		dst[i] &= b[i]
	}
}

func or(dst, b []uint64) {
	for i := range dst {
		dst[i] |= b[i]
	}
}

func xor(dst, b []uint64) {
	for i := range dst {
		dst[i] ^= b[i]
	}
}

// multiply sets dst to the lowest words of a times b.
func multiply(dst, a, b []uint64) {
	clear(dst)
	for i := range a {
		var carry uint64
		for j := 0; i+j < len(dst); j++ {
			hi, lo := bits.Mul64(a[i], b[j])
			var k uint64
			lo, k = bits.Add64(lo, carry, 0)
			hi += k
			dst[i+j], k = bits.Add64(dst[i+j], lo, 0)
			carry = hi + k
		}
	}
}

func shiftLeft(v []uint64, by uint64) {
	if by >= uint64(64*len(v)) {
		clear(v)
		return
	}
	w, s := int(by/64), uint(by%64)
	for i := len(v) - 1; i >= 0; i-- {
		var x uint64
		if i >= w {
			x = v[i-w] << s
			if s > 0 && i > w {
				x |= v[i-w-1] >> (64 - s)
			}
		}
		v[i] = x
	}
}

// shiftRight shifts with the sign.
func shiftRight(v []uint64, by uint64) {
	var fill uint64
	if int64(v[len(v)-1]) < 0 {
		fill = ^uint64(0)
	}
	at := func(i uint64) uint64 {
		if i < uint64(len(v)) {
			return v[i]
		}
		return fill
	}
	by = min(by, uint64(64*len(v)))
	w, s := by/64, uint(by%64)
	for i := range v {
		x := at(uint64(i)+w) >> s
		if s > 0 {
			x |= at(uint64(i)+w+1) << (64 - s)
		}
		v[i] = x
	}
}

// cmpSigned compares two numbers of as many words.
func cmpSigned(a, b []uint64) int {
	top := len(a) - 1
	if x, y := int64(a[top]), int64(b[top]); x != y {
		if x < y {
			return -1
		}
		return 1
	}
	for i := top - 1; i >= 0; i-- {
		if a[i] != b[i] {
			return cmpWord(a[i], b[i])
		}
	}
	return 0
}
