package nfapi

import (
	"encoding/hex"
	"strconv"
)

// jsonWriter writes the JSON view, field by field in the order of the layout.
type jsonWriter struct {
	b     []byte
	comma bool
}

func (w *jsonWriter) name(name string) {
	if w.comma {
		w.b = append(w.b, ',')
	}
	w.comma = true
	w.b = strconv.AppendQuote(w.b, name)
	w.b = append(w.b, ':')
}

func (w *jsonWriter) uint(name string, v uint64) {
	w.name(name)
	w.b = strconv.AppendUint(w.b, v, 10)
}

func (w *jsonWriter) int(name string, v int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, v, 10)
}

func (w *jsonWriter) text(name, v string) {
	w.name(name)
	w.b = strconv.AppendQuote(w.b, v)
}

func (w *jsonWriter) hex(name string, v []byte) {
	w.name(name)
	w.b = append(w.b, '"')
	w.b = hex.AppendEncode(w.b, v)
	w.b = append(w.b, '"')
}

func (w *jsonWriter) open(c byte) {
	w.b = append(w.b, c)
	w.comma = false
}

func (w *jsonWriter) close(c byte) {
	w.b = append(w.b, c)
	w.comma = true
}

func (w *jsonWriter) object(name string) { w.name(name); w.open('{') }
func (w *jsonWriter) end()               { w.close('}') }
func (w *jsonWriter) array(name string)  { w.name(name); w.open('[') }
func (w *jsonWriter) endArray()          { w.close(']') }

// element begins an object in an array.
func (w *jsonWriter) element() {
	if w.comma {
		w.b = append(w.b, ',')
	}
	w.open('{')
}

// objects writes numbers as objects of one field, as OpenAirInterface has them.
func (w *jsonWriter) objects(name, key string, list []byte) {
	w.array(name)
	for _, v := range list {
		w.element()
		w.uint(key, uint64(v))
		w.end()
	}
	w.endArray()
}

// Keys for octets that no field has.
const (
	keyTrailing = "trailing"
	keyExtra    = "extra"
)

func (w *jsonWriter) trailing(b []byte) { w.rest(keyTrailing, b) }
func (w *jsonWriter) extra(b []byte)    { w.rest(keyExtra, b) }

func (w *jsonWriter) rest(key string, b []byte) {
	if len(b) > 0 {
		w.hex(key, b)
	}
}

func writeNumbers[T uint8 | uint16 | uint32](w *jsonWriter, name string, list []T) {
	w.array(name)
	for i, v := range list {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = strconv.AppendUint(w.b, uint64(v), 10)
	}
	w.endArray()
}

// viewOf is a structure with a JSON view.
type viewOf[T any] interface {
	*T
	toJSON(*jsonWriter, Profile)
	fromJSON(*jsonReader, Profile)
}

func writeList[T any, P viewOf[T]](w *jsonWriter, name string, p Profile, list []T) {
	w.array(name)
	for i := range list {
		w.element()
		P(&list[i]).toJSON(w, p)
		w.end()
	}
	w.endArray()
}
