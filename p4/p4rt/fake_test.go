package p4rt

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	info "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// fakeProgram is what the tests' P4Info describes.
type fakeProgram struct {
	tables    []bmv2.Table
	actions   []bmv2.Action
	counters  []bmv2.Counter
	meters    []bmv2.Meter
	registers []bmv2.Register
	digests   []bmv2.Digest
}

func (p *fakeProgram) Tables() []bmv2.Table       { return p.tables }
func (p *fakeProgram) Actions() []bmv2.Action     { return p.actions }
func (p *fakeProgram) Counters() []bmv2.Counter   { return p.counters }
func (p *fakeProgram) Meters() []bmv2.Meter       { return p.meters }
func (p *fakeProgram) Registers() []bmv2.Register { return p.registers }
func (p *fakeProgram) Digests() []bmv2.Digest     { return p.digests }

func position(n int, name func(int) string, want string) (int, bool) {
	for i := range n {
		if name(i) == want {
			return i, true
		}
	}
	return 0, false
}

func (p *fakeProgram) Table(name string) (int, bool) {
	return position(len(p.tables), func(i int) string { return p.tables[i].Name }, name)
}

func (p *fakeProgram) Action(table int, name string) (int, bool) {
	for _, a := range p.tables[table].Actions {
		if p.actions[a].Name == name {
			return a, true
		}
	}
	return 0, false
}

func (p *fakeProgram) Counter(name string) (int, bool) {
	return position(len(p.counters), func(i int) string { return p.counters[i].Name }, name)
}

func (p *fakeProgram) Meter(name string) (int, bool) {
	return position(len(p.meters), func(i int) string { return p.meters[i].Name }, name)
}

func (p *fakeProgram) Register(name string) (int, bool) {
	return position(len(p.registers), func(i int) string { return p.registers[i].Name }, name)
}

func (p *fakeProgram) Digest(name string) (int, bool) {
	return position(len(p.digests), func(i int) string { return p.digests[i].Name }, name)
}

// The positions of newFakeProgram.
const (
	tableExact, tableTernary, tableLPM, tableConst = 0, 1, 2, 3
	actionForward, actionDrop                      = 0, 1
)

func newFakeProgram() *fakeProgram {
	return &fakeProgram{
		tables: []bmv2.Table{
			{ID: 0, Name: "in.exact", Size: 1 << 20, Keys: []bmv2.Key{{Name: "port", Kind: bmv2.Exact, Width: 9}, {Name: "teid", Kind: bmv2.Exact, Width: 32}},
				Actions: []int{0, 1, 2}, DefaultAction: 1, Counter: 1, Meter: 1},
			{ID: 1, Name: "in.ternary", Size: 16, Keys: []bmv2.Key{{Name: "a", Kind: bmv2.Ternary, Width: 32}, {Name: "b", Kind: bmv2.Range, Width: 16},
				{Name: "c", Kind: bmv2.Ternary, Width: 8}, {Name: "d", Kind: bmv2.LPM, Width: 64}},
				Actions: []int{0, 1}, DefaultAction: 1, HasPriority: true, Counter: -1, Meter: -1},
			{ID: 2, Name: "in.lpm", Size: 4, Keys: []bmv2.Key{{Name: "d", Kind: bmv2.LPM, Width: 32}}, Actions: []int{0, 1}, DefaultAction: 1, ConstDefault: true, Counter: -1, Meter: -1},
			{ID: 3, Name: "in.const", Size: 4, Keys: []bmv2.Key{{Name: "d", Kind: bmv2.Exact, Width: 8}}, Actions: []int{0, 1}, DefaultAction: 1, ConstEntries: true, Counter: 2, Meter: -1},
		},
		actions: []bmv2.Action{
			{ID: 0, Name: "in.forward", Params: []bmv2.Param{{Name: "port", Width: 9}, {Name: "mac", Width: 48}}},
			{ID: 1, Name: "in.drop"}, {ID: 2, Name: "NoAction"},
		},
		counters:  []bmv2.Counter{{ID: 0, Name: "in.packets", Size: 8, Table: -1}, {ID: 1, Name: "in.direct", Table: 0}, {ID: 2, Name: "in.direct2", Table: 3}},
		meters:    []bmv2.Meter{{ID: 0, Name: "in.rate", Size: 4, Table: -1, Octets: true}, {ID: 1, Name: "in.directrate", Table: 0}},
		registers: []bmv2.Register{{ID: 0, Name: "in.last", Size: 4, Width: 48}, {ID: 1, Name: "in.signed", Size: 2, Width: 12}},
		digests:   []bmv2.Digest{{ID: 0, Name: "learn_t", Fields: []bmv2.Param{{Name: "mac", Width: 48}, {Name: "port", Width: 9}}}},
	}
}

const fakeInfo = `
tables { preamble { id: 0x2000001 name: "in.exact" } match_fields { id: 1 name: "port" bitwidth: 9 match_type: EXACT } match_fields { id: 2 name: "teid" bitwidth: 32 match_type: EXACT }
  action_refs { id: 0x1000001 } action_refs { id: 0x1000002 } action_refs { id: 0x1000003 scope: DEFAULT_ONLY } direct_resource_ids: 0x13000001 size: 1048576 }
tables { preamble { id: 0x2000002 name: "in.ternary" } match_fields { id: 1 name: "a" bitwidth: 32 match_type: TERNARY } match_fields { id: 2 name: "b" bitwidth: 16 match_type: RANGE }
  match_fields { id: 3 name: "c" bitwidth: 8 match_type: OPTIONAL } match_fields { id: 4 name: "d" bitwidth: 64 match_type: LPM }
  action_refs { id: 0x1000001 scope: TABLE_ONLY } action_refs { id: 0x1000002 } size: 16 }
tables { preamble { id: 0x2000003 name: "in.lpm" } match_fields { id: 7 name: "d" bitwidth: 32 match_type: LPM }
  action_refs { id: 0x1000001 } action_refs { id: 0x1000002 } size: 4 const_default_action_id: 0x1000002 }
tables { preamble { id: 0x2000004 name: "in.const" } match_fields { id: 1 name: "d" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x1000001 } action_refs { id: 0x1000002 } size: 4 is_const_table: true has_initial_entries: true }
actions { preamble { id: 0x1000001 name: "in.forward" } params { id: 1 name: "port" bitwidth: 9 } params { id: 2 name: "mac" bitwidth: 48 } }
actions { preamble { id: 0x1000002 name: "in.drop" } }
actions { preamble { id: 0x1000003 name: "NoAction" } }
counters { preamble { id: 0x12000001 name: "in.packets" } spec { unit: BOTH } size: 8 }
direct_counters { preamble { id: 0x13000001 name: "in.direct" } spec { unit: BOTH } direct_table_id: 0x2000001 }
direct_counters { preamble { id: 0x13000002 name: "in.direct2" } spec { unit: BOTH } direct_table_id: 0x2000004 }
meters { preamble { id: 0x14000001 name: "in.rate" } spec { unit: BYTES } size: 4 }
direct_meters { preamble { id: 0x15000001 name: "in.directrate" } spec { unit: PACKETS } direct_table_id: 0x2000001 }
registers { preamble { id: 0x16000001 name: "in.last" } type_spec { bitstring { bit { bitwidth: 48 } } } size: 4 }
registers { preamble { id: 0x16000002 name: "in.signed" } type_spec { bitstring { int { bitwidth: 12 } } } size: 2 }
digests { preamble { id: 0x17000001 name: "learn_t" } type_spec { struct { name: "learn_t" } } }
controller_packet_metadata { preamble { id: 0x4000001 name: "packet_in" } metadata { id: 1 name: "port" bitwidth: 9 } metadata { id: 2 name: "reason" bitwidth: 12 } metadata { id: 3 name: "pad" bitwidth: 3 } }
controller_packet_metadata { preamble { id: 0x4000002 name: "packet_out" } metadata { id: 1 name: "port" bitwidth: 9 } metadata { id: 2 name: "pad" bitwidth: 7 } }
type_info { structs { key: "learn_t" value { members { name: "mac" type_spec { bitstring { bit { bitwidth: 48 } } } } members { name: "port" type_spec { bitstring { bit { bitwidth: 9 } } } } } } }
`

func readInfo(t testing.TB, text string) *info.P4Info {
	t.Helper()
	p := &info.P4Info{}
	if err := prototext.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// fakeState keeps what it is given in maps.
type fakeState struct {
	mu       sync.RWMutex
	program  *fakeProgram
	entries  []map[string]*bmv2.Entry
	defaults []bmv2.Entry
	counters map[[2]int]bmv2.CounterValue
	meters   map[[2]int]bmv2.MeterConfig
	register map[[2]int][]byte
	groups   map[uint16][]bmv2.Replica
	sessions map[uint16]*bmv2.CloneSession
}

func newFakeState(p *fakeProgram) *fakeState {
	s := &fakeState{program: p, counters: map[[2]int]bmv2.CounterValue{}, meters: map[[2]int]bmv2.MeterConfig{}, register: map[[2]int][]byte{},
		groups: map[uint16][]bmv2.Replica{}, sessions: map[uint16]*bmv2.CloneSession{}}
	for _, t := range p.tables {
		s.entries = append(s.entries, map[string]*bmv2.Entry{})
		s.defaults = append(s.defaults, bmv2.Entry{Action: t.DefaultAction})
	}
	e := &bmv2.Entry{Match: []bmv2.Match{{Value: []byte{5}}}, Action: actionDrop, Const: true, Counter: &bmv2.CounterValue{}}
	s.entries[tableConst][string(entryKey(e))] = e
	return s
}

func (s *fakeState) Update(fn func(Tx)) { s.mu.Lock(); defer s.mu.Unlock(); fn(s) }
func (s *fakeState) View(fn func(Tx))   { s.mu.RLock(); defer s.mu.RUnlock(); fn(s) }

func (s *fakeState) find(table int, e *bmv2.Entry) (*bmv2.Entry, error) {
	if found := s.entries[table][string(entryKey(e))]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("table %s: %w", s.program.tables[table].Name, bmv2.ErrNotFound)
}

func (s *fakeState) Insert(table int, e *bmv2.Entry) error {
	key := string(entryKey(e))
	switch {
	case s.entries[table][key] != nil:
		return bmv2.ErrExists
	case len(s.entries[table]) >= s.program.tables[table].Size:
		return bmv2.ErrFull
	}
	c := clone(e)
	if c.Counter == nil && s.program.tables[table].Counter >= 0 {
		c.Counter = &bmv2.CounterValue{}
	}
	s.entries[table][key] = &c
	return nil
}

func (s *fakeState) Modify(table int, e *bmv2.Entry) error {
	found, err := s.find(table, e)
	if err != nil {
		return err
	}
	c := clone(e)
	found.Action, found.Params = c.Action, c.Params
	if c.Counter != nil {
		found.Counter = c.Counter
	}
	if c.Meter != nil {
		found.Meter = c.Meter
	}
	return nil
}

func (s *fakeState) Delete(table int, e *bmv2.Entry) error {
	if _, err := s.find(table, e); err != nil {
		return err
	}
	delete(s.entries[table], string(entryKey(e)))
	return nil
}

func (s *fakeState) SetDefault(table, action int, params [][]byte) error {
	s.defaults[table] = clone(&bmv2.Entry{Action: action, Params: params})
	return nil
}

func (s *fakeState) ResetDefault(table int) error {
	s.defaults[table] = bmv2.Entry{Action: s.program.tables[table].DefaultAction}
	return nil
}

func (s *fakeState) Default(table int) (bmv2.Entry, error) { return s.defaults[table], nil }

func (s *fakeState) Entry(table int, e *bmv2.Entry) (bmv2.Entry, error) {
	found, err := s.find(table, e)
	if err != nil {
		return bmv2.Entry{}, err
	}
	return *found, nil
}

func (s *fakeState) Entries(table int, fn func(*bmv2.Entry) bool) error {
	for _, e := range s.entries[table] {
		if !fn(e) {
			break
		}
	}
	return nil
}

func (s *fakeState) Counter(c, i int) (bmv2.CounterValue, error) {
	return s.counters[[2]int{c, i}], nil
}
func (s *fakeState) SetCounter(c, i int, v bmv2.CounterValue) error {
	s.counters[[2]int{c, i}] = v
	return nil
}

func (s *fakeState) Meter(m, i int) (bmv2.MeterConfig, bool, error) {
	c, ok := s.meters[[2]int{m, i}]
	return c, ok, nil
}

func (s *fakeState) SetMeter(m, i int, c *bmv2.MeterConfig) error {
	if delete(s.meters, [2]int{m, i}); c != nil {
		s.meters[[2]int{m, i}] = *c
	}
	return nil
}

func (s *fakeState) SetEntryMeter(table int, e *bmv2.Entry, c *bmv2.MeterConfig) error {
	found, err := s.find(table, e)
	if err == nil {
		found.Meter = nil
		if c != nil {
			v := *c
			found.Meter = &v
		}
	}
	return err
}

func (s *fakeState) SetEntryCounter(table int, e *bmv2.Entry, v bmv2.CounterValue) error {
	found, err := s.find(table, e)
	if err == nil {
		found.Counter = &v
	}
	return err
}

func (s *fakeState) Register(r, i int) ([]byte, error) {
	if v, ok := s.register[[2]int{r, i}]; ok {
		return v, nil
	}
	return []byte{0}, nil
}

func (s *fakeState) SetRegister(r, i int, v []byte) error {
	s.register[[2]int{r, i}] = bytes.Clone(v)
	return nil
}

func (s *fakeState) SetCloneSession(n uint16, c *bmv2.CloneSession) error {
	if delete(s.sessions, n); c != nil {
		s.sessions[n] = c
	}
	return nil
}

func (s *fakeState) SetMulticastGroup(n uint16, r []bmv2.Replica) error {
	if delete(s.groups, n); r != nil {
		s.groups[n] = slices.Clone(r)
	}
	return nil
}

// fakeSwitch takes the program "{}".
type fakeSwitch struct {
	mu      sync.Mutex
	running State
	out     [][]byte
	full    bool
}

func (s *fakeSwitch) Load(json []byte) (Program, error) {
	if string(json) != "{}" {
		return nil, fmt.Errorf("%q is no program", json)
	}
	return newFakeProgram(), nil
}

func (s *fakeSwitch) New(p Program) (State, error) { return newFakeState(p.(*fakeProgram)), nil }

func (s *fakeSwitch) Run(state State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = state
	return nil
}

func (s *fakeSwitch) PacketOut(frame []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return errors.New("no room")
	}
	s.out = append(s.out, frame)
	return nil
}

// rig is a server with a fake switch, and a connection to it.
type rig struct {
	*Server
	target *fakeSwitch
	client p4.P4RuntimeClient
}

func newRig(t testing.TB, c Config) *rig {
	t.Helper()
	c.DeviceID = 1
	r := &rig{target: &fakeSwitch{}}
	r.Server = New(c, r.target, slog.New(slog.DiscardHandler))
	conn, err := r.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		r.Close()
	})
	if r.client = p4.NewP4RuntimeClient(conn); withinProcess {
		r.client = r.Local(conn)
	}
	return r
}

func fakeConfig(t testing.TB) *p4.ForwardingPipelineConfig {
	return &p4.ForwardingPipelineConfig{P4Info: readInfo(t, fakeInfo), P4DeviceConfig: []byte("{}"), Cookie: &p4.ForwardingPipelineConfig_Cookie{Cookie: 7}}
}
