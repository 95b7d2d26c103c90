package bmv2

// opcode is what an instruction does. What most programs consist of, tests and assignments of words, has an opcode, and
// what is rare is a call.
type opcode uint8

const (
	opCall   opcode = iota // fn of call k
	opStop                 // end, if a primitive has asked for that
	opTable                // apply table a, which says what follows
	opBack                 // go back to yes, if k primitives may still run
	opIn                   // is word a under mask m one of n+1 numbers from k on?
	opSame                 // are words a and b equal under mask m?
	opValid                // is header h valid?
	opIf                   // is cond of call k true?
	opConst                // word a = k
	opSum                  // word a = (word b + k) under mask m
	opLocal                // word a = parameter word b, shift bits down, under mask m
	opNum                  // word a = num of call k, under mask m
	opAdd                  // header h is valid
	opRemove               // header h is not valid
)

// instr is an instruction. What follows is yes, or no if it is a test that fails; what is below 0 is an end. All numbers
// are positions in the code, words of ctx.f, or headers.
type instr struct {
	op      opcode
	shift   uint8
	known   bool // what a call changes: words from a to b, and whether header h is valid, which may be -1
	a, b, h int32
	yes, no int32
	m, k, n uint64
}

// call is the target of an instruction. It is stored separately, so that all instructions of a pipeline are close together.
type call struct {
	fn   stmt
	cond func(*ctx) bool
	num  func(*ctx) uint64
}

// exec executes code from an instruction on, and gives the end at which that has come.
func (c *ctx) exec(code []instr, at int32) int32 {
	f, hs := c.f, c.h
	var pipeline []instr // that an action of a table was called from
	then := at           // what follows there
again:
	for uint32(at) < uint32(len(code)) {
		in := &code[at]
		at = in.yes
		switch in.op {
		case opCall:
			c.s.p.calls[in.k].fn(c)
		case opStop, opBack:
			if c.ends(in) {
				return -1
			}
		case opTable:
			a, next := c.s.tables[in.a].apply(c)
			if at = next; a != nil && a.start >= 0 {
				pipeline, then, code, at = code, next, a.code, a.start
			}
		case opIn:
			if f[in.a]&in.m-in.k > in.n {
				at = in.no
			}
		case opSame:
			if (f[in.a]^f[in.b])&in.m != 0 {
				at = in.no
			}
		case opValid:
			if !hs[in.h].valid {
				at = in.no
			}
		case opIf:
			if !c.s.p.calls[in.k].cond(c) {
				at = in.no
			}
		case opConst:
			f[in.a] = in.k
			hs[in.h].dirty = true // never read for metadata
		case opSum:
			f[in.a] = (f[in.b] + in.k) & in.m
			hs[in.h].dirty = true
		case opLocal:
			f[in.a] = c.loc[in.b] >> (in.shift & 63) & in.m
			hs[in.h].dirty = true
		case opNum:
			f[in.a] = c.s.p.calls[in.k].num(c) & in.m
			hs[in.h].dirty = true
		case opAdd:
			c.addHeader(int(in.h))
		case opRemove:
			c.removeHeader(int(in.h))
		}
	}
	if pipeline != nil {
		if c.exit || c.dead {
			return -1
		}
		code, at, pipeline = pipeline, then, nil
		goto again
	}
	return at
}

// ends reports whether an instruction ends the packet.
func (c *ctx) ends(in *instr) bool {
	if in.op == opBack {
		if c.steps -= int(in.k); c.steps < 0 {
			c.stop(DropParser)
		}
	}
	return c.exit && in.op == opStop || c.dead
}
