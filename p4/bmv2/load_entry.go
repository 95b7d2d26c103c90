package bmv2

import (
	"encoding/json"
	"fmt"
	"math/big"
)

// tableEntries reads the entries that the program gives.
func (l *loader) tableEntries(j *jsonTable, id int) error {
	d := &l.p.tdefs[id]
	if len(j.Entries) > j.MaxSize {
		return fmt.Errorf("%d entries, more than max_size %d", len(j.Entries), j.MaxSize)
	}
	last := 0
	for i := range j.Entries {
		last = max(last, j.Entries[i].Priority)
	}
	for i := range j.Entries {
		e, err := l.tableEntry(&j.Entries[i], d, last)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		d.entries = append(d.entries, e)
	}
	// So that no instance can fail by them later.
	t := newTable(d)
	for i := range d.entries {
		if _, err := t.add(l.p, &d.entries[i], rowConst, 0); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return nil
}

func (l *loader) tableEntry(j *jsonEntry, d *tableDef, last int) (Entry, error) {
	var e Entry
	a, there := l.actionByID[j.ActionEntry.ActionID]
	if !there {
		return e, fmt.Errorf("no action %d", j.ActionEntry.ActionID)
	}
	e.Action, e.Const = a, true
	var err error
	if e.Params, err = hexParams(j.ActionEntry.ActionData); err != nil {
		return e, err
	}
	if d.priority {
		// In the file the least number is the greatest priority.
		p := int64(last) - int64(j.Priority) + 1
		if p < 1 || p > 1<<31-1 {
			return e, fmt.Errorf("priority %d", j.Priority)
		}
		e.Priority = int32(p)
	}
	if len(j.MatchKey) != len(d.keys) {
		return e, fmt.Errorf("%d match keys instead of %d", len(j.MatchKey), len(d.keys))
	}
	for i := range j.MatchKey {
		k := &j.MatchKey[i]
		m, err := entryMatch(k.Key, k.Mask, k.Start, k.End, k.PrefixLength, d.keys[i].kind, d.keys[i].ref.width)
		if err != nil {
			return e, fmt.Errorf("match key %d: %w", i, err)
		}
		e.Match = append(e.Match, m)
	}
	return e, nil
}

// entryMatch reads what an entry of the program says of a key.
func entryMatch(key json.RawMessage, mask, start, end string, prefix int, kind MatchKind, width int) (Match, error) {
	var m Match
	var s string
	var yes bool
	var err error
	if kind == Range {
		if m.Value, err = hexOctets(start); err == nil {
			m.High, err = hexOctets(end)
		}
		return m.present(), err
	}
	if json.Unmarshal(key, &yes) == nil && kind == Exact {
		return Match{Value: []byte{byte(b2d(yes))}}, nil
	}
	if json.Unmarshal(key, &s) != nil {
		return m, fmt.Errorf("key %.60s is not a string", key)
	}
	v, err := hexValue(s)
	if err != nil || v.Sign() < 0 {
		return m, fmt.Errorf("key %.60s is not a number", key)
	}
	switch kind {
	case Ternary:
		k, err := hexValue(mask)
		if err != nil || k.Sign() < 0 {
			return m, fmt.Errorf("mask %.60q is not a number", mask)
		}
		m.Mask = k.Bytes()
		v.And(v, k)
	case LPM:
		if prefix < 0 || prefix > width {
			return m, fmt.Errorf("prefix length %d is not within 0 and %d", prefix, width)
		}
		m.PrefixLen = prefix
		v.And(v, new(big.Int).Lsh(ones(prefix), uint(width-prefix)))
	}
	m.Value = v.Bytes()
	return m.present(), nil
}

// present makes a value of zero, which has no octets, one that is there.
func (m Match) present() Match {
	if m.Value == nil {
		m.Value = []byte{0}
	}
	return m
}
