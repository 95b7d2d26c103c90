package main

import (
	"fmt"
	"slices"
	"strings"
)

func sortStrings(s []string) { slices.Sort(s) }

// types generates the structures.
func (l *layout) types() string {
	var b strings.Builder
	for _, st := range l.structs {
		l.structType(&b, st)
	}
	for _, u := range l.unions {
		fmt.Fprintf(&b, "// %s is %s. Type says which member counts; of a type that\n// this package does not know, Extra is the whole body.\ntype %s struct {\nType uint16\n"+
			"Size uint16 // octets, as it was received%s\n", u.Name, u.Doc, u.Name, sizeNote(u))
		for _, m := range u.Members {
			fmt.Fprintf(&b, "%s %s // type %d\n", m.Go, m.Name, m.Type)
		}
		b.WriteString("Extra []byte // what follows the fields that are known; it shares the datagram\n}\n\n")
	}
	return b.String()
}

func sizeNote(u *union) string {
	if u.SizeOf {
		return "; OpenAirInterface sends that of a C structure, which nothing relies upon"
	}
	return "; encoding counts anew"
}

func (l *layout) structType(b *strings.Builder, st *structure) {
	source := "as OpenAirInterface develop 2025-09 has it."
	if st.isTop {
		fmt.Fprintf(b, "// %s is %s", st.Name, st.Message)
		if st.Doc != "" {
			fmt.Fprintf(b, ": %s", st.Doc)
		}
		fmt.Fprintf(b, ".\n//\n// Source: SCF 222, %s\ntype %s struct {\n", source, st.Name)
	} else {
		fmt.Fprintf(b, "// %s is %s.\n//\n// Source: SCF 222, %s\ntype %s struct {\n", st.Name, st.Doc, source, st.Name)
	}
	l.goFields(b, st, st.Nodes, 0)
	if st.isTop {
		b.WriteString("\n\tTrailing []byte // octets after the last field: vendor extensions; they share the datagram\n\ts scratch\n")
	}
	b.WriteString("}\n\n")
}

func (l *layout) goFields(b *strings.Builder, st *structure, nodes []node, times int) {
	for _, n := range nodes {
		if n.field == nil {
			l.goFields(b, st, n.children, n.repeatMax)
			continue
		}
		if n.Go == "-" {
			continue
		}
		base, arg, _ := strings.Cut(n.Kind, ":")
		kind := goType(n.Kind)
		switch base {
		case "octets":
			kind = "[" + arg + "]byte"
		case "list", "pdus":
			kind = "[]" + arg
		case "array":
			parts := strings.Split(arg, ":")
			kind = "[" + parts[1] + "]" + parts[0]
		case "string", "u8s", "harqs", "ues":
			kind = "[]byte"
		case "u16s":
			kind = "[]uint16"
		case "u32s":
			kind = "[]uint32"
		case "group":
			kind = arg
		case "beamtx", "beamrx":
			kind = special(base)
		case "dcipayload":
			fmt.Fprintf(b, "\tPayload [DCIPayloadLen]byte // %s\n\tPayloadPadding uint8 // aerial: the bits behind the last one, which should be 0\n", n.Doc)
			continue
		case "txvalue":
			fmt.Fprintf(b, "\tPayload []byte // in its order; it belongs to the message that was decoded\n\tOffset uint32 // with tag 2\n\tPadding [3]byte // octets behind the payload up to 32 bits, which should be 0\n")
			continue
		case "srsvalue":
			kind = "[]uint32"
		case "tlvs":
			kind = "[]TLV"
		}
		if times > 0 {
			kind = fmt.Sprintf("[%d]%s", times, kind)
		}
		doc := n.Doc
		if note := profileNote(n.field); note != "" {
			doc = strings.TrimPrefix(doc+"; "+note, "; ")
		}
		if doc != "" {
			doc = " // " + doc
		}
		fmt.Fprintf(b, "\t%s %s%s\n", n.Go, kind, doc)
	}
}

// profileNote says in words where profiles differ.
func profileNote(f *field) string {
	var notes []string
	if f.Only != nil {
		notes = append(notes, "only in "+strings.Join(f.Only, ", "))
	}
	for _, p := range profiles {
		switch kind, ok := f.Over[p]; {
		case !ok:
		case kind == "-":
			notes = append(notes, "not in "+p)
		default:
			notes = append(notes, kind+" in "+p)
		}
	}
	return strings.Join(notes, "; ")
}

// messages generates the methods of the messages and the tables of them.
func (l *layout) messages(decoders, encoders *functions) string {
	var b, ids, news, strs strings.Builder
	for _, st := range l.structs {
		if !st.isTop {
			continue
		}
		fmt.Fprintf(&ids, "\tMsg%s MessageID = %#04x // %s\n", st.Name, st.ID, st.Message)
		fmt.Fprintf(&news, "\tcase Msg%s:\n\t\treturn new(%s)\n", st.Name, st.Name)
		fmt.Fprintf(&strs, "\tcase Msg%s:\n\t\treturn %q\n", st.Name, st.Message)
		fmt.Fprintf(&b, "// MessageID is that of %s.\nfunc (*%s) MessageID() MessageID { return Msg%s }\n\n", st.Message, st.Name, st.Name)
		fmt.Fprintf(&b, "// DecodeBody reads the message from the octets behind its header; see [Message].\nfunc (m *%s) DecodeBody(p Profile, b []byte) error {\ns := &m.s\ns.begin(%q)\nvar o int\nswitch p {\n", st.Name, st.Message)
		for _, p := range []string{"oai-2024", "aerial"} {
			fmt.Fprintf(&b, "case %s: o = %s(s, m, b, 0)\n", constant(p), decoders.decoder(st.Name, p))
		}
		fmt.Fprintf(&b, "default: o = %s(s, m, b, 0)\n}\nif o < 0 { return &s.err }\nm.Trailing = nil\nif o < len(b) { m.Trailing = b[o:] }\nreturn nil\n}\n\n", decoders.decoder(st.Name, "oai-2025"))
		fmt.Fprintf(&b, "// EncodeBody writes the message without its header; see [Message].\nfunc (m *%s) EncodeBody(p Profile, b []byte) (int, error) {\ns := &m.s\ns.begin(%q)\nvar o int\nswitch p {\n", st.Name, st.Message)
		for _, p := range []string{"oai-2024", "aerial"} {
			fmt.Fprintf(&b, "case %s: o = %s(s, m, b, 0)\n", constant(p), encoders.encoder(st.Name, p))
		}
		fmt.Fprintf(&b, "default: o = %s(s, m, b, 0)\n}\nif o < 0 { return 0, &s.err }\nif m.Trailing != nil { return s.trail(b, o, m.Trailing) }\nreturn o, nil\n}\n\n", encoders.encoder(st.Name, "oai-2025"))
	}
	return "// The messages of P5 and P7. Source: SCF 222, as OpenAirInterface develop 2025-09 has it.\nconst (\n" + ids.String() + ")\n\n" +
		"// String returns the name that SCF 222 has.\nfunc (id MessageID) String() string {\n\tswitch id {\n" + strs.String() + "\t}\n\treturn id.unknown()\n}\n\n" +
		"// newKnown makes a message that this package knows.\nfunc newKnown(id MessageID) Message {\n\tswitch id {\n" + news.String() + "\t}\n\treturn nil\n}\n\n" + b.String()
}

// constant is the Go constant of a profile.
func constant(profile string) string {
	return map[string]string{"oai-2025": "OAI2025", "oai-2024": "OAI2024", "aerial": "Aerial"}[profile]
}
