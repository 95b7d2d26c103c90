package upf

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"plumbline/yamltext"
)

// decoder turns YAML into a [Config] and remembers where each key stood, so
// that a mistake found later can still say where.
type decoder struct {
	positions  map[string]position // by key, "n4.address"
	mistakes   []Mistake
	unknown    []string // keys in which there are unknown ones; "": the file
	unreadable bool     // it is no YAML
}

// add adds mistakes that are in the values, but not those that only follow from one that
// is there already: of a value that could not be read, and of one that may be missing as
// its key is misspelt.
func (d *decoder) add(more []Mistake) {
	read := d.mistakes
	for _, m := range more {
		at, written := d.positions[m.Key]
		follows := slices.ContainsFunc(read, func(r Mistake) bool { return within(m.Key, r.Key) || within(r.Key, m.Key) }) ||
			!written && slices.ContainsFunc(d.unknown, func(parent string) bool { return within(m.Key, parent) })
		if !follows {
			m.position = at
			d.mistakes = append(d.mistakes, m)
		}
	}
	slices.SortStableFunc(d.mistakes, func(a, b Mistake) int { // as the file has them; what it lacks is last
		return cmp.Or(cmp.Compare(uint(a.Line)-1, uint(b.Line)-1), cmp.Compare(a.Column, b.Column))
	})
}

// within reports whether a key is the other one or in it; all are in "".
func within(key, other string) bool {
	rest, ok := strings.CutPrefix(key, other)
	return ok && (other == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// decode reads data over the defaults in c; what is wrong is in d.mistakes.
func (d *decoder) decode(data []byte, c *Config) {
	body, err := yamltext.Parse(data)
	var e *yamltext.Error
	d.unreadable = err != nil
	switch {
	case errors.As(err, &e):
		d.mistakes = append(d.mistakes, Mistake{position: position{e.Line, e.Column}, Text: e.Reason})
	case err != nil:
		d.mistakes = append(d.mistakes, Mistake{Text: err.Error()})
	case body != nil:
		d.structure(body, "", reflect.ValueOf(c).Elem())
	}
}

// wrong notes a mistake at node.
func (d *decoder) wrong(node ast.Node, key, format string, args ...any) {
	d.mistakes = append(d.mistakes, Mistake{
		position: positionOf(node), Key: key, Text: fmt.Sprintf(format, args...)})
}

func positionOf(node ast.Node) position {
	if t := yamltext.First(node); t != nil && t.Position != nil {
		return position{t.Position.Line, t.Position.Column}
	}
	return position{}
}

// structure decodes a mapping whose keys are the yaml tags of the struct v.
func (d *decoder) structure(node ast.Node, key string, v reflect.Value) {
	fields := map[string]int{}
	for i := range v.NumField() {
		fields[v.Type().Field(i).Tag.Get("yaml")] = i
	}
	mapping, ok := node.(ast.MapNode)
	if !ok {
		d.wrong(node, key, "want keys and values: %s", names(fields))
		return
	}
	seen := map[string]bool{}
	for entry := mapping.MapRange(); entry.Next(); {
		name, ok := scalar(entry.Key())
		full := strings.TrimPrefix(key+"."+name, ".")
		i, known := fields[name]
		switch {
		case !ok || !known:
			d.wrong(entry.Key(), full, "no such key: want one of %s", names(fields))
			d.unknown = append(d.unknown, key)
		case seen[name]:
			d.wrong(entry.Key(), full, "set twice")
		default:
			d.value(entry.Value(), full, v.Field(i))
		}
		seen[name] = true
	}
}

// value decodes one value; null leaves the default.
func (d *decoder) value(node ast.Node, key string, v reflect.Value) {
	d.positions[key] = positionOf(node)
	if node.Type() == ast.NullType {
		return
	}
	if p, ok := v.Addr().Interface().(*N4Peer); ok && node.Type() != ast.MappingType && node.Type() != ast.MappingValueType {
		v = reflect.ValueOf(&p.Address).Elem()
	}
	switch {
	case v.Kind() == reflect.Slice:
		d.sequence(node, key, v)
	case v.Kind() == reflect.Struct && !isText(v):
		d.structure(node, key, v)
	default:
		text, ok := scalar(node)
		if !ok {
			d.wrong(node, key, "want %s", kindName(v))
		} else if err := set(v, text); err != nil {
			d.wrong(node, key, "%q: want %s", text, kindName(v))
		}
	}
}

func (d *decoder) sequence(node ast.Node, key string, v reflect.Value) {
	seq, ok := node.(*ast.SequenceNode)
	if !ok {
		d.wrong(node, key, "want a list, such as [10.4.0.0/24]")
		return
	}
	list := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, item := range seq.Values {
		d.value(item, fmt.Sprintf("%s[%d]", key, i), list.Index(i))
	}
	v.Set(list)
}

// scalar returns the text of a plain or quoted scalar.
func scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return node.GetToken().Value, true
	}
	return "", false
}

func isText(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return ok
}

// set parses text into v.
func set(v reflect.Value, text string) error {
	switch p := v.Addr().Interface().(type) {
	case *netip.Prefix:
		if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
			*p = netip.PrefixFrom(a, a.BitLen()) // an address is a prefix of one
			return nil
		}
		return p.UnmarshalText([]byte(text))
	case encoding.TextUnmarshaler:
		return p.UnmarshalText([]byte(text))
	case *string:
		*p = text
	case *int:
		n, err := strconv.Atoi(text)
		*p = n
		return err
	case *bool:
		b, err := strconv.ParseBool(text)
		*p = b
		return err
	default:
		return fmt.Errorf("no way to read a %s", v.Type())
	}
	return nil
}

// kindName says what a value of v's type looks like.
func kindName(v reflect.Value) string {
	switch v.Interface().(type) {
	case netip.Addr:
		return "an IP address, such as 10.4.0.1"
	case netip.AddrPort:
		return "an IP address and a port, such as 127.0.0.1:9090"
	case netip.Prefix:
		return "a prefix, such as 10.4.0.0/24"
	case SNSSAI:
		return "an S-NSSAI: SST, or SST-SD with six hex digits, such as 1-0a0b0c"
	case BitRate:
		return "a bit rate, such as 600Mbit/s"
	case Duration:
		return "a duration, such as 30s"
	case int:
		return "a decimal number"
	case bool:
		return "true or false"
	}
	return "a word"
}

func names(fields map[string]int) string {
	list := make([]string, 0, len(fields))
	for name := range fields {
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
