package bmv2

import "fmt"

func (l *loader) shiftLeftWord(n *node, bits int) (num, error) {
	if n.r.op == "const" {
		if n.r.k.BitLen() > 6 {
			return constNum(0), nil
		}
		s := uint(n.r.k.Uint64())
		a, err := l.word(n.l, max(0, bits-int(s)))
		af := a.fn
		return num{fn: func(c *ctx) uint64 { return af(c) << s }}, err
	}
	a, err := l.word(n.l, bits)
	if err != nil {
		return num{}, err
	}
	s, err := l.index(n.r)
	af := a.fn
	return num{fn: func(c *ctx) uint64 { return af(c) << s(c) }}, err
}

func (l *loader) shiftRightWord(n *node, bits int) (num, error) {
	if n.r.op == "const" && n.r.k.BitLen() <= 16 {
		s := int(n.r.k.Int64())
		if n.l.op == "field" && !n.l.f.signed && n.l.f.words > 1 {
			return slice(n.l.f.off, n.l.f.words, s), nil
		}
		if s+bits <= 64 {
			a, err := l.word(n.l, s+bits)
			af := a.fn
			return num{fn: func(c *ctx) uint64 { return af(c) >> uint(s) }}, err
		}
	}
	s, err := l.index(n.r)
	if err != nil {
		return num{}, err
	}
	if n.l.narrow() {
		a, err := l.word(n.l, 64)
		af := a.fn
		if n.l.unsigned64() {
			return num{fn: func(c *ctx) uint64 { return af(c) >> s(c) }}, err
		}
		return num{fn: func(c *ctx) uint64 { return uint64(int64(af(c)) >> s(c)) }}, err
	}
	return l.lowWord(n)
}

// slice is a word of a field of several words, from a bit on.
func slice(off, n, bit int) num {
	w, s := bit/64, uint(bit%64)
	switch {
	case w >= n:
		return constNum(0)
	case s == 0:
		return fieldNum(off + w)
	case w == n-1:
		return num{fn: func(c *ctx) uint64 { return c.f[off+w] >> s }}
	}
	return num{fn: func(c *ctx) uint64 { return c.f[off+w]>>s | c.f[off+w+1]<<(64-s) }}
}

// divideWord divides what is neither negative nor longer than a word. What is divided by zero is zero.
func (l *loader) divideWord(n *node) (num, error) {
	if !n.l.unsigned64() || !n.r.unsigned64() {
		return num{}, fmt.Errorf("%w: division of more than 64 bits", ErrUnsupported)
	}
	a, err := l.word(n.l, 64)
	if err != nil {
		return num{}, err
	}
	b, err := l.word(n.r, 64)
	af, bf := a.fn, b.fn
	mod := n.op == "%"
	return num{fn: func(c *ctx) uint64 {
		x, y := af(c), bf(c)
		switch {
		case y == 0:
			return 0
		case mod:
			return x % y
		}
		return x / y
	}}, err
}

// signWord takes the lowest bits of a value as a signed number.
func (l *loader) signWord(n *node, bits int) (num, error) {
	w := int(n.r.k.Int64())
	v, err := l.word(n.l, min(w, 64))
	if w >= bits || w >= 64 || err != nil {
		return v, err
	}
	s, fn := uint(64-w), v.fn
	return num{fn: func(c *ctx) uint64 { return uint64(int64(fn(c)<<s) >> s) }}, nil
}

// saturateWord is the nearest number to a value that fits into a number of bits.
func (l *loader) saturateWord(n *node) (num, error) {
	w := int(n.r.k.Int64())
	if !n.l.signed64() || w > 63 && n.op == "usat_cast" || w > 64 {
		return l.lowWord(n)
	}
	v, err := l.word(n.l, 64)
	lo, hi := int64(words(n.lo, 1)[0]), int64(words(n.hi, 1)[0])
	fn := v.fn
	return num{fn: func(c *ctx) uint64 { return uint64(min(max(int64(fn(c)), lo), hi)) }}, err
}

// lowWord computes in as many words as it takes, and has the lowest of them.
func (l *loader) lowWord(n *node) (num, error) {
	off, err := l.temp(1)
	if err != nil {
		return num{}, err
	}
	fn, err := l.wideExact(n)
	return num{fn: func(c *ctx) uint64 {
		fn(c, c.w[off:off+1])
		return c.w[off]
	}}, err
}

// wideTemp computes into words of its own.
func (l *loader) wideTemp(n *node, words int) (func(*ctx) []uint64, error) {
	off, err := l.temp(words)
	if err != nil {
		return nil, err
	}
	fn, err := l.wide(n, words)
	if err != nil {
		return nil, err
	}
	return func(c *ctx) []uint64 {
		d := c.w[off : off+words]
		fn(c, d)
		return d
	}, nil
}

// temp takes words of ctx.w for good.
func (l *loader) temp(words int) (int, error) {
	off := l.p.tempWords
	l.p.tempWords += words
	if l.p.tempWords > maxTempWords {
		return 0, fmt.Errorf("intermediate values need more than %d words", maxTempWords)
	}
	return off, nil
}
