package main

import (
	"fmt"
	"strings"
)

// encoder returns the name of the function that encodes a structure or union.
func (fs *functions) encoder(name, profile string) string {
	key := name + profile
	if n, ok := fs.names[key]; ok {
		return n
	}
	if u, ok := fs.unionOf[name]; ok {
		return fs.unionEncoder(u, profile)
	}
	st := fs.byName[name]
	c := &codec{functions: fs, owner: st, profile: profile, order: order(profile), top: st.isTop}
	c.nodes(st.Nodes, "m.")
	c.flush()
	return fs.define(key, "encode"+name+suffix(profile),
		fmt.Sprintf("func NAME(s *scratch, m *%s, b []byte, o int) int {\n%sreturn o\n}\n", name, c.b.String()))
}

// store writes one field of a run.
func (c *codec) store(f placed, at int) {
	value := f.prefix + f.Go + f.index
	base, arg, _ := strings.Cut(f.kind, ":")
	switch base {
	case "u8":
		if f.Kind != "u8" {
			c.p("if %s > 0xff { return s.wide(o, %q, %q, int(%s), 0xff) }", value, c.owner.Name, f.JSON, value)
			value = "byte(" + value + ")"
		}
		c.p("w[%d] = %s", at, value)
	case "u8-2":
		c.p("w[%d] = %s - 2", at, value)
	case "u16":
		if f.Kind != "u16" {
			c.p("if %s > 0xffff { return s.wide(o, %q, %q, int(%s), 0xffff) }", value, c.owner.Name, f.JSON, value)
			value = "uint16(" + value + ")"
		}
		c.p("%s.PutUint16(w[%d:%d], %s)", c.order, at, at+2, value)
	case "s16":
		c.p("%s.PutUint16(w[%d:%d], uint16(%s))", c.order, at, at+2, value)
	case "u24":
		c.p("w[%d], w[%d], w[%d] = byte(%s>>16), byte(%s>>8), byte(%s)", at, at+1, at+2, value, value, value)
	case "u32":
		c.p("%s.PutUint32(w[%d:%d], %s)", c.order, at, at+4, value)
	case "s32":
		c.p("%s.PutUint32(w[%d:%d], uint32(%s))", c.order, at, at+4, value)
	case "octets":
		c.p("*(*[%s]byte)(w[%d:%d]) = %s", arg, at, at+size(f.kind), value)
	case "count8":
		c.p("if len(%s%s) > 0xff { return s.wide(o, %q, %q, len(%s%s), 0xff) }\nw[%d] = byte(len(%s%s))", f.prefix, arg, c.owner.Name, f.JSON, f.prefix, arg, at, f.prefix, arg)
	case "count16":
		c.p("if len(%s%s) > 0xffff { return s.wide(o, %q, %q, len(%s%s), 0xffff) }\n%s.PutUint16(w[%d:%d], uint16(len(%s%s)))", f.prefix, arg, c.owner.Name, f.JSON, f.prefix, arg, c.order, at, at+2, f.prefix, arg)
	case "count32":
		c.p("%s.PutUint32(w[%d:%d], uint32(len(%s%s)))", c.order, at, at+4, f.prefix, arg)
	default:
		panic("store " + f.kind)
	}
}

// encodeVariable writes a field of variable size.
func (c *codec) encodeVariable(f *field, base, arg, prefix string) {
	value := prefix + f.Go
	switch base {
	case "list", "pdus":
		c.p("for i := range %s {\nif o = %s(s, &%s[i], b, o); o < 0 { return %s }\n}", value, c.encoder(arg, c.profile), value, inList(c.top, "o"))
	case "array":
		parts := strings.SplitN(arg, ":", 3)
		c.p("if n := %s; n > %s { return s.beyond(o, %q, %q, n, %s) } else {", c.amount(parseFormula(parts[2]), prefix, ""), parts[1], c.owner.Name, f.JSON, parts[1])
		c.p("for i := range n {\nif o = %s(s, &%s[i], b, o); o < 0 { return o }\n}\n}", c.encoder(parts[0], c.profile), value)
	case "string", "u8s", "harqs", "ues":
		formula := parseFormula(arg)
		if formula.Of != "-" {
			c.p("if n := %s; len(%s) != n { return s.mismatch(o, %q, %q, len(%s), n) }", c.amount(formula, prefix, f.Go), value, c.owner.Name, f.JSON, value)
		}
		c.p("if len(b)-o < len(%s) { return s.full(b, o, %q, len(%s)) }\no += copy(b[o:], %s)", value, c.owner.Name, value, value)
	case "u32s":
		c.p("if len(b)-o < 4*len(%s) { return s.full(b, o, %q, 4*len(%s)) }\nfor _, v := range %s {\n%s.PutUint32(b[o:], v)\no += 4\n}", value, c.owner.Name, value, value, c.order)
	case "u16s":
		c.p("if len(b)-o < 2*len(%s) { return s.full(b, o, %q, 2*len(%s)) }\nfor _, v := range %s {\n%s.PutUint16(b[o:], v)\no += 2\n}", value, c.owner.Name, value, value, c.order)
	case "tlvs":
		c.p("if o = s.encodeTLVs(%s, b, o, %s); o < 0 { return o }", value, c.order)
	default:
		c.p("if o = encode%s%s(s, %s, b, o); o < 0 { return o }", special(base), specialSuffix(base, c.profile), special1(base, value))
	}
}

// unionEncoder generates the encoder of a typed PDU.
func (fs *functions) unionEncoder(u *union, profile string) string {
	var cases strings.Builder
	for _, m := range u.Members {
		fmt.Fprintf(&cases, "case %d:\no = %s(s, &m.%s, b, o)\n", m.Type, fs.encoder(m.Name, profile), m.Go)
	}
	size := fmt.Sprintf("if o-start > 0xffff { return s.wide(start, %q, %q, o-start, 0xffff) }\n%s.PutUint16(b[start+2:], uint16(o-start))\n", u.Name, u.SizeJSON, order(profile))
	if u.SizeOf {
		size = order(profile) + ".PutUint16(b[start+2:], m.Size)\n"
	}
	return fs.define(u.Name+profile, "encode"+u.Name+suffix(profile), fmt.Sprintf(`func NAME(s *scratch, m *%[1]s, b []byte, o int) int {
	start := o
	if len(b)-o < 4 { return s.full(b, o, %[1]q, 4) }
	%[2]s.PutUint16(b[o:], m.Type)
	o += 4
	switch m.Type {
	%[3]s}
	if o < 0 { return o }
	if len(b)-o < len(m.Extra) { return s.full(b, o, %[1]q, len(m.Extra)) }
	o += copy(b[o:], m.Extra)
	%[4]sreturn o
	}
	`, u.Name, order(profile), cases.String(), size))
}
