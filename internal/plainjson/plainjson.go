// Package plainjson writes JSON for programs and people: < and > are as they are, since it is no
// part of a web page.
package plainjson

import (
	"encoding/json"
	"io"
)

// Lines encodes one value in each line.
func Lines(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// Write writes v indented.
func Write(w io.Writer, v any) error {
	e := Lines(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
