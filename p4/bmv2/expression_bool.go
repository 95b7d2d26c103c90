package bmv2

import (
	"fmt"
	"math/big"
)

// boolean compiles what is true or false.
func (l *loader) boolean(n *node) (func(*ctx) bool, error) {
	if n.kind != kindBool {
		return nil, fmt.Errorf("%q is not a boolean", n.op)
	}
	switch n.op {
	case "bool":
		yes := n.yes
		return func(*ctx) bool { return yes }, nil
	case "d2b":
		return l.compare("!=", n.r, constNode(bigZero))
	case "valid":
		return l.validOf(n.r)
	case "not":
		r, err := l.boolean(n.r)
		return func(c *ctx) bool { return !r(c) }, err
	case "==", "!=":
		switch n.r.kind {
		case kindData:
			return l.compare(n.op, n.l, n.r)
		case kindHeader:
			return l.compareHeaders(n)
		}
	case "<", ">", "<=", ">=":
		return l.compare(n.op, n.l, n.r)
	case "?":
		return l.ternaryBool(n)
	}
	return l.logic(n)
}

func (l *loader) ternaryBool(n *node) (func(*ctx) bool, error) {
	cond, err := l.boolean(n.cond)
	if err != nil {
		return nil, err
	}
	a, err := l.boolean(n.l)
	if err != nil {
		return nil, err
	}
	b, err := l.boolean(n.r)
	return func(c *ctx) bool {
		if cond(c) {
			return a(c)
		}
		return b(c)
	}, err
}

func (l *loader) logic(n *node) (func(*ctx) bool, error) {
	a, err := l.boolean(n.l)
	if err != nil {
		return nil, err
	}
	b, err := l.boolean(n.r)
	if err != nil {
		return nil, err
	}
	switch n.op {
	case "and":
		return func(c *ctx) bool { return a(c) && b(c) }, nil
	case "or":
		return func(c *ctx) bool { return a(c) || b(c) }, nil
	case "==":
		return func(c *ctx) bool { return a(c) == b(c) }, nil
	case "!=":
		return func(c *ctx) bool { return a(c) != b(c) }, nil
	}
	return nil, fmt.Errorf("%w: %q as a boolean", ErrUnsupported, n.op)
}

func (l *loader) validOf(n *node) (func(*ctx) bool, error) {
	if n.op == "header" {
		h := n.hdr
		return func(c *ctx) bool { return c.h[h].valid }, nil
	}
	find, err := l.element(n)
	return func(c *ctx) bool {
		h := find(c)
		return h >= 0 && c.h[h].valid
	}, err
}

// element finds the header that an element of a stack is, or -1.
func (l *loader) element(n *node) (func(*ctx) int, error) {
	if n.op == "header" {
		h := n.hdr
		return func(*ctx) int { return h }, nil
	}
	if n.op != "element" {
		return nil, fmt.Errorf("%w: %q as a header", ErrUnsupported, n.op)
	}
	s := l.p.stacks[n.stk].headers
	index, err := l.index(n.r)
	return func(c *ctx) int {
		if i := index(c); i < uint64(len(s)) {
			return s[i]
		}
		return -1
	}, err
}

// compareHeaders compares the fields of two headers that are both valid; others are not equal.
func (l *loader) compareHeaders(n *node) (func(*ctx) bool, error) {
	if n.l.op != "header" || n.r.op != "header" {
		return nil, fmt.Errorf("%w: comparing elements of stacks", ErrUnsupported)
	}
	a, b := &l.p.headers[n.l.hdr], &l.p.headers[n.r.hdr]
	if a.typ != b.typ || a.vl >= 0 {
		return nil, fmt.Errorf("%w: comparing headers of two types, or with a variable field", ErrUnsupported)
	}
	for i := range a.fields {
		a.fields[i].used, b.fields[i].used = true, true
	}
	i, j, equal := n.l.hdr, n.r.hdr, n.op == "=="
	ao, bo, w := a.off, b.off, a.words
	return func(c *ctx) bool {
		same := c.h[i].valid && c.h[j].valid
		for k := 0; same && k < w; k++ {
			same = c.f[ao+k] == c.f[bo+k]
		}
		return same == equal
	}, nil
}

// compare compares numbers: as words if all values are words, in more words if not.
func (l *loader) compare(op string, a, b *node) (func(*ctx) bool, error) {
	unsigned := a.unsigned64() && b.unsigned64()
	if !unsigned && !(a.signed64() && b.signed64()) {
		return l.compareWide(op, a, b)
	}
	x, err := l.word(a, 64)
	if err != nil {
		return nil, err
	}
	y, err := l.word(b, 64)
	if err != nil {
		return nil, err
	}
	xf, yf := x.fn, y.fn
	if x.isConst {
		x, y = y, x // only for equality, below
	}
	switch {
	case op == "==" && x.isField && y.isConst:
		off, k := x.off, y.k
		return func(c *ctx) bool { return c.f[off] == k }, nil
	case op == "!=" && x.isField && y.isConst:
		off, k := x.off, y.k
		return func(c *ctx) bool { return c.f[off] != k }, nil
	case op == "!=" && y.isConst && y.k == 0:
		f := x.fn
		return func(c *ctx) bool { return f(c) != 0 }, nil
	case op == "==":
		return func(c *ctx) bool { return xf(c) == yf(c) }, nil
	case op == "!=":
		return func(c *ctx) bool { return xf(c) != yf(c) }, nil
	}
	if unsigned {
		return order(op, func(c *ctx) int { return cmpWord(xf(c), yf(c)) })
	}
	return order(op, func(c *ctx) int { return cmpWord(xf(c)^1<<63, yf(c)^1<<63) })
}

func cmpWord(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func order(op string, cmp func(*ctx) int) (func(*ctx) bool, error) {
	switch op {
	case "<":
		return func(c *ctx) bool { return cmp(c) < 0 }, nil
	case ">":
		return func(c *ctx) bool { return cmp(c) > 0 }, nil
	case "<=":
		return func(c *ctx) bool { return cmp(c) <= 0 }, nil
	case ">=":
		return func(c *ctx) bool { return cmp(c) >= 0 }, nil
	case "==":
		return func(c *ctx) bool { return cmp(c) == 0 }, nil
	}
	return func(c *ctx) bool { return cmp(c) != 0 }, nil
}

func (l *loader) compareWide(op string, a, b *node) (func(*ctx) bool, error) {
	w := max(a.exactWords(), b.exactWords())
	x, err := l.wideTemp(a, w)
	if err != nil {
		return nil, err
	}
	y, err := l.wideTemp(b, w)
	if err != nil {
		return nil, err
	}
	return order(op, func(c *ctx) int { return cmpSigned(x(c), y(c)) })
}

// fits tells whether a range can be computed in full.
func fits(lo, hi *big.Int) bool { return signedBits(lo, hi) <= maxExprBits }
