package main

import (
	"fmt"
	"strings"
)

// lua generates the dissector: its program with the layouts as tables.
func (l *layout) lua(types []tlvType) string {
	var b strings.Builder
	for _, st := range l.structs {
		fmt.Fprintf(&b, "structs[%q] = {\n", st.Name)
		l.luaNodes(&b, st, st.Nodes, "  ")
		b.WriteString("}\n")
	}
	for _, u := range l.unions {
		fmt.Fprintf(&b, "unions[%q] = { type = %q, size = %q, sizeof = %t, members = {", u.Name, u.TypeJSON, u.SizeJSON, u.SizeOf)
		for _, m := range u.Members {
			fmt.Fprintf(&b, " [%d] = %q,", m.Type, m.Name)
		}
		b.WriteString(" } }\n")
	}
	for _, st := range l.structs {
		if st.isTop {
			scope := "phy"
			if strings.HasPrefix(st.Message, "PNF_") {
				scope = "pnf"
			}
			fmt.Fprintf(&b, "messages[%#x] = { name = %q, struct = %q, scope = %q }\n", st.ID, st.Message, st.Name, scope)
		}
	}
	b.WriteString("tags.pnf, tags.phy = {}, {}\n")
	for _, t := range types {
		fmt.Fprintf(&b, "tags.%s[%#x] = %q\n", t.Scope, t.Tag, t.Name)
	}
	return strings.Replace(dissector, "-- LAYOUTS\n", strings.TrimRight(b.String(), "\n")+"\n", 1)
}

// jsonOf maps the names of fields in Go to those in JSON, which Lua uses.
func jsonOf(nodes []node, to map[string]string) {
	for _, n := range nodes {
		if n.field == nil {
			jsonOf(n.children, to)
		} else if n.Go != "-" {
			to[n.Go] = n.JSON
		}
	}
}

func (l *layout) luaNodes(b *strings.Builder, st *structure, nodes []node, indent string) {
	names := map[string]string{"-": "-", "^NumSymbols": "^num_symbols"}
	jsonOf(st.Nodes, names)
	for _, n := range nodes {
		switch {
		case n.cond != "":
			fmt.Fprintf(b, "%s{ c = %q, m = %d, x = %t, b = {\n", indent, names[n.cond], n.mask, n.exact)
		case n.repeat != "":
			fmt.Fprintf(b, "%s{ r = %q, b = {\n", indent, names[n.repeat])
		default:
			fmt.Fprintf(b, "%s{ n = %q, g = %q, k = %s },\n", indent, n.JSON, n.Go, luaKinds(n.field, names))
			continue
		}
		l.luaNodes(b, st, n.children, indent+"  ")
		fmt.Fprintf(b, "%s} },\n", indent)
	}
}

// luaKinds is the type of a field, or a table of that in each profile.
func luaKinds(f *field, names map[string]string) string {
	var list []string
	same := true
	for _, p := range profiles {
		kind := f.in(p)
		if kind == "" {
			kind = "-"
		}
		if open := strings.Index(kind, "("); open >= 0 {
			kind = kind[:open+1] + names[strings.TrimSuffix(kind[open+1:], ")")] + ")"
		}
		list = append(list, fmt.Sprintf("%q", kind))
		same = same && list[0] == list[len(list)-1]
	}
	if same {
		return list[0]
	}
	return "{ " + strings.Join(list, ", ") + " }"
}
