package yamltext

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Defaulter is a struct that has defaults of its own where one is made anew: as an entry of
// a list or a mapping, or behind a pointer.
type Defaulter interface{ SetDefaults() }

// Shortened is a struct that a scalar may stand for: Short returns a pointer to that part of
// it which the scalar sets.
type Shortened interface{ Short() any }

// maxMistakes is how many mistakes are kept. Others are counted.
const maxMistakes = 1000

// decoder turns YAML into a value and remembers where each key stood, so that a mistake
// found later can still say where.
type decoder struct {
	positions map[string]position // by key, "n4.address"
	anchors   map[string]ast.Node // the nodes that have one, as far as the text has been read
	mistakes  []Mistake
	refused   []Mistake // anchors, aliases and tags
	more      int
	unknown   []string // keys in which there are unknown ones; "": the file
}

// decode reads a text over the defaults in v; what is wrong is in d.mistakes.
func (d *decoder) decode(text []byte, anchors bool, v reflect.Value) (err *syntaxError) {
	defer failed(&err)
	body, err := d.parse(text, anchors)
	if err != nil || body == nil {
		return err
	}
	d.value(body, "", v)
	return nil
}

// add adds mistakes that are in the values, but not those that only follow from one that
// is there already: of a value that could not be read, and of one that may be missing as
// its key is misspelt.
func (d *decoder) add(more []Mistake) {
	read := d.mistakes
	for _, m := range more {
		if i := slices.IndexFunc(read, func(r Mistake) bool { return r.Key == m.Key && r.given != "" }); i >= 0 {
			// There may be a range that is narrower than that of the type.
			if _, allowed, ok := strings.Cut(m.Text, ": want "); ok {
				d.mistakes[i].Text = fmt.Sprintf("%q: want %s", read[i].given, allowed)
			}
			continue
		}
		follows := slices.ContainsFunc(read, func(r Mistake) bool { return within(m.Key, r.Key) || within(r.Key, m.Key) }) ||
			slices.ContainsFunc(d.unknown, func(parent string) bool { return within(m.Key, parent) && !d.written(parent, m.Key) })
		if !follows {
			m.position = d.place(m.Key)
			d.keep(m)
		}
	}
}

// all returns all mistakes as the file has them; what it lacks is last.
func (d *decoder) all() []Mistake {
	all := append(d.refused, d.mistakes...)
	slices.SortStableFunc(all, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(uint(a.Line)-1, uint(b.Line)-1), cmp.Compare(a.Column, b.Column))
	})
	return all
}

// written reports whether the text has the part of parent that a key in it is, or is in.
func (d *decoder) written(parent, key string) bool {
	rest := strings.TrimPrefix(key[len(parent):], ".")
	end := strings.IndexAny(rest, ".[")
	if end < 0 {
		end = len(rest)
	}
	_, ok := d.positions[join(parent, rest[:end])]
	return ok
}

// place is where a key stands; of one that is not there, where the entry of a list begins
// that lacks it.
func (d *decoder) place(key string) position {
	at, written := d.positions[key]
	for !written && strings.Contains(key, "]") {
		key = key[:strings.LastIndexByte(key, ']')]
		at, written = d.positions[key+"]"]
	}
	return at
}

// within reports whether a key is the other one or in it; all are in "".
func within(key, other string) bool {
	rest, ok := strings.CutPrefix(key, other)
	return ok && (other == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

func (d *decoder) keep(m Mistake) {
	if len(d.mistakes) == maxMistakes {
		d.more++
		return
	}
	d.mistakes = append(d.mistakes, m)
}

// refuse notes what is no plain mapping, sequence or scalar, and goes on.
func (d *decoder) refuse(err *syntaxError) {
	if len(d.refused) == maxMistakes {
		d.more++
		return
	}
	d.refused = append(d.refused, Mistake{position: err.position, Text: err.reason})
}

// wrong notes a mistake at node.
func (d *decoder) wrong(node ast.Node, key, format string, args ...any) {
	d.keep(Mistake{position: positionOf(first(node)), Key: key, Text: fmt.Sprintf(format, args...)})
}

// resolve returns what has an anchor, or what an alias stands for, nil if there is none; and
// a scalar where the parser has taken it apart.
func (d *decoder) resolve(node ast.Node, key string) ast.Node {
	switch n := node.(type) {
	case *ast.AnchorNode:
		d.anchors[n.Name.GetToken().Value] = n.Value
		return n.Value
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		if d.anchors[name] == nil {
			d.wrong(node, key, "no such anchor before: %s", name)
		}
		return d.anchors[name]
	case *ast.MappingNode:
		if key, text := apart(n); key != nil {
			return ast.String(&token.Token{Type: token.StringType, Value: text, Origin: text, Position: key.Position})
		}
	}
	return node
}

// apart returns a scalar such as 2001:db8::1, of which the parser makes a key and a value in
// a list that is within {}. A colon is one of a mapping only if a space follows it. The token
// is that of the key; nil: it is a mapping.
func apart(n *ast.MappingNode) (key *token.Token, text string) {
	if n.IsFlowStyle || len(n.Values) != 1 {
		return nil, ""
	}
	key, colon, value := n.Values[0].Key.GetToken(), n.Values[0].Start, n.Values[0].Value.GetToken()
	rest, ok := scalar(n.Values[0].Value)
	quoted := key.Type == token.SingleQuoteType || key.Type == token.DoubleQuoteType
	if !ok || quoted || colon == nil || value.Position.Line != colon.Position.Line || value.Position.Column != colon.Position.Column+1 {
		return nil, ""
	}
	return key, key.Value + ":" + rest
}

// value decodes one value. A key without one leaves the default; null has to be meant: it
// is what a pointer, or what has no form, can be.
func (d *decoder) value(node ast.Node, key string, v reflect.Value) {
	if key != "" {
		d.positions[key] = positionOf(first(node))
	}
	if node = d.resolve(node, key); node == nil {
		return
	}
	if node.Type() == ast.NullType {
		item := strings.HasSuffix(key, "]")
		if written := node.GetToken().Type == token.NullType; (written || item) && !nullable(v) {
			d.wrong(node, key, "no value: want one, or leave it out")
		}
		return
	}
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		setDefaults(p.Elem())
		v.Set(p)
		v = p.Elem()
	}
	if p, ok := v.Addr().Interface().(Shortened); ok {
		if _, mapping := node.(ast.MapNode); !mapping {
			v = reflect.ValueOf(p.Short()).Elem()
		}
	}
	switch {
	case v.Kind() == reflect.Interface || v.Type() == reflect.TypeFor[yaml.MapSlice]():
		d.free(node, key, v)
	case isText(v):
		d.scalar(node, key, v)
	case v.Kind() == reflect.Slice:
		d.sequence(node, key, v)
	case v.Kind() == reflect.Map:
		d.mapping(node, key, v)
	case v.Kind() == reflect.Struct:
		d.structure(node, key, v)
	default:
		d.scalar(node, key, v)
	}
}

func nullable(v reflect.Value) bool {
	return v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface || v.Type() == reflect.TypeFor[yaml.MapSlice]()
}

func setDefaults(v reflect.Value) {
	if d, ok := v.Addr().Interface().(Defaulter); ok {
		d.SetDefaults()
	}
}

// structure decodes a mapping whose keys are the yaml tags of the struct v.
func (d *decoder) structure(node ast.Node, key string, v reflect.Value) {
	fields := fieldsOf(v)
	names := slices.Sorted(maps.Keys(fields.named))
	if _, ok := node.(ast.MapNode); !ok {
		d.wrong(node, key, "want keys and values: %s", strings.Join(names, ", "))
		return
	}
	for name, entry := range d.entries(node, key) {
		field, known := fields.named[name]
		switch {
		case known:
			d.value(entry.Value, join(key, name), field)
		case fields.rest.IsValid():
			d.value(entry.Value, join(key, name), reflect.New(fields.rest.Type().Elem()).Elem())
		default:
			d.wrong(entry.Key, join(key, name), "no such key%s: want one of %s", perhaps(name, names), strings.Join(names, ", "))
			if n := len(d.unknown); n == 0 || d.unknown[n-1] != key {
				d.unknown = append(d.unknown, key)
			}
		}
	}
}

// entries goes through a mapping: each key once, and the others are mistakes.
func (d *decoder) entries(node ast.Node, key string) func(func(string, *ast.MappingValueNode) bool) {
	return func(yield func(string, *ast.MappingValueNode) bool) {
		seen := map[string]bool{}
		for entry := node.(ast.MapNode).MapRange(); entry.Next(); {
			name, ok := scalar(entry.Key())
			switch {
			case !ok:
				d.wrong(entry.Key(), key, "want a word as the key")
			case seen[name]:
				d.wrong(entry.Key(), join(key, name), "set twice")
			case !yield(name, entry.KeyValue()):
				return
			}
			seen[name] = true
		}
	}
}

// fields are those of a struct, and of the structs that are inline in it.
type fields struct {
	named map[string]reflect.Value
	rest  reflect.Value // a map that is inline: of keys that have no field, which are not kept
}

func fieldsOf(v reflect.Value) fields {
	f := fields{named: map[string]reflect.Value{}}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case name == "-" || !field.IsExported():
		case strings.Contains(options, "inline") && field.Type.Kind() == reflect.Map:
			f.rest = v.Field(i)
		case strings.Contains(options, "inline"):
			inner := fieldsOf(v.Field(i))
			maps.Copy(f.named, inner.named)
		default:
			f.named[cmp.Or(name, strings.ToLower(field.Name))] = v.Field(i)
		}
	}
	return f
}

// mapping decodes a mapping whose keys are values themselves.
func (d *decoder) mapping(node ast.Node, key string, v reflect.Value) {
	if _, ok := node.(ast.MapNode); !ok {
		d.wrong(node, key, "want keys and values")
		return
	}
	m := reflect.MakeMap(v.Type())
	for name, entry := range d.entries(node, key) {
		k, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if err := set(k, name); err != nil {
			d.wrong(entry.Key, join(key, name), "%q: want %s as the key", name, form(k, err))
			continue
		}
		setDefaults(value)
		d.value(entry.Value, join(key, name), value)
		if m.MapIndex(k).IsValid() { // 1 and 0x1
			d.wrong(entry.Key, join(key, name), "set twice")
		}
		m.SetMapIndex(k, value)
	}
	v.Set(m)
}

func (d *decoder) sequence(node ast.Node, key string, v reflect.Value) {
	seq, ok := node.(*ast.SequenceNode)
	if !ok {
		d.wrong(node, key, "want a list, such as %s", listForm(v.Type().Elem()))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, item := range seq.Values {
		setDefaults(list.Index(i))
		d.value(item, fmt.Sprintf("%s[%d]", key, i), list.Index(i))
	}
	v.Set(list)
}
