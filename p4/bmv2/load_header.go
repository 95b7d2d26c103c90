package bmv2

import (
	"encoding/json"
	"fmt"
)

// field is a field of a header instance. Its value is in ctx.f at off, in words of them, the lowest first; a variable
// field has none: it is a part of the frame.
type field struct {
	header  int
	name    string
	width   int
	signed  bool
	vl      bool
	off     int
	words   int
	bit     int // within the header without its variable part
	used    bool
	written bool
}

// header is a header instance, or an instance of metadata.
type header struct {
	name   string
	typ    string
	meta   bool
	off    int // of its first word
	words  int
	fields []field
	fixed  int // octets without the variable part
	before int // octets before the variable part
	vl     int // the variable field, or -1
	maxLen int // octets with the variable part
	loads  [2][]bitOp
	stores [2][]bitOp
}

// stack is a header stack.
type stack struct {
	name    string
	headers []int
}

// stdField is a field of one word: where it is, or -1, and what it can hold.
type stdField struct {
	off  int
	mask uint64
}

// stdFields are v1model's standard metadata.
type stdFields struct {
	ingressPort, egressSpec, egressPort, instanceType stdField
	packetLength, ingressTime, egressTime, mcastGroup stdField
	egressRID, checksumError, parserError             stdField
}

// loadHeaders reads the header types and makes their instances.
func (l *loader) loadHeaders() error {
	if len(l.j.Headers) > maxHeaders {
		return fmt.Errorf("%d headers, more than %d", len(l.j.Headers), maxHeaders)
	}
	types, _, err := names("header type", l.j.HeaderTypes, func(t *jsonHeaderType) jsonNamed { return t.jsonNamed })
	if err != nil {
		return err
	}
	if l.headerByName, l.headerByID, err = names("header", l.j.Headers,
		func(h *jsonHeader) jsonNamed { return h.jsonNamed }); err != nil {
		return err
	}
	for i := range l.j.Headers {
		jh := &l.j.Headers[i]
		t, ok := types[jh.HeaderType]
		if !ok {
			return fmt.Errorf("header %q: no header type %q", jh.Name, jh.HeaderType)
		}
		h, err := l.newHeader(i, jh, &l.j.HeaderTypes[t])
		if err != nil {
			return fmt.Errorf("header %q: %w", jh.Name, err)
		}
		l.p.headers = append(l.p.headers, h)
		l.class = append(l.class, i)
		if h.meta && h.words > 0 {
			l.p.metaWords = append(l.p.metaWords, span{h.off, h.words})
		}
	}
	return nil
}

func (l *loader) newHeader(i int, jh *jsonHeader, t *jsonHeaderType) (header, error) {
	h := header{name: jh.Name, typ: t.Name, meta: jh.Metadata, off: l.p.fieldWords, vl: -1}
	if len(t.LengthExp) > 0 && string(t.LengthExp) != "null" {
		return h, fmt.Errorf("%w: length_exp of header type %q", ErrUnsupported, t.Name)
	}
	bits := 0
	seen := map[string]bool{}
	for _, jf := range t.Fields {
		f, err := newField(jf)
		if err != nil {
			return h, err
		}
		if seen[f.name] {
			return h, fmt.Errorf("field %q is there twice", f.name)
		}
		seen[f.name] = true
		f.header, f.bit, f.off = i, bits, h.off+h.words
		if f.vl {
			if h.meta {
				return h, fmt.Errorf("%w: variable field %q in metadata", ErrUnsupported, f.name)
			}
			if h.vl >= 0 {
				return h, fmt.Errorf("field %q: a second variable field", f.name)
			}
			if bits%8 != 0 {
				return h, fmt.Errorf("%w: variable field %q does not begin with an octet", ErrUnsupported, f.name)
			}
			h.vl, h.before = len(h.fields), bits/8
		}
		bits += f.width
		h.words += f.words
		h.fields = append(h.fields, f)
	}
	if bits%8 != 0 && !h.meta {
		return h, fmt.Errorf("has %d bits, which is not a number of octets", bits)
	}
	h.fixed, h.maxLen = (bits+7)/8, t.MaxLength
	if h.vl < 0 {
		h.before, h.maxLen = h.fixed, h.fixed
	} else if h.maxLen < h.fixed || h.maxLen > maxHeaderSize {
		return h, fmt.Errorf("max_length is %d octets, the fixed part %d", h.maxLen, h.fixed)
	}
	if h.fixed > maxHeaderSize && !h.meta {
		return h, fmt.Errorf("has %d octets, more than %d", h.fixed, maxHeaderSize)
	}
	l.p.fieldWords += h.words
	if l.p.fieldWords > maxFieldWords {
		return h, fmt.Errorf("all fields together have more than %d words", maxFieldWords)
	}
	return h, nil
}

// newField reads the tuple of a name, a width, maybe whether it is signed, and maybe whether it saturates.
func newField(jf []any) (field, error) {
	var f field
	if len(jf) < 2 {
		return f, fmt.Errorf("field %v is not a name and a width", jf)
	}
	name, ok := jf[0].(string)
	if !ok || name == "" {
		return f, fmt.Errorf("field %v has no name", jf)
	}
	f.name = name
	switch w := jf[1].(type) {
	case string:
		if w != "*" {
			return f, fmt.Errorf("field %q: width %q", name, w)
		}
		f.vl = true
	case float64:
		if w != float64(int(w)) || w < 1 || w > maxFieldWidth {
			return f, fmt.Errorf("field %q: width %v is not within 1 and %d", name, w, maxFieldWidth)
		}
		f.width = int(w)
		f.words = (f.width + 63) / 64
	default:
		return f, fmt.Errorf("field %q: width %v", name, w)
	}
	if len(jf) > 2 {
		f.signed = truth(jf[2])
	}
	if f.signed && (f.vl || f.width < 2) {
		return f, fmt.Errorf("field %q is signed and has %d bits", name, f.width)
	}
	if len(jf) > 3 && truth(jf[3]) {
		return f, fmt.Errorf("%w: saturating field %q", ErrUnsupported, name)
	}
	return f, nil
}

func truth(v any) bool {
	switch t := v.(type) {
	case bool:
		return t
	case float64:
		return t != 0
	}
	return false
}

// loadStacks reads the header stacks.
func (l *loader) loadStacks() error {
	var err error
	if l.stackByName, _, err = names("header stack", l.j.HeaderStacks,
		func(s *jsonStack) jsonNamed { return s.jsonNamed }); err != nil {
		return err
	}
	for i := range l.j.HeaderStacks {
		js := &l.j.HeaderStacks[i]
		if len(js.HeaderIDs) == 0 || len(js.HeaderIDs) > maxStack {
			return fmt.Errorf("header stack %q: %d headers", js.Name, len(js.HeaderIDs))
		}
		s := stack{name: js.Name}
		seen := map[int]bool{}
		for _, id := range js.HeaderIDs {
			h, ok := l.headerByID[id]
			if !ok || seen[h] || l.p.headers[h].meta || l.p.headers[h].typ != l.p.headers[l.headerByID[js.HeaderIDs[0]]].typ {
				return fmt.Errorf("header stack %q: header id %d is not there, or there twice, or of another type", js.Name, id)
			}
			seen[h] = true
			s.headers = append(s.headers, h)
			l.join(s.headers[0], h)
		}
		l.p.stacks = append(l.p.stacks, s)
	}
	return nil
}

// join says that values of one header are copied to the other, so that they need the same fields.
func (l *loader) join(a, b int) {
	ra, rb := l.root(a), l.root(b)
	if ra != rb {
		l.class[rb] = ra
	}
}

func (l *loader) root(h int) int {
	for l.class[h] != h {
		l.class[h] = l.class[l.class[h]]
		h = l.class[h]
	}
	return h
}

// loadAliases reads under which names the target looks for metadata.
func (l *loader) loadAliases() error {
	l.alias = map[string][2]string{}
	for _, raw := range l.j.FieldAliases {
		var pair []json.RawMessage
		var name string
		var to []string
		if json.Unmarshal(raw, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &name) != nil ||
			json.Unmarshal(pair[1], &to) != nil || len(to) != 2 {
			return fmt.Errorf("field_aliases: %.60s is not a name and a field", raw)
		}
		if _, err := l.field(to[0], to[1]); err != nil {
			return fmt.Errorf("field alias %q: %w", name, err)
		}
		l.alias[name] = [2]string{to[0], to[1]}
	}
	return nil
}

// field finds a field by the names of header and field.
func (l *loader) field(header, name string) (*field, error) {
	h, ok := l.headerByName[header]
	if !ok {
		return nil, fmt.Errorf("no header %q", header)
	}
	for i := range l.p.headers[h].fields {
		if f := &l.p.headers[h].fields[i]; f.name == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("header %q has no field %q", header, name)
}

// loadStd finds the standard metadata.
func (l *loader) loadStd() error {
	find := func(header, name string, required bool) (stdField, error) {
		pair := [2]string{header, name}
		if a, ok := l.alias[header+"."+name]; ok {
			pair = a
		}
		f, err := l.field(pair[0], pair[1])
		if err != nil {
			f, err = l.field("standard_metadata", name)
		}
		if err != nil {
			if required {
				return stdField{}, fmt.Errorf("not a v1model program: %w", err)
			}
			return stdField{off: -1}, nil
		}
		if f.vl || f.words != 1 || f.signed || !l.p.headers[f.header].meta {
			return stdField{}, fmt.Errorf("%s.%s is not unsigned metadata of up to 64 bits", pair[0], pair[1])
		}
		return stdField{f.off, mask64(f.width)}, nil
	}
	s := &l.p.std
	for _, w := range []struct {
		to           *stdField
		header, name string
		required     bool
	}{
		{&s.ingressPort, "standard_metadata", "ingress_port", true},
		{&s.egressSpec, "standard_metadata", "egress_spec", true},
		{&s.egressPort, "standard_metadata", "egress_port", true},
		{&s.instanceType, "standard_metadata", "instance_type", true},
		{&s.packetLength, "standard_metadata", "packet_length", true},
		{&s.ingressTime, "intrinsic_metadata", "ingress_global_timestamp", false},
		{&s.egressTime, "intrinsic_metadata", "egress_global_timestamp", false},
		{&s.mcastGroup, "intrinsic_metadata", "mcast_grp", false},
		{&s.egressRID, "intrinsic_metadata", "egress_rid", false},
		{&s.checksumError, "standard_metadata", "checksum_error", false},
		{&s.parserError, "standard_metadata", "parser_error", false},
	} {
		var err error
		if *w.to, err = find(w.header, w.name, w.required); err != nil {
			return err
		}
	}
	return nil
}
