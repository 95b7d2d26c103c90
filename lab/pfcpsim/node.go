package pfcpsim

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Errors of scenarios.
var (
	ErrName = errors.New("no such name")
	ErrForm = errors.New("not understood")
)

// Node is one IE of a message.
type Node struct {
	Type     pfcp.IEType
	Value    any    // what [pfcp.NewContent] returns, decoded; nil: grouped, or Octets
	Children []Node // of a grouped IE
	Octets   []byte // the content, if it is neither
}

const lenIE, maxDepth = 4, 8

// ParseNodes takes the IEs of a message, or of a group, apart. An IE that
// cannot be decoded is kept as octets. An IE that reaches beyond the end ends
// the list.
func ParseNodes(b []byte) []Node { return parseNodes(b, maxDepth) }

func parseNodes(b []byte, depth int) []Node {
	var nodes []Node
	for len(b) >= lenIE {
		n := Node{Type: pfcp.IEType(binary.BigEndian.Uint16(b))}
		size := int(binary.BigEndian.Uint16(b[2:]))
		if size > len(b)-lenIE {
			break
		}
		content := b[lenIE : lenIE+size]
		b = b[lenIE+size:]
		switch {
		case pfcp.IsGrouped(n.Type) && depth > 0:
			n.Children = parseNodes(content, depth-1)
		default:
			v := pfcp.NewContent(n.Type)
			if v == nil || pfcp.DecodeContent(n.Type, v, content) != nil {
				n.Octets = content
				break
			}
			n.Value = v
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// AppendNodes appends the IEs to b.
//
// Errors: [pfcp.ErrTooLong].
func AppendNodes(b []byte, nodes []Node) ([]byte, error) {
	for _, n := range nodes {
		var err error
		if b, err = n.append(b); err != nil {
			return b, err
		}
	}
	return b, nil
}

func (n *Node) append(b []byte) ([]byte, error) {
	if n.Value != nil {
		return pfcp.AppendContent(b, n.Type, n.Value)
	}
	start := len(b) + lenIE
	b = append(binary.BigEndian.AppendUint16(b, uint16(n.Type)), 0, 0)
	b = append(b, n.Octets...)
	b, err := AppendNodes(b, n.Children)
	if err != nil {
		return b, err
	}
	if len(b)-start > 1<<16-1 {
		return b, fmt.Errorf("%s of %d octets: %w", n.Type, len(b)-start, pfcp.ErrTooLong)
	}
	binary.BigEndian.PutUint16(b[start-2:], uint16(len(b)-start))
	return b, nil
}

// build makes IEs of what a scenario says: a mapping of names to contents, or a
// list of such mappings. A list of contents is as many IEs of the name.
func build(message pfcp.MessageType, ies any) ([]Node, error) {
	var nodes []Node
	switch ies := ies.(type) {
	case nil:
	case yaml.MapSlice:
		for _, item := range ies {
			more, err := buildIE(message, fmt.Sprint(item.Key), item.Value)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", item.Key, err)
			}
			nodes = append(nodes, more...)
		}
	case []any:
		for _, part := range ies {
			more, err := build(message, part)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, more...)
		}
	default:
		return nil, fmt.Errorf("%v where IEs are wanted: %w", ies, ErrForm)
	}
	return nodes, nil
}

func buildIE(message pfcp.MessageType, name string, value any) ([]Node, error) {
	t, err := typeIn(name, message)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	nodes := make([]Node, 0, len(list))
	for _, one := range list {
		n, err := buildOne(message, t, one)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// buildOne makes one IE. "hex: …" is its content as octets, "null" one without.
func buildOne(message pfcp.MessageType, t pfcp.IEType, value any) (n Node, err error) {
	n.Type = t
	if text, ok := value.(string); ok {
		if digits, ok := strings.CutPrefix(text, "hex:"); ok {
			n.Octets, err = hex.DecodeString(strings.Join(strings.Fields(digits), ""))
			return n, err
		}
	}
	if value == nil {
		return n, nil
	}
	if pfcp.IsGrouped(t) {
		n.Children, err = build(message, value)
		return n, err
	}
	if n.Value = pfcp.NewContent(t); n.Value == nil {
		return n, fmt.Errorf("a content of %s has to be given as hex: %w", t, ErrForm)
	}
	return n, set(reflect.ValueOf(n.Value).Elem(), value)
}

// View returns the IEs as scenarios and JSON have them.
func View(nodes []Node) yaml.MapSlice {
	var out yaml.MapSlice
	at := map[pfcp.IEType]int{}
	for _, n := range nodes {
		v := n.view()
		if i, ok := at[n.Type]; ok {
			if list, ok := out[i].Value.(repeated); ok {
				out[i].Value = append(list, v)
			} else {
				out[i].Value = repeated{out[i].Value, v}
			}
			continue
		}
		at[n.Type] = len(out)
		out = append(out, yaml.MapItem{Key: n.Type.String(), Value: v})
	}
	return out
}

// repeated are the contents of IEs of one type.
type repeated []any

func (n *Node) view() any {
	switch {
	case n.Value != nil:
		return view(reflect.ValueOf(n.Value).Elem())
	case pfcp.IsGrouped(n.Type):
		return View(n.Children)
	case len(n.Octets) == 0:
		return nil
	}
	return "hex: " + hex.EncodeToString(n.Octets)
}
