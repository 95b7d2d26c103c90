package yamltext

import (
	"reflect"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// free decodes a value of any form: a [yaml.MapSlice], a []any, a string, number or truth.
// v may also be a MapSlice; then where its keys stand is remembered.
func (d *decoder) free(node ast.Node, key string, v reflect.Value) {
	if v.Kind() == reflect.Interface {
		if value := d.any(node, key); value != nil {
			v.Set(reflect.ValueOf(value))
		}
		return
	}
	mapping, ok := node.(ast.MapNode)
	if !ok {
		d.wrong(node, key, "want keys and values")
		return
	}
	for entry := mapping.MapRange(); entry.Next(); {
		if name, ok := scalar(entry.Key()); ok {
			d.positions[join(key, name)] = positionOf(first(entry.Value()))
		}
	}
	v.Set(reflect.ValueOf(d.slice(mapping, key)))
}

// any returns what a node of any form is, nil for null.
func (d *decoder) any(node ast.Node, key string) any {
	switch n := d.resolve(node, key).(type) {
	case nil, *ast.NullNode:
		return nil
	case ast.MapNode:
		return d.slice(n, key)
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, item := range n.Values {
			list[i] = d.any(item, key)
		}
		return list
	case *ast.LiteralNode:
		return n.Value.Value
	case ast.ScalarNode:
		return n.GetValue()
	default:
		d.wrong(node, key, "want plain mappings, sequences and scalars")
		return nil
	}
}

// slice returns a mapping in its order. What is merged into it comes where it is merged.
func (d *decoder) slice(mapping ast.MapNode, key string) yaml.MapSlice {
	out := yaml.MapSlice{}
	seen := map[any]bool{}
	for entry := mapping.MapRange(); entry.Next(); {
		if entry.Key().IsMergeKey() {
			merged, ok := d.resolve(entry.Value(), key).(ast.MapNode)
			if !ok {
				d.wrong(entry.Value(), key, "want keys and values to merge")
				continue
			}
			out = append(out, d.slice(merged, key)...)
			continue
		}
		name, ok := scalar(entry.Key())
		switch {
		case !ok:
			d.wrong(entry.Key(), key, "want a word as the key")
		case seen[name]:
			d.wrong(entry.Key(), join(key, name), "set twice")
		default:
			out = append(out, yaml.MapItem{Key: d.any(entry.Key(), key), Value: d.any(entry.Value(), join(key, name))})
		}
		seen[name] = true
	}
	return out
}
