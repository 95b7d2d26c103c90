package p4

import (
	"encoding/binary"
	"fmt"

	info "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4rt "github.com/p4lang/p4runtime/go/p4/v1"
)

// schema finds the pipeline's tables, actions and counters by the names that they have in
// p4/*.p4 (the alias of P4Info: the shortest that is one of a kind).
type schema struct {
	info      *info.P4Info
	tables    map[string]*table
	counters  map[string]uint32
	ports     map[string]uint32 // metadata of packet_in and packet_out: "packet_in.reason"
	registers map[string]uint32
}

type table struct {
	id      uint32
	name    string
	size    int64
	fields  []field
	actions map[string]*action // of the table
}

type field struct {
	id   uint32
	kind info.MatchField_MatchType
	bits int
}

type action struct {
	id     uint32
	params []uint32
}

// newSchema checks that a pipeline has what the driver asks of it.
func newSchema(p *info.P4Info) (*schema, error) {
	s := &schema{info: p, tables: map[string]*table{}, counters: map[string]uint32{}, ports: map[string]uint32{}, registers: map[string]uint32{}}
	actions := map[uint32]*info.Action{}
	for _, a := range p.GetActions() {
		actions[a.GetPreamble().GetId()] = a
	}
	for _, t := range p.GetTables() {
		made := &table{id: t.GetPreamble().GetId(), name: t.GetPreamble().GetAlias(), size: t.GetSize(), actions: map[string]*action{}}
		for _, f := range t.GetMatchFields() {
			made.fields = append(made.fields, field{f.GetId(), f.GetMatchType(), int(f.GetBitwidth())})
		}
		for _, ref := range t.GetActionRefs() {
			a := actions[ref.GetId()]
			if a == nil {
				return nil, fmt.Errorf("p4: P4Info: table %s: no action %d", made.name, ref.GetId())
			}
			one := &action{id: ref.GetId()}
			for _, param := range a.GetParams() {
				one.params = append(one.params, param.GetId())
			}
			made.actions[a.GetPreamble().GetAlias()] = one
		}
		s.tables[made.name] = made
	}
	for _, c := range p.GetCounters() {
		s.counters[c.GetPreamble().GetAlias()] = c.GetPreamble().GetId()
	}
	for _, r := range p.GetRegisters() {
		s.registers[r.GetPreamble().GetAlias()] = r.GetPreamble().GetId()
	}
	for _, m := range p.GetControllerPacketMetadata() {
		for _, f := range m.GetMetadata() {
			s.ports[m.GetPreamble().GetName()+"."+f.GetName()] = f.GetId()
		}
	}
	return s, s.check()
}

// wanted is what the driver writes: tables with the number of fields of their keys, and actions
// with that of their parameters.
var wanted = map[string]struct {
	fields  int
	actions map[string]int
}{
	tablePorts:   {4, map[string]int{actionFromPort: 2}},
	tableLocals4: {1, map[string]int{actionLocal: 1}}, tableLocals6: {2, map[string]int{actionLocal: 1}},
	tableTunnels: {2, map[string]int{actionOne: 6, actionSeveral: 6, actionDetectCPU: 1}},
	tableUEs4:    {1, bareActions}, tableUEs6: {1, bareActions}, tableFramed4: {1, bareActions}, tableFramed6: {1, bareActions},
	tableFilters4: {9, map[string]int{actionFiltered: 1, actionUnfiltered: 1}}, tableFilters6: {11, map[string]int{actionFiltered: 1, actionUnfiltered: 1}},
	tableRules: {1, map[string]int{actionToN6: 10, actionToPeer: 16, actionRefuse: 1, actionForwardCPU: 1}},
	tableOwn4:  {1, map[string]int{actionOwn: 0}}, tableOwn6: {2, map[string]int{actionOwn: 0}},
	tableRoutes4: {2, map[string]int{actionByHop: 1, actionForwardCPU: 1}}, tableRoutes6: {2, map[string]int{actionByHop: 1, actionForwardCPU: 1}},
	tableSlices: {2, map[string]int{actionRate: 2}},
	tablePeers:  {1, map[string]int{actionPeer4: 3, actionPeer6: 5}}, tableHops: {1, map[string]int{actionByPort: 6}},
}

var bareActions = map[string]int{actionOneBare: 2, actionSeveralBare: 2, actionDetectCPU: 1}

// Names of the pipeline.
const (
	tablePorts, tableLocals4, tableLocals6            = "ports", "locals4", "locals6"
	tableTunnels, tableUEs4, tableUEs6                = "tunnels", "ues4", "ues6"
	tableFramed4, tableFramed6                        = "framed4", "framed6"
	tableFilters4, tableFilters6, tableRules          = "filters4", "filters6", "rules"
	tableOwn4, tableOwn6                              = "own4", "own6"
	tableRoutes4, tableRoutes6, tablePeers, tableHops = "data_routes4", "data_routes6", "peers", "hops"
	actionFromPort, actionLocal                       = "from_port", "local"
	actionOne, actionSeveral, actionDetectCPU         = "one", "several", "detect.cpu"
	actionOneBare, actionSeveralBare                  = "one_bare", "several_bare"
	actionFiltered, actionUnfiltered                  = "filtered", "unfiltered"
	actionToN6, actionToPeer, actionRefuse            = "to_n6", "to_peer", "refuse"
	actionForwardCPU, actionOwn, actionByHop          = "forward.cpu", "own", "by_hop"
	actionPeer4, actionPeer6, actionByPort            = "peer4", "peer6", "by_port"
	tableSlices, actionRate                           = "slices", "rate"
	counterForwarded, counterRefused                  = "forwarded", "refused"
	counterDropped, counterHanded                     = "dropped", "handed"
)

func (s *schema) check() error {
	for name, want := range wanted {
		t := s.tables[name]
		if t == nil {
			return fmt.Errorf("p4: P4Info has no table %s: it is not that of the UPF's pipeline", name)
		}
		if len(t.fields) != want.fields {
			return fmt.Errorf("p4: P4Info: table %s: %d match fields: want %d", name, len(t.fields), want.fields)
		}
		for a, params := range want.actions {
			got := t.actions[a]
			if got == nil || len(got.params) != params {
				return fmt.Errorf("p4: P4Info: table %s: want an action %s with %d parameters", name, a, params)
			}
		}
	}
	for _, c := range []string{counterForwarded, counterRefused, counterDropped, counterHanded} {
		if s.counters[c] == 0 {
			return fmt.Errorf("p4: P4Info has no counter %s", c)
		}
	}
	for _, m := range []string{inPort, inReason, outPort} {
		if s.ports[m] == 0 {
			return fmt.Errorf("p4: P4Info has no metadata %s", m)
		}
	}
	return nil
}

// match is what an entry says of one field. Exact and LPM: value; LPM: the first bits of it
// count. Ternary: those under mask; none: the field is left out. Range: from value to high.
type match struct {
	value, mask, high []byte
	bits              int
}

func exact(v uint64) match { return match{value: number(v)} }

// entry makes one of a table. params are in the order of the action's.
func (s *schema) entry(name string, key []match, priority int32, act string, params ...uint64) *p4rt.TableEntry {
	t := s.tables[name]
	e := &p4rt.TableEntry{TableId: t.id, Match: t.key(key), Priority: priority}
	if act == "" {
		return e
	}
	a := t.actions[act]
	made := &p4rt.Action{ActionId: a.id, Params: make([]*p4rt.Action_Param, len(a.params))}
	all := make([]p4rt.Action_Param, len(a.params))
	for i, id := range a.params {
		all[i].ParamId, all[i].Value = id, number(params[i])
		made.Params[i] = &all[i]
	}
	e.Action = &p4rt.TableAction{Type: &p4rt.TableAction_Action{Action: made}}
	return e
}

func (t *table) key(key []match) []*p4rt.FieldMatch {
	all := make([]*p4rt.FieldMatch, 0, len(key))
	for i := range key {
		k, f := &key[i], &t.fields[i]
		m := &p4rt.FieldMatch{FieldId: f.id}
		switch f.kind {
		case info.MatchField_LPM:
			if k.bits == 0 {
				continue // any
			}
			m.FieldMatchType = &p4rt.FieldMatch_Lpm{Lpm: &p4rt.FieldMatch_LPM{Value: k.value, PrefixLen: int32(k.bits)}}
		case info.MatchField_TERNARY:
			if k.mask == nil {
				continue
			}
			m.FieldMatchType = &p4rt.FieldMatch_Ternary_{Ternary: &p4rt.FieldMatch_Ternary{Value: k.value, Mask: k.mask}}
		case info.MatchField_RANGE:
			if k.high == nil {
				continue
			}
			m.FieldMatchType = &p4rt.FieldMatch_Range_{Range: &p4rt.FieldMatch_Range{Low: k.value, High: k.high}}
		default:
			m.FieldMatchType = &p4rt.FieldMatch_Exact_{Exact: &p4rt.FieldMatch_Exact{Value: k.value}}
		}
		all = append(all, m)
	}
	return all
}

// number is v in the canonical form: no leading zero octets, at least one octet.
// Source: P4Runtime 1.4.1, 8.4.
func number(v uint64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v)
	return canonical(b[:])
}

func canonical(b []byte) []byte {
	for len(b) > 1 && b[0] == 0 {
		b = b[1:]
	}
	return b
}
