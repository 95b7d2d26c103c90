package bmv2

import "slices"

// Programs ask the same thing again and again: after each table, whether the packet is still to be forwarded. What a packet
// on its way to a test has been asked before, or was given, may say what the test will say; then that way leads to what
// follows the test.

// Bounds of how much is looked at.
const (
	maxFacts  = 16
	maxLooks  = 1 << 20 // at instructions, of a pipeline
	maxLooked = 1 << 12 // instructions of a pipeline
)

// fact is what a test would say.
type fact struct {
	op      opcode
	a, b, h int32
	m, k, n uint64
	is      bool
}

// facts are what is known at an instruction. They are never changed, since others may have them.
type facts []fact

// isTest reports whether there are two things that may follow.
func (in *instr) isTest() bool { return in.op >= opIn && in.op <= opIf }

// asked is the fact that a test makes.
func (in *instr) asked(is bool) fact {
	return fact{op: in.op, a: in.a, b: in.b, h: in.h, m: in.m, k: in.k, n: in.n, is: is}
}

// decide tells what a test would say, if that is known.
func (fs facts) decide(in *instr) (is, known bool) {
	for i := range fs {
		f := &fs[i]
		if f.op != in.op {
			continue
		}
		if one := in.asked(f.is); one == *f {
			return f.is, true
		}
		if f.op != opIn || f.a != in.a || !f.is {
			continue
		}
		switch {
		case f.m == ^uint64(0) && f.n == 0:
			return f.k&in.m-in.k <= in.n, true
		case f.m != in.m || f.k+f.n < f.k || in.k+in.n < in.k:
		case f.k >= in.k && f.k+f.n <= in.k+in.n:
			return true, true
		case f.k > in.k+in.n || f.k+f.n < in.k:
			return false, true
		}
	}
	return false, false
}

// with has one fact more.
func (fs facts) with(f fact) facts {
	if f.op == opIf {
		return fs
	}
	return append(slices.Clone(fs[max(0, len(fs)-maxFacts+1):]), f)
}

// without has those facts that are not about words of a range, nor about whether a header is valid; -1: of none.
func (fs facts) without(from, to, h int32) facts {
	about := func(f fact) bool {
		switch f.op {
		case opValid:
			return f.h == h
		case opSame:
			return f.a >= from && f.a < to || f.b >= from && f.b < to
		}
		return f.a >= from && f.a < to
	}
	if !slices.ContainsFunc(fs, about) {
		return fs
	}
	return slices.DeleteFunc(slices.Clone(fs), about)
}

// both has the facts that are among others, too.
func (fs facts) both(others facts) facts {
	not := func(f fact) bool { return !slices.Contains(others, f) }
	if !slices.ContainsFunc(fs, not) {
		return fs
	}
	return slices.DeleteFunc(slices.Clone(fs), not)
}

// after is what is known after an instruction that is neither a test nor a table.
func (fs facts) after(in *instr) facts {
	switch in.op {
	case opStop:
		return fs
	case opCall:
		if !in.known {
			return nil
		}
		return fs.without(in.a, in.b, in.h)
	case opAdd, opRemove:
		return fs.without(in.a, in.b, in.h).with(fact{op: opValid, h: in.h, is: in.op == opAdd})
	case opConst:
		return fs.without(in.a, in.a+1, -1).with(fact{op: opIn, a: in.a, m: ^uint64(0), k: in.k, is: true})
	case opSum, opLocal, opNum:
		return fs.without(in.a, in.a+1, -1)
	}
	return nil
}

// known is what is known at each instruction of a code.
type known struct {
	code  []instr
	at    []facts
	comes []bool // something leads there
	looks *int
}

func newKnown(code []instr, looks *int) *known {
	return &known{code: code, at: make([]facts, len(code)), comes: make([]bool, len(code)), looks: looks}
}

// lead takes a packet of which something is known to an instruction, and gives the one to which it may go at once.
func (k *known) lead(fs facts, to int32) int32 {
	for to >= 0 && k.code[to].isTest() {
		*k.looks++
		is, sure := fs.decide(&k.code[to])
		if !sure {
			break
		}
		in := &k.code[to]
		if to = in.no; is {
			to = in.yes
		}
	}
	if to < 0 {
		return to
	}
	if k.comes[to] {
		fs = fs.both(k.at[to])
	}
	k.at[to], k.comes[to] = fs, true
	return to
}

// pass analyses an instruction other than a table, and continues with its successors.
func (k *known) pass(i int) {
	in, fs := &k.code[i], k.at[i]
	*k.looks += 1 + len(fs)
	if in.isTest() {
		in.yes = k.lead(fs.with(in.asked(true)), in.yes)
		in.no = k.lead(fs.with(in.asked(false)), in.no)
		return
	}
	in.yes = k.lead(fs.after(in), in.yes)
}

// behind is what is known behind the action's body, of a packet of which something is known before. Nothing is led anywhere:
// the action may be run elsewhere, too.
func (b *body) behind(fs facts, looks *int) facts {
	if b.loops {
		return nil
	}
	k := newKnown(slices.Clone(b.code), looks)
	var end facts
	ends := false
	lead := func(fs facts, to int32) {
		if k.lead(fs, to) >= 0 {
			return
		}
		if ends {
			fs = fs.both(end)
		}
		end, ends = fs, true
	}
	lead(fs, b.start)
	for i := range k.code {
		if !k.comes[i] {
			continue
		}
		in, fs := &k.code[i], k.at[i]
		*looks += 1 + len(fs)
		if !in.isTest() {
			lead(fs.after(in), in.yes)
			continue
		}
		lead(fs.with(in.asked(true)), in.yes)
		lead(fs.with(in.asked(false)), in.no)
	}
	return end
}

// table leads what a table leads to. Each action has a way of its own.
func (k *known) table(d *tableDef, i int) {
	fs := k.at[i]
	if d.meter {
		off := int32(d.meterTo.f.off)
		fs = fs.without(off, off+1, -1)
	}
	all := fs // there may be no action
	for n := range d.actions {
		a := &d.actions[n]
		own := a.def.body.behind(fs, k.looks)
		if all = all.both(own); !d.hitMiss {
			a.next = int(k.lead(own, int32(a.next)))
		}
	}
	if d.hitMiss {
		d.hitNext, d.missNext = int(k.lead(all, int32(d.hitNext))), int(k.lead(all, int32(d.missNext)))
		return
	}
	d.none = int(k.lead(fs, int32(d.none)))
}

// shorten leads packets past tests, and leaves out instructions to which none comes any more.
func (b *pipelineCode) shorten(start int32) int32 {
	if len(b.code) > maxLooked {
		return start
	}
	looks := 0
	k := newKnown(b.code, &looks)
	start = k.lead(nil, start)
	for i := range b.code {
		switch {
		case looks > b.l.looks:
			return start // all that follows leads where it has led
		case !k.comes[i]:
		case b.code[i].op == opTable:
			k.table(&b.l.p.tdefs[b.code[i].a], i)
		default:
			k.pass(i)
		}
	}
	at, n := make([]int32, len(b.code)), int32(0)
	for i := range b.code {
		if at[i] = n; k.comes[i] {
			b.code[n] = b.code[i]
			n++
		}
	}
	b.code = b.code[:n]
	now := func(i int32) int32 {
		if i < 0 {
			return i
		}
		return at[i]
	}
	for i := range b.code {
		b.code[i].yes, b.code[i].no = now(b.code[i].yes), now(b.code[i].no)
	}
	b.renumber(now)
	return now(start)
}

// renumber tells tables where what follows them is now.
func (b *pipelineCode) renumber(now func(int32) int32) {
	turn := func(next *int) { *next = int(now(int32(*next))) }
	for i := range b.code {
		if b.code[i].op != opTable {
			continue
		}
		d := &b.l.p.tdefs[b.code[i].a]
		turn(&d.none)
		turn(&d.hitNext)
		turn(&d.missNext)
		for k := range d.actions {
			turn(&d.actions[k].next)
		}
	}
}
