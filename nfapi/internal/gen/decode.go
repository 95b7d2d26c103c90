package main

import (
	"fmt"
	"strings"
)

// functions are the generated functions of one direction: those of profiles in
// which a structure has the same layout are one.
type functions struct {
	*layout
	out    strings.Builder
	byText map[string]string // body to name
	names  map[string]string // structure and profile to name
	runs   map[string]string // table of a run to its name
}

func newFunctions(l *layout) *functions {
	return &functions{layout: l, byText: map[string]string{}, names: map[string]string{}, runs: map[string]string{}}
}

// suffix is what a profile adds to the name of a function.
func suffix(profile string) string {
	return map[string]string{"oai-2025": "2025", "oai-2024": "2024", "aerial": "Aerial"}[profile]
}

// define writes a function unless one with this body exists, and returns its
// name. The body has NAME where its name belongs.
func (fs *functions) define(key, name, body string) string {
	if n, ok := fs.byText[body]; ok {
		fs.names[key] = n
		return n
	}
	fs.byText[body], fs.names[key] = name, name
	fs.out.WriteString(strings.ReplaceAll(body, "NAME", name) + "\n")
	return name
}

// codec generates the body of one function.
type codec struct {
	*functions
	b       strings.Builder
	owner   *structure
	profile string
	order   string // expression of the byte order
	top     bool
	run     []placed
	decode  bool
	counts  map[string]bool
}

// placed is a field of fixed size with the Go path of what it is in.
type placed struct {
	*field
	kind, prefix string
	index        string // "[i]" in a block that is repeated
}

func (c *codec) p(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

// order is the expression of a byte order.
func order(profile string) string {
	if littleEndian(profile) {
		return "binary.LittleEndian"
	}
	return "binary.BigEndian"
}

// decoder returns the name of the function that decodes a structure or union.
func (fs *functions) decoder(name, profile string) string {
	key := name + profile
	if n, ok := fs.names[key]; ok {
		return n
	}
	if u, ok := fs.unionOf[name]; ok {
		return fs.unionDecoder(u, profile)
	}
	st := fs.byName[name]
	c := &codec{functions: fs, owner: st, profile: profile, order: order(profile), top: st.isTop, decode: true, counts: map[string]bool{}}
	c.nodes(st.Nodes, "m.")
	c.flush()
	counts := ""
	for _, n := range countNames(st.Nodes, c.counts) {
		counts += "var " + n + " int\n"
	}
	return fs.define(key, "decode"+name+suffix(profile),
		fmt.Sprintf("func NAME(s *scratch, m *%s, b []byte, o int) int {\n%s%sreturn o\n}\n", name, counts, c.b.String()))
}

// countNames lists the local variables of counts in the order of the layout.
func countNames(nodes []node, used map[string]bool) []string {
	var names []string
	for n := range used {
		names = append(names, n)
	}
	sortStrings(names)
	return names
}

// nodes generates the code for a list of fields, in a structure at prefix.
func (c *codec) nodes(nodes []node, prefix string) {
	for _, n := range nodes {
		switch {
		case n.cond != "":
			c.flush()
			c.conditional(n, prefix)
		case n.repeat != "":
			c.flush()
			c.repeated(n, prefix)
		default:
			c.one(n.field, prefix)
		}
	}
}

func (c *codec) one(f *field, prefix string) {
	kind := f.in(c.profile)
	base, arg, _ := strings.Cut(kind, ":")
	switch {
	case kind == "":
		if c.decode {
			c.clear([]node{{field: f}}, prefix, "")
		}
	case base == "group":
		c.nodes(c.byName[arg].Nodes, prefix+f.Go+".")
	case size(kind) > 0:
		c.run = append(c.run, placed{field: f, kind: kind, prefix: prefix})
	default:
		c.flush()
		if c.decode {
			c.decodeVariable(f, base, arg, prefix)
		} else {
			c.encodeVariable(f, base, arg, prefix)
		}
	}
}

// condition is the Go expression of an if block.
func (c *codec) condition(n node, prefix string) string {
	if n.exact && c.profile == "oai-2024" {
		return fmt.Sprintf("%s%s == %d", prefix, n.cond, n.mask)
	}
	return fmt.Sprintf("%s%s&%d != 0", prefix, n.cond, n.mask)
}

func (c *codec) conditional(n node, prefix string) {
	c.p("if %s {", c.condition(n, prefix))
	c.nodes(n.children, prefix)
	c.flush()
	if c.decode {
		c.p("} else {")
		c.clear(n.children, prefix, "")
	}
	c.p("}")
}

// repeated generates a loop over a block of fixed size.
func (c *codec) repeated(n node, prefix string) {
	c.p("if %s%s > %d { return s.beyond(o, %q, %q, int(%s%s), %d) }", prefix, n.repeat, n.repeatMax, c.owner.Name, n.repeat, prefix, n.repeat, n.repeatMax)
	c.p("for i := range int(%s%s) {", prefix, n.repeat)
	for _, child := range n.children {
		c.run = append(c.run, placed{field: child.field, kind: child.in(c.profile), prefix: prefix, index: "[i]"})
	}
	c.flush()
	c.p("}")
}

// clear gives what was not sent its zero.
func (c *codec) clear(nodes []node, prefix, index string) {
	for _, n := range nodes {
		kind := n.Kind
		base, arg, _ := strings.Cut(kind, ":")
		target := prefix + n.Go
		switch base {
		case "group":
			c.p("%s = %s{}", target, arg)
		case "beamtx", "beamrx":
			c.p("%s = %s{}", target, special(base))
		case "octets":
			c.p("%s = [%s]byte{}", target, arg)
		case "string", "u8s", "harqs", "ues":
			c.p("%s = nil", target)
		default:
			c.p("%s = 0", target)
		}
	}
}

// flush writes the fields of fixed size that have come together as one run with
// one bounds check.
func (c *codec) flush() {
	if len(c.run) == 0 {
		return
	}
	run := c.run
	c.run = nil
	total := 0
	for _, f := range run {
		total += size(f.kind)
	}
	if c.decode {
		c.p("if len(b)-o < %d { return s.short(b, o, %q, %s[:]) }", total, c.owner.Name, c.table(run))
	} else {
		c.p("if len(b)-o < %d { return s.full(b, o, %q, %d) }", total, c.owner.Name, total)
	}
	c.p("{\nw := (*[%d]byte)(b[o:])", total)
	at := 0
	for _, f := range run {
		if c.decode {
			c.load(f, at)
		} else {
			c.store(f, at)
		}
		at += size(f.kind)
	}
	c.p("}\no += %d", total)
}

// table returns the name of the table that says which field of a run is where.
func (c *codec) table(run []placed) string {
	var t strings.Builder
	at := 0
	for _, f := range run {
		at += size(f.kind)
		fmt.Fprintf(&t, "{%q, %d}, ", f.JSON, at)
	}
	text := t.String()
	if name, ok := c.runs[text]; ok {
		return name
	}
	name := fmt.Sprintf("run%d", len(c.runs))
	c.runs[text] = name
	fmt.Fprintf(&c.out, "var %s = [...]fieldEnd{%s}\n\n", name, strings.TrimSuffix(text, ", "))
	return name
}

// load reads one field of a run.
func (c *codec) load(f placed, at int) {
	target := f.prefix + f.Go + f.index
	base, arg, _ := strings.Cut(f.kind, ":")
	switch base {
	case "u8":
		c.p("%s = %sw[%d]%s", target, convert(f.Kind, "u8"), at, closing(f.Kind, "u8"))
	case "u8-2":
		c.p("%s = w[%d] + 2", target, at)
	case "u16":
		c.p("%s = %s%s.Uint16(w[%d:%d])%s", target, convert(f.Kind, "u16"), c.order, at, at+2, closing(f.Kind, "u16"))
	case "s16":
		c.p("%s = int16(%s.Uint16(w[%d:%d]))", target, c.order, at, at+2)
	case "u24":
		c.p("%s = uint32(w[%d])<<16 | uint32(w[%d])<<8 | uint32(w[%d])", target, at, at+1, at+2)
	case "u32":
		c.p("%s = %s.Uint32(w[%d:%d])", target, c.order, at, at+4)
	case "s32":
		c.p("%s = int32(%s.Uint32(w[%d:%d]))", target, c.order, at, at+4)
	case "octets":
		c.p("%s = [%s]byte(w[%d:%d])", target, arg, at, at+size(f.kind))
	case "count8":
		c.p("n%s = int(w[%d])", arg, at)
		c.counts["n"+arg] = true
	case "count16":
		c.p("n%s = int(%s.Uint16(w[%d:%d]))", arg, c.order, at, at+2)
		c.counts["n"+arg] = true
	case "count32":
		c.p("n%s = int(%s.Uint32(w[%d:%d]))", arg, c.order, at, at+4)
		c.counts["n"+arg] = true
	default:
		panic("load " + f.kind)
	}
}

// goType is the type of a number in Go.
func goType(kind string) string {
	return map[string]string{"u8": "uint8", "u16": "uint16", "u24": "uint32", "u32": "uint32", "s16": "int16", "s32": "int32"}[kind]
}

// convert opens a conversion if a field is wider in Go than on the wire.
func convert(inGo, onWire string) string {
	if inGo == onWire {
		return ""
	}
	return goType(inGo) + "("
}

func closing(inGo, onWire string) string {
	if inGo == onWire {
		return ""
	}
	return ")"
}
