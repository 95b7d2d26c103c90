package bmv2

import (
	"fmt"
	"slices"
)

// stmt is a compiled primitive.
type stmt func(*ctx)

// prim is a primitive of an action: an instruction, or another one if cond is false; or a jump to a primitive if cond is
// false.
type prim struct {
	in, other instr
	cond      *branch // nil: always in, or always jump
	jumps     bool
	jump      int
}

// body is what an action does.
type body struct {
	prims []prim
	stops bool  // a primitive may ask for the end
	loops bool  // a jump goes back
	regs  []int // registers that are locked meanwhile, ascending
	code  []instr
	start int32
}

// actionDef is a compiled action. Its parameters are words of an entry's data.
type actionDef struct {
	params []paramRef
	words  int
	body   body
}

// run executes an action with its parameters in c.loc.
func (b *body) run(c *ctx) {
	if len(b.regs) == 0 {
		c.exec(b.code, b.start)
		return
	}
	for _, r := range b.regs {
		c.s.registers[r].mu.Lock()
	}
	c.exec(b.code, b.start)
	for _, r := range b.regs {
		c.s.registers[r].mu.Unlock()
	}
}

// loadActions compiles all actions.
func (l *loader) loadActions() error {
	l.actionByID = map[int]int{}
	if len(l.j.Actions) > maxActions {
		return fmt.Errorf("%d actions, more than %d", len(l.j.Actions), maxActions)
	}
	for i := range l.j.Actions {
		a := &l.j.Actions[i]
		if _, ok := l.actionByID[a.ID]; ok {
			return fmt.Errorf("action %q: id %d is there twice", a.Name, a.ID)
		}
		l.actionByID[a.ID] = i
		def, public, err := l.action(i, a)
		if err != nil {
			return fmt.Errorf("action %q: %w", a.Name, err)
		}
		l.p.adefs = append(l.p.adefs, def)
		l.p.actions = append(l.p.actions, public)
	}
	l.params = nil
	return nil
}

func (l *loader) action(i int, a *jsonAction) (actionDef, Action, error) {
	var def actionDef
	public := Action{ID: i, Name: a.Name}
	var lay layout
	for _, p := range a.RuntimeData {
		if p.Bitwidth < 1 || p.Bitwidth > maxFieldWidth {
			return def, public, fmt.Errorf("parameter %q: width %d is not within 1 and %d", p.Name, p.Bitwidth, maxFieldWidth)
		}
		def.params = append(def.params, lay.add(p.Bitwidth))
		public.Params = append(public.Params, Param{Name: p.Name, Width: p.Bitwidth})
	}
	if def.words = lay.words; def.words > maxParamWords {
		return def, public, fmt.Errorf("parameters take more than %d words", maxParamWords)
	}
	l.params = def.params
	var err error
	def.body, err = l.body(a.Primitives)
	return def, public, err
}

// layout puts values into words: several into one if they fit, wide ones into words of their own.
type layout struct {
	words int
	free  []int // bits that are left in each word
}

func (y *layout) add(width int) paramRef {
	if width <= 64 {
		for w := range y.free {
			if y.free[w] >= width {
				r := paramRef{word: w, shift: 64 - y.free[w], width: width}
				y.free[w] -= width
				return r
			}
		}
	}
	r := paramRef{word: y.words, width: width}
	n := (width + 63) / 64
	for range n {
		y.free = append(y.free, 0)
	}
	if width < 64 {
		y.free[y.words] = 64 - width
	}
	y.words += n
	return r
}

// put writes a value into words that are zero there.
func (r paramRef) put(to, v []uint64) {
	if r.width <= 64 {
		to[r.word] |= v[0] << uint(r.shift)
		return
	}
	copy(to[r.word:], v[:(r.width+63)/64])
}

// get reads a value into as many words as it has.
func (r paramRef) get(from []uint64) []uint64 {
	if r.width <= 64 {
		return []uint64{from[r.word] >> uint(r.shift) & mask64(r.width)}
	}
	return from[r.word : r.word+(r.width+63)/64]
}

// body compiles primitives.
func (l *loader) body(js []jsonPrimitive) (body, error) {
	var b body
	if len(js) > maxPrimitives {
		return b, fmt.Errorf("%d primitives, more than %d", len(js), maxPrimitives)
	}
	l.registersUsed = map[int]bool{}
	for i := range js {
		p, err := l.primitive(&js[i], len(js))
		if err != nil {
			return b, fmt.Errorf("primitive %d %q: %w", i, js[i].Op, err)
		}
		b.prims = append(b.prims, p)
		b.loops = b.loops || p.jumps && p.jump <= i
		b.stops = b.stops || b.loops || mayStop[js[i].Op]
	}
	for r := range l.registersUsed {
		b.regs = append(b.regs, r)
	}
	slices.Sort(b.regs)
	b.compile()
	return b, nil
}

// mayStop has the primitives that may ask for the end.
var mayStop = map[string]bool{"exit": true, "assert": true, "assume": true}

// primitives has what compiles each primitive, and how many parameters that takes.
var primitives map[string]struct {
	params  int
	compile func(*loader, []jsonValue) (prim, error)
}

func init() {
	type entry = struct {
		params  int
		compile func(*loader, []jsonValue) (prim, error)
	}
	call := func(params int, compile func(*loader, []jsonValue) (stmt, error)) entry {
		return entry{params, func(l *loader, p []jsonValue) (prim, error) {
			fn, err := compile(l, p)
			if err == nil && fn == nil {
				err = fmt.Errorf("has no code")
			}
			return l.callOf(fn), err
		}}
	}
	arith := func(op string) entry {
		return entry{3, func(l *loader, p []jsonValue) (prim, error) { return l.arithmetic(op, &p[0], &p[1], &p[2]) }}
	}
	onto := func(op string) entry {
		return entry{2, func(l *loader, p []jsonValue) (prim, error) { return l.arithmetic(op, &p[0], &p[0], &p[1]) }}
	}
	nothing := func(*loader, []jsonValue) (stmt, error) { return func(*ctx) {}, nil }
	primitives = map[string]entry{
		"assign": {2, (*loader).assign}, "modify_field": {2, (*loader).assign}, "set": {2, (*loader).assign},
		"add_to_field": onto("+"), "subtract_from_field": onto("-"),
		"add": arith("+"), "subtract": arith("-"), "bit_xor": arith("^"), "bit_or": arith("|"), "bit_and": arith("&"),
		"shift_left": arith("<<"), "shift_right": arith(">>"),
		"assign_VL":     call(2, (*loader).assignVL),
		"assign_header": call(2, (*loader).assignHeader), "copy_header": call(2, (*loader).assignHeader),
		"assign_header_stack": call(2, (*loader).assignStack),
		"push":                call(2, (*loader).push), "pop": call(2, (*loader).pop),
		"exit":   call(0, func(*loader, []jsonValue) (stmt, error) { return func(c *ctx) { c.exit = true }, nil }),
		"assert": call(1, (*loader).assert), "assume": call(1, (*loader).assert),
		"log_msg": call(2, nothing), "no_op": call(0, nothing),
		"drop": call(0, (*loader).drop), "mark_to_drop": call(-1, (*loader).drop),
		"add_header": {1, (*loader).addHeader}, "add_header_fast": {1, (*loader).addHeader},
		"remove_header":               {1, (*loader).removeHeader},
		"generate_digest":             call(2, (*loader).digest),
		"clone_ingress_pkt_to_egress": call(2, (*loader).clone), "clone_egress_pkt_to_egress": call(2, (*loader).clone),
		"resubmit":                            call(1, func(l *loader, p []jsonValue) (stmt, error) { return l.again(&p[0], true) }),
		"recirculate":                         call(1, func(l *loader, p []jsonValue) (stmt, error) { return l.again(&p[0], false) }),
		"modify_field_with_hash_based_offset": call(4, (*loader).hash),
		"modify_field_rng_uniform":            call(3, (*loader).random),
		"execute_meter":                       call(3, (*loader).executeMeter),
		"count":                               call(2, (*loader).count),
		"register_read":                       call(3, (*loader).registerRead),
		"register_write":                      call(3, (*loader).registerWrite),
		"truncate":                            call(1, (*loader).truncate),
	}
}

// primitive compiles a primitive; n is how many the action has.
func (l *loader) primitive(j *jsonPrimitive, n int) (prim, error) {
	if j.Op == "_jump" || j.Op == "_jump_if_zero" {
		return l.jump(j, n)
	}
	e, ok := primitives[j.Op]
	if !ok {
		return prim{}, fmt.Errorf("%w: primitive", ErrUnsupported)
	}
	if e.params >= 0 && len(j.Parameters) != e.params {
		return prim{}, fmt.Errorf("has %d parameters instead of %d", len(j.Parameters), e.params)
	}
	p, err := e.compile(l, j.Parameters)
	if err == nil && p.in.op == opCall {
		l.changes(&p.in, changed[j.Op], j.Parameters)
	}
	return p, err
}

func (l *loader) jump(j *jsonPrimitive, n int) (prim, error) {
	want := 1
	if j.Op == "_jump_if_zero" {
		want = 2
	}
	if len(j.Parameters) != want {
		return prim{}, fmt.Errorf("has %d parameters instead of %d", len(j.Parameters), want)
	}
	to, err := l.value(&j.Parameters[want-1], 0)
	if err != nil {
		return prim{}, err
	}
	if to.op != "const" || !to.k.IsInt64() || to.k.Int64() < 0 || to.k.Int64() > int64(n) {
		return prim{}, fmt.Errorf("the target is not one of %d primitives", n)
	}
	p := prim{jumps: true, jump: int(to.k.Int64())}
	if want == 2 {
		cond, err := l.value(&j.Parameters[0], 0)
		if err != nil {
			return prim{}, err
		}
		if cond.kind == kindData {
			cond = &node{op: "d2b", kind: kindBool, r: cond}
		}
		if p.cond, err = l.branch(cond); err != nil {
			return prim{}, err
		}
	}
	return p, nil
}
