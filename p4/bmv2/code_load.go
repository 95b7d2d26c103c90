package bmv2

import "slices"

// Bounds of what is put in place of a call.
const (
	maxInline = 64      // primitives of an action
	maxCode   = 1 << 15 // instructions of a pipeline
)

// branch is a condition as tests: one test, or two conditions of which the second one is only asked for if the first one
// leaves that open.
type branch struct {
	test instr
	op   string // "": test; "bool": always yes; "not": l; "and", "or"
	yes  bool
	l, r *branch
}

// branch makes tests of a boolean.
func (l *loader) branch(n *node) (*branch, error) {
	switch n.op {
	case "bool":
		return &branch{op: "bool", yes: n.yes}, nil
	case "not":
		r, err := l.branch(n.r)
		return &branch{op: "not", l: r}, err
	case "and", "or":
		if n.l.kind != kindBool || n.r.kind != kindBool {
			break
		}
		a, err := l.branch(n.l)
		if err != nil {
			return nil, err
		}
		b, err := l.branch(n.r)
		return &branch{op: n.op, l: a, r: b}, err
	case "valid":
		if n.r.op == "header" {
			return &branch{test: instr{op: opValid, h: int32(n.r.hdr)}}, nil
		}
	case "d2b":
		if n.r.op == "validbit" {
			return &branch{test: instr{op: opValid, h: int32(n.r.hdr)}}, nil
		}
		return l.branchCompare("!=", n.r, constNode(bigZero))
	case "==", "!=", "<", ">", "<=", ">=":
		if n.l != nil && n.r.kind == kindData {
			return l.branchCompare(n.op, n.l, n.r)
		}
	}
	cond, err := l.boolean(n)
	return &branch{test: instr{op: opIf, k: l.call(call{cond: cond})}}, err
}

// branchCompare makes a test of a comparison.
func (l *loader) branchCompare(op string, a, b *node) (*branch, error) {
	if a.unsigned64() && b.unsigned64() {
		x, err := l.word(a, 64)
		if err != nil {
			return nil, err
		}
		y, err := l.word(b, 64)
		if err != nil {
			return nil, err
		}
		if t := compareWords(op, x, y, a.within(1) && b.within(1)); t != nil {
			return t, nil
		}
	}
	cond, err := l.compare(op, a, b)
	return &branch{test: instr{op: opIf, k: l.call(call{cond: cond})}}, err
}

// mirrored says what a comparison is with its sides the other way round.
var mirrored = map[string]string{"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

// compareWords makes a test of a word and a constant, or of two words; nil: there is none for this.
// bits: both have one bit; then all tests compare with 0, so that one test can use the result of
// another.
func compareWords(op string, x, y num, bits bool) *branch {
	if x.isConst {
		x, y, op = y, x, mirrored[op]
	}
	if x.do == nil || !x.do.isWord() {
		return nil
	}
	negate := op == "!=" || op == ">" || op == ">="
	var t *branch
	switch {
	case y.isConst:
		in := instr{op: opIn, a: x.do.b, m: x.do.m}
		switch op {
		case "==", "!=":
			if in.k = y.k; bits && y.k == 1 {
				in.k, negate = 0, !negate
			}
		case "<", ">=":
			if y.k == 0 {
				return &branch{op: "bool", yes: negate}
			}
			in.n = y.k - 1
		default:
			in.n = y.k
		}
		t = &branch{test: in}
	case (op == "==" || op == "!=") && y.do != nil && y.do.isWord() && y.do.m == x.do.m:
		t = &branch{test: instr{op: opSame, a: x.do.b, b: y.do.b, m: x.do.m}}
	default:
		return nil
	}
	if negate {
		return &branch{op: "not", l: t}
	}
	return t
}

// call keeps what an instruction calls, and gives its number.
func (l *loader) call(to call) uint64 {
	l.p.calls = append(l.p.calls, to)
	return uint64(len(l.p.calls) - 1)
}

// callOf is a primitive that calls a function.
func (l *loader) callOf(fn stmt) prim { return prim{in: instr{op: opCall, k: l.call(call{fn: fn})}} }

// builder makes code from its end on: what follows an instruction is there before.
type builder struct{ code []instr }

func (b *builder) add(in instr) int32 {
	b.code = append(b.code, in)
	return int32(len(b.code) - 1)
}

// branch adds the tests of a condition, and gives the first one.
func (b *builder) branch(t *branch, yes, no int32) int32 {
	switch t.op {
	case "bool":
		if t.yes {
			return yes
		}
		return no
	case "not":
		return b.branch(t.l, no, yes)
	case "and":
		return b.branch(t.l, b.branch(t.r, yes, no), no)
	case "or":
		return b.branch(t.l, yes, b.branch(t.r, yes, no))
	}
	in := t.test
	in.yes, in.no = yes, no
	return b.add(in)
}

// prim adds one that does not jump.
func (b *builder) prim(p *prim, next int32) int32 {
	in := p.in
	in.yes = next
	at := b.add(in)
	if p.cond == nil {
		return at
	}
	other := p.other
	other.yes = next
	return b.branch(p.cond, at, b.add(other))
}

// prims adds primitives, and gives the first instruction. next is what follows them.
func (b *builder) prims(ps []prim, next int32) int32 {
	at := make([]int32, len(ps)+1) // where each begins
	at[len(ps)] = next
	type back struct{ in, prim int32 }
	var backs []back
	for i := len(ps) - 1; i >= 0; i-- {
		p := &ps[i]
		if !p.jumps {
			at[i] = b.prim(p, at[i+1])
			continue
		}
		var to int32
		if p.jump > i {
			to = at[p.jump]
		} else {
			to = b.add(instr{op: opBack, k: uint64(i - p.jump + 1)})
			backs = append(backs, back{to, int32(p.jump)})
		}
		if at[i] = to; p.cond != nil {
			at[i] = b.branch(p.cond, at[i+1], to)
		}
	}
	for _, k := range backs {
		b.code[k.in].yes = at[k.prim]
	}
	return at[0]
}

// turn puts the code in the order in which it runs, and gives where what was at a position is.
func (b *builder) turn() func(int32) int32 {
	last := int32(len(b.code) - 1)
	now := func(i int32) int32 {
		if i < 0 {
			return i
		}
		return last - i
	}
	slices.Reverse(b.code)
	for i := range b.code {
		in := &b.code[i]
		in.yes, in.no = now(in.yes), now(in.no)
	}
	return now
}

// compile makes code of a body.
func (b *body) compile() {
	var to builder
	first := to.prims(b.prims, -1)
	b.start = to.turn()(first)
	b.code = to.code
}

// assignment makes an instruction that assigns a word to a field.
func (l *loader) assignment(f *field, v num) instr {
	m := mask64(f.width)
	in := instr{op: opNum, m: ^uint64(0)}
	if v.do != nil {
		in = *v.do
	} else {
		in.k = l.call(call{num: v.fn})
	}
	in.a, in.h = int32(f.off), int32(f.header)
	if in.m &= m; in.op == opConst {
		in.k &= m
	}
	return in
}

// pipelineCode makes code of steps.
type pipelineCode struct {
	builder
	l     *loader
	steps []step
	at    []int32 // of each step
	done  []bool
}

// step adds a step, and what follows it, and gives the first instruction.
func (b *pipelineCode) step(i int) int32 {
	if i < 0 {
		return -1
	}
	if b.done[i] {
		return b.at[i]
	}
	b.done[i] = true
	s := &b.steps[i]
	switch {
	case s.table >= 0:
		d := &b.l.p.tdefs[s.table]
		d.none, d.hitNext, d.missNext = int(b.step(d.none)), int(b.step(d.hitNext)), int(b.step(d.missNext))
		for k := range d.actions {
			d.actions[k].next = int(b.step(d.actions[k].next))
		}
		b.at[i] = b.add(instr{op: opTable, a: int32(s.table)})
	case s.act != nil:
		b.at[i] = b.action(s.act, b.step(s.yes))
	default:
		b.at[i] = b.branch(s.cond, b.step(s.yes), b.step(s.no))
	}
	return b.at[i]
}

// action adds what an action does: in its place if it is short, or a call of it.
func (b *pipelineCode) action(do *body, next int32) int32 {
	if do.stops {
		next = b.add(instr{op: opStop, yes: next})
	}
	if len(do.regs) == 0 && len(do.prims) <= maxInline && len(b.code) < maxCode {
		return b.prims(do.prims, next)
	}
	return b.add(instr{op: opCall, k: b.l.call(call{fn: do.run}), yes: next})
}

// compile makes code of the steps of a pipeline, which are acyclic.
func (l *loader) compile(to *pipeline, steps []step, init int) {
	b := pipelineCode{l: l, steps: steps, at: make([]int32, len(steps)), done: make([]bool, len(steps))}
	first := b.step(init)
	now := b.turn()
	b.renumber(now)
	to.start = b.shorten(now(first))
	to.code = b.code
}

// condition compiles what is true or false as tests.
func (l *loader) condition(n *node) (func(*ctx) bool, error) {
	t, err := l.branch(n)
	if err != nil {
		return nil, err
	}
	const yes, no = -1, -2
	var b builder
	first := b.branch(t, yes, no)
	start, code := b.turn()(first), b.code
	if len(code) == 1 && code[0].op == opIf && code[0].yes == yes {
		return l.p.calls[code[0].k].cond, nil
	}
	return func(c *ctx) bool { return c.exec(code, start) == yes }, nil
}
