package main

import (
	"fmt"
	"strings"
)

// amount is the Go expression of a formula.
func (c *codec) amount(f formula, prefix, list string) string {
	of := prefix + f.Of
	if outer, ok := strings.CutPrefix(f.Of, "^"); ok {
		of = "m." + outer
	}
	switch f.Func {
	case "n":
		if f.Of == "-" {
			return "n" + list
		}
		return "int(" + of + ")"
	case "floor8":
		return "int(" + of + ")/8 + 1"
	case "ceil8":
		return "(int(" + of + ") + 7)/8"
	case "crc":
		return "octetsOfCRC(" + of + ")"
	case "popcount":
		return "bits.OnesCount32(" + of + ")"
	case "pow2":
		return "1 << min(" + of + ", 8)"
	case "all":
		return "4"
	}
	panic("formula " + f.Func)
}

// decodeVariable reads a field of variable size.
func (c *codec) decodeVariable(f *field, base, arg, prefix string) {
	target := prefix + f.Go
	switch base {
	case "list", "pdus":
		least := c.least(arg)
		c.p("if (len(b)-o)/%d < n%s { return s.many(b, o, %q, %q, n%s, %d) }", least, f.Go, c.owner.Name, f.JSON, f.Go, least)
		if c.top || arena(arg) == "" {
			c.p("%s = resize(%s, n%s)", target, target, f.Go)
		} else {
			c.p("%s = s.%s.take(n%s)", target, arena(arg), f.Go)
		}
		c.p("for i := range %s {\nif o = %s(s, &%s[i], b, o); o < 0 { return %s }\n}", target, c.decoder(arg, c.profile), target, inList(c.top, "o"))
	case "array":
		c.decodeArray(f, arg, prefix)
	case "string", "u8s", "harqs", "ues":
		c.p("if n := %s; len(b)-o < n { return s.tail(b, o, %q, %q, n) } else {\n%s = b[o:o+n:o+n]\no += n\n}",
			c.amount(parseFormula(arg), prefix, f.Go), c.owner.Name, f.JSON, target)
	case "u32s":
		c.p("if (len(b)-o)/4 < n%s { return s.many(b, o, %q, %q, n%s, 4) }", f.Go, c.owner.Name, f.JSON, f.Go)
		c.p("%s = s.words.take(n%s)\nfor i := range %s {\n%s[i] = %s.Uint32(b[o:])\no += 4\n}", target, f.Go, target, target, c.order)
	case "u16s":
		c.p("if (len(b)-o)/2 < n%s { return s.many(b, o, %q, %q, n%s, 2) }", f.Go, c.owner.Name, f.JSON, f.Go)
		c.p("%s = resize(%s, n%s)\nfor i := range %s {\n%s[i] = %s.Uint16(b[o:])\no += 2\n}", target, target, f.Go, target, target, c.order)
	case "tlvs":
		c.p("if o = s.decodeTLVs(&%s, b, o, %s, %q); o < 0 { return o }", target, c.order, c.owner.Message)
	default: // kinds that are written by hand
		c.p("if o = decode%s%s(s, %s, b, o); o < 0 { return o }", special(base), specialSuffix(base, c.profile), special1(base, target))
	}
}

// inList adds the index of a PDU to an error.
func inList(top bool, o string) string {
	if top {
		return "s.inPDU(i)"
	}
	return o
}

func (c *codec) decodeArray(f *field, arg, prefix string) {
	parts := strings.SplitN(arg, ":", 3)
	c.p("if n := %s; n > %s { return s.beyond(o, %q, %q, n, %s) } else {", c.amount(parseFormula(parts[2]), prefix, ""), parts[1], c.owner.Name, f.JSON, parts[1])
	c.p("for i := range n {\nif o = %s(s, &%s%s[i], b, o); o < 0 { return o }\n}\n}", c.decoder(parts[0], c.profile), prefix, f.Go)
}

// special is the name of a kind that is written by hand.
func special(base string) string {
	return map[string]string{"beamtx": "BeamformingTX", "beamrx": "BeamformingRX", "dcipayload": "DCIPayload", "txvalue": "TXValue", "srsvalue": "SRSValue"}[base]
}

// special1 is what its functions take: the field, or what the field is in.
func special1(base, target string) string {
	switch base {
	case "dcipayload", "txvalue", "srsvalue":
		return pointer(target[:strings.LastIndex(target, ".")])
	}
	return "&" + target
}

// pointer is the expression of a pointer to what m, or a field of it, is.
func pointer(path string) string {
	if path == "m" {
		return path
	}
	return "&" + path
}

// specialSuffix tells apart the forms that it has on the wire.
func specialSuffix(base, profile string) string {
	switch {
	case base == "txvalue", base == "srsvalue":
		return suffix(profile)
	case littleEndian(profile):
		return "Little"
	}
	return "Big"
}

// arena is the field of scratch that holds nested lists of a structure.
func arena(name string) string {
	return map[string]string{"DCI": "dcis", "TXDataTLV": "tlvs", "Preamble": "preambles"}[name]
}

// least is how many octets one structure or PDU has at least.
func (c *codec) least(name string) int {
	if _, ok := c.unionOf[name]; ok {
		return 4
	}
	return max(1, leastOf(c.layout, c.byName[name].Nodes, c.profile))
}

func leastOf(l *layout, nodes []node, profile string) int {
	n := 0
	for _, x := range nodes {
		if x.field == nil {
			continue
		}
		kind := x.in(profile)
		base, arg, _ := strings.Cut(kind, ":")
		switch base {
		case "group":
			n += leastOf(l, l.byName[arg].Nodes, profile)
		case "beamtx", "beamrx":
			n += 5
		default:
			n += size(kind)
		}
	}
	return n
}

// unionDecoder generates the decoder of a typed PDU.
func (fs *functions) unionDecoder(u *union, profile string) string {
	var cases strings.Builder
	for _, m := range u.Members {
		fmt.Fprintf(&cases, "case %d:\no = %s(s, &m.%s, p, o+4)\n", m.Type, fs.decoder(m.Name, profile), m.Go)
	}
	body := fmt.Sprintf(`func NAME(s *scratch, m *%[1]s, b []byte, o int) int {
	if len(b)-o < 4 { return s.tail(b, o, %[1]q, %[2]q, 4) }
	m.Type = %[4]s.Uint16(b[o:])
	size := int(%[4]s.Uint16(b[o+2:]))
	m.Size = uint16(size)
	`, u.Name, u.TypeJSON, u.SizeJSON, order(profile))
	unknown := `default:
		m.Extra = p[o+4:]
		return len(p)
	}
	if o < 0 { return o }
	m.Extra = nil
	if o < len(p) { m.Extra = p[o:] }
	return len(p)
	}
	`
	if u.SizeOf {
		body += "m.Extra = nil\np := b\nswitch m.Type {\n" + cases.String() + fmt.Sprintf(`default:
			if size < 4 || size > len(b)-o { return s.pduSize(b, o, %q, size, 4) }
			m.Extra = b[o+4:o+size:o+size]
			return o+size
		}
		return o
		}
		`, u.Name)
	} else {
		body += fmt.Sprintf("if size < 4 || size > len(b)-o { return s.pduSize(b, o, %q, size, 4) }\np := b[:o+size:o+size]\nswitch m.Type {\n", u.Name) +
			cases.String() + unknown
	}
	return fs.define(u.Name+profile, "decode"+u.Name+suffix(profile), body)
}
