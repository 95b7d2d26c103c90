package bmv2

import (
	"encoding/json"
	"fmt"
	"math/big"
)

// Bounds on what is loaded. They are far beyond what programs have, and keep a broken file from costing memory or time.
const (
	maxFieldWidth   = 1024    // bits
	maxHeaderSize   = 2048    // octets, without a variable part
	maxFieldWords   = 1 << 14 // of all headers
	maxHeaders      = 4096
	maxStack        = 128
	maxStates       = 4096
	maxNodes        = 1 << 14
	maxPrimitives   = 1 << 14 // of one action
	maxActions      = 1 << 14
	maxKeyWords     = 32
	maxParamWords   = 64
	maxTableSize    = 1 << 24
	maxCellOctets   = 1 << 30 // of all counters, meters and registers
	maxDepth        = 256     // of an expression
	maxExprBits     = 4096    // of an intermediate value
	maxTempWords    = 1 << 16 // of all intermediate values
	maxParserStates = 1024    // that one packet goes through
	maxSteps        = 1 << 16 // primitives that one packet executes
)

// Program is a P4 program, checked and compiled. It never changes; any number of instances may run it.
type Program struct {
	tables    []Table
	actions   []Action
	counters  []Counter
	meters    []Meter
	registers []Register
	digests   []Digest

	headers    []header
	stacks     []stack
	fieldWords int
	metaWords  []span // of metadata, for a reset
	tempWords  int
	std        stdFields

	parser     parser
	verify     []checksum
	update     []checksum
	ingress    pipeline
	egress     pipeline
	deparse    []int // headers
	deparseOps body
	tdefs      []tableDef
	adefs      []actionDef
	lists      map[int][]listItem // field lists
	learn      []learnDef         // as digests
	calls      []call             // of instructions
}

// span is a run of words of ctx.f.
type span struct{ off, n int }

// loader is the state of Load.
type loader struct {
	p    *Program
	j    jsonProgram
	errs map[string]int32 // parser errors

	headerByName   map[string]int
	headerByID     map[int]int
	stackByName    map[string]int
	alias          map[string][2]string
	counterByName  map[string]int
	meterByName    map[string]int
	registerByName map[string]int
	calcByName     map[string]*calculation
	learnByID      map[int]int
	actionByID     map[int]int
	tableByName    map[string]int
	class          []int      // of headers, joined by what copies one to another
	params         []paramRef // of the action that is being compiled
	cells          int64
	// registersUsed are those that the action being compiled reads or writes.
	registersUsed map[int]bool
	looks         int // at instructions, that are left for a pipeline
}

// Load checks and compiles BMv2 JSON. The error says where and what; it wraps ErrUnsupported if the program uses what
// is not implemented.
func Load(data []byte) (*Program, error) { return load(data, maxLooks) }

// load is Load with a limit on the instructions that the data-flow analysis visits.
func load(data []byte, looks int) (*Program, error) {
	l := &loader{p: &Program{lists: map[int][]listItem{}}, looks: looks}
	if err := json.Unmarshal(data, &l.j); err != nil {
		return nil, fmt.Errorf("BMv2 JSON: %w", err)
	}
	if v := l.j.Meta.Version; len(v) > 0 && v[0] != 2 {
		return nil, fmt.Errorf("%w: BMv2 JSON of version %v", ErrUnsupported, v)
	}
	for _, step := range []func() error{
		l.loadUnsupported, l.loadHeaders, l.loadStacks, l.loadAliases, l.loadErrors, l.loadStd,
		l.loadCells, l.loadLists, l.loadCalculations, l.loadActions, l.loadPipelines, l.loadParser,
		l.loadDeparser, l.loadChecksums, l.finish,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return l.p, nil
}

// loadUnsupported refuses whole sections that are not implemented.
func (l *loader) loadUnsupported() error {
	for _, s := range []struct {
		what string
		n    int
	}{
		{"header_unions", len(l.j.HeaderUnions)},
		{"header_union_stacks", len(l.j.HeaderUnionStacks)},
		{"parse_vsets", len(l.j.ParseVsets)},
		{"extern_instances", len(l.j.ExternInstances)},
	} {
		if s.n > 0 {
			return fmt.Errorf("%w: %s", ErrUnsupported, s.what)
		}
	}
	return nil
}

// names checks that names and ids are unique, and gives the maps from both to positions.
func names[T any](what string, of []T, named func(*T) jsonNamed) (byName map[string]int, byID map[int]int, err error) {
	byName, byID = map[string]int{}, map[int]int{}
	for i := range of {
		n := named(&of[i])
		if _, ok := byName[n.Name]; ok || n.Name == "" {
			return nil, nil, fmt.Errorf("%s %q: the name is empty or there twice", what, n.Name)
		}
		if _, ok := byID[n.ID]; ok {
			return nil, nil, fmt.Errorf("%s %q: id %d is there twice", what, n.Name, n.ID)
		}
		byName[n.Name], byID[n.ID] = i, i
	}
	return byName, byID, nil
}

// loadErrors reads the numbers of the parser errors. Those of the core library that the program does not number get
// numbers that no other has.
func (l *loader) loadErrors() error {
	l.errs = map[string]int32{}
	used := map[int32]bool{}
	for _, e := range l.j.Errors {
		if len(e) != 2 {
			return fmt.Errorf("errors: %v is not a name and a number", e)
		}
		name, ok1 := e[0].(string)
		v, ok2 := e[1].(float64)
		if !ok1 || !ok2 || v < 0 || v != float64(int32(v)) || used[int32(v)] {
			return fmt.Errorf("errors: %v is not a name and a unique number", e)
		}
		l.errs[name] = int32(v)
		used[int32(v)] = true
	}
	next := int32(0)
	for _, name := range []string{"NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "HeaderTooShort",
		"ParserTimeout", "ParserInvalidArgument"} {
		if _, ok := l.errs[name]; ok {
			continue
		}
		for used[next] {
			next++
		}
		l.errs[name] = next
		used[next] = true
	}
	l.p.parser.noError = l.errs["NoError"]
	l.p.parser.tooShort = l.errs["PacketTooShort"]
	l.p.parser.noMatch = l.errs["NoMatch"]
	l.p.parser.outOfBounds = l.errs["StackOutOfBounds"]
	l.p.parser.headerTooShort = l.errs["HeaderTooShort"]
	l.p.parser.invalidArgument = l.errs["ParserInvalidArgument"]
	return nil
}

// hexValue reads a number as the format writes it: 0x and digits, maybe with a sign.
func hexValue(s string) (*big.Int, error) {
	t, neg := s, false
	if len(t) > 0 && t[0] == '-' {
		t, neg = t[1:], true
	}
	if len(t) >= 2 && t[0] == '0' && (t[1] == 'x' || t[1] == 'X') {
		t = t[2:]
	}
	v := new(big.Int)
	if len(t) == 0 || len(t) > maxExprBits/4 {
		return nil, fmt.Errorf("%.40q is not a hexadecimal number", s)
	}
	for _, c := range t {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return nil, fmt.Errorf("%.40q is not a hexadecimal number", s)
		}
	}
	v.SetString(t, 16)
	if neg {
		v.Neg(v)
	}
	return v, nil
}

// words gives the n lowest words of v in two's complement.
func words(v *big.Int, n int) []uint64 {
	out := make([]uint64, n)
	m := new(big.Int).Lsh(big.NewInt(1), uint(64*n))
	r := new(big.Int).Mod(v, m)
	low := new(big.Int)
	mask := new(big.Int).SetUint64(^uint64(0))
	for i := range out {
		out[i] = low.And(r, mask).Uint64()
		r.Rsh(r, 64)
	}
	return out
}

// mask64 has the w lowest bits set.
func mask64(w int) uint64 {
	if w >= 64 {
		return ^uint64(0)
	}
	return 1<<uint(w) - 1
}
