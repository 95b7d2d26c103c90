package nfapi

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// jsonReader reads a JSON view: each field once, none that is not known. The first
// error is kept for all readers of a view.
type jsonReader struct {
	path   string
	fields map[string]any
	err    *error
}

// fail keeps the first error.
func (r *jsonReader) fail(name, format string, args ...any) {
	if *r.err == nil {
		*r.err = fmt.Errorf("nfapi: json: %s%s: %s", r.path, name, fmt.Sprintf(format, args...))
	}
}

// take removes a field; a missing one is nil.
func (r *jsonReader) take(name string) any {
	v := r.fields[name]
	delete(r.fields, name)
	return v
}

// done reports fields that were not read.
func (r *jsonReader) done() {
	if len(r.fields) > 0 {
		r.fail("", "no field %q here", slices.Sorted(maps.Keys(r.fields))[0])
	}
}

func (r *jsonReader) uint(name string, bits int) uint64 {
	v := r.take(name)
	if v == nil {
		return 0
	}
	return r.number(name, v, bits)
}

func (r *jsonReader) number(name string, v any, bits int) uint64 {
	n, ok := v.(json.Number)
	if !ok {
		r.fail(name, "got %v, want a number", v)
		return 0
	}
	u, err := strconv.ParseUint(n.String(), 10, bits)
	if err != nil {
		r.fail(name, "%s is not a whole number of %d bits", n, bits)
	}
	return u
}

func (r *jsonReader) int(name string, bits int) int64 {
	v := r.take(name)
	if v == nil {
		return 0
	}
	n, ok := v.(json.Number)
	if !ok {
		r.fail(name, "got %v, want a number", v)
		return 0
	}
	i, err := strconv.ParseInt(n.String(), 10, bits)
	if err != nil {
		r.fail(name, "%s is not a whole number of %d bits", n, bits)
	}
	return i
}

func (r *jsonReader) text(name string) string {
	v := r.take(name)
	if v == nil {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		r.fail(name, "got %v, want a text", v)
	}
	return s
}

func (r *jsonReader) hex(name string) []byte {
	s := r.text(name)
	if s == "" {
		return nil
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		r.fail(name, "%v", err)
	}
	return b
}

// octets reads as many as to has.
func (r *jsonReader) octets(name string, to []byte) {
	if _, ok := r.fields[name]; !ok {
		return
	}
	b := r.hex(name)
	if len(b) != len(to) {
		r.fail(name, "got %d octets, want %d", len(b), len(to))
		return
	}
	copy(to, b)
}

func (r *jsonReader) trailing() []byte { return r.hex(keyTrailing) }
func (r *jsonReader) extra() []byte    { return r.hex(keyExtra) }

// count steps over a count: it is the length of the list.
func (r *jsonReader) count(name string) { r.uint(name, 32) }

func (r *jsonReader) object(name string) *jsonReader {
	v := r.take(name)
	return r.inner(name, v)
}

func (r *jsonReader) inner(name string, v any) *jsonReader {
	fields, ok := v.(map[string]any)
	if !ok && v != nil {
		r.fail(name, "got %v, want an object", v)
	}
	return &jsonReader{path: r.path + name + ".", fields: fields, err: r.err}
}

func (r *jsonReader) list(name string) []any {
	v := r.take(name)
	list, ok := v.([]any)
	if !ok && v != nil {
		r.fail(name, "got %v, want a list", v)
	}
	return list
}

// objects reads numbers in objects of one field.
func (r *jsonReader) objects(name, key string) []byte {
	var out []byte
	for i, v := range r.list(name) {
		o := r.inner(fmt.Sprintf("%s[%d]", name, i), v)
		out = append(out, byte(o.uint(key, 8)))
		o.done()
	}
	return out
}

func readList[T any, P viewOf[T]](r *jsonReader, name string, p Profile) []T {
	list := r.list(name)
	out := make([]T, len(list))
	for i, v := range list {
		o := r.inner(fmt.Sprintf("%s[%d]", name, i), v)
		P(&out[i]).fromJSON(o, p)
		o.done()
	}
	return out
}

// readArray reads at most as many as to has.
func readArray[T any, P viewOf[T]](r *jsonReader, name string, p Profile, to []T) {
	list := readList[T, P](r, name, p)
	if len(list) > len(to) {
		r.fail(name, "got %d elements, want %d", len(list), len(to))
		return
	}
	copy(to, list)
}

func readSlice[T uint8 | uint16 | uint32](r *jsonReader, name string) []T {
	list := r.list(name)
	out := make([]T, len(list))
	readInto(r, name, list, out)
	return out
}

// readNumbers reads at most as many as to has.
func readNumbers[T uint8 | uint16 | uint32](r *jsonReader, name string, to []T) {
	list := r.list(name)
	if len(list) > len(to) {
		r.fail(name, "got %d numbers, want %d", len(list), len(to))
		return
	}
	readInto(r, name, list, to)
}

func readInto[T uint8 | uint16 | uint32](r *jsonReader, name string, list []any, to []T) {
	bits := 8
	switch any(to).(type) {
	case []uint16:
		bits = 16
	case []uint32:
		bits = 32
	}
	for i, v := range list {
		to[i] = T(r.number(fmt.Sprintf("%s[%d]", name, i), v, bits))
	}
}
