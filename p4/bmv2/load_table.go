package bmv2

import (
	"encoding/json"
	"fmt"
)

// table compiles a table, and gives its number and what may follow it.
func (l *loader) table(j *jsonTable, next func(*string) (int, error)) (int, []int, error) {
	id := len(l.p.tables)
	if _, there := l.tableByName[j.Name]; there {
		return 0, nil, fmt.Errorf("is in two pipelines")
	}
	l.tableByName[j.Name] = id
	switch {
	case j.Type != "simple" && j.Type != "":
		return 0, nil, fmt.Errorf("%w: type %q", ErrUnsupported, j.Type)
	case j.SupportTimeout:
		return 0, nil, fmt.Errorf("%w: support_timeout", ErrUnsupported)
	case j.MaxSize < 0 || j.MaxSize > maxTableSize:
		return 0, nil, fmt.Errorf("max_size %d is not within 0 and %d", j.MaxSize, maxTableSize)
	}
	d := tableDef{size: j.MaxSize, exact: true, only: -1, lpm: -1, defSlot: -1}
	t := Table{ID: id, Name: j.Name, Size: j.MaxSize, Hidden: len(j.Key) == 0, Counter: -1, Meter: -1,
		ConstEntries: len(j.Entries) > 0, DefaultAction: -1}
	for _, f := range []func(*jsonTable, *tableDef, *Table) error{l.tableKeys, l.tableDirect} {
		if err := f(j, &d, &t); err != nil {
			return 0, nil, err
		}
	}
	follow, err := l.tableActions(j, &d, &t, next)
	if err != nil {
		return 0, nil, err
	}
	d.place(l.p.adefs)
	if err := l.tableDefault(j, &d, &t); err != nil {
		return 0, nil, err
	}
	l.p.tables, l.p.tdefs = append(l.p.tables, t), append(l.p.tdefs, d)
	if err := l.tableEntries(j, id); err != nil {
		return 0, nil, err
	}
	return id, follow, nil
}

// place lays out the words of a row.
func (d *tableDef) place(actions []actionDef) {
	at := 1
	if !d.exact {
		d.prioAt = at
		at++
	}
	d.keyAt = at
	d.rangeAt = d.keyAt + d.keyWords
	d.dataAt = d.rangeAt + 2*len(d.ranges)
	data := 0
	for i := range d.actions {
		data = max(data, actions[d.actions[i].id].words)
	}
	d.countAt = d.dataAt + data
	d.rowWords = d.countAt
	if d.counter {
		d.rowWords += 2
	}
}

var matchKinds = map[string]MatchKind{"exact": Exact, "valid": Exact, "lpm": LPM, "ternary": Ternary, "range": Range}

func (l *loader) tableKeys(j *jsonTable, d *tableDef, t *Table) error {
	var lay layout
	for i := range j.Key {
		k := &j.Key[i]
		kind, there := matchKinds[k.MatchType]
		if !there {
			return fmt.Errorf("%w: match kind %q", ErrUnsupported, k.MatchType)
		}
		part, err := l.keyPart(k, kind)
		if err == nil && k.Mask != nil {
			err = part.masked(*k.Mask)
		}
		if err != nil {
			return fmt.Errorf("key %q: %w", k.Name, err)
		}
		part.ref = lay.add(part.ref.width)
		switch kind {
		case LPM:
			if d.lpm >= 0 {
				return fmt.Errorf("has two lpm keys")
			}
			d.lpm = i
		case Range:
			if part.ref.width > 64 {
				return fmt.Errorf("%w: range of more than 64 bits", ErrUnsupported)
			}
			d.ranges = append(d.ranges, i)
		}
		d.exact = d.exact && kind == Exact
		d.priority = d.priority || kind == Ternary || kind == Range
		d.keys = append(d.keys, part)
		t.Keys = append(t.Keys, Key{Name: k.Name, Kind: kind, Width: part.ref.width})
	}
	if d.priority {
		d.lpm = -1 // a mask like others
	}
	if t.HasPriority = d.priority; d.exact && len(d.keys) == 1 {
		d.only = d.keys[0].off
	}
	if d.keyWords = lay.words; d.keyWords > maxKeyWords {
		return fmt.Errorf("key of more than %d words", maxKeyWords)
	}
	return nil
}

func (l *loader) keyPart(k *jsonKey, kind MatchKind) (keyPart, error) {
	part := keyPart{kind: kind, off: -1}
	var n *node
	var pair []string
	var name string
	var err error
	switch {
	case k.MatchType == "valid" && json.Unmarshal(k.Target, &name) == nil:
		n, err = l.fieldNode(name, "$valid$")
	case json.Unmarshal(k.Target, &pair) == nil && len(pair) == 2:
		n, err = l.fieldNode(pair[0], pair[1])
	default:
		err = notField(k.Target)
	}
	if err != nil {
		return part, err
	}
	if n.op == "vl" {
		return part, fmt.Errorf("%w: variable field as a key", ErrUnsupported)
	}
	part.ref.width = 1
	if n.f != nil {
		part.ref.width = n.f.width
	}
	if part.ref.width > 64 {
		off, w := n.f.off, n.f.words
		part.wide = func(c *ctx, dst []uint64) { copy(dst, c.f[off:off+w]) }
		return part, nil
	}
	if part.num, err = l.word(n, part.ref.width); part.num.isField {
		part.off = part.num.off
	}
	return part, err
}

// masked lets only the bits of a mask count.
func (k *keyPart) masked(mask string) error {
	v, err := hexValue(mask)
	if err != nil {
		return err
	}
	m := words(v, (k.ref.width+63)/64)
	if wide := k.wide; wide != nil {
		k.wide = func(c *ctx, dst []uint64) {
			wide(c, dst)
			and(dst, m)
		}
		return nil
	}
	fn := k.num.fn
	k.num, k.off = num{fn: func(c *ctx) uint64 { return fn(c) & m[0] }}, -1
	return nil
}

// tableDirect finds the direct counters and meters.
func (l *loader) tableDirect(j *jsonTable, d *tableDef, t *Table) error {
	d.counter = j.WithCounters
	for i := range l.j.CounterArrays {
		if c := &l.j.CounterArrays[i]; c.IsDirect && c.Binding == j.Name {
			t.Counter, d.counter = i, true
			l.p.counters[i].Table, l.p.counters[i].Size = t.ID, j.MaxSize
		}
	}
	if j.DirectMeters == nil {
		return nil
	}
	i, there := l.meterByName[*j.DirectMeters]
	if !there || !l.j.MeterArrays[i].IsDirect || l.p.meters[i].Table >= 0 {
		return fmt.Errorf("no direct meter %q, or it is another table's", *j.DirectMeters)
	}
	m := &l.j.MeterArrays[i]
	if len(m.ResultTarget) != 2 {
		return fmt.Errorf("meter array %q: result_target %q is not a header and a name", m.Name, m.ResultTarget)
	}
	n, err := l.fieldNode(m.ResultTarget[0], m.ResultTarget[1])
	if err != nil {
		return fmt.Errorf("meter array %q: %w", m.Name, err)
	}
	if n.op != "field" || n.f.words != 1 {
		return fmt.Errorf("%w: meter array %q: result_target of more than 64 bits", ErrUnsupported, m.Name)
	}
	n.f.written = true
	d.meterTo = &target{f: n.f, n: n}
	d.meterTo.static()
	d.meter, d.meterOctets, t.Meter = true, l.p.meters[i].Octets, i
	l.p.meters[i].Table, l.p.meters[i].Size = t.ID, j.MaxSize
	return nil
}

// tableActions finds the actions and what follows each.
func (l *loader) tableActions(j *jsonTable, d *tableDef, t *Table, next func(*string) (int, error)) ([]int, error) {
	ids := j.ActionIDs
	if len(ids) == 0 && len(j.Actions) > 0 {
		byName := map[string]int{}
		for i := range l.j.Actions {
			byName[l.j.Actions[i].Name] = l.j.Actions[i].ID
		}
		for _, name := range j.Actions {
			id, there := byName[name]
			if !there {
				return nil, fmt.Errorf("no action %q", name)
			}
			ids = append(ids, id)
		}
	}
	var follow []int
	var err error
	hit, isHit := j.NextTables["__HIT__"]
	miss, isMiss := j.NextTables["__MISS__"]
	if d.hitMiss = isHit || isMiss; d.hitMiss {
		if d.hitNext, err = next(hit); err != nil {
			return nil, err
		}
		if d.missNext, err = next(miss); err != nil {
			return nil, err
		}
		follow = append(follow, d.hitNext, d.missNext)
	}
	if d.none, err = next(j.BaseDefaultNext); err != nil {
		return nil, err
	}
	follow = append(follow, d.none)
	for _, id := range ids {
		a, there := l.actionByID[id]
		if !there {
			return nil, fmt.Errorf("no action %d", id)
		}
		do := &l.p.adefs[a].body
		ta := tableAction{id: a, def: &l.p.adefs[a], code: do.code, start: do.start}
		if len(do.regs) > 0 {
			ta.code, ta.start = []instr{{op: opCall, k: l.call(call{fn: do.run}), yes: -1}}, 0
		}
		to, there := j.NextTables[l.p.actions[a].Name]
		if !there && !d.hitMiss {
			ta.next = d.none
		} else if ta.next, err = next(to); err != nil {
			return nil, err
		}
		follow = append(follow, ta.next)
		d.actions = append(d.actions, ta)
		t.Actions = append(t.Actions, a)
	}
	return follow, nil
}

func (l *loader) tableDefault(j *jsonTable, d *tableDef, t *Table) error {
	if j.DefaultEntry == nil {
		return nil
	}
	a, there := l.actionByID[j.DefaultEntry.ActionID]
	if !there {
		return fmt.Errorf("default entry: no action %d", j.DefaultEntry.ActionID)
	}
	params, err := hexParams(j.DefaultEntry.ActionData)
	if err != nil {
		return fmt.Errorf("default entry: %w", err)
	}
	d.defData = make([]uint64, d.countAt-d.dataAt)
	if d.defSlot, err = d.action(l.p, a, params, d.defData); err != nil {
		return fmt.Errorf("default entry: %w", err)
	}
	t.DefaultAction = a
	t.ConstDefault = j.DefaultEntry.ActionConst || j.DefaultEntry.ActionEntryConst
	return nil
}

func hexParams(data []string) ([][]byte, error) {
	var out [][]byte
	for _, s := range data {
		b, err := hexOctets(s)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func hexOctets(s string) ([]byte, error) {
	v, err := hexValue(s)
	if err == nil && v.Sign() < 0 {
		err = fmt.Errorf("%.40q is negative", s)
	}
	if err != nil {
		return nil, err
	}
	return v.Bytes(), nil
}
