package main

import (
	"fmt"
	"strings"
)

// view generates toJSON and fromJSON of every structure.
type view struct {
	*layout
	b  strings.Builder
	st *structure
}

func (v *view) p(format string, args ...any) { fmt.Fprintf(&v.b, format+"\n", args...) }

func (l *layout) views() string {
	v := &view{layout: l}
	standing := l.standing()
	for _, st := range l.structs {
		if !standing[st.Name] {
			continue
		}
		v.st = st
		unused := ""
		if len(st.Nodes) == 0 {
			unused = "_ = r"
		}
		v.p("func (m *%s) toJSON(w *jsonWriter, p Profile) {", st.Name)
		v.write(st.Nodes, "m.")
		v.trailing(st, "w.trailing(m.Trailing)")
		v.p("}\n\nfunc (m *%s) fromJSON(r *jsonReader, p Profile) {%s", st.Name, unused)
		v.read(st.Nodes, "m.")
		v.trailing(st, "m.Trailing = r.trailing()")
		v.p("}\n")
	}
	for _, u := range l.unions {
		v.union(u)
	}
	return v.b.String()
}

// standing are the structures that are not only groups inside others.
func (l *layout) standing() map[string]bool {
	set := map[string]bool{"PNFParamGeneral": true, "PNFPHY": true, "PNFPHYRF": true}
	var walk func(nodes []node)
	walk = func(nodes []node) {
		for _, n := range nodes {
			if n.field == nil {
				walk(n.children)
				continue
			}
			if base, arg, _ := strings.Cut(n.Kind, ":"); base == "list" || base == "pdus" || base == "array" {
				name, _, _ := strings.Cut(arg, ":")
				set[name] = true
			}
		}
	}
	for _, st := range l.structs {
		set[st.Name] = set[st.Name] || st.isTop
		walk(st.Nodes)
	}
	for _, u := range l.unions {
		for _, m := range u.Members {
			set[m.Name] = true
		}
	}
	return set
}

func (v *view) trailing(st *structure, text string) {
	if st.isTop {
		v.p("%s", text)
	}
}

func (v *view) union(u *union) {
	v.p("func (m *%s) toJSON(w *jsonWriter, p Profile) {\nw.uint(%q, uint64(m.Type))\nw.uint(%q, uint64(m.Size))\nswitch m.Type {", u.Name, u.TypeJSON, u.SizeJSON)
	for _, m := range u.Members {
		v.p("case %d: m.%s.toJSON(w, p)", m.Type, m.Go)
	}
	v.p("}\nw.extra(m.Extra)\n}\n\nfunc (m *%s) fromJSON(r *jsonReader, p Profile) {\nm.Type = uint16(r.uint(%q, 16))\nm.Size = uint16(r.uint(%q, 16))\nswitch m.Type {", u.Name, u.TypeJSON, u.SizeJSON)
	for _, m := range u.Members {
		v.p("case %d: m.%s.fromJSON(r, p)", m.Type, m.Go)
	}
	v.p("}\nm.Extra = r.extra()\n}\n")
}

// within opens an if for a field that not all profiles have.
func within(f *field) string {
	var have []string
	for _, p := range profiles {
		if f.in(p) != "" {
			have = append(have, "p == "+constant(p))
		}
	}
	if len(have) == len(profiles) {
		return ""
	}
	return "if " + strings.Join(have, " || ") + " {"
}

// each calls one for the fields of nodes, inside the conditions that they have.
func (v *view) each(nodes []node, prefix string, times string, one func(f *field, prefix, times string)) {
	for _, n := range nodes {
		switch {
		case n.cond != "" && n.exact:
			v.p("if exactly(p, %s%s, %d) {", prefix, n.cond, n.mask)
			v.each(n.children, prefix, "", one)
			v.p("}")
		case n.cond != "":
			v.p("if %s%s&%d != 0 {", prefix, n.cond, n.mask)
			v.each(n.children, prefix, "", one)
			v.p("}")
		case n.repeat != "":
			v.each(n.children, prefix, fmt.Sprintf("min(int(%s%s), %d)", prefix, n.repeat, n.repeatMax), one)
		default:
			open := within(n.field)
			if open != "" {
				v.p("%s", open)
			}
			one(n.field, prefix, times)
			if open != "" {
				v.p("}")
			}
		}
	}
}

func (v *view) write(nodes []node, prefix string) { v.each(nodes, prefix, "", v.writeField) }
func (v *view) read(nodes []node, prefix string)  { v.each(nodes, prefix, "", v.readField) }

// keys are the names of numbers that OpenAirInterface has in structures of one.
var keys = map[string]string{"harqs": "harq_value", "ues": "pdu_idx"}

func (v *view) writeField(f *field, prefix, times string) {
	x := prefix + f.Go
	base, arg, _ := strings.Cut(f.Kind, ":")
	switch {
	case times != "":
		v.p("writeNumbers(w, %q, %s[:%s])", f.JSON, x, times)
	case base == "s16", base == "s32":
		v.p("w.int(%q, int64(%s))", f.JSON, x)
	case goType(base) != "":
		v.p("w.uint(%q, uint64(%s))", f.JSON, x)
	case strings.HasPrefix(base, "count"):
		v.p("w.uint(%q, uint64(len(%s%s)))", f.JSON, prefix, arg)
	case base == "octets":
		v.p("w.hex(%q, %s[:])", f.JSON, x)
	case base == "string":
		v.p("w.hex(%q, %s)", f.JSON, x)
	case base == "u8s", base == "u16s", base == "u32s":
		v.p("writeNumbers(w, %q, %s)", f.JSON, x)
	case keys[base] != "":
		v.p("w.objects(%q, %q, %s)", f.JSON, keys[base], x)
	case base == "list", base == "pdus":
		v.p("writeList(w, %q, p, %s)", f.JSON, x)
	case base == "array":
		v.p("writeList(w, %q, p, %s[:%s])", f.JSON, x, v.arrayLen(f, arg, prefix))
	case base == "group":
		v.p("w.object(%q)", f.JSON)
		v.write(v.byName[arg].Nodes, x+".")
		v.p("w.end()")
	case base == "beamtx", base == "beamrx":
		v.p("w.object(%q)\n%s.toJSON(w)\nw.end()", f.JSON, x)
	case base == "tlvs":
		v.p("writeTLVs(w, %s, p, Msg%s)", x, v.st.Name)
	default:
		v.p("write%s(w, %s)", special(base), pointer(strings.TrimSuffix(prefix, ".")))
	}
}

// arrayLen is how many elements of an array count, at most all.
func (v *view) arrayLen(f *field, arg, prefix string) string {
	parts := strings.SplitN(arg, ":", 3)
	c := codec{}
	n := fmt.Sprintf("min(%s, %s)", c.amount(parseFormula(parts[2]), prefix, ""), parts[1])
	for _, p := range profiles {
		if over := f.Over[p]; strings.HasSuffix(over, "all(-)") {
			return fmt.Sprintf("choose(p == %s, %s, %s)", constant(p), parts[1], n)
		}
	}
	return n
}

func (v *view) readField(f *field, prefix, times string) {
	x := prefix + f.Go
	base, arg, _ := strings.Cut(f.Kind, ":")
	switch {
	case times != "":
		v.p("readNumbers(r, %q, %s[:%s])", f.JSON, x, times)
	case base == "s16", base == "s32":
		v.p("%s = %s(r.int(%q, %s))", x, goType(base), f.JSON, base[1:])
	case goType(base) != "":
		v.p("%s = %s(r.uint(%q, %s))", x, goType(base), f.JSON, base[1:])
	case strings.HasPrefix(base, "count"):
		v.p("r.count(%q)", f.JSON)
	case base == "octets":
		v.p("r.octets(%q, %s[:])", f.JSON, x)
	case base == "string":
		v.p("%s = r.hex(%q)", x, f.JSON)
	case base == "u8s":
		v.p("%s = readSlice[byte](r, %q)", x, f.JSON)
	case base == "u16s":
		v.p("%s = readSlice[uint16](r, %q)", x, f.JSON)
	case base == "u32s":
		v.p("%s = readSlice[uint32](r, %q)", x, f.JSON)
	case keys[base] != "":
		v.p("%s = r.objects(%q, %q)", x, f.JSON, keys[base])
	case base == "list", base == "pdus":
		v.p("%s = readList[%s](r, %q, p)", x, arg, f.JSON)
	case base == "array":
		v.p("readArray(r, %q, p, %s[:%s])", f.JSON, x, v.arrayLen(f, arg, prefix))
	case base == "group":
		v.p("{\nr := r.object(%q)", f.JSON)
		v.read(v.byName[arg].Nodes, x+".")
		v.p("r.done()\n}")
	case base == "beamtx", base == "beamrx":
		v.p("%s.fromJSON(r.object(%q))", x, f.JSON)
	case base == "tlvs":
		v.p("%s = readTLVs(r, p, Msg%s)", x, v.st.Name)
	default:
		v.p("read%s(r, %s)", special(base), pointer(strings.TrimSuffix(prefix, ".")))
	}
}
