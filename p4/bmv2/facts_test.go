package bmv2

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// steps makes a program of random steps over three fields of metadata and headers y and z. The frame is header x, which says what
// is in the metadata at first, and at the end gets what is in it then.
type steps struct {
	*program
	r *rand.Rand
	n int
}

func newSteps(r *rand.Rand) *steps {
	s := &steps{program: newProgram(), r: r}
	s.header("x", false, "a", 8, "b", 8, "c", 8)
	s.header("y", false, "a", 8)
	s.headers = append(s.headers, obj{"name": "z", "id": 90, "header_type": "y_t", "metadata": false})
	s.header("m", true, "a", 1, "b", 2, "c", 8)
	s.state("start", list{extractOf("x")}, nil, "", "")
	s.order = list{"x", "y"}
	begin := s.action("begin", nil, set("m", "a", fieldOf("x", "a")), set("m", "b", fieldOf("x", "b")), set("m", "c", fieldOf("x", "c")))
	s.table("begin", nil, begin, nil, "s0")
	const n = 14
	for i := range n {
		s.step(i, n)
	}
	end := s.action("end", nil, set("x", "a", fieldOf("m", "a")), set("x", "b", fieldOf("m", "b")), set("x", "c", fieldOf("m", "c")))
	s.table("end", nil, end, nil, nil)
	return s
}

// next is a step behind step i of n.
func (s *steps) next(i, n int) string {
	if to := i + 1 + s.r.IntN(3); to < n {
		return fmt.Sprintf("s%d", to)
	}
	return "end"
}

func (s *steps) step(i, n int) {
	name := fmt.Sprintf("s%d", i)
	if s.r.IntN(2) == 0 {
		s.conds = append(s.conds, obj{"name": name, "id": i, "expression": s.condition(2),
			"true_next": s.next(i, n), "false_next": s.next(i, n)})
		return
	}
	var actions []int
	for range 1 + s.r.IntN(3) {
		actions = append(actions, s.randomAction())
	}
	keys := list{}
	data := list{"0x1"}
	if s.r.IntN(3) > 0 {
		keys = list{obj{"match_type": "exact", "name": "k", "target": list{"m", "b"}, "mask": nil}}
	} else {
		actions, data = []int{s.action(fmt.Sprintf("plain%d", i), nil, s.prims(false)...)}, nil
	}
	t := s.table(name, keys, actions[0], data, nil, actions[1:]...)
	if len(keys) == 0 {
		t["default_entry"].(obj)["action_const"] = true
	}
	for k := range t["next_tables"].(obj) {
		t["next_tables"].(obj)[k] = s.next(i, n)
	}
	if len(keys) > 0 && s.r.IntN(4) == 0 {
		t["next_tables"] = obj{"__HIT__": s.next(i, n), "__MISS__": s.next(i, n)}
	}
}

func (s *steps) field() obj {
	if s.r.IntN(5) == 0 {
		return fieldOf("y", "a")
	}
	return fieldOf("m", string(rune('a'+s.r.IntN(3))))
}

func (s *steps) condition(depth int) obj {
	if depth > 0 && s.r.IntN(3) == 0 {
		switch s.r.IntN(3) {
		case 0:
			return opOf("not", nil, s.condition(depth-1))
		case 1:
			return opOf("and", s.condition(depth-1), s.condition(depth-1))
		}
		return opOf("or", s.condition(depth-1), s.condition(depth-1))
	}
	switch s.r.IntN(6) {
	case 0:
		return opOf("d2b", nil, fieldOf("y", "$valid$"))
	case 1:
		return opOf([]string{"==", "!="}[s.r.IntN(2)], s.field(), s.field())
	case 2:
		return opOf("==", opOf("&", s.field(), hexOf(1+s.r.Uint64N(3))), hexOf(s.r.Uint64N(4)))
	}
	op := []string{"==", "!=", "<", ">", "<=", ">="}[s.r.IntN(6)]
	if s.r.IntN(4) == 0 {
		return opOf(op, hexOf(s.r.Uint64N(4)), s.field())
	}
	return opOf(op, s.field(), hexOf(s.r.Uint64N(4)))
}

func (s *steps) randomAction() int {
	s.n++
	return s.action(fmt.Sprintf("a%d", s.n), []int{2}, s.prims(true)...)
}

func (s *steps) prims(param bool) []any {
	var all []any
	n := s.r.IntN(4)
	for i := range n {
		to := s.field()
		switch s.r.IntN(12) {
		case 0:
			all = append(all, primOf("add_header", headerOf("y")))
		case 1:
			all = append(all, primOf("remove_header", headerOf("y")))
		case 2:
			all = append(all, primOf("assign", to, s.field()))
		case 3:
			all = append(all, primOf("assign", to, opOf("&", opOf("+", s.field(), hexOf(s.r.Uint64N(3))), hexOf(0xff))))
		case 4:
			all = append(all, primOf("assign", to, s.condition(1)))
		case 5:
			all = append(all, primOf("_jump_if_zero", s.condition(1), hexOf(uint64(i+1+s.r.IntN(n-i)))))
		case 6:
			all = append(all, primOf("assign_header", headerOf("y"), headerOf("z")))
		case 7:
			all = append(all, primOf([]string{"add_header", "remove_header"}[s.r.IntN(2)], headerOf("z")))
		case 8:
			all = append(all, primOf("modify_field_rng_uniform", to, hexOf(2), hexOf(2)))
		case 9:
			if param {
				all = append(all, primOf("assign", to, paramOf(0)))
				continue
			}
			fallthrough
		default:
			all = append(all, primOf("assign", to, hexOf(s.r.Uint64N(4))))
		}
	}
	return all
}

// fill gives the tables of a program the same entries each time.
func (s *steps) fill(r *rig, random *rand.Rand) {
	r.s.Update(func(tx *Tx) {
		for i := range r.p.Tables() {
			t := &r.p.Tables()[i]
			for v := range byte(4) {
				if len(t.Keys) == 0 || random.IntN(2) == 0 {
					continue
				}
				e := &Entry{Match: []Match{exact([]byte{v})}, Action: t.Actions[random.IntN(len(t.Actions))], Params: [][]byte{{byte(random.IntN(4))}}}
				if err := tx.Insert(i, e); err != nil {
					r.t.Fatal(err)
				}
			}
		}
	})
}

// TestShorten compares random programs with themselves as they were before packets were led past tests.
func TestShorten(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	before, after := 0, 0
	for n := range 600 {
		s := newSteps(r)
		data := s.json()
		looks := maxLooks
		if n%4 == 0 {
			looks = r.IntN(100) // so that it ends somewhere
		}
		var rigs [2]*rig
		for i, looks := range []int{-1, looks} {
			p, err := load(data, looks)
			if err != nil {
				t.Fatalf("%v\n%s", err, data)
			}
			rigs[i] = newRigOf(t, data)
			rigs[i].p, rigs[i].s = p, p.New(Config{})
			rigs[i].w = rigs[i].s.NewWorker()
			s.fill(rigs[i], rand.New(rand.NewPCG(uint64(n), 0)))
		}
		before, after = before+len(rigs[0].p.ingress.code), after+len(rigs[1].p.ingress.code)
		for a := range byte(2) {
			for b := range byte(4) {
				for c := range byte(5) {
					frame := []byte{a, b, c, 0xff}
					want, got := rigs[0].send(0, frame), rigs[1].send(0, frame)
					if d := cmp.Diff(want, got, cmp.AllowUnexported(sink{})); d != "" {
						t.Fatalf("program %d, frame %x (-want +got):\n%s\n%s", n, frame, d, data)
					}
				}
			}
		}
	}
	if after >= before {
		t.Errorf("%d instructions of %d are left", after, before)
	}
}

// TestChanges asks after each primitive that is a call what it has changed, and what was known before.
func TestChanges(t *testing.T) {
	y, z, c := headerOf("y"), headerOf("z"), fieldOf("m", "c")
	is := func(f obj, v uint64) obj { return opOf("==", f, hexOf(v)) }
	valid := opOf("d2b", nil, fieldOf("y", "$valid$"))
	for _, tt := range []struct {
		name  string
		prims []any
		cond  obj
		want  string // x.a is 1 if the condition is true
	}{
		{"header becomes invalid", []any{primOf("add_header", y), primOf("assign_header", y, z)}, valid, "00"},
		{"header becomes valid", []any{primOf("remove_header", y), primOf("add_header", z), primOf("assign_header", y, z)}, valid, "01"},
		{"field of a header", []any{primOf("add_header", y), set("y", "a", hexOf(1)), primOf("add_header", z), primOf("assign_header", y, z)},
			is(fieldOf("y", "a"), 1), "00"},
		{"field of a header that is new", []any{primOf("add_header", y), set("y", "a", hexOf(1)), primOf("remove_header", y), primOf("add_header", y)},
			is(fieldOf("y", "a"), 1), "00"},
		{"random", []any{set("m", "c", hexOf(1)), primOf("modify_field_rng_uniform", c, hexOf(2), hexOf(2))}, is(c, 1), "00"},
		{"register", []any{set("m", "c", hexOf(1)), primOf("register_read", c, named1("register_array", "r"), hexOf(0))}, is(c, 1), "00"},
		{"hash", []any{set("m", "c", hexOf(1)), primOf("modify_field_with_hash_based_offset", c, hexOf(7), named1("calculation", "h"), hexOf(1))},
			is(c, 1), "00"},
		{"wide", []any{set("m", "wide", hexOf(1)), set("m", "wide", opOf("<<", c, hexOf(70)))}, is(fieldOf("m", "wide"), 1), "00"},
		{"a push", []any{primOf("add_header", headerOf("s[0]")), primOf("push", named1("header_stack", "s"), hexOf(1))},
			opOf("d2b", nil, fieldOf("s[0]", "$valid$")), "00"},
		{"nothing", []any{set("m", "c", hexOf(1)), primOf("count", named1("counter_array", "n"), hexOf(0))}, is(c, 1), "01"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProgram()
			p.header("x", false, "a", 8)
			p.header("y", false, "a", 8)
			p.headers = append(p.headers, obj{"name": "z", "id": 90, "header_type": "y_t", "metadata": false})
			p.header("m", true, "c", 8, "wide", 100)
			p.stackOf("s", 2)
			p.state("start", list{extractOf("x")}, nil, "", "")
			p.order = list{"x"}
			p.extra["register_arrays"] = list{obj{"name": "r", "id": 0, "size": 4, "bitwidth": 8}}
			p.extra["counter_arrays"] = list{obj{"name": "n", "id": 0, "size": 4, "is_direct": false}}
			p.extra["calculations"] = list{obj{"name": "h", "id": 0, "algo": "xor16", "input": list{fieldOf("x", "a")}}}
			p.table("t", nil, p.action("do", nil, tt.prims...), nil, "if")
			p.conds = list{obj{"name": "if", "id": 0, "expression": tt.cond, "true_next": "yes", "false_next": "no"}}
			p.table("yes", nil, p.action("yes", nil, set("x", "a", hexOf(1))), nil, nil)
			p.table("no", nil, p.action("no", nil, set("x", "a", hexOf(0))), nil, nil)
			for _, o := range p.tables {
				o.(obj)["default_entry"].(obj)["action_const"] = true
			}
			if got := newRigOf(t, p.json()).send(0, []byte{9}).frames; len(got) != 1 || got[0][len(got[0])-2:] != tt.want {
				t.Errorf("got %v, want one that ends with %s", got, tt.want)
			}
		})
	}
}
