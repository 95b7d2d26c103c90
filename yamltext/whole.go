package yamltext

import (
	"encoding"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// whole refuses numbers with a fraction where t has integers: the decoder beneath cuts
// the fraction off.
func whole(n ast.Node, t reflect.Type) error {
	if t == nil {
		return nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, one := range n.Values {
			if err := whole(one, t); err != nil {
				return err
			}
		}
	case *ast.MappingValueNode:
		return whole(n.Value, valueType(t, n.Key.GetToken().Value))
	case *ast.SequenceNode:
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return nil
		}
		for _, one := range n.Values {
			if err := whole(one, t.Elem()); err != nil {
				return err
			}
		}
	case *ast.AnchorNode:
		return whole(n.Value, t)
	case *ast.FloatNode, *ast.StringNode, *ast.InfinityNode:
		if text := n.GetToken().Value; isInteger(t) && hasFraction(text) {
			return at(n.GetToken(), text+" is no whole number", nil)
		}
	}
	return nil
}

// valueType is the type of what t has under a key; nil: it has none.
func valueType(t reflect.Type, key string) reflect.Type {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
	default:
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case strings.Contains(options, "inline"):
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if found := valueType(inner, key); found != nil {
				return found
			}
		case name == key, name == "" && strings.EqualFold(f.Name, key):
			return f.Type
		}
	}
	return nil
}

// isInteger reports whether the decoder makes an integer of t itself.
func isInteger(t reflect.Type) bool {
	if k := t.Kind(); k < reflect.Int || k > reflect.Uint64 {
		return false
	}
	for _, own := range []reflect.Type{
		reflect.TypeFor[encoding.TextUnmarshaler](), reflect.TypeFor[yaml.BytesUnmarshaler](), reflect.TypeFor[yaml.InterfaceUnmarshaler](),
	} {
		if reflect.PointerTo(t).Implements(own) {
			return false
		}
	}
	return true
}

// hasFraction reports whether a text is a number, but no whole one.
func hasFraction(text string) bool {
	v, err := strconv.ParseFloat(strings.TrimPrefix(strings.ReplaceAll(text, ".inf", "inf"), "+"), 64)
	return err == nil && (v != math.Trunc(v) || math.IsInf(v, 0))
}
