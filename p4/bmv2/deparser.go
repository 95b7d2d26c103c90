package bmv2

import (
	"encoding/json"
	"fmt"
)

// loadDeparser reads in which order headers leave.
func (l *loader) loadDeparser() error {
	if len(l.j.Deparsers) > 1 {
		return fmt.Errorf("%w: %d deparsers", ErrUnsupported, len(l.j.Deparsers))
	}
	if len(l.j.Deparsers) == 0 {
		return nil
	}
	j := &l.j.Deparsers[0]
	if len(j.Order) > maxHeaders {
		return fmt.Errorf("deparser: %d headers, more than %d", len(j.Order), maxHeaders)
	}
	for _, name := range j.Order {
		h, there := l.headerByName[name]
		if !there || l.p.headers[h].meta {
			return fmt.Errorf("deparser: no header %q", name)
		}
		l.p.deparse = append(l.p.deparse, h)
	}
	var ps []jsonPrimitive
	for _, raw := range j.Primitives {
		var p jsonPrimitive
		if err := json.Unmarshal(raw, &p); err != nil {
			return fmt.Errorf("deparser: %w", err)
		}
		ps = append(ps, p)
	}
	b, err := l.body(ps)
	if err != nil {
		return fmt.Errorf("deparser: %w", err)
	}
	l.p.deparseOps = b
	return nil
}

// finish makes the moves of all headers, now that it is known which fields the program reads and writes.
func (l *loader) finish() error {
	type use struct{ used, written map[int]bool }
	of := map[int]*use{}
	at := func(h int) *use {
		r := l.root(h)
		if of[r] == nil {
			of[r] = &use{map[int]bool{}, map[int]bool{}}
		}
		return of[r]
	}
	for i := range l.p.headers {
		u := at(i)
		for k := range l.p.headers[i].fields {
			f := &l.p.headers[i].fields[k]
			// A header with a variable part is written as a whole, since its fields may move.
			if f.used || l.p.headers[i].vl >= 0 {
				u.used[k] = true
			}
			if f.written {
				u.written[k] = true
			}
		}
	}
	for i := range l.p.headers {
		h := &l.p.headers[i]
		if h.meta {
			continue
		}
		u := at(i)
		for k := range h.fields {
			h.fields[k].used, h.fields[k].written = u.used[k], u.written[k]
		}
		h.loads = h.moves(func(f *field) bool { return f.used })
		h.stores = h.moves(func(f *field) bool { return f.written })
	}
	return nil
}

// deparse writes the headers of the packet, one after the other. The payload is what was not parsed.
func (c *ctx) deparse(head []byte) []byte {
	c.updateAll()
	c.s.p.deparseOps.run(c)
	for _, i := range c.s.p.deparse {
		st := &c.h[i]
		if !st.valid {
			continue
		}
		h := &c.s.p.headers[i]
		n := h.fixed + int(st.vlLen)
		if st.raw >= 0 && (!st.dirty || h.vl < 0) {
			at := len(head)
			head = append(head, c.data[st.raw:int(st.raw)+n]...)
			if st.dirty {
				storeAll(h.stores[0], c.f, head[at:])
			}
			continue
		}
		head = c.deparseWhole(head, h, st)
	}
	return head
}

// deparseWhole writes a header from its fields alone.
func (c *ctx) deparseWhole(head []byte, h *header, st *hdrState) []byte {
	at, n := len(head), h.fixed+int(st.vlLen)
	for range n {
		head = append(head, 0)
	}
	b := head[at : at+n]
	storeAll(h.loads[0], c.f, b)
	copy(b[h.before:], c.data[st.vlPos:st.vlPos+st.vlLen])
	storeAll(h.loads[1], c.f, b[h.before+int(st.vlLen):])
	return head
}
