package main

import (
	"fmt"
	"strings"
)

// markdown generates docs/nfapi-messages.md.
func (l *layout) markdown(types []tlvType) string {
	var b strings.Builder
	b.WriteString("# The messages of nFAPI\n\n" +
		"Made by `go generate ./nfapi` from the layouts in `nfapi/internal/gen`, of which the codec and the dissector are made, too.\n" +
		"Names are those of OpenAirInterface's structures, as `plumb nfapi decode` prints them. Types are the same in all profiles where one\n" +
		"is given; else they stand in the order oai-2025, oai-2024, aerial, and `-` is absent. Numbers are big endian, in aerial little endian.\n" +
		"[nfapi.md](nfapi.md) has the headers and explains the profiles.\n\n" +
		"| type | octets |\n|---|---|\n| `u8 u16 u24 u32`, `s16 s32` | unsigned, signed number; `u24` is big endian in every profile |\n" +
		"| `octets:N` | N |\n| `countW:X` | W-bit count of what X has |\n| `list:X`, `pdus:X`, `group:X` | as many X as were counted; typed PDUs; one X |\n" +
		"| `array:X:N:F` | F of X, at most N |\n| `string:F`, `u8s`, `u16s`, `u32s` | F octets; as many numbers as were counted |\n" +
		"| `n(X) floor8(X) ceil8(X) crc(X)` | X; X/8+1; X/8 rounded up; X/8+1 if X is not 0 |\n| `popcount(X) pow2(^X)` | the bits set in X; 1<<X of the structure around |\n\n")
	for _, plane := range []string{"p5", "p7"} {
		fmt.Fprintf(&b, "## %s\n\n", strings.ToUpper(plane))
		for _, st := range l.structs {
			if st.Plane == plane && st.isTop {
				l.table(&b, st)
			}
		}
		fmt.Fprintf(&b, "### Structures of %s\n\n", strings.ToUpper(plane))
		for _, st := range l.structs {
			if st.Plane == plane && !st.isTop {
				l.table(&b, st)
			}
		}
	}
	for _, u := range l.unions {
		fmt.Fprintf(&b, "**%s**: %s. `%s` u16, `%s` u16 (octets, these four included), then:\n\n| type | body |\n|---|---|\n", u.Name, u.Doc, u.TypeJSON, u.SizeJSON)
		for _, m := range u.Members {
			fmt.Fprintf(&b, "| %d | %s |\n", m.Type, m.Name)
		}
		b.WriteString("\n")
	}
	b.WriteString("## TLVs of P5\n\nTag u16, length u16 (of the value), value, padding to 32 bits. `pnf` are those of PNF_PARAM and PNF_CONFIG.\n\n| scope | tag | name | type | meaning |\n|---|---|---|---|---|\n")
	for _, t := range types {
		fmt.Fprintf(&b, "| %s | %04x | %s | %s | %s |\n", t.Scope, t.Tag, t.Name, t.Kind, t.Doc)
	}
	return b.String()
}

func (l *layout) table(b *strings.Builder, st *structure) {
	if st.isTop {
		fmt.Fprintf(b, "**%s** (%04x)", st.Message, st.ID)
		if st.Doc != "" {
			fmt.Fprintf(b, ": %s", st.Doc)
		}
	} else {
		fmt.Fprintf(b, "**%s**: %s", st.Name, st.Doc)
	}
	if len(st.Nodes) == 0 {
		b.WriteString("; no body.\n\n")
		return
	}
	b.WriteString("\n\n| field | type | meaning |\n|---|---|---|\n")
	l.rows(b, st.Nodes, "")
	b.WriteString("\n")
}

func (l *layout) rows(b *strings.Builder, nodes []node, when string) {
	for _, n := range nodes {
		switch {
		case n.cond != "" && n.exact:
			l.rows(b, n.children, fmt.Sprintf("if %s&%d (oai-2024: if it is %d); ", n.cond, n.mask, n.mask))
		case n.cond != "":
			l.rows(b, n.children, fmt.Sprintf("if %s&%d; ", n.cond, n.mask))
		case n.repeat != "":
			l.rows(b, n.children, fmt.Sprintf("%s times, one after the other; ", n.repeat))
		default:
			fmt.Fprintf(b, "| %s | %s | %s |\n", n.JSON, typesOf(n.field), strings.TrimSuffix(when+n.Doc, "; "))
		}
	}
}

// typesOf is the type of a field, or that of each profile.
func typesOf(f *field) string {
	var list []string
	same := true
	for _, p := range profiles {
		kind := f.in(p)
		if kind == "" {
			kind = "-"
		}
		list = append(list, "`"+kind+"`")
		same = same && list[0] == list[len(list)-1]
	}
	if same {
		return list[0]
	}
	return strings.Join(list, " ")
}
