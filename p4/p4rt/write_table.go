package p4rt

import (
	"bytes"
	"slices"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// tableEntry does the update of the entry that was decoded last.
func (b *batch) tableEntry(kind p4.Update_Type) *failure {
	w := &b.wire
	t, why := b.p.table(w.table)
	switch {
	case why != nil:
		return why
	case w.isConst:
		return invalid("table %s: is_const: want it unset", t.name)
	case w.isDefault:
		return b.defaultEntry(kind, t)
	case len(t.fields) == 0:
		return invalid("table %s: it has no key, and so no entries but the default one", t.name)
	}
	if why := t.priorityOf(w); why != nil {
		return why
	}
	if why := b.new.key(t, w); why != nil {
		return why
	}
	if kind == p4.Update_DELETE {
		return b.remove(t)
	}
	if why := refuseIdle(t, w); why != nil {
		return why
	}
	if why := b.new.direct(t, w); why != nil {
		return why
	}
	if kind == p4.Update_INSERT {
		return b.insert(t)
	}
	return b.modify(t)
}

// refuseIdle refuses idle timeouts. Source: P4Runtime Specification v1.4.1, 9.1.8.
func refuseIdle(t *table, w *wireEntry) *failure {
	switch {
	case w.idle == 0 && !w.lastHit:
		return nil
	case t.idle && w.idle != 0 && !w.isDefault:
		return unimplemented("table %s: idle timeouts are not implemented", t.name)
	}
	return invalid("table %s: idle_timeout_ns, time_since_last_hit: want them unset", t.name)
}

func (b *batch) insert(t *table) *failure {
	if t.constEntries {
		return fail(codes.PermissionDenied, "table %s: its entries are constant in the program", t.name)
	}
	if why := b.new.action(t, &b.wire); why != nil {
		return why
	}
	if err := b.tx.Insert(t.index, &b.new.entry); err != nil {
		return refused(err)
	}
	b.setNote(t)
	if b.keep {
		key := keyOf(&b.new.entry)
		b.onError(func(tx Tx) {
			_ = tx.Delete(t.index, &key) // it is there
			t.setNote(&key, note{})
		})
	}
	return nil
}

// modify changes action, parameters, meter and note; the counter only if there is one in the
// request. Source: P4Runtime Specification v1.4.1, 9.1.2, 9.1.7.
func (b *batch) modify(t *table) *failure {
	e := &b.new.entry
	if b.wire.action == noAction {
		return b.modifyDirect(t)
	}
	if why := b.refuseConst(t); why != nil {
		return why
	}
	if why := b.new.action(t, &b.wire); why != nil {
		return why
	}
	if why := b.keepEntry(t, e.Counter != nil); why != nil {
		return why
	}
	if err := b.tx.Modify(t.index, e); err != nil {
		return b.undone(refused(err))
	}
	if t.meter != nil && e.Meter == nil {
		if err := b.tx.SetEntryMeter(t.index, e, nil); err != nil {
			return fail(codes.Internal, "table %s: reset the meter of an entry: %v", t.name, err)
		}
	}
	b.setNote(t)
	return nil
}

// modifyDirect changes an entry except its action.
func (b *batch) modifyDirect(t *table) *failure {
	e := &b.new.entry
	counter, meter := e.Counter, e.Meter
	e.Counter, e.Meter = nil, nil
	old, err := b.tx.Entry(t.index, e)
	if err != nil {
		return refused(err)
	}
	isConst := t.constEntries || old.Const
	if why := b.keepEntry(t, counter != nil); why != nil {
		return why
	}
	if counter != nil {
		if err := b.tx.SetEntryCounter(t.index, e, *counter); err != nil {
			return b.undone(refused(err))
		}
	}
	if t.meter != nil {
		if err := b.tx.SetEntryMeter(t.index, e, meter); err != nil {
			return b.undone(refused(err))
		}
	}
	if !isConst {
		b.setNote(t)
	}
	return nil
}

func (b *batch) remove(t *table) *failure {
	if why := b.refuseConst(t); why != nil {
		return why
	}
	if b.keep {
		old, err := b.tx.Entry(t.index, &b.new.entry)
		if err != nil {
			return refused(err)
		}
		old = clone(&old)
		was := t.note(&old)
		b.onError(func(tx Tx) {
			_ = tx.Insert(t.index, &old) // it was there
			t.setNote(&old, was)
		})
	}
	if err := b.tx.Delete(t.index, &b.new.entry); err != nil {
		return b.undone(refused(err))
	}
	t.setNote(&b.new.entry, note{})
	return nil
}

// refuseConst refuses to change an entry that is constant in the program.
func (b *batch) refuseConst(t *table) *failure {
	if !t.constEntries && t.initial {
		old, err := b.tx.Entry(t.index, &b.new.entry)
		if err != nil {
			return refused(err)
		}
		if !old.Const {
			return nil
		}
	} else if !t.constEntries {
		return nil
	}
	return fail(codes.PermissionDenied, "table %s: its entries are constant in the program", t.name)
}

// undone forgets what would undo an update that was refused.
func (b *batch) undone(why *failure) *failure {
	if b.keep {
		b.undo = b.undo[:len(b.undo)-1]
	}
	return why
}

// keepEntry keeps what the entry was, and with which counter if that is to be set.
func (b *batch) keepEntry(t *table, counter bool) *failure {
	if !b.keep {
		return nil
	}
	old, err := b.tx.Entry(t.index, &b.new.entry)
	if err != nil {
		return refused(err)
	}
	old = clone(&old)
	was := t.note(&old)
	b.onError(func(tx Tx) {
		value := old.Counter
		old.Counter = nil
		_ = tx.Modify(t.index, &old) // these, too, were there; an entry of the program keeps its action
		if t.meter != nil {
			_ = tx.SetEntryMeter(t.index, &old, old.Meter)
		}
		if counter && value != nil {
			_ = tx.SetEntryCounter(t.index, &old, *value)
		}
		t.setNote(&old, was)
	})
	return nil
}

// defaultEntry does an update of the default entry. Source: P4Runtime Specification v1.4.1, 9.1.3.
func (b *batch) defaultEntry(kind p4.Update_Type, t *table) *failure {
	w := &b.wire
	switch {
	case kind != p4.Update_MODIFY:
		return invalid("table %s: default entry: want MODIFY, since it is always there", t.name)
	case len(w.match) > 0 || w.priority != 0:
		return invalid("table %s: default entry: want no match and priority 0", t.name)
	case w.counter != nil || w.meter != nil || w.meterCounter:
		return unimplemented("table %s: the default entry has no counter and no meter", t.name)
	case t.constDefault:
		return fail(codes.PermissionDenied, "table %s: its default action is constant in the program", t.name)
	}
	if why := refuseIdle(t, w); why != nil {
		return why
	}
	if w.action != noAction {
		if why := b.new.action(t, w); why != nil {
			return why
		}
	}
	if b.keep {
		old, err := b.tx.Default(t.index)
		if err != nil {
			return refused(err)
		}
		old = clone(&old)
		was := t.defaultNote
		b.onError(func(tx Tx) {
			if old.Action < 0 {
				_ = tx.ResetDefault(t.index) // there was none, as in the program
			} else {
				_ = tx.SetDefault(t.index, old.Action, old.Params) // it was this one
			}
			t.defaultNote = was
		})
	}
	var err error
	if w.action == noAction {
		err = b.tx.ResetDefault(t.index)
	} else {
		err = b.tx.SetDefault(t.index, b.new.entry.Action, b.new.entry.Params)
	}
	if err != nil {
		return b.undone(refused(err))
	}
	t.defaultNote = note{}
	if w.action != noAction {
		t.defaultNote = note{w.cookie, string(w.metadata)}
	}
	return nil
}

// setNote keeps what the request attaches to the entry.
func (b *batch) setNote(t *table) {
	if len(t.notes) == 0 && b.wire.cookie == 0 && len(b.wire.metadata) == 0 {
		return
	}
	t.setNote(&b.new.entry, note{b.wire.cookie, string(b.wire.metadata)})
}

func (t *table) setNote(e *bmv2.Entry, n note) {
	switch {
	case n != note{}:
		t.notes[string(entryKey(e))] = n
	case len(t.notes) > 0:
		delete(t.notes, string(entryKey(e)))
	}
}

func (t *table) note(e *bmv2.Entry) note {
	if len(t.notes) == 0 {
		return note{}
	}
	return t.notes[string(entryKey(e))]
}

// entryKey is what identifies an entry in its table.
func entryKey(e *bmv2.Entry) []byte {
	k := make([]byte, 0, 64)
	k = append(k, byte(e.Priority>>24), byte(e.Priority>>16), byte(e.Priority>>8), byte(e.Priority))
	for i := range e.Match {
		m := &e.Match[i]
		for _, b := range [3][]byte{m.Value, m.Mask, m.High} {
			k = append(k, byte(len(b)>>8), byte(len(b)))
			k = append(k, b...)
		}
		k = append(k, byte(m.PrefixLen>>8), byte(m.PrefixLen))
	}
	return k
}

// keyOf copies what identifies an entry.
func keyOf(e *bmv2.Entry) bmv2.Entry {
	return clone(&bmv2.Entry{Match: e.Match, Priority: e.Priority})
}

// clone copies an entry.
func clone(e *bmv2.Entry) bmv2.Entry {
	c := *e
	c.Match = slices.Clone(e.Match)
	for i := range c.Match {
		m := &c.Match[i]
		m.Value, m.Mask, m.High = bytes.Clone(m.Value), bytes.Clone(m.Mask), bytes.Clone(m.High)
	}
	c.Params = slices.Clone(e.Params)
	for i := range c.Params {
		c.Params[i] = bytes.Clone(c.Params[i])
	}
	if e.Counter != nil {
		v := *e.Counter
		c.Counter = &v
	}
	if e.Meter != nil {
		v := *e.Meter
		c.Meter = &v
	}
	return c
}
