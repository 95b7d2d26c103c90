package bmv2

import (
	"encoding/json"
	"fmt"
)

// drop sets egress_spec to the drop port and mcast_grp to none.
func (l *loader) drop(p []jsonValue) (stmt, error) {
	if len(p) > 1 {
		return nil, fmt.Errorf("has %d parameters", len(p))
	}
	return func(c *ctx) {
		c.set(c.s.p.std.egressSpec, DropPort)
		c.set(c.s.p.std.mcastGroup, 0)
	}, nil
}

// assert ends the packet if its parameter is not true.
func (l *loader) assert(p []jsonValue) (stmt, error) {
	n, err := l.value(&p[0], 0)
	if err != nil {
		return nil, err
	}
	if n.kind == kindData {
		n = &node{op: "d2b", kind: kindBool, r: n}
	}
	ok, err := l.condition(n)
	return func(c *ctx) {
		if !ok(c) {
			c.stop(DropAssert)
		}
	}, err
}

// constant is a parameter that has to be a constant number.
func (l *loader) constant(v *jsonValue) (int, error) {
	n, err := l.value(v, 0)
	if err != nil {
		return 0, err
	}
	if n.op != "const" || !n.k.IsInt64() || n.k.Int64() < 0 || n.k.Int64() > 1<<30 {
		return 0, fmt.Errorf("%q is not a constant number", n.op)
	}
	return int(n.k.Int64()), nil
}

func (l *loader) digest(p []jsonValue) (stmt, error) {
	id, err := l.constant(&p[1])
	if err != nil {
		return nil, err
	}
	d, ok := l.learnByID[id]
	if !ok {
		return nil, fmt.Errorf("no learn list %d", id)
	}
	return func(c *ctx) { c.digest = int32(d) }, nil
}

// list is a parameter that is the number of a field list. Zero may be the number of none.
func (l *loader) list(v *jsonValue) (int32, error) {
	id, err := l.constant(v)
	if err != nil {
		return 0, err
	}
	if _, ok := l.p.lists[id]; !ok && id != 0 {
		return 0, fmt.Errorf("no field list %d", id)
	}
	return int32(id), nil
}

func (l *loader) clone(p []jsonValue) (stmt, error) {
	n, err := l.data(&p[0])
	if err != nil {
		return nil, err
	}
	session, err := l.word(n, 16)
	if err != nil {
		return nil, err
	}
	list, err := l.list(&p[1])
	fn := session.fn
	// BMv2 keeps 15 bits of the session.
	return func(c *ctx) { c.clone, c.cloneList = int32(fn(c)&0x7fff), list }, err
}

// again lets the packet go through the program once more: from the start as it came, or from the end as it leaves.
func (l *loader) again(v *jsonValue, resubmit bool) (stmt, error) {
	list, err := l.list(v)
	if resubmit {
		return func(c *ctx) { c.resubmit = list }, err
	}
	return func(c *ctx) { c.recirculate = list }, err
}

func (l *loader) truncate(p []jsonValue) (stmt, error) {
	n, err := l.data(&p[0])
	if err != nil {
		return nil, err
	}
	to, err := l.index(n)
	return func(c *ctx) { c.limit = int(min(to(c), uint64(c.limit))) }, err
}

// named reads a parameter that is the name of something.
func named(v *jsonValue, typ string, of map[string]int) (int, error) {
	var s string
	if v.Type != typ || json.Unmarshal(v.Value, &s) != nil {
		return 0, fmt.Errorf("parameter of type %q instead of %q", v.Type, typ)
	}
	i, ok := of[s]
	if !ok {
		return 0, fmt.Errorf("no %s %q", typ, s)
	}
	return i, nil
}

func (l *loader) indexParam(v *jsonValue) (func(*ctx) uint64, error) {
	n, err := l.data(v)
	if err != nil {
		return nil, err
	}
	return l.index(n)
}

// count counts in a counter array. Beyond its end nothing is counted.
func (l *loader) count(p []jsonValue) (stmt, error) {
	i, err := named(&p[0], "counter_array", l.counterByName)
	if err != nil {
		return nil, err
	}
	if l.p.counters[i].Table >= 0 {
		return nil, fmt.Errorf("counter %q is a direct one", l.p.counters[i].Name)
	}
	index, err := l.indexParam(&p[1])
	return func(c *ctx) { count(c.s.counters[i], index(c), c.inLen) }, err
}

// executeMeter gives the colour of the packet. Beyond the array's end nothing is metered, and the target not written.
func (l *loader) executeMeter(p []jsonValue) (stmt, error) {
	i, err := named(&p[0], "meter_array", l.meterByName)
	if err != nil {
		return nil, err
	}
	if l.p.meters[i].Table >= 0 {
		return nil, fmt.Errorf("meter %q is a direct one", l.p.meters[i].Name)
	}
	index, err := l.indexParam(&p[1])
	if err != nil {
		return nil, err
	}
	t, err := l.target(&p[2])
	if err != nil {
		return nil, err
	}
	if t.set == nil {
		return nil, fmt.Errorf("%w: colour in a field of more than 64 bits", ErrUnsupported)
	}
	octets := l.p.meters[i].Octets
	return func(c *ctx) {
		if m, at := c.s.meters[i], index(c); at < uint64(len(m)) {
			t.set(c, m[at].execute(c.now, meterUnits(octets, c.inLen)))
		}
	}, nil
}

// registerRead reads a cell into a field; beyond the array's end the field is not written.
func (l *loader) registerRead(p []jsonValue) (stmt, error) {
	i, err := named(&p[1], "register_array", l.registerByName)
	if err != nil {
		return nil, err
	}
	index, err := l.indexParam(&p[2])
	if err != nil {
		return nil, err
	}
	t, err := l.target(&p[0])
	if err != nil {
		return nil, err
	}
	l.registersUsed[i] = true
	n := (l.p.registers[i].Width + 63) / 64
	size := uint64(l.p.registers[i].Size)
	if t.set != nil {
		return func(c *ctx) {
			if at := index(c); at < size {
				t.set(c, c.s.registers[i].w[int(at)*n])
			}
		}, nil
	}
	off, err := l.temp(t.f.words)
	w := t.f.words
	return func(c *ctx) {
		if at := index(c); at < size {
			d := c.w[off : off+w]
			clear(d[copy(d, c.s.registers[i].w[int(at)*n:int(at+1)*n]):])
			t.setWide(c, d)
		}
	}, err
}

// registerWrite writes a cell; beyond the array's end nothing.
func (l *loader) registerWrite(p []jsonValue) (stmt, error) {
	i, err := named(&p[0], "register_array", l.registerByName)
	if err != nil {
		return nil, err
	}
	index, err := l.indexParam(&p[1])
	if err != nil {
		return nil, err
	}
	src, err := l.data(&p[2])
	if err != nil {
		return nil, err
	}
	l.registersUsed[i] = true
	r := l.p.registers[i]
	n := (r.Width + 63) / 64
	fn, err := l.wideTemp(src, n)
	top := mask64(r.Width - 64*(n-1))
	return func(c *ctx) {
		at := index(c)
		if at >= uint64(r.Size) {
			return
		}
		v := fn(c)
		v[n-1] &= top
		copy(c.s.registers[i].w[int(at)*n:], v)
	}, err
}

// random gives a number within two bounds. If they are the wrong way round, the target is not written.
func (l *loader) random(p []jsonValue) (stmt, error) {
	t, err := l.target(&p[0])
	if err != nil {
		return nil, err
	}
	if t.set == nil {
		return nil, fmt.Errorf("%w: random number of more than 64 bits", ErrUnsupported)
	}
	lo, err := l.indexParam(&p[1])
	if err != nil {
		return nil, err
	}
	hi, err := l.indexParam(&p[2])
	return func(c *ctx) {
		a, b := lo(c), hi(c)
		if a > b {
			return
		}
		v := c.rng.Uint64()
		if b-a != ^uint64(0) {
			v = a + c.rng.Uint64N(b-a+1)
		}
		t.set(c, v)
	}, err
}

// hash sets a field to base + hash mod size.
func (l *loader) hash(p []jsonValue) (stmt, error) {
	t, err := l.target(&p[0])
	if err != nil {
		return nil, err
	}
	base, err := l.indexParam(&p[1])
	if err != nil {
		return nil, err
	}
	var name string
	if p[2].Type != "calculation" || json.Unmarshal(p[2].Value, &name) != nil {
		return nil, fmt.Errorf("parameter of type %q instead of %q", p[2].Type, "calculation")
	}
	calc, ok := l.calcByName[name]
	if !ok {
		return nil, fmt.Errorf("no calculation %q", name)
	}
	size, err := l.indexParam(&p[3])
	if err != nil {
		return nil, err
	}
	if t.set == nil {
		return nil, fmt.Errorf("%w: hash in a field of more than 64 bits", ErrUnsupported)
	}
	return func(c *ctx) { t.set(c, base(c)+calc.output(c)%max(size(c), 1)) }, nil
}
