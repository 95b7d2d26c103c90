package bmv2

import (
	"encoding/json"
	"fmt"
)

// listItem is a field that keeps its value when all other metadata is reset.
type listItem struct{ off, words int }

// learnDef is what a digest is made of: fields, or constants.
type learnDef struct {
	items []calcItem
}

// loadCells reads the counter, meter and register arrays.
func (l *loader) loadCells() error {
	var err error
	if l.counterByName, _, err = names("counter array", l.j.CounterArrays,
		func(c *jsonCounter) jsonNamed { return c.jsonNamed }); err != nil {
		return err
	}
	if l.meterByName, _, err = names("meter array", l.j.MeterArrays,
		func(m *jsonMeter) jsonNamed { return m.jsonNamed }); err != nil {
		return err
	}
	if l.registerByName, _, err = names("register array", l.j.RegisterArrays,
		func(r *jsonRegister) jsonNamed { return r.jsonNamed }); err != nil {
		return err
	}
	for i := range l.j.CounterArrays {
		j := &l.j.CounterArrays[i]
		c := Counter{ID: i, Name: j.Name, Size: j.Size, Table: -1}
		if !j.IsDirect {
			if err := l.reserve(j.Size, 16); err != nil {
				return fmt.Errorf("counter array %q: %w", j.Name, err)
			}
		}
		l.p.counters = append(l.p.counters, c)
	}
	for i := range l.j.MeterArrays {
		if err := l.loadMeter(i, &l.j.MeterArrays[i]); err != nil {
			return fmt.Errorf("meter array %q: %w", l.j.MeterArrays[i].Name, err)
		}
	}
	for i := range l.j.RegisterArrays {
		j := &l.j.RegisterArrays[i]
		if j.Bitwidth < 1 || j.Bitwidth > maxFieldWidth {
			return fmt.Errorf("register array %q: width %d is not within 1 and %d", j.Name, j.Bitwidth, maxFieldWidth)
		}
		if err := l.reserve(j.Size, (j.Bitwidth+63)/64*8); err != nil {
			return fmt.Errorf("register array %q: %w", j.Name, err)
		}
		l.p.registers = append(l.p.registers, Register{ID: i, Name: j.Name, Size: j.Size, Width: j.Bitwidth})
	}
	return nil
}

func (l *loader) loadMeter(i int, j *jsonMeter) error {
	if j.Type != "bytes" && j.Type != "packets" {
		return fmt.Errorf("type %q is neither bytes nor packets", j.Type)
	}
	if j.RateCount != 2 {
		return fmt.Errorf("%w: meter of %d rates", ErrUnsupported, j.RateCount)
	}
	if !j.IsDirect {
		if err := l.reserve(j.Size, meterOctets); err != nil {
			return err
		}
	}
	l.p.meters = append(l.p.meters, Meter{ID: i, Name: j.Name, Size: j.Size, Table: -1, Octets: j.Type == "bytes"})
	return nil
}

// reserve counts the memory of cells.
func (l *loader) reserve(n, octets int) error {
	if n < 0 || n > maxTableSize {
		return fmt.Errorf("size %d is not within 0 and %d", n, maxTableSize)
	}
	if l.cells += int64(n) * int64(octets); l.cells > maxCellOctets {
		return fmt.Errorf("all cells together need more than %d octets", maxCellOctets)
	}
	return nil
}

// loadLists reads the field lists and the digests.
func (l *loader) loadLists() error {
	for i := range l.j.FieldLists {
		j := &l.j.FieldLists[i]
		if _, ok := l.p.lists[j.ID]; ok {
			return fmt.Errorf("field list %q: id %d is there twice", j.Name, j.ID)
		}
		list := []listItem{}
		for k := range j.Elements {
			it, err := l.listElement(&j.Elements[k])
			if err != nil {
				return fmt.Errorf("field list %q: %w", j.Name, err)
			}
			if it.f != nil {
				list = append(list, listItem{it.f.off, it.f.words})
			}
		}
		l.p.lists[j.ID] = list
	}
	l.learnByID = map[int]int{}
	for i := range l.j.LearnLists {
		j := &l.j.LearnLists[i]
		if _, ok := l.learnByID[j.ID]; ok {
			return fmt.Errorf("learn list %q: id %d is there twice", j.Name, j.ID)
		}
		l.learnByID[j.ID] = i
		d := Digest{ID: i, Name: j.Name}
		var def learnDef
		for k := range j.Elements {
			it, err := l.listElement(&j.Elements[k])
			if err != nil {
				return fmt.Errorf("learn list %q: %w", j.Name, err)
			}
			p := Param{Width: it.width}
			if it.f != nil {
				p.Name = l.p.headers[it.f.header].name + "." + it.f.name
			}
			if it.header >= 0 && it.f == nil {
				p.Name = l.p.headers[it.header].name + ".$valid$"
			}
			d.Fields = append(d.Fields, p)
			def.items = append(def.items, it)
		}
		l.p.digests = append(l.p.digests, d)
		l.p.learn = append(l.p.learn, def)
	}
	return nil
}

// listElement is a field, whether a header is valid, or a constant.
func (l *loader) listElement(v *jsonValue) (calcItem, error) {
	if v.Type == "hexstr" {
		n, err := l.value(v, 0)
		if err != nil {
			return calcItem{}, err
		}
		w := v.Bitwidth
		if w == 0 {
			w = max(1, n.k.BitLen())
		}
		if w < 1 || w > maxFieldWidth {
			return calcItem{}, fmt.Errorf("constant of %d bits", w)
		}
		return calcItem{header: -1, k: words(n.k, (w+63)/64), width: w}, nil
	}
	var pair []string
	if v.Type != "field" {
		return calcItem{}, fmt.Errorf("%w: element of type %q", ErrUnsupported, v.Type)
	}
	if json.Unmarshal(v.Value, &pair) != nil || len(pair) != 2 {
		return calcItem{}, fmt.Errorf("field %.60s is not a header and a name", v.Value)
	}
	n, err := l.fieldNode(pair[0], pair[1])
	if err != nil {
		return calcItem{}, err
	}
	switch n.op {
	case "validbit":
		return calcItem{header: n.hdr, width: 1}, nil
	case "field":
		return calcItem{header: n.f.header, f: n.f, width: n.f.width}, nil
	}
	return calcItem{}, fmt.Errorf("%w: variable field %q", ErrUnsupported, n.f.name)
}

// keep writes the fields of a list to another packet.
func (c *ctx) keep(list int32, to *ctx) {
	for _, it := range c.s.p.lists[int(list)] {
		copy(to.f[it.off:it.off+it.words], c.f[it.off:it.off+it.words])
	}
}

// appendDigest appends the members of a digest.
func (c *ctx) appendDigest(b []byte, d *learnDef) []byte {
	for i := range d.items {
		it := &d.items[i]
		switch {
		case it.f != nil:
			b = appendField(b, c.f[it.f.off:it.f.off+it.f.words], it.width)
		case it.header >= 0:
			b = append(b, byte(b2d(c.h[it.header].valid)))
		default:
			b = appendField(b, it.k, it.width)
		}
	}
	return b
}
