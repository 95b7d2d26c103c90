package bmv2

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The fields that random expressions are about: the negative widths are signed.
var exprFields = []struct {
	name  string
	width int
}{{"a", 8}, {"b", 3}, {"c", 13}, {"d", 32}, {"e", 64}, {"f", 128}, {"g", 72}, {"h", 192}, {"s", -16}, {"t", -64}, {"u", -112}}

// Where results go.
var exprResults = []int{8, 1, 31, 64, 65, 128, 200, -16, -64, -127}

// exprParams are the widths of the action's parameters.
var exprParams = []int{9, 32, 100}

// tree is a random expression with its value.
type tree struct {
	json  obj
	value func(env *exprEnv) *big.Int
}

type exprEnv struct {
	fields map[string]*big.Int
	params []*big.Int
}

func boolInt(b bool) *big.Int {
	if b {
		return big.NewInt(1)
	}
	return new(big.Int)
}

// asSigned takes the lowest w bits as a signed number.
func asSigned(v *big.Int, w int) *big.Int {
	r := new(big.Int).And(v, ones(w))
	if r.Bit(w-1) == 1 {
		r.Sub(r, pow2(w))
	}
	return r
}

func leaf(r *rand.Rand) tree {
	switch r.IntN(5) {
	case 0:
		k := new(big.Int).SetUint64(r.Uint64() >> r.IntN(64))
		if r.IntN(6) == 0 {
			k.Lsh(k, uint(r.IntN(80)))
		}
		text := fmt.Sprintf("0x%x", k)
		if r.IntN(5) == 0 {
			k.Neg(k)
			text = "-" + text
		}
		return tree{json: obj{"type": "hexstr", "value": text}, value: func(*exprEnv) *big.Int { return k }}
	case 1:
		i := r.IntN(len(exprParams))
		return tree{json: obj{"type": "local", "value": i}, value: func(e *exprEnv) *big.Int { return e.params[i] }}
	}
	f := exprFields[r.IntN(len(exprFields))]
	return tree{json: fieldOf("h", f.name), value: func(e *exprEnv) *big.Int { return e.fields[f.name] }}
}

// clampTo is the nearest number within two bounds.
func clampTo(v, lo, hi *big.Int) *big.Int { return minBig(maxBig(v, lo), hi) }

// exprOps computes each operator without any bound.
var exprOps = map[string]func(a, b *big.Int) *big.Int{
	"+":  func(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) },
	"-":  func(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) },
	"*":  func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) },
	"&":  func(a, b *big.Int) *big.Int { return new(big.Int).And(a, b) },
	"|":  func(a, b *big.Int) *big.Int { return new(big.Int).Or(a, b) },
	"^":  func(a, b *big.Int) *big.Int { return new(big.Int).Xor(a, b) },
	"<<": func(a, b *big.Int) *big.Int { return new(big.Int).Lsh(a, uint(b.Uint64())) },
	">>": func(a, b *big.Int) *big.Int { return new(big.Int).Rsh(a, uint(b.Uint64())) },
	"/": func(a, b *big.Int) *big.Int {
		if b.Sign() == 0 {
			return new(big.Int)
		}
		return new(big.Int).Quo(a, b)
	},
	"%": func(a, b *big.Int) *big.Int {
		if b.Sign() == 0 {
			return new(big.Int)
		}
		return new(big.Int).Rem(a, b)
	},
	"==":           func(a, b *big.Int) *big.Int { return boolInt(a.Cmp(b) == 0) },
	"!=":           func(a, b *big.Int) *big.Int { return boolInt(a.Cmp(b) != 0) },
	"<":            func(a, b *big.Int) *big.Int { return boolInt(a.Cmp(b) < 0) },
	">":            func(a, b *big.Int) *big.Int { return boolInt(a.Cmp(b) > 0) },
	"<=":           func(a, b *big.Int) *big.Int { return boolInt(a.Cmp(b) <= 0) },
	">=":           func(a, b *big.Int) *big.Int { return boolInt(a.Cmp(b) >= 0) },
	"two_comp_mod": func(a, b *big.Int) *big.Int { return asSigned(a, int(b.Int64())) },
	"usat_cast":    func(a, b *big.Int) *big.Int { return clampTo(a, bigZero, ones(int(b.Int64()))) },
	"sat_cast": func(a, b *big.Int) *big.Int {
		w := int(b.Int64())
		return clampTo(a, new(big.Int).Neg(pow2(w-1)), ones(w-1))
	},
	"and": func(a, b *big.Int) *big.Int { return new(big.Int).And(a, b) },
	"or":  func(a, b *big.Int) *big.Int { return new(big.Int).Or(a, b) },
}

func unsignedLeaf(r *rand.Rand) tree {
	name := []string{"a", "b", "c", "d", "e"}[r.IntN(5)]
	return tree{json: fieldOf("h", name), value: func(e *exprEnv) *big.Int { return e.fields[name] }}
}

func randomData(r *rand.Rand, depth int) tree {
	if depth == 0 {
		return leaf(r)
	}
	ops := []string{"+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "two_comp_mod", "usat_cast", "sat_cast", "~", "?", "b2d"}
	op := ops[r.IntN(len(ops))]
	a := randomData(r, r.IntN(depth))
	switch op {
	case "~":
		return tree{json: opOf("~", nil, a.json), value: func(e *exprEnv) *big.Int { return new(big.Int).Not(a.value(e)) }}
	case "b2d":
		b := randomBool(r, depth-1)
		return tree{json: opOf("b2d", nil, b.json), value: b.value}
	case "?":
		b, c := randomData(r, r.IntN(depth)), randomBool(r, depth-1)
		return tree{json: exprOf(obj{"op": "?", "left": a.json, "right": b.json, "cond": c.json}), value: func(e *exprEnv) *big.Int {
			if c.value(e).Sign() != 0 {
				return a.value(e)
			}
			return b.value(e)
		}}
	}
	b := randomData(r, r.IntN(depth))
	switch op {
	case "two_comp_mod", "usat_cast", "sat_cast":
		w := uint64(1 + r.IntN(150))
		b = tree{json: hexOf(w), value: func(*exprEnv) *big.Int { return new(big.Int).SetUint64(w) }}
	case "/", "%": // of what cannot be negative
		a, b = unsignedLeaf(r), unsignedLeaf(r)
	case "<<", ">>":
		if r.IntN(3) > 0 {
			w := uint64(r.IntN(130))
			b = tree{json: hexOf(w), value: func(*exprEnv) *big.Int { return new(big.Int).SetUint64(w) }}
		} else {
			b = tree{json: fieldOf("h", "a"), value: func(e *exprEnv) *big.Int { return e.fields["a"] }}
		}
	}
	f := exprOps[op]
	return tree{json: opOf(op, a.json, b.json), value: func(e *exprEnv) *big.Int { return f(a.value(e), b.value(e)) }}
}

func randomBool(r *rand.Rand, depth int) tree {
	ops := []string{"==", "!=", "<", ">", "<=", ">=", "and", "or", "not", "d2b", "bool"}
	op := ops[r.IntN(len(ops))]
	if depth <= 0 && (op == "and" || op == "or" || op == "not") {
		op = "bool"
	}
	switch op {
	case "bool":
		yes := r.IntN(2) == 1
		return tree{json: obj{"type": "bool", "value": yes}, value: func(*exprEnv) *big.Int { return boolInt(yes) }}
	case "not":
		b := randomBool(r, depth-1)
		return tree{json: opOf("not", nil, b.json), value: func(e *exprEnv) *big.Int { return boolInt(b.value(e).Sign() == 0) }}
	case "d2b":
		a := randomData(r, max(0, depth))
		return tree{json: opOf("d2b", nil, a.json), value: func(e *exprEnv) *big.Int { return boolInt(a.value(e).Sign() != 0) }}
	case "and", "or":
		a, b, f := randomBool(r, depth-1), randomBool(r, depth-1), exprOps[op]
		return tree{json: opOf(op, a.json, b.json), value: func(e *exprEnv) *big.Int { return f(a.value(e), b.value(e)) }}
	}
	a, b, f := randomData(r, max(0, depth)), randomData(r, max(0, depth)), exprOps[op]
	return tree{json: opOf(op, a.json, b.json), value: func(e *exprEnv) *big.Int { return f(a.value(e), b.value(e)) }}
}

// randomBits has w bits, often all zeros or ones at an end.
func randomBits(r *rand.Rand, w int) *big.Int {
	v := new(big.Int)
	for range (w + 63) / 64 {
		v.Or(v.Lsh(v, 64), new(big.Int).SetUint64(r.Uint64()))
	}
	v.And(v, ones(w))
	switch r.IntN(6) {
	case 0:
		return new(big.Int)
	case 1:
		return ones(w)
	case 2:
		return v.Rsh(v, uint(r.IntN(w)))
	}
	return v
}

// exprProgram assigns an expression to each result. The frame is header h, and leaves as header o.
func exprProgram(trees []tree) *program {
	p := newProgram()
	var fs, os []any
	bits := 0
	for _, f := range exprFields {
		fs = append(fs, f.name, f.width)
		bits += max(f.width, -f.width)
	}
	p.header("h", false, append(fs, "pad", 8+(8-bits%8)%8)...)
	bits = 0
	var prims []any
	for i, w := range exprResults {
		os = append(os, fmt.Sprintf("o%d", i), w)
		bits += max(w, -w)
		prims = append(prims, primOf("assign", fieldOf("o", fmt.Sprintf("o%d", i)), exprOf(trees[i].json)))
	}
	p.header("o", false, append(os, "pad", 8+(8-bits%8)%8)...)
	p.state("start", list{extractOf("h")}, nil, "", "")
	a := p.action("a", exprParams, append([]any{primOf("add_header", headerOf("o"))}, prims...)...)
	p.table("t", nil, a, list{"0x0", "0x0", "0x0"}, nil)
	p.order = list{"o"}
	return p
}

// TestExpressions compares random expressions with what arithmetic without bounds gives.
func TestExpressions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	loaded := 0
	const programs = 400
	for n := range programs {
		var trees []tree
		for range exprResults {
			trees = append(trees, randomData(r, 1+n%4))
		}
		p, err := Load(exprProgram(trees).json())
		if errors.Is(err, ErrUnsupported) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		loaded++
		s := p.New(Config{})
		w := s.NewWorker()
		for range 8 {
			checkExpressions(t, r, s, w, trees)
		}
		if t.Failed() {
			return
		}
	}
	if loaded < programs*3/4 {
		t.Errorf("%d of %d programs were loaded", loaded, programs)
	}
}

func checkExpressions(t *testing.T, r *rand.Rand, s *Instance, w *Worker, trees []tree) {
	env := &exprEnv{fields: map[string]*big.Int{}}
	frame, bits := new(big.Int), 0
	for _, f := range exprFields {
		width := max(f.width, -f.width)
		v := randomBits(r, width)
		frame.Or(frame.Lsh(frame, uint(width)), v)
		bits += width
		if f.width < 0 {
			v = asSigned(v, width)
		}
		env.fields[f.name] = v
	}
	pad := 8 + (8-bits%8)%8
	frame.Lsh(frame, uint(pad))
	var params [][]byte
	for _, width := range exprParams {
		v := randomBits(r, width)
		env.params = append(env.params, v)
		params = append(params, v.Bytes())
	}
	s.Update(func(tx *Tx) {
		if err := tx.SetDefault(0, 0, params); err != nil {
			t.Fatal(err)
		}
	})
	var got sink
	w.Process([]Frame{{Data: frame.FillBytes(make([]byte, (bits+pad)/8))}}, &got)
	want, bits := new(big.Int), 0
	for i, width := range exprResults {
		width = max(width, -width)
		v := new(big.Int).And(trees[i].value(env), ones(width))
		want.Or(want.Lsh(want, uint(width)), v)
		bits += width
	}
	pad = 8 + (8-bits%8)%8
	want.Lsh(want, uint(pad))
	if text := hexFrame(0, want.FillBytes(make([]byte, (bits+pad)/8))); len(got.frames) != 1 || got.frames[0] != text {
		for i := range trees {
			t.Logf("%d: %v", i, trees[i].json)
		}
		t.Errorf("fields %v, parameters %v:\n got %v\nwant %s", env.fields, env.params, got.frames, text)
	}
}
