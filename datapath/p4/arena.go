package p4

import (
	"encoding/binary"
	"sync"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// arena is memory for the updates of one write: without it, most of the time that a session
// takes on its way to the target is the allocator's and the garbage collector's.
type arena struct {
	updates  []*p4rt.Update
	messages []*message
	used     int

	// Of the sessions of one install.
	plans   []*plan
	every   []*stages.Rule
	steps   []planned
	written []*p4rt.Update
}

// message is an update with all that it consists of, for tables whose keys have exact fields
// alone.
type message struct {
	update  p4rt.Update
	entity  p4rt.Entity
	held    p4rt.Entity_TableEntry
	entry   p4rt.TableEntry
	fields  [maxKey]p4rt.FieldMatch
	exacts  [maxKey]p4rt.FieldMatch_Exact_
	values  [maxKey]p4rt.FieldMatch_Exact
	match   [maxKey]*p4rt.FieldMatch
	table   p4rt.TableAction
	taken   p4rt.TableAction_Action
	action  p4rt.Action
	params  [maxParams]p4rt.Action_Param
	list    [maxParams]*p4rt.Action_Param
	numbers [maxKey + maxParams][8]byte
}

const maxKey, maxParams = 2, 16

var arenas = sync.Pool{New: func() any { return &arena{} }}

// newArena returns an empty one. It is given back with [arena.free] when nobody needs its
// updates any more.
func newArena() *arena { return arenas.Get().(*arena) }

func (a *arena) free() {
	clear(a.updates)
	a.updates, a.used = a.updates[:0], 0
	if len(a.plans) > 0 {
		for _, p := range a.plans {
			p.reset()
		}
		a.plans = a.plans[:0]
		clear(a.every[:cap(a.every)])
		clear(a.steps[:cap(a.steps)])
		clear(a.written[:cap(a.written)])
	}
	arenas.Put(a)
}

// plan adds an empty one.
func (a *arena) plan(s *session) *plan {
	n := len(a.plans)
	if n == cap(a.plans) {
		a.plans = append(a.plans, &plan{})
	} else if a.plans = a.plans[:n+1]; a.plans[n] == nil {
		a.plans[n] = &plan{}
	}
	p := a.plans[n]
	p.s, p.arena = s, a
	return p
}

// reset leaves of a plan the memory that nobody else has.
func (p *plan) reset() {
	for _, steps := range [3][]planned{p.rules, p.keys, p.routes} {
		clear(steps)
	}
	clear(p.all)
	*p = plan{rules: p.rules[:0], keys: p.keys[:0], routes: p.routes[:0], all: p.all[:0]}
}

func (a *arena) take() *message {
	if a.used == len(a.messages) {
		a.messages = append(a.messages, newMessage())
	}
	m := a.messages[a.used]
	a.used++
	return m
}

// newMessage ties a message together; the fields are set by fill.
func newMessage() *message {
	m := &message{}
	m.update.Entity = &m.entity
	m.entity.Entity = &m.held
	m.held.TableEntry = &m.entry
	for i := range m.fields {
		m.match[i] = &m.fields[i]
		m.fields[i].FieldMatchType = &m.exacts[i]
		m.exacts[i].Exact = &m.values[i]
	}
	m.table.Type = &m.taken
	m.taken.Action = &m.action
	for i := range m.params {
		m.list[i] = &m.params[i]
	}
	return m
}

// add adds an update of an entry whose key is exact. act "": it has no action, as of one that
// goes.
func (a *arena) add(kind p4rt.Update_Type, t *table, key []uint64, act string, params ...uint64) *p4rt.Update {
	m := a.take()
	m.update.Type = kind
	m.entry.TableId, m.entry.Priority, m.entry.Action = t.id, 0, nil
	for i, v := range key {
		m.fields[i].FieldId = t.fields[i].id
		m.values[i].Value = m.number(i, v)
	}
	m.entry.Match = m.match[:len(key)]
	if act != "" {
		to := t.actions[act]
		m.entry.Action = &m.table
		m.action.ActionId = to.id
		for i, id := range to.params {
			m.params[i].ParamId, m.params[i].Value = id, m.number(maxKey+i, params[i])
		}
		m.action.Params = m.list[:len(to.params)]
	}
	a.updates = append(a.updates, &m.update)
	return &m.update
}

func (m *message) number(i int, v uint64) []byte {
	binary.BigEndian.PutUint64(m.numbers[i][:], v)
	return canonical(m.numbers[i][:])
}
