package p4rt

import (
	"fmt"
	"slices"

	info "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

func (b *builder) addTables() error {
	for _, t := range b.info.GetTables() {
		name, err := b.name("table", t.GetPreamble())
		if err != nil {
			return err
		}
		at, ok := b.program.Table(name)
		if !ok {
			return missing("table", name)
		}
		made, err := b.table(t, b.program.Tables()[at])
		if err != nil {
			return err
		}
		b.tables = append(b.tables, made)
		b.tableByID[made.id] = made
	}
	return nil
}

// table checks one table.
func (b *builder) table(t *info.Table, in bmv2.Table) (*table, error) {
	name := t.GetPreamble().GetName()
	made := &table{
		id: t.GetPreamble().GetId(), name: name, index: in.ID, fields: make([]field, len(in.Keys)),
		priority: in.HasPriority, constEntries: in.ConstEntries, constDefault: in.ConstDefault,
		idle: t.GetIdleTimeoutBehavior() != info.Table_NO_TIMEOUT, initial: t.GetHasInitialEntries(), notes: map[string]note{},
	}
	switch {
	case t.GetSize() != int64(in.Size) && !in.ConstEntries: // for those the compiler writes two sizes
		return nil, differs("table", name, "size", t.GetSize(), in.Size)
	case t.GetIsConstTable() != in.ConstEntries && t.GetHasInitialEntries():
		return nil, differs("table", name, "whether its entries are constant", t.GetIsConstTable(), in.ConstEntries)
	case (t.GetConstDefaultActionId() != 0) && !in.ConstDefault:
		return nil, differs("table", name, "whether its default action is constant", true, false)
	case len(t.GetMatchFields()) != len(in.Keys):
		return nil, differs("table", name, "number of match fields", len(t.GetMatchFields()), len(in.Keys))
	case t.GetImplementationId() != 0:
		return nil, fmt.Errorf("table %s: action profile: %w", name, bmv2.ErrUnsupported)
	}
	made.constEntries = made.constEntries || t.GetIsConstTable()
	for _, f := range t.GetMatchFields() {
		at, made1, err := matchField(name, f, in.Keys)
		if err != nil {
			return nil, err
		}
		if made.fields[at].id != 0 || made.field(made1.id) >= 0 {
			return nil, fmt.Errorf("P4Info: table %s: match field %s, or its id, is there twice", name, f.GetName())
		}
		made.fields[at] = made1
	}
	for _, ref := range t.GetActionRefs() {
		a, err := b.action(name, in.ID, ref)
		if err != nil {
			return nil, err
		}
		made.actions = append(made.actions, a)
	}
	return made, nil
}

// optional is a match kind that the program does not have: there it is ternary with a full mask.
const optional = bmv2.Range + 1

var matchKinds = map[info.MatchField_MatchType]bmv2.MatchKind{
	info.MatchField_EXACT: bmv2.Exact, info.MatchField_LPM: bmv2.LPM, info.MatchField_TERNARY: bmv2.Ternary,
	info.MatchField_RANGE: bmv2.Range, info.MatchField_OPTIONAL: optional,
}

var kindNames = [...]string{bmv2.Exact: "exact", bmv2.LPM: "lpm", bmv2.Ternary: "ternary", bmv2.Range: "range", optional: "optional"}

// matchField checks one match field and returns where in the key it is.
func matchField(table string, f *info.MatchField, keys []bmv2.Key) (int, field, error) {
	name := table + ", match field " + f.GetName()
	at := slices.IndexFunc(keys, func(k bmv2.Key) bool { return k.Name == f.GetName() })
	kind, known := matchKinds[f.GetMatchType()]
	switch {
	case f.GetId() == 0:
		return 0, field{}, fmt.Errorf("P4Info: table %s: id 0", name)
	case at < 0:
		return 0, field{}, missing("table", name)
	case !known:
		return 0, field{}, fmt.Errorf("table %s: match type %v %q: %w", name, f.GetMatchType(), f.GetOtherMatchType(), bmv2.ErrUnsupported)
	case kind != keys[at].Kind && (kind != optional || keys[at].Kind != bmv2.Ternary):
		return 0, field{}, differs("table", name, "match type", kindNames[kind], kindNames[keys[at].Kind])
	case f.GetBitwidth() != int32(keys[at].Width):
		return 0, field{}, differs("table", name, "width", f.GetBitwidth(), keys[at].Width)
	}
	made := field{id: f.GetId(), name: f.GetName(), kind: kind, width: keys[at].Width}
	if kind == optional {
		made.ones = ones(made.width)
	}
	return at, made, nil
}

// action checks one action that a table may have.
func (b *builder) action(table string, at int, ref *info.ActionRef) (action, error) {
	a := b.actions[ref.GetId()]
	if a == nil {
		return action{}, fmt.Errorf("P4Info: table %s: there is no action with id %#x", table, ref.GetId())
	}
	name := a.GetPreamble().GetName()
	index, ok := b.program.Action(at, name)
	if !ok {
		return action{}, missing("table "+table+", action", name)
	}
	name = fmt.Sprintf("%s (table %s)", name, table)
	in := b.program.Actions()[index].Params
	if len(in) != len(a.GetParams()) {
		return action{}, differs("action", name, "number of parameters", len(a.GetParams()), len(in))
	}
	made := action{id: ref.GetId(), name: a.GetPreamble().GetName(), index: index, params: make([]param, len(in)), scope: ref.GetScope()}
	for _, p := range a.GetParams() {
		i := slices.IndexFunc(in, func(x bmv2.Param) bool { return x.Name == p.GetName() })
		switch {
		case i < 0:
			return action{}, missing("action "+name+", parameter", p.GetName())
		case p.GetBitwidth() != int32(in[i].Width):
			return action{}, differs("action", name+", parameter "+p.GetName(), "width", p.GetBitwidth(), in[i].Width)
		case p.GetId() == 0 || made.param(p.GetId()) >= 0 || made.params[i].id != 0:
			return action{}, fmt.Errorf("P4Info: action %s: parameter %s, or its id, is 0 or there twice", name, p.GetName())
		}
		made.params[i] = param{p.GetId(), p.GetName(), in[i].Width}
	}
	return made, nil
}

// field finds a match field; -1: there is none.
func (t *table) field(id uint32) int {
	if i := int(id) - 1; i >= 0 && i < len(t.fields) && t.fields[i].id == id { // as p4c counts them
		return i
	}
	for i := range t.fields {
		if t.fields[i].id == id {
			return i
		}
	}
	return -1
}

// action finds an action by its id; nil: there is none.
func (t *table) action(id uint32) *action {
	for i := range t.actions {
		if t.actions[i].id == id {
			return &t.actions[i]
		}
	}
	return nil
}

// actionAt finds an action by its position in the program; nil: it is not in P4Info.
func (t *table) actionAt(index int) *action {
	for i := range t.actions {
		if t.actions[i].index == index {
			return &t.actions[i]
		}
	}
	return nil
}

// param finds a parameter; -1: there is none.
func (a *action) param(id uint32) int {
	if i := int(id) - 1; i >= 0 && i < len(a.params) && a.params[i].id == id {
		return i
	}
	for i := range a.params {
		if a.params[i].id == id {
			return i
		}
	}
	return -1
}
