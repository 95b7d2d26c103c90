package main

import (
	"encoding/json"
	"io"
)

// jsonLines encodes one value in each line. It leaves < and > as they are: what this program
// prints is no part of a web page.
func jsonLines(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// writeJSON writes v indented, for machines and for people who asked for it.
func writeJSON(w io.Writer, v any) error {
	e := jsonLines(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
