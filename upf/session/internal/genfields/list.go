package main

import (
	"cmp"
	"fmt"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// list is the numbers of a struct and what stands behind them.
type list struct {
	v       string         // the variable with the numbers
	numbers map[int]string // what is written, by number
	bits    map[int]map[int]string
	before  []string // statements before the numbers are written
	assign  []string // statements that take the numbers apart
	tail    []tail
	groups  map[place]*list
}

// place is a number, and a bit of it; -1: all of it.
type place struct{ number, bit int }

// tail is something that has no fixed length.
type tail struct {
	class, number, bit int
	write, read        string
}

// The classes of tails, in their order.
const (
	texts = iota
	ids
	textLists
	others
)

func newList(v string) *list {
	return &list{v: v, numbers: make(map[int]string), bits: make(map[int]map[int]string), groups: make(map[place]*list)}
}

// fields puts the tagged fields of a struct at path into l.
func (g *generator) fields(l *list, path string, s *types.Struct) error {
	for i := range s.NumFields() {
		f := s.Field(i)
		at := path + "." + f.Name()
		tag, ok := reflect.StructTag(s.Tag(i)).Lookup("record")
		if !ok {
			return fmt.Errorf("%s: no record tag", at)
		}
		if tag == "-" {
			continue
		}
		if inner, ok := f.Type().Underlying().(*types.Struct); ok && tag == "." {
			if err := g.fields(l, at, inner); err != nil {
				return err
			}
			continue
		}
		if err := g.tagged(l, at, f.Type(), tag); err != nil {
			return fmt.Errorf("%s, record:%q: %w", at, tag, err)
		}
	}
	return nil
}

// tagged puts one field into l, or into a further list.
func (g *generator) tagged(l *list, at string, t types.Type, tag string) error {
	if group, rest, ok := strings.Cut(tag, ":"); ok {
		p, err := parsePlace(group)
		if err != nil {
			return err
		}
		if l.groups[p] == nil {
			l.groups[p] = newList(fmt.Sprintf("%s%d", l.v, p.number))
		}
		l, tag = l.groups[p], rest
	}
	f := &field{places: strings.Fields(tag)}
	f.shared, f.limited = f.option("shared"), f.option("limited")
	if err := g.value(l, at, t, f); err != nil {
		return err
	}
	if len(f.places) > 0 {
		return fmt.Errorf("%q is too much", f.places)
	}
	return nil
}

// field is what the tag of a field says that has not been used up.
type field struct {
	places          []string
	shared, limited bool
}

// option takes the last word if it is that one.
func (f *field) option(word string) bool {
	n := len(f.places) - 1
	if n < 0 || f.places[n] != word {
		return false
	}
	f.places = f.places[:n]
	return true
}

// place takes the next place.
func (f *field) place() (place, error) {
	if len(f.places) == 0 {
		return place{}, fmt.Errorf("a number is missing")
	}
	p, err := parsePlace(f.places[0])
	f.places = f.places[1:]
	return p, err
}

func parsePlace(s string) (place, error) {
	number, bit, isBit := strings.Cut(s, ".")
	n, err := strconv.ParseUint(number, 10, 6)
	p := place{int(n), -1}
	if isBit && err == nil {
		n, err = strconv.ParseUint(bit, 10, 6)
		p.bit = int(n)
	}
	return p, err
}

// value puts a value into l, and the values of a struct without tags one by one.
func (g *generator) value(l *list, at string, t types.Type, f *field) error {
	name := typeName(t)
	if s, ok := t.Underlying().(*types.Struct); ok && leaves[name].count == 0 && !strings.HasPrefix(name, "Optional[") {
		for i := range s.NumFields() {
			if len(f.places) > 0 && f.places[0] == "-" {
				f.places = f.places[1:]
				continue
			}
			if err := g.value(l, at+"."+s.Field(i).Name(), s.Field(i).Type(), f); err != nil {
				return err
			}
		}
		return nil
	}
	p, err := f.place()
	if err != nil {
		return err
	}
	if p.bit >= 0 && len(f.places) > 0 && strings.HasPrefix(name, "Optional[") {
		of := t.(*types.Named).TypeArgs().At(0)
		if err := g.bit(l, at+".Present", types.Typ[types.Bool], p); err != nil {
			return err
		}
		return g.value(l, at+".Value", of, f)
	}
	if p.bit >= 0 {
		return g.bit(l, at, t, p)
	}
	if s, ok := t.Underlying().(*types.Slice); ok {
		return g.slice(l, at, s.Elem(), p, f)
	}
	c, err := leafOf(t)
	if err != nil {
		return err
	}
	return l.leaf(at, c, p.number)
}

// leaf puts a value of a fixed number of numbers into l.
func (l *list) leaf(at string, c leaf, n int) error {
	from := c.write(at)
	for i := range c.count {
		value := from
		if c.count > 1 {
			value = fmt.Sprintf("n%d[%d]", n, i)
		}
		if err := l.number(n+i, value); err != nil {
			return err
		}
	}
	if c.count > 1 {
		l.before = append(l.before, fmt.Sprintf("n%d := %s", n, from))
	}
	l.assign = append(l.assign, fmt.Sprintf("%s = %s", at, c.read(l.v, n)))
	return nil
}

func (l *list) number(n int, value string) error {
	if l.numbers[n] != "" || l.bits[n] != nil {
		return fmt.Errorf("the number %d is used twice", n)
	}
	l.numbers[n] = value
	return nil
}

// bit puts a flag into l, or what a flag says that there is.
func (g *generator) bit(l *list, at string, t types.Type, p place) error {
	if l.numbers[p.number] != "" {
		return fmt.Errorf("the number %d is used twice", p.number)
	}
	if l.bits[p.number] == nil {
		l.bits[p.number] = make(map[int]string)
	}
	bits := l.bits[p.number]
	if bits[p.bit] != "" {
		return fmt.Errorf("bit %d of the number %d is used twice", p.bit, p.number)
	}
	has := fmt.Sprintf("%s[%d]>>%d&1 != 0", l.v, p.number, p.bit)
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		name := typeName(u.Elem())
		g.need(name)
		bits[p.bit] = at + " != nil"
		l.tail = append(l.tail, tail{others, p.number, p.bit,
			fmt.Sprintf("if %s != nil {\n%s.write(w)\n}", at, at),
			fmt.Sprintf("if %s = nil; %s && !r.bad {\n%s = new(%s)\n%s.read(r)\n}", at, has, at, name, at)})
		return nil
	case *types.Basic:
		switch u.Kind() {
		case types.Bool:
			bits[p.bit] = at
			l.assign = append(l.assign, fmt.Sprintf("%s = %s", at, has))
			return nil
		case types.String:
			bits[p.bit] = at + ` != ""`
			l.tail = append(l.tail, tail{texts, p.number, p.bit,
				fmt.Sprintf("if %s != \"\" {\nw.name(%s)\n}", at, at),
				fmt.Sprintf("if %s = \"\"; %s {\n%s = r.text()\n}", at, has, at)})
			return nil
		}
	}
	return fmt.Errorf("%s is no flag, text or pointer", t)
}

// slice puts how long a list is into l, and the list behind.
func (g *generator) slice(l *list, at string, elem types.Type, p place, f *field) error {
	if err := l.number(p.number, fmt.Sprintf("uint64(len(%s))", at)); err != nil {
		return err
	}
	count, name := fmt.Sprintf("%s[%d]", l.v, p.number), typeName(elem)
	out := tail{class: others, number: p.number}
	element := at + "[i]"
	write, read := element+".write(w)", ""
	switch _, isStruct := elem.Underlying().(*types.Struct); {
	case elements[name] != "":
		write, read = fmt.Sprintf("w.%s(%s)", elements[name], element), fmt.Sprintf("r.%s()", elements[name])
	case isStruct:
		g.need(name)
	default:
		write, read = fmt.Sprintf("w.number(uint64(%s))", element), integer(elem, "r.number()")
	}
	switch name {
	case "uint32":
		out.class = ids
	case "string":
		out.class = textLists
	}
	out.write = fmt.Sprintf("for i := range %s {\n%s\n}", at, write)
	switch {
	case f.shared && read == "":
		out.read = fmt.Sprintf("%s = list[%s](r, %s)\nfor i := range %s {\n%s.read(r)\n}", at, name, count, at, element)
	case f.shared:
		out.read = fmt.Sprintf("%s = list[%s](r, %s)\nfor i := range %s {\n%s = %s\n}", at, name, count, at, element, read)
	case read == "":
		out.read = fmt.Sprintf("%s = %s[:0]\nfor n := %s; n > 0 && !r.bad; n-- {\nnext(&%s).read(r)\n}", at, at, count, at)
	default:
		out.read = fmt.Sprintf("%s = %s[:0]\nfor n := %s; n > 0 && !r.bad; n-- {\n%s = append(%s, %s)\n}", at, at, count, at, at, read)
	}
	if f.limited {
		out.read = fmt.Sprintf("r.limit(%s)\n", count) + out.read
	}
	l.tail = append(l.tail, out)
	return nil
}

// statements returns those that write and read the list of a type.
func (g *generator) statements(l *list) (write, read string, err error) {
	var w, r strings.Builder
	for _, p := range slices.SortedFunc(maps.Keys(l.groups), func(a, b place) int { return cmp.Compare(a.number, b.number) }) {
		if err := l.group(&w, p); err != nil {
			return "", "", err
		}
	}
	n, err := l.writeNumbers(&w)
	if err != nil {
		return "", "", err
	}
	fmt.Fprintf(&w, "w.fields(%s[:])\n", l.v)
	fmt.Fprintf(&r, "var %s [%d]uint64\nr.fields(%s[:])\n", l.v, n, l.v)
	l.readNumbers(&r)
	l.tails(&w, &r)
	return w.String(), r.String(), nil
}

// group writes the numbers of a further list, and makes a tail of it: it is there if
// one of its numbers is not 0.
func (l *list) group(w *strings.Builder, p place) error {
	in := l.groups[p]
	if l.bits[p.number] == nil {
		l.bits[p.number] = make(map[int]string)
	}
	n, err := in.writeNumbers(w)
	if err != nil {
		return err
	}
	there := fmt.Sprintf("%s != [%d]uint64{}", in.v, n)
	l.bits[p.number][p.bit] = there
	var write, read strings.Builder
	fmt.Fprintf(&write, "if %s {\nw.fields(%s[:])\n", there, in.v)
	fmt.Fprintf(&read, "var %s [%d]uint64\nif %s[%d]>>%d&1 != 0 {\nr.fields(%s[:])\nr.bad = r.bad || %s == [%d]uint64{}\n}\n",
		in.v, n, l.v, p.number, p.bit, in.v, in.v, n)
	in.readNumbers(&read)
	in.tails(&write, &read)
	l.tail = append(l.tail, tail{others, p.number, p.bit, write.String() + "}", read.String()})
	return nil
}

// writeNumbers writes the array of numbers, and returns how many there are.
func (l *list) writeNumbers(w *strings.Builder) (n int, err error) {
	for _, s := range l.before {
		fmt.Fprintln(w, s)
	}
	for i := range l.numbers {
		n = max(n, i+1)
	}
	for i := range l.bits {
		n = max(n, i+1)
	}
	fmt.Fprintf(w, "%s := [%d]uint64{\n", l.v, n)
	for i := range n {
		bits := l.bits[i]
		if bits == nil {
			if l.numbers[i] == "" {
				return 0, fmt.Errorf("the number %d is not used", i)
			}
			fmt.Fprintf(w, "%s,\n", l.numbers[i])
			continue
		}
		list := make([]string, len(bits))
		for b := range list {
			if list[b] = bits[b]; list[b] == "" {
				return 0, fmt.Errorf("bit %d of the number %d is not used", b, i)
			}
		}
		fmt.Fprintf(w, "pack(%s),\n", strings.Join(list, ", "))
	}
	fmt.Fprintln(w, "}")
	return n, nil
}

// readNumbers takes the numbers apart.
func (l *list) readNumbers(r *strings.Builder) {
	for _, i := range slices.Sorted(maps.Keys(l.bits)) {
		fmt.Fprintf(r, "r.flags(%s[%d], %d)\n", l.v, i, len(l.bits[i]))
	}
	for _, s := range l.assign {
		fmt.Fprintln(r, s)
	}
}

// tails writes and reads what has no fixed length.
func (l *list) tails(w, r *strings.Builder) {
	slices.SortFunc(l.tail, func(a, b tail) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.number, b.number), cmp.Compare(a.bit, b.bit))
	})
	for _, t := range l.tail {
		fmt.Fprintln(w, t.write)
		fmt.Fprintln(r, t.read)
	}
}
