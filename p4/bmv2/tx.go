package bmv2

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// Tx is access to an instance's state, within Update or View. Values that it gives are copies.
type Tx struct {
	s     *Instance
	read  bool
	begun bool
}

// begin lets all workers wait.
func (t *Tx) begin() error {
	if t.read {
		return fmt.Errorf("%w: a change in View", ErrInvalid)
	}
	if !t.begun {
		t.begun = true
		for _, w := range t.s.workers {
			w.gate.Lock()
		}
	}
	return nil
}

func (t *Tx) end() {
	if t.begun {
		for _, w := range t.s.workers {
			w.gate.Unlock()
		}
	}
}

func (t *Tx) table(i int) (*table, error) {
	if i < 0 || i >= len(t.s.tables) {
		return nil, fmt.Errorf("%w: table %d", ErrInvalid, i)
	}
	return t.s.tables[i], nil
}

// entries returns a table with mutable entries.
func (t *Tx) entries(i int) (*table, error) {
	tb, err := t.table(i)
	switch {
	case err != nil:
		return nil, err
	case t.s.p.tables[i].ConstEntries:
		return nil, fmt.Errorf("table %q: %w", t.s.p.tables[i].Name, ErrConst)
	case len(tb.def.keys) == 0:
		return nil, fmt.Errorf("table %q: %w: it has no key", t.s.p.tables[i].Name, ErrInvalid)
	}
	return tb, nil
}

func (t *Tx) named(i int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("table %q: %w", t.s.p.tables[i].Name, err)
}

// check refuses what RFC 2698, 3 does not allow.
func (c *MeterConfig) check() error {
	if c != nil && c.PIR < c.CIR {
		return fmt.Errorf("%w: meter with a peak rate of %d and a committed one of %d", ErrInvalid, c.PIR, c.CIR)
	}
	return nil
}

// Insert adds an entry. Errors: ErrFull, ErrExists, ErrInvalid, ErrConst.
func (t *Tx) Insert(table int, e *Entry) error {
	tb, err := t.entries(table)
	if err != nil {
		return err
	}
	if err := e.Meter.check(); err != nil {
		return t.named(table, err)
	}
	if err := t.begin(); err != nil {
		return err
	}
	_, err = tb.add(t.s.p, e, 0, t.s.now())
	return t.named(table, err)
}

// locate finds an entry that is there.
func (t *Tx) locate(tb *table, e *Entry) (found, error) {
	m, err := tb.match(e)
	if err != nil {
		return found{}, err
	}
	f := tb.locate(m)
	if f.row < 0 {
		return f, ErrNotFound
	}
	return f, nil
}

// Modify gives an entry another action or other parameters; its counter and meter stay, unless e has them. Errors:
// ErrNotFound, ErrInvalid, ErrConst.
func (t *Tx) Modify(table int, e *Entry) error {
	tb, err := t.entries(table)
	if err != nil {
		return err
	}
	f, err := t.locate(tb, e)
	if err != nil {
		return t.named(table, err)
	}
	slot, err := tb.def.action(t.s.p, e.Action, e.Params, tb.data)
	if err == nil {
		err = e.Meter.check()
	}
	if err != nil {
		return t.named(table, err)
	}
	if err := t.begin(); err != nil {
		return err
	}
	r := tb.row(f.row)
	r[0] = r[0]&^(0xffffff<<8) | uint64(slot)<<8
	copy(r[tb.def.dataAt:], tb.data)
	tb.attach(f.row, e, t.s.now())
	return nil
}

// Delete removes the entry with this match and priority. Errors: ErrNotFound, ErrInvalid, ErrConst.
func (t *Tx) Delete(table int, e *Entry) error {
	tb, err := t.entries(table)
	if err != nil {
		return err
	}
	f, err := t.locate(tb, e)
	if err != nil {
		return t.named(table, err)
	}
	if err := t.begin(); err != nil {
		return err
	}
	tb.remove(f)
	return nil
}

// SetDefault sets the default action. Errors: ErrInvalid, ErrConst.
func (t *Tx) SetDefault(table, action int, params [][]byte) error {
	tb, err := t.table(table)
	if err != nil {
		return err
	}
	if t.s.p.tables[table].ConstDefault {
		return t.named(table, ErrConst)
	}
	slot, err := tb.def.action(t.s.p, action, params, tb.data)
	if err != nil {
		return t.named(table, err)
	}
	if err := t.begin(); err != nil {
		return err
	}
	tb.defSlot, tb.defData = slot, slices.Clone(tb.data)
	return nil
}

// ResetDefault sets the default action to that of the program. Errors: ErrInvalid.
func (t *Tx) ResetDefault(table int) error {
	tb, err := t.table(table)
	if err != nil {
		return err
	}
	if err := t.begin(); err != nil {
		return err
	}
	tb.defSlot, tb.defData = tb.def.defSlot, slices.Clone(tb.def.defData)
	return nil
}

// Default is the default action as an entry without a match; Action is -1 if there is none. Misses are not counted.
func (t *Tx) Default(table int) (Entry, error) {
	tb, err := t.table(table)
	if err != nil || tb.defSlot < 0 {
		return Entry{Action: -1}, err
	}
	a := &tb.def.actions[tb.defSlot]
	return Entry{Action: a.id, Params: a.def.octets(tb.defData), Const: t.s.p.tables[table].ConstDefault}, nil
}

// Entry finds the entry with the match and priority of e. Errors: ErrNotFound, ErrInvalid.
func (t *Tx) Entry(table int, e *Entry) (Entry, error) {
	tb, err := t.table(table)
	if err != nil {
		return Entry{}, err
	}
	f, err := t.locate(tb, e)
	if err != nil {
		return Entry{}, t.named(table, err)
	}
	return tb.entry(f.row), nil
}

// Entries calls fn for each entry until it returns false. The order has no meaning. fn must not change the table.
func (t *Tx) Entries(table int, fn func(*Entry) bool) error {
	tb, err := t.table(table)
	if err != nil {
		return err
	}
	for i := range tb.top {
		if tb.row(i)[0]&rowUsed == 0 {
			continue
		}
		if e := tb.entry(i); !fn(&e) {
			break
		}
	}
	return nil
}

// Len is the number of entries of a table.
func (t *Tx) Len(table int) (int, error) {
	tb, err := t.table(table)
	if err != nil {
		return 0, err
	}
	return tb.n, nil
}

// SetEntryCounter sets the direct counter of an entry. Errors: ErrNotFound, ErrInvalid.
func (t *Tx) SetEntryCounter(id int, e *Entry, v CounterValue) error {
	return t.setDirect(id, e, func(d *tableDef) bool { return d.counter }, func(tb *table, row int) {
		tb.attach(row, &Entry{Counter: &v}, 0)
	})
}

// SetEntryMeter sets the direct meter of an entry, with full buckets; nil lets all packets be green again. Errors:
// ErrNotFound, ErrInvalid.
func (t *Tx) SetEntryMeter(id int, e *Entry, c *MeterConfig) error {
	if err := c.check(); err != nil {
		return err
	}
	return t.setDirect(id, e, func(d *tableDef) bool { return d.meter }, func(tb *table, row int) {
		tb.meters[row].configure(c, t.s.now())
	})
}

func (t *Tx) setDirect(id int, e *Entry, has func(*tableDef) bool, set func(*table, int)) error {
	tb, err := t.table(id)
	if err != nil {
		return err
	}
	if !has(tb.def) {
		return t.named(id, fmt.Errorf("%w: it has none of these", ErrInvalid))
	}
	f, err := t.locate(tb, e)
	if err != nil {
		return t.named(id, err)
	}
	if err := t.begin(); err != nil {
		return err
	}
	set(tb, f.row)
	return nil
}

// cell checks an index, and that an array is not a direct one.
func cell(what string, i, n, index, cells, table int) error {
	if i < 0 || i >= n || index < 0 || index >= cells || table >= 0 {
		return fmt.Errorf("%w: %s %d[%d] is not a cell of an array", ErrInvalid, what, i, index)
	}
	return nil
}

// at gives element i, or the zero value, for cell to look at.
func at[T any](of []T, i int) (v T) {
	if i >= 0 && i < len(of) {
		v = of[i]
	}
	return v
}

// Counter reads a cell of a counter array.
func (t *Tx) Counter(counter, index int) (CounterValue, error) {
	c := at(t.s.p.counters, counter)
	if err := cell("counter", counter, len(t.s.counters), index, c.Size, c.Table); err != nil {
		return CounterValue{}, err
	}
	w := t.s.counters[counter]
	return CounterValue{atomic.LoadUint64(&w[2*index]), atomic.LoadUint64(&w[2*index+1])}, nil
}

// SetCounter writes a cell of a counter array.
func (t *Tx) SetCounter(counter, index int, v CounterValue) error {
	c := at(t.s.p.counters, counter)
	if err := cell("counter", counter, len(t.s.counters), index, c.Size, c.Table); err != nil {
		return err
	}
	if err := t.begin(); err != nil {
		return err
	}
	w := t.s.counters[counter]
	atomic.StoreUint64(&w[2*index], v.Packets)
	atomic.StoreUint64(&w[2*index+1], v.Octets)
	return nil
}

// Meter reads a cell of a meter array; set is false if it was not set, so that all packets are green.
func (t *Tx) Meter(meter, index int) (c MeterConfig, set bool, err error) {
	m := at(t.s.p.meters, meter)
	if err := cell("meter", meter, len(t.s.meters), index, m.Size, m.Table); err != nil {
		return c, false, err
	}
	w := &t.s.meters[meter][index]
	return w.cfg, w.set.Load(), nil
}

// SetMeter sets a cell of a meter array, with full buckets; nil lets all packets be green again.
func (t *Tx) SetMeter(meter, index int, c *MeterConfig) error {
	m := at(t.s.p.meters, meter)
	if err := cell("meter", meter, len(t.s.meters), index, m.Size, m.Table); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	if err := t.begin(); err != nil {
		return err
	}
	t.s.meters[meter][index].configure(c, t.s.now())
	return nil
}

// Register reads a cell of a register array.
func (t *Tx) Register(register, index int) ([]byte, error) {
	r := at(t.s.p.registers, register)
	if err := cell("register", register, len(t.s.registers), index, r.Size, -1); err != nil {
		return nil, err
	}
	st, n := &t.s.registers[register], (r.Width+63)/64
	st.mu.Lock()
	defer st.mu.Unlock()
	return wordsOctets(st.w[n*index : n*(index+1)]), nil
}

// SetRegister writes a cell of a register array.
func (t *Tx) SetRegister(register, index int, v []byte) error {
	r := at(t.s.p.registers, register)
	if err := cell("register", register, len(t.s.registers), index, r.Size, -1); err != nil {
		return err
	}
	n := (r.Width + 63) / 64
	w := make([]uint64, n)
	if !octetsWords(v, r.Width, w) {
		return fmt.Errorf("%w: %x has more than %d bits", ErrInvalid, v, r.Width)
	}
	if err := t.begin(); err != nil {
		return err
	}
	copy(t.s.registers[register].w[n*index:], w)
	return nil
}

// SetCloneSession sets where packets go that are cloned to a session, 1 to 32767; nil removes it.
func (t *Tx) SetCloneSession(session uint16, c *CloneSession) error {
	if session == 0 || session > 0x7fff {
		return fmt.Errorf("%w: clone session %d", ErrInvalid, session)
	}
	if c != nil && c.PacketLength < 0 {
		return fmt.Errorf("%w: packet length %d", ErrInvalid, c.PacketLength)
	}
	if err := t.begin(); err != nil {
		return err
	}
	if c == nil {
		delete(t.s.sessions, int32(session))
		return nil
	}
	t.s.sessions[int32(session)] = &CloneSession{slices.Clone(c.Replicas), c.PacketLength}
	return nil
}

// SetMulticastGroup sets the replicas of a group; none remove it. There is no group 0.
func (t *Tx) SetMulticastGroup(group uint16, replicas []Replica) error {
	if group == 0 {
		return fmt.Errorf("%w: multicast group 0", ErrInvalid)
	}
	if err := t.begin(); err != nil {
		return err
	}
	if len(replicas) == 0 {
		delete(t.s.groups, uint64(group))
		return nil
	}
	t.s.groups[uint64(group)] = slices.Clone(replicas)
	return nil
}
