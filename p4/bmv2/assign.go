package bmv2

import "fmt"

// target is something that data is assigned to.
type target struct {
	f *field
	n *node
	// set is for fields of one word, setWide for more; both get values with bits that do not belong there.
	set     func(*ctx, uint64)
	setWide func(*ctx, []uint64)
}

// target compiles the left side of an assignment.
func (l *loader) target(v *jsonValue) (*target, error) {
	n, err := l.value(v, 0)
	if err != nil {
		return nil, err
	}
	t := &target{f: n.f, n: n}
	switch n.op {
	case "field":
		n.f.written = true
		t.static()
		return t, nil
	case "elementfield", "last":
		n.f.written = true
		return t, l.dynamic(t)
	}
	return nil, fmt.Errorf("%q cannot be assigned to", n.op)
}

func (t *target) static() {
	off, h, w, n := t.f.off, t.f.header, t.f.width, t.f.words
	if n == 1 {
		m := mask64(w)
		t.set = func(c *ctx, v uint64) {
			c.f[off] = v & m
			c.h[h].dirty = true
		}
		return
	}
	top := mask64(w - 64*(n-1))
	t.setWide = func(c *ctx, v []uint64) {
		copy(c.f[off:off+n], v)
		c.f[off+n-1] &= top
		c.h[h].dirty = true
	}
}

// dynamic is a field of an element of a stack. What is beyond the stack is not written.
func (l *loader) dynamic(t *target) error {
	offs, w, n, stk := l.elementOffs(t.n), t.f.width, t.f.words, t.n.stk
	hs := l.p.stacks[stk].headers
	index := func(c *ctx) uint64 { return uint64(int64(c.next[stk]) - 1) }
	if t.n.op == "elementfield" {
		var err error
		if index, err = l.index(t.n.l.r); err != nil {
			return err
		}
	}
	top := mask64(w - 64*(n-1))
	t.setWide = func(c *ctx, v []uint64) {
		if i := index(c); i < uint64(len(offs)) {
			off := offs[i]
			copy(c.f[off:off+n], v)
			c.f[off+n-1] &= top
			c.h[hs[i]].dirty = true
		}
	}
	if n == 1 {
		t.set = func(c *ctx, v uint64) {
			if i := index(c); i < uint64(len(offs)) {
				c.f[offs[i]] = v & top
				c.h[hs[i]].dirty = true
			}
		}
	}
	return nil
}

// data reads a value as data; a boolean is zero or one.
func (l *loader) data(v *jsonValue) (*node, error) {
	n, err := l.value(v, 0)
	if err != nil {
		return nil, err
	}
	switch n.kind {
	case kindData:
		return n, nil
	case kindBool:
		return &node{op: "b2d", r: n, lo: bigZero, hi: bigOne}, nil
	}
	return nil, fmt.Errorf("%q is not data", n.op)
}

func (l *loader) assign(p []jsonValue) (stmt, error) {
	src, err := l.data(&p[1])
	if err != nil {
		return nil, err
	}
	return l.assignNode(&p[0], src)
}

func (l *loader) assignNode(dst *jsonValue, src *node) (stmt, error) {
	t, err := l.target(dst)
	if err != nil {
		return nil, err
	}
	if t.set == nil {
		fn, err := l.wideTemp(src, t.f.words)
		set := t.setWide
		return func(c *ctx) { set(c, fn(c)) }, err
	}
	v, err := l.word(src, t.f.width)
	if err != nil {
		return nil, err
	}
	if t.n.op == "field" {
		// Of an expression that is within the width, v may be a wider field: the mask was left out.
		return assignField(t.f, v, src.op == "field" && src.within(t.f.width)), nil
	}
	set, fn := t.set, v.fn
	return func(c *ctx) { set(c, fn(c)) }, nil
}

// assignField assigns a word to a field; clean says that no bit has to be taken off.
func assignField(f *field, v num, clean bool) stmt {
	off, h, m := f.off, f.header, mask64(f.width)
	switch {
	case v.isConst:
		k := v.k & m
		return func(c *ctx) {
			c.f[off] = k
			c.h[h].dirty = true
		}
	case v.isField && clean:
		from := v.off
		return func(c *ctx) {
			c.f[off] = c.f[from]
			c.h[h].dirty = true
		}
	}
	fn := v.fn
	return func(c *ctx) {
		c.f[off] = fn(c) & m
		c.h[h].dirty = true
	}
}

func (l *loader) arithmetic(op string, dst, a, b *jsonValue) (stmt, error) {
	n := &node{op: op}
	var err error
	if n.l, err = l.data(a); err != nil {
		return nil, err
	}
	if n.r, err = l.data(b); err != nil {
		return nil, err
	}
	if err := n.infer(); err != nil {
		return nil, err
	}
	return l.assignNode(dst, n)
}

// assignVL assigns a variable field: it becomes the same octets of the frame.
func (l *loader) assignVL(p []jsonValue) (stmt, error) {
	var hs [2]int
	for i := range hs {
		n, err := l.value(&p[i], 0)
		if err != nil {
			return nil, err
		}
		if n.op != "vl" {
			return nil, fmt.Errorf("parameter %d is not a variable field", i)
		}
		hs[i] = n.f.header
	}
	dst, src := hs[0], hs[1]
	room := int32(l.p.headers[dst].maxLen - l.p.headers[dst].fixed)
	return func(c *ctx) {
		c.h[dst].vlPos, c.h[dst].vlLen = c.h[src].vlPos, min(c.h[src].vlLen, room)
		c.h[dst].dirty = true
	}, nil
}

// headerParam compiles a parameter that is a header.
func (l *loader) headerParam(v *jsonValue) (*node, func(*ctx) int, error) {
	n, err := l.value(v, 0)
	if err != nil {
		return nil, nil, err
	}
	if n.kind != kindHeader {
		return nil, nil, fmt.Errorf("%q is not a header", n.op)
	}
	find, err := l.element(n)
	return n, find, err
}

// first is a header, or the first one of the stack that an element is of.
func (l *loader) first(n *node) int {
	if n.op == "element" {
		return l.p.stacks[n.stk].headers[0]
	}
	return n.hdr
}

func (l *loader) assignHeader(p []jsonValue) (stmt, error) {
	d, dst, err := l.headerParam(&p[0])
	if err != nil {
		return nil, err
	}
	s, src, err := l.headerParam(&p[1])
	if err != nil {
		return nil, err
	}
	if l.p.headers[l.first(d)].typ != l.p.headers[l.first(s)].typ {
		return nil, fmt.Errorf("the headers are of two types")
	}
	l.join(l.first(d), l.first(s))
	return func(c *ctx) {
		if i, j := dst(c), src(c); i >= 0 && j >= 0 {
			c.copyHeader(i, j)
		}
	}, nil
}

func (l *loader) stackParam(v *jsonValue) (int, error) {
	n, err := l.value(v, 0)
	if err != nil {
		return 0, err
	}
	if n.op != "stack" {
		return 0, fmt.Errorf("%q is not a header stack", n.op)
	}
	return n.stk, nil
}

func (l *loader) assignStack(p []jsonValue) (stmt, error) {
	d, err := l.stackParam(&p[0])
	if err != nil {
		return nil, err
	}
	s, err := l.stackParam(&p[1])
	if err != nil {
		return nil, err
	}
	dst, src := l.p.stacks[d].headers, l.p.stacks[s].headers
	if len(dst) != len(src) || l.p.headers[dst[0]].typ != l.p.headers[src[0]].typ {
		return nil, fmt.Errorf("the stacks are of two types")
	}
	l.join(dst[0], src[0])
	return func(c *ctx) {
		for i := range dst {
			c.copyHeader(dst[i], src[i])
		}
		c.next[d] = c.next[s]
	}, nil
}

func (l *loader) push(p []jsonValue) (stmt, error) {
	return l.move(p, (*ctx).push)
}

func (l *loader) pop(p []jsonValue) (stmt, error) {
	return l.move(p, (*ctx).pop)
}

func (l *loader) move(p []jsonValue, do func(*ctx, *stack, *int32, int)) (stmt, error) {
	i, err := l.stackParam(&p[0])
	if err != nil {
		return nil, err
	}
	n, err := l.data(&p[1])
	if err != nil {
		return nil, err
	}
	by, err := l.index(n)
	return func(c *ctx) { do(c, &c.s.p.stacks[i], &c.next[i], int(min(by(c), maxStack))) }, err
}

func (l *loader) addHeader(p []jsonValue) (stmt, error) {
	n, find, err := l.headerParam(&p[0])
	if err != nil {
		return nil, err
	}
	if n.op == "header" {
		h := n.hdr
		return func(c *ctx) { c.addHeader(h) }, nil
	}
	return func(c *ctx) {
		if h := find(c); h >= 0 {
			c.addHeader(h)
		}
	}, nil
}

func (l *loader) removeHeader(p []jsonValue) (stmt, error) {
	_, find, err := l.headerParam(&p[0])
	return func(c *ctx) {
		if h := find(c); h >= 0 {
			c.removeHeader(h)
		}
	}, err
}
