package bmv2

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// mutant changes JSON at random places: what stands there is replaced by something else of the document, by a number or a
// string that is at the edge of something, left out, or written twice.
type mutant struct {
	r     *rand.Rand
	nodes []any // everything of the document
}

func (m *mutant) collect(v any) {
	m.nodes = append(m.nodes, v)
	switch t := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(t)) {
			m.collect(t[k])
		}
	case []any:
		for _, x := range t {
			m.collect(x)
		}
	}
}

func (m *mutant) value() any {
	switch m.r.IntN(6) {
	case 0:
		return []any{-1, 0, 1, 2, 7, 8, 9, 64, 65, 511, 4096, 65536, 1 << 31, 1e300, nil, true, "", "0x0", "-0x1", "0xffffffffffffffffff"}[m.r.IntN(20)]
	case 1:
		return m.r.IntN(200)
	}
	return m.nodes[m.r.IntN(len(m.nodes))]
}

// change changes nodes, each with a chance of 1/one.
func (m *mutant) change(v any, one, depth int) any {
	if depth > 60 {
		return v
	}
	if m.r.IntN(one) == 0 {
		return m.value()
	}
	switch t := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(t)) {
			if m.r.IntN(8*one) > 0 {
				out[k] = m.change(t[k], one, depth+1)
			}
		}
		return out
	case []any:
		var out []any
		for _, x := range t {
			switch m.r.IntN(8 * one) {
			case 0:
			case 1:
				out = append(out, x, x)
			default:
				out = append(out, m.change(x, one, depth+1))
			}
		}
		return out
	}
	return v
}

// mutants are the programs that are changed.
func mutants(t testing.TB) [][]byte {
	upf, err := os.ReadFile("testdata/upf.json")
	if err != nil {
		t.Fatal(err)
	}
	parser := parserProgram()
	parser.state("start", list{extractOf("x"), primOf("extract_VL", obj{"type": "regular", "value": "v"}, exprOf(opOf("*", fieldOf("x", "a"), hexOf(8)))),
		extractStack("s"), primOf("advance", fieldOf("x", "a")), primOf("set", fieldOf("x", "b"), ahead1(3, 9))},
		list{fieldOf("x", "a"), ahead1(0, 70)}, "0x01", "start", "", "")
	return [][]byte{upf,
		primProgram(primOf("push", named1("header_stack", "s"), fieldOf("x", "a")), primOf("resubmit", hexOf(1)),
			primOf("register_write", named1("register_array", "rw"), fieldOf("x", "a"), fieldOf("x", "c")),
			primOf("_jump_if_zero", opOf("==", fieldOf("x", "a"), hexOf(1)), hexOf(2)),
			set("m", "wide", opOf("usat_cast", opOf("*", fieldOf("m", "wide"), opOf(">>", fieldOf("x", "c"), fieldOf("x", "a"))), hexOf(90)))).json(),
		egressProgram(primOf("clone_egress_pkt_to_egress", hexOf(3), hexOf(1)), primOf("recirculate", hexOf(1))).json(),
		tableProgram(8, "ternary", "exact", "lpm", "range").json(), parser.json()}
}

// FuzzLoad changes programs. What is loaded lets frames through without panic, and each comes to an end.
func FuzzLoad(f *testing.F) {
	programs := mutants(f)
	for i := range programs {
		for seed := range uint64(120) {
			f.Add(seed, uint8(i), uint8(seed), octets("0302 0300 0405 0607 0102 0304 0000 0000 0000 0000"))
		}
		f.Add(uint64(1), uint8(i), uint8(255), gpdu(1, 2, 10))
	}
	f.Fuzz(func(t *testing.T, seed uint64, which, few uint8, frame []byte) {
		if len(frame) > 4096 {
			return
		}
		base := programs[int(which)%len(programs)]
		var doc any
		if err := json.Unmarshal(base, &doc); err != nil {
			t.Fatal(err)
		}
		m := &mutant{r: rand.New(rand.NewPCG(seed, uint64(which)))}
		m.collect(doc)
		program, err := json.Marshal(m.change(doc, 20+int(few)*20, 0))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Load(program)
		if err != nil {
			return
		}
		for _, c := range [][]int{sizes(p.counters, func(c *Counter) int { return c.Size }), sizes(p.registers, func(r *Register) int { return r.Size }),
			sizes(p.meters, func(m *Meter) int { return m.Size })} {
			for _, n := range c {
				if n > 1<<16 {
					return // only memory
				}
			}
		}
		s := p.New(Config{Clock: func() int64 { return 1 }, Passes: 3})
		s.Update(func(tx *Tx) {
			_ = tx.SetCloneSession(3, &CloneSession{Replicas: []Replica{{Port: 1}}})
			_ = tx.SetMulticastGroup(1, []Replica{{Port: 1}, {Port: 2}})
			for i := range p.tables {
				_ = tx.Entries(i, func(*Entry) bool { return true })
			}
		})
		var out counting
		s.NewWorker().Process([]Frame{{Port: 1, Data: frame}, {Port: 255, Data: frame}}, &out)
		if out.n < 2 {
			t.Errorf("of two frames %d came to an end", out.n)
		}
	})
}

func sizes[T any](of []T, size func(*T) int) (out []int) {
	for i := range of {
		out = append(out, size(&of[i]))
	}
	return out
}

// counting counts frames that came to an end.
type counting struct{ n int }

func (c *counting) Emit(*Out)               { c.n++ }
func (c *counting) Digest(int, int, []byte) {}
func (c *counting) Drop(int, Drop)          { c.n++ }
