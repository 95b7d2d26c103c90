package main

import (
	"fmt"
	"go/types"
)

// leaf is how a value of a fixed number of numbers is written and read.
type leaf struct {
	count int
	write func(at string) string       // the number, or an array of them
	read  func(v string, n int) string // from v[n] on
}

// call is a leaf that two functions make numbers of, and a value again.
func call(count int, write, read string) leaf {
	return leaf{count, func(at string) string { return fmt.Sprintf("%s(%s)", write, at) }, func(v string, n int) string {
		if count > 1 {
			return fmt.Sprintf("%s(r, %s[%d:%d])", read, v, n, n+count)
		}
		return fmt.Sprintf("%s(r, %s[%d])", read, v, n)
	}}
}

// leaves are the types that are no integers.
var leaves = map[string]leaf{
	"IPv4":              call(1, "ipv4Number", "numberIPv4"),
	"IPv6":              call(2, "ipv6Pair", "pairIPv6"),
	"[16]byte":          call(2, "ipv6Pair", "pairIPv6"),
	"IPv6Prefix":        call(1, "ipv6PrefixNumber", "numberIPv6Prefix"),
	"Optional[MAC]":     call(1, "macNumber", "numberMAC"),
	"Optional[SNSSAI]":  call(1, "snssaiNumber", "numberSNSSAI"),
	"Optional[VLANTag]": call(2, "tagNumbers", "numbersTag"),
	"netip.Prefix":      call(3, "prefixNumbers", "numbersPrefix"),
}

// elements are the methods of writer and reader for elements of lists that are no
// integers and have no tags.
var elements = map[string]string{
	"string": "name", "netip.Prefix": "prefix", "MAC": "mac", "PortRange": "ports",
}

// leafOf returns how a value is written that is no list, no flag and no text.
func leafOf(t types.Type) (leaf, error) {
	name := typeName(t)
	if l, ok := leaves[name]; ok {
		return l, nil
	}
	if n, ok := t.(*types.Named); ok && n.Obj().Name() == "Optional" {
		of := typeName(n.TypeArgs().At(0))
		return leaf{1, func(at string) string { return "plus1(" + at + ")" },
			func(v string, n int) string { return fmt.Sprintf("minus1[%s](r, %s[%d])", of, v, n) }}, nil
	}
	b, ok := t.Underlying().(*types.Basic)
	if !ok || b.Info()&types.IsInteger == 0 {
		return leaf{}, fmt.Errorf("no numbers encode a value of type %s", name)
	}
	write := func(at string) string { return "uint64(" + at + ")" }
	if name == "uint64" {
		write = func(at string) string { return at }
	}
	return leaf{1, write, func(v string, n int) string { return integer(t, fmt.Sprintf("%s[%d]", v, n)) }}, nil
}

// integer is the number as an integer of type t.
func integer(t types.Type, number string) string {
	name := typeName(t)
	switch b := t.Underlying().(*types.Basic); {
	case name == "uint64":
		return number
	case b.Kind() == types.Uint64, b.Kind() == types.Int64:
		return fmt.Sprintf("%s(%s)", name, number)
	}
	return fmt.Sprintf("narrow[%s](r, %s)", name, number)
}

// typeName is the type as package session writes it.
func typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p.Name() == "session" {
			return ""
		}
		return p.Name()
	})
}
