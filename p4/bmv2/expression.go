package bmv2

import (
	"encoding/json"
	"fmt"
	"math/big"
)

// kind is what an expression gives.
type kind uint8

const (
	kindData kind = iota
	kindBool
	kindHeader
	kindStack
)

// node is an expression as it was read. Data has a range that its value is always within, for arithmetic is exact.
type node struct {
	op    string
	kind  kind
	l, r  *node
	cond  *node
	f     *field // op "field"
	k     *big.Int
	yes   bool // op "bool"
	local paramRef
	hdr   int // op "header", "valid" of one
	stk   int // op "stack" and what is about one
	rel   int // of a field within its header
	lo    *big.Int
	hi    *big.Int
}

// paramRef is the location of a parameter in the words of an action's parameters.
type paramRef struct {
	word, shift, width int
}

var (
	bigZero = big.NewInt(0)
	bigOne  = big.NewInt(1)
)

func pow2(n int) *big.Int { return new(big.Int).Lsh(bigOne, uint(n)) }

// ones is the greatest number of n bits.
func ones(n int) *big.Int { return new(big.Int).Sub(pow2(n), bigOne) }

// value reads a value of any type allowed in an expression.
func (l *loader) value(v *jsonValue, depth int) (*node, error) {
	if v == nil {
		return nil, fmt.Errorf("a value is missing")
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("expression deeper than %d", maxDepth)
	}
	var s string
	switch v.Type {
	case "expression":
		return l.expression(v.Value, depth)
	case "field":
		var pair []string
		if json.Unmarshal(v.Value, &pair) != nil || len(pair) != 2 {
			return nil, notField(v.Value)
		}
		return l.fieldNode(pair[0], pair[1])
	case "hexstr":
		if json.Unmarshal(v.Value, &s) != nil {
			return nil, fmt.Errorf("hexstr %.60s is not a string", v.Value)
		}
		k, err := hexValue(s)
		if err != nil {
			return nil, err
		}
		return constNode(k), nil
	case "bool":
		n := &node{op: "bool", kind: kindBool}
		if json.Unmarshal(v.Value, &n.yes) != nil {
			return nil, fmt.Errorf("bool %.60s is neither true nor false", v.Value)
		}
		return n, nil
	case "local", "runtime_data":
		var i int
		if json.Unmarshal(v.Value, &i) != nil || i < 0 || i >= len(l.params) {
			return nil, fmt.Errorf("%s %.60s is not one of %d parameters", v.Type, v.Value, len(l.params))
		}
		return &node{op: "local", local: l.params[i], lo: bigZero, hi: ones(l.params[i].width)}, nil
	}
	return l.reference(v)
}

// reference reads a value that is a header, a stack or something of one.
func (l *loader) reference(v *jsonValue) (*node, error) {
	var s string
	switch v.Type {
	case "header":
		if json.Unmarshal(v.Value, &s) != nil {
			return nil, fmt.Errorf("header %.60s is not a name", v.Value)
		}
		h, ok := l.headerByName[s]
		if !ok {
			return nil, fmt.Errorf("no header %q", s)
		}
		return &node{op: "header", kind: kindHeader, hdr: h}, nil
	case "header_stack":
		if json.Unmarshal(v.Value, &s) != nil {
			return nil, fmt.Errorf("header_stack %.60s is not a name", v.Value)
		}
		i, ok := l.stackByName[s]
		if !ok {
			return nil, fmt.Errorf("no header stack %q", s)
		}
		return &node{op: "stack", kind: kindStack, stk: i}, nil
	case "stack_field":
		var pair []string
		if json.Unmarshal(v.Value, &pair) != nil || len(pair) != 2 {
			return nil, fmt.Errorf("stack_field %.60s is not a stack and a name", v.Value)
		}
		i, ok := l.stackByName[pair[0]]
		if !ok {
			return nil, fmt.Errorf("no header stack %q", pair[0])
		}
		rel, f, err := l.member(l.p.stacks[i].headers[0], pair[1])
		if err != nil {
			return nil, err
		}
		return ranged(&node{op: "last", stk: i, rel: rel, f: f}, f), nil
	}
	return nil, fmt.Errorf("%w: value of type %q", ErrUnsupported, v.Type)
}

// member finds a field within a header, and marks it as used in all headers of the class.
func (l *loader) member(h int, name string) (int, *field, error) {
	for i := range l.p.headers[h].fields {
		if f := &l.p.headers[h].fields[i]; f.name == name {
			if f.vl {
				return 0, nil, fmt.Errorf("%w: variable field %q in an expression", ErrUnsupported, name)
			}
			f.used = true
			return i, f, nil
		}
	}
	return 0, nil, fmt.Errorf("header %q has no field %q", l.p.headers[h].name, name)
}

// fieldNode is a field, or whether a header is valid.
func (l *loader) fieldNode(header, name string) (*node, error) {
	if name == "$valid$" {
		h, ok := l.headerByName[header]
		if !ok {
			return nil, fmt.Errorf("no header %q", header)
		}
		return &node{op: "validbit", hdr: h, lo: bigZero, hi: bigOne}, nil
	}
	f, err := l.field(header, name)
	if err != nil {
		return nil, err
	}
	f.used = true
	n := &node{op: "field", f: f}
	if f.vl {
		n.lo, n.hi = bigZero, bigZero
		n.op = "vl"
		return n, nil
	}
	return ranged(n, f), nil
}

// ranged gives a node the range of a field.
func ranged(n *node, f *field) *node {
	if f.signed {
		n.lo, n.hi = new(big.Int).Neg(pow2(f.width-1)), ones(f.width-1)
	} else {
		n.lo, n.hi = bigZero, ones(f.width)
	}
	return n
}

func constNode(k *big.Int) *node { return &node{op: "const", k: k, lo: k, hi: k} }

// expression reads an operation.
func (l *loader) expression(raw json.RawMessage, depth int) (*node, error) {
	var e jsonExpression
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("expression: %w", err)
	}
	if e.Op == "" {
		// An expression around a value.
		var v jsonValue
		if err := json.Unmarshal(raw, &v); err != nil || v.Type == "" {
			return nil, fmt.Errorf("expression %.60s has neither op nor type", raw)
		}
		return l.value(&v, depth+1)
	}
	n, err := l.operation(&e, depth)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", e.Op, err)
	}
	return n, nil
}

func (l *loader) operation(e *jsonExpression, depth int) (*node, error) {
	n := &node{op: e.Op}
	var err error
	if e.Op == "access_field" {
		return l.accessField(e, depth)
	}
	if e.Left != nil && e.Left.Type != "" {
		if n.l, err = l.value(e.Left, depth+1); err != nil {
			return nil, err
		}
	}
	if n.r, err = l.value(e.Right, depth+1); err != nil {
		return nil, err
	}
	if e.Cond != nil {
		if n.cond, err = l.value(e.Cond, depth+1); err != nil {
			return nil, err
		}
	}
	if n.l == nil && e.Op == "-" {
		n.l = constNode(bigZero)
	}
	return n, n.infer()
}

// accessField is a field of a header that is found when the packet is there.
func (l *loader) accessField(e *jsonExpression, depth int) (*node, error) {
	h, err := l.value(e.Left, depth+1)
	if err != nil {
		return nil, err
	}
	var i int
	switch {
	case h.kind != kindHeader:
		return nil, fmt.Errorf("left is not a header")
	case e.Right == nil || json.Unmarshal(e.Right.raw, &i) != nil:
		return nil, fmt.Errorf("right is not a number")
	}
	of := h.hdr
	if h.op == "element" {
		of = l.p.stacks[h.stk].headers[0]
	}
	if i < 0 || i >= len(l.p.headers[of].fields) {
		return nil, fmt.Errorf("header has no field %d", i)
	}
	rel, f, err := l.member(of, l.p.headers[of].fields[i].name)
	if err != nil {
		return nil, err
	}
	if h.op == "header" {
		return ranged(&node{op: "field", f: f}, f), nil
	}
	return ranged(&node{op: "elementfield", l: h, stk: h.stk, rel: rel, f: f}, f), nil
}
