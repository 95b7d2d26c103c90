package p4rt

import (
	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// directKey makes the entry that a direct counter or meter belongs to the one that is in hand, and checks the update.
func (b *batch) directKey(kind p4.Update_Type, what string, e *p4.TableEntry) (*table, *failure) {
	switch {
	case kind != p4.Update_MODIFY:
		return nil, invalid("%s: want MODIFY: it lives as long as its entry", what)
	case e == nil:
		return nil, invalid("%s: no table entry", what)
	case e.GetIsDefaultAction():
		return nil, unimplemented("%s: the default entry has none", what)
	}
	t, why := b.p.table(e.GetTableId())
	if why != nil {
		return nil, why
	}
	if why := b.new.keyOfMessage(t, &b.wire, e); why != nil {
		return nil, why
	}
	return t, nil
}

// keyOfMessage is key for a message: w is memory.
func (s *scratch) keyOfMessage(t *table, w *wireEntry, e *p4.TableEntry) *failure {
	if why := w.readKey(e); why != nil {
		return why
	}
	if why := t.priorityOf(w); why != nil {
		return why
	}
	return s.key(t, w)
}

func (b *batch) directCounter(kind p4.Update_Type, c *p4.DirectCounterEntry) *failure {
	t, why := b.directKey(kind, "direct counter", c.GetTableEntry())
	if why != nil {
		return why
	}
	if !t.counter {
		return invalid("table %s: it has no direct counter", t.name)
	}
	old, err := b.tx.Entry(t.index, &b.new.entry)
	if err != nil {
		return refused(err)
	}
	if c.GetData() == nil {
		return nil
	}
	v, why := counterValue(c.GetData())
	if why != nil {
		return why
	}
	was := old.Counter
	if was == nil {
		was = &bmv2.CounterValue{}
	}
	before := *was
	if err := b.tx.SetEntryCounter(t.index, &b.new.entry, v); err != nil {
		return refused(err)
	}
	if b.keep {
		key := keyOf(&b.new.entry)
		b.onError(func(tx Tx) { _ = tx.SetEntryCounter(t.index, &key, before) })
	}
	return nil
}

func (b *batch) directMeter(kind p4.Update_Type, m *p4.DirectMeterEntry) *failure {
	t, why := b.directKey(kind, "direct meter", m.GetTableEntry())
	switch {
	case why != nil:
		return why
	case t.meter == nil:
		return invalid("table %s: it has no direct meter", t.name)
	case m.GetCounterData() != nil:
		return unimplemented("table %s: counters of colours", t.name)
	}
	var config *bmv2.MeterConfig
	if m.GetConfig() != nil {
		c, why := meterConfig(m.GetConfig(), t.meter)
		if why != nil {
			return why
		}
		config = &c
	}
	old, err := b.tx.Entry(t.index, &b.new.entry)
	if err != nil {
		return refused(err)
	}
	before := clone(&old).Meter
	if err := b.tx.SetEntryMeter(t.index, &b.new.entry, config); err != nil {
		return refused(err)
	}
	if b.keep {
		key := keyOf(&b.new.entry)
		b.onError(func(tx Tx) { _ = tx.SetEntryMeter(t.index, &key, before) })
	}
	return nil
}

// array finds a counter array, a meter array or registers.
func (p *pipeline) array(kind arrayKind, id uint32) (*array, *failure) {
	if a := p.arrayByID[id]; a != nil && a.kind == kind {
		return a, nil
	}
	return nil, invalid("there is no %s with id %#x", kind, id)
}

// cells returns the first cell that is meant and the one behind the last: all of them without an index.
func (a *array) cells(index *p4.Index) (from, to int, why *failure) {
	switch i := index.GetIndex(); {
	case index == nil:
		return 0, a.size, nil
	case i < 0:
		return 0, 0, invalid("%s %s: index %d: want none below 0", a.kind, a.name, i)
	case i >= int64(a.size):
		return 0, 0, fail(codes.OutOfRange, "%s %s: index %d: its size is %d", a.kind, a.name, i, a.size)
	default:
		return int(i), int(i) + 1, nil
	}
}

// arrayOf finds the cells that an update is about.
func (b *batch) arrayOf(kind p4.Update_Type, of arrayKind, id uint32, index *p4.Index) (a *array, from, to int, why *failure) {
	if a, why = b.p.array(of, id); why != nil {
		return nil, 0, 0, why
	}
	if kind != p4.Update_MODIFY {
		return nil, 0, 0, invalid("%s %s: want MODIFY: its cells are always there", of, a.name)
	}
	from, to, why = a.cells(index)
	return a, from, to, why
}

func (b *batch) counter(kind p4.Update_Type, c *p4.CounterEntry) *failure {
	a, from, to, why := b.arrayOf(kind, counterArray, c.GetCounterId(), c.GetIndex())
	if why != nil || c.GetData() == nil {
		return why
	}
	v, why := counterValue(c.GetData())
	if why != nil {
		return why
	}
	return b.cells(from, to, func(i int) (func(Tx), error) {
		old, err := b.tx.Counter(a.index, i)
		if err != nil {
			return nil, err
		}
		return func(tx Tx) { _ = tx.SetCounter(a.index, i, old) }, b.tx.SetCounter(a.index, i, v)
	})
}

func (b *batch) meter(kind p4.Update_Type, m *p4.MeterEntry) *failure {
	a, from, to, why := b.arrayOf(kind, meterArray, m.GetMeterId(), m.GetIndex())
	switch {
	case why != nil:
		return why
	case m.GetCounterData() != nil:
		return unimplemented("meter %s: counters of colours", a.name)
	}
	var config *bmv2.MeterConfig
	if m.GetConfig() != nil {
		c, why := meterConfig(m.GetConfig(), a.meter)
		if why != nil {
			return why
		}
		config = &c
	}
	return b.cells(from, to, func(i int) (func(Tx), error) {
		old, ok, err := b.tx.Meter(a.index, i)
		if err != nil {
			return nil, err
		}
		before := &old
		if !ok {
			before = nil
		}
		return func(tx Tx) { _ = tx.SetMeter(a.index, i, before) }, b.tx.SetMeter(a.index, i, config)
	})
}

func (b *batch) register(kind p4.Update_Type, r *p4.RegisterEntry) *failure {
	a, from, to, why := b.arrayOf(kind, registerArray, r.GetRegisterId(), r.GetIndex())
	if why != nil {
		return why
	}
	v, why := a.data.value(r.GetData())
	if why != nil {
		why.text = "register " + a.name + ": " + why.text
		return why
	}
	return b.cells(from, to, func(i int) (func(Tx), error) {
		old, err := b.tx.Register(a.index, i)
		if err != nil {
			return nil, err
		}
		old = append([]byte(nil), old...)
		return func(tx Tx) { _ = tx.SetRegister(a.index, i, old) }, b.tx.SetRegister(a.index, i, v)
	})
}

// cells sets cells of an array, or none if one is refused. set returns what undoes it.
func (b *batch) cells(from, to int, set func(i int) (undo func(Tx), err error)) *failure {
	var done []func(Tx)
	for i := from; i < to; i++ {
		undo, err := set(i)
		if err != nil {
			for j := len(done) - 1; j >= 0; j-- {
				done[j](b.tx)
			}
			return refused(err)
		}
		if to-from > 1 || b.keep {
			done = append(done, undo)
		}
	}
	if b.keep {
		b.undo = append(b.undo, done...)
	}
	return nil
}
