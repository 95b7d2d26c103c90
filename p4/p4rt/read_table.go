package p4rt

import (
	"bytes"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// tableEntries reads entries of one table, or of all of them. Source: P4Runtime Specification v1.4.1, 9.1.6.
func (q *query) tableEntries(e *p4.TableEntry) *failure {
	switch {
	case e.GetMeterCounterData() != nil:
		return unimplemented("counters of colours are not implemented")
	case e.GetTableId() == 0:
		if len(e.GetMatch()) > 0 || e.GetAction() != nil || e.GetPriority() != 0 || e.GetIsDefaultAction() ||
			e.GetControllerMetadata() != 0 || len(e.GetMetadata()) > 0 { //nolint:staticcheck // older controllers use it
			return invalid("table 0, which is all of them: want no filter")
		}
		for _, t := range q.p.tables {
			if why := q.table(t, e); why != nil || q.err != nil {
				return why
			}
		}
		return nil
	}
	t, why := q.p.table(e.GetTableId())
	switch {
	case why != nil:
		return why
	case e.GetTimeSinceLastHit() != nil && t.idle:
		return unimplemented("table %s: idle timeouts are not implemented", t.name)
	case e.GetTimeSinceLastHit() != nil:
		return invalid("table %s: time_since_last_hit: it has no idle timeouts", t.name)
	case e.GetIsDefaultAction():
		if len(e.GetMatch()) > 0 || e.GetPriority() != 0 {
			return invalid("table %s: default entry: want no match and priority 0", t.name)
		}
		return q.defaultEntry(t, e)
	}
	return q.table(t, e)
}

// filter is what entries have to be like.
type filter struct {
	action   *action
	priority int32
	note     note
	match    []bmv2.Match // nil: any
}

// table reads the entries of a table that are as e says.
func (q *query) table(t *table, e *p4.TableEntry) *failure {
	f := filter{priority: e.GetPriority(), note: note{e.GetControllerMetadata(), string(e.GetMetadata())}} //nolint:staticcheck // as above
	if a := e.GetAction(); a != nil {
		if f.action = t.action(a.GetAction().GetActionId()); f.action == nil {
			return invalid("table %s: it has no action with id %#x", t.name, a.GetAction().GetActionId())
		}
	}
	if len(e.GetMatch()) > 0 {
		if why := q.matchOf(t, e); why != nil {
			return why
		}
		f.match = q.key.match
	}
	return q.entries(t, &f, func(found *bmv2.Entry) bool {
		return q.add(&p4.Entity{Entity: &p4.Entity_TableEntry{TableEntry: t.message(found, e)}})
	})
}

// matchOf makes the match of e that of the key; its priority may be left out.
func (q *query) matchOf(t *table, e *p4.TableEntry) *failure {
	plain := &p4.TableEntry{TableId: e.GetTableId(), Match: e.GetMatch(), Priority: e.GetPriority()}
	if t.priority && plain.Priority == 0 {
		plain.Priority = 1 // of any: it is not compared
	}
	return q.key.keyOfMessage(t, &q.wire, plain)
}

// entries calls add for the entries that are as f says, until it returns false.
func (q *query) entries(t *table, f *filter, add func(*bmv2.Entry) bool) *failure {
	if f.match != nil && (!t.priority || f.priority != 0) { // the whole key
		found, err := q.tx.Entry(t.index, &q.key.entry)
		why := refused(err)
		switch {
		case why == nil && f.fits(t, &found):
			add(&found)
		case why != nil && why.code != codes.NotFound:
			return why
		}
		return nil
	}
	if len(t.fields) == 0 {
		return nil
	}
	return refused(q.tx.Entries(t.index, func(found *bmv2.Entry) bool {
		return !f.fits(t, found) || add(found)
	}))
}

// fits reports whether an entry is as f says.
func (f *filter) fits(t *table, e *bmv2.Entry) bool {
	if f.action != nil && e.Action != f.action.index || f.priority != 0 && e.Priority != f.priority {
		return false
	}
	if f.note != (note{}) {
		n := t.note(e)
		if f.note.cookie != 0 && f.note.cookie != n.cookie || f.note.metadata != "" && f.note.metadata != n.metadata {
			return false
		}
	}
	return f.match == nil || sameMatch(f.match, e.Match)
}

func sameMatch(a, b []bmv2.Match) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if (x.Value == nil) != (y.Value == nil) || x.PrefixLen != y.PrefixLen ||
			!bytes.Equal(x.Value, y.Value) || !bytes.Equal(x.Mask, y.Mask) || !bytes.Equal(x.High, y.High) {
			return false
		}
	}
	return true
}

// message converts an entry to a TableEntry, with counter and meter if requested.
func (t *table) message(e *bmv2.Entry, asked *p4.TableEntry) *p4.TableEntry {
	m := &p4.TableEntry{TableId: t.id, Match: t.matchMessage(e), Action: t.actionMessage(e), Priority: e.Priority}
	m.IsConst = e.Const || t.constEntries
	n := t.note(e)
	m.ControllerMetadata = n.cookie //nolint:staticcheck // who has set it reads it
	if n.metadata != "" {
		m.Metadata = []byte(n.metadata)
	}
	if asked.GetCounterData() != nil && t.counter {
		m.CounterData = counterOf(e)
	}
	if asked.GetMeterConfig() != nil && e.Meter != nil {
		m.MeterConfig = meterData(*e.Meter)
	}
	return m
}

func counterOf(e *bmv2.Entry) *p4.CounterData {
	if e.Counter == nil {
		return &p4.CounterData{}
	}
	return counterData(*e.Counter)
}

// matchMessage copies the match of an entry.
func (t *table) matchMessage(e *bmv2.Entry) []*p4.FieldMatch {
	list := make([]*p4.FieldMatch, 0, len(t.fields))
	for i := range min(len(t.fields), len(e.Match)) {
		f, m := &t.fields[i], &e.Match[i]
		if m.Value == nil {
			continue
		}
		out := &p4.FieldMatch{FieldId: f.id}
		value := bytes.Clone(m.Value)
		switch f.kind {
		case bmv2.Exact:
			out.FieldMatchType = &p4.FieldMatch_Exact_{Exact: &p4.FieldMatch_Exact{Value: value}}
		case bmv2.LPM:
			out.FieldMatchType = &p4.FieldMatch_Lpm{Lpm: &p4.FieldMatch_LPM{Value: value, PrefixLen: int32(m.PrefixLen)}}
		case bmv2.Ternary:
			out.FieldMatchType = &p4.FieldMatch_Ternary_{Ternary: &p4.FieldMatch_Ternary{Value: value, Mask: bytes.Clone(m.Mask)}}
		case bmv2.Range:
			out.FieldMatchType = &p4.FieldMatch_Range_{Range: &p4.FieldMatch_Range{Low: value, High: bytes.Clone(m.High)}}
		case optional:
			out.FieldMatchType = &p4.FieldMatch_Optional_{Optional: &p4.FieldMatch_Optional{Value: value}}
		}
		list = append(list, out)
	}
	return list
}

// actionMessage copies the action of an entry; nil: P4Info does not have it.
func (t *table) actionMessage(e *bmv2.Entry) *p4.TableAction {
	a := t.actionAt(e.Action)
	if a == nil {
		return nil
	}
	m := &p4.Action{ActionId: a.id}
	for i := range min(len(a.params), len(e.Params)) {
		m.Params = append(m.Params, &p4.Action_Param{ParamId: a.params[i].id, Value: bytes.Clone(e.Params[i])})
	}
	return &p4.TableAction{Type: &p4.TableAction_Action{Action: m}}
}

// defaultEntry reads the default entry of a table.
func (q *query) defaultEntry(t *table, asked *p4.TableEntry) *failure {
	e, err := q.tx.Default(t.index)
	if err != nil {
		return refused(err)
	}
	m := &p4.TableEntry{TableId: t.id, Action: t.actionMessage(&e), IsDefaultAction: true, IsConst: t.constDefault}
	m.ControllerMetadata = t.defaultNote.cookie //nolint:staticcheck // who has set it reads it
	if t.defaultNote.metadata != "" {
		m.Metadata = []byte(t.defaultNote.metadata)
	}
	if id := asked.GetAction().GetAction().GetActionId(); id != 0 && id != m.GetAction().GetAction().GetActionId() {
		return nil
	}
	if c := asked.GetControllerMetadata(); c != 0 && c != t.defaultNote.cookie || //nolint:staticcheck // as above
		len(asked.GetMetadata()) > 0 && string(asked.GetMetadata()) != t.defaultNote.metadata {
		return nil
	}
	q.add(&p4.Entity{Entity: &p4.Entity_TableEntry{TableEntry: m}})
	return nil
}

// directOf finds the tables of the requested direct counters or meters, and the key of one entry if given.
func (q *query) directOf(what string, e *p4.TableEntry, has func(*table) bool) ([]*table, *filter, *failure) {
	switch {
	case e == nil:
		return nil, nil, invalid("%s: no table entry", what)
	case e.GetIsDefaultAction():
		return nil, nil, unimplemented("%s: the default entry has none", what)
	case e.GetTableId() == 0:
		if len(e.GetMatch()) > 0 || e.GetPriority() != 0 {
			return nil, nil, invalid("%s: table 0, which is all of them: want no filter", what)
		}
		var list []*table
		for _, t := range q.p.tables {
			if has(t) {
				list = append(list, t)
			}
		}
		return list, &filter{}, nil
	}
	t, why := q.p.table(e.GetTableId())
	switch {
	case why != nil:
		return nil, nil, why
	case !has(t):
		return nil, nil, invalid("table %s: it has no %s", t.name, what)
	}
	f := &filter{priority: e.GetPriority()}
	if len(e.GetMatch()) > 0 {
		if why := q.matchOf(t, e); why != nil {
			return nil, nil, why
		}
		f.match = q.key.match
	}
	return []*table{t}, f, nil
}

// direct reads what entries have, by add. An entry that is named has to be there.
func (q *query) direct(what string, e *p4.TableEntry, has func(*table) bool, entity func(*p4.TableEntry, *bmv2.Entry) *p4.Entity) *failure {
	tables, f, why := q.directOf(what, e, has)
	if why != nil {
		return why
	}
	n := 0
	for _, t := range tables {
		why := q.entries(t, f, func(found *bmv2.Entry) bool {
			n++
			return q.add(entity(&p4.TableEntry{TableId: t.id, Match: t.matchMessage(found), Priority: found.Priority}, found))
		})
		if why != nil || q.err != nil {
			return why
		}
	}
	if n == 0 && f.match != nil {
		return fail(codes.NotFound, "table %s: there is no entry with this match", tables[0].name)
	}
	return nil
}

func (q *query) directCounters(c *p4.DirectCounterEntry) *failure {
	has := func(t *table) bool { return t.counter }
	return q.direct("direct counter", c.GetTableEntry(), has, func(key *p4.TableEntry, e *bmv2.Entry) *p4.Entity {
		return &p4.Entity{Entity: &p4.Entity_DirectCounterEntry{
			DirectCounterEntry: &p4.DirectCounterEntry{TableEntry: key, Data: counterOf(e)}}}
	})
}

func (q *query) directMeters(m *p4.DirectMeterEntry) *failure {
	if m.GetCounterData() != nil {
		return unimplemented("counters of colours are not implemented")
	}
	has := func(t *table) bool { return t.meter != nil }
	return q.direct("direct meter", m.GetTableEntry(), has, func(key *p4.TableEntry, e *bmv2.Entry) *p4.Entity {
		d := &p4.DirectMeterEntry{TableEntry: key}
		if e.Meter != nil {
			d.Config = meterData(*e.Meter)
		}
		return &p4.Entity{Entity: &p4.Entity_DirectMeterEntry{DirectMeterEntry: d}}
	})
}
