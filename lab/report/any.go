package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/probe/export"
)

// Any is a result of any kind.
type Any struct {
	Schema string
	Lab    *Lab   // of plumb lab and plumb bench; nil: it is of another kind
	Probe  *Probe // of plumb probe; nil: likewise

	table, html, svg func(io.Writer) error // html and svg may be nil
}

// Refuse is an error if a form is asked for that results of this kind do not have. asked has what
// flags say, by their names.
func (a *Any) Refuse(asked map[string]string) error {
	for _, flag := range slices.Sorted(maps.Keys(asked)) {
		if asked[flag] != "" && !(flag == "--html" && a.html != nil || flag == "--svg" && a.svg != nil) {
			return fmt.Errorf("%s: a result of %s has no such form", flag, a.Schema)
		}
	}
	return nil
}

// AnyTable writes the table of a result.
func AnyTable(w io.Writer, a *Any) error { return a.table(w) }

// AnyHTML writes the page of a result that has one.
func AnyHTML(w io.Writer, a *Any) error { return a.html(w) }

// AnySVG writes the picture of a result that has one.
func AnySVG(w io.Writer, a *Any) error { return a.svg(w) }

// with is an [Any] of r, by functions that show it.
func with[T any](schema string, r T, table, html, svg func(io.Writer, T) error) *Any {
	bind := func(f func(io.Writer, T) error) func(io.Writer) error {
		if f == nil {
			return nil
		}
		return func(w io.Writer) error { return f(w, r) }
	}
	return &Any{Schema: schema, table: bind(table), html: bind(html), svg: bind(svg)}
}

// ReadAny reads a result of any kind from a file, and validates it.
//
// Errors: [ErrInvalid], with the name of the file; those of the file.
func ReadAny(name string) (*Any, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := limited(f)
	if err == nil {
		var a *Any
		if a, err = readAny(b); err == nil {
			return a, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", name, err)
}

func readAny(b []byte) (*Any, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	_ = json.Unmarshal(b, &head) // what is no JSON is reported as no result of plumb lab
	in := bytes.NewReader(b)
	switch head.Schema {
	case export.Schema:
		p, err := ReadProbe(in)
		a := with(head.Schema, p, ProbeTable, ProbeHTML, ProbeSVG)
		a.Probe = p
		return a, err
	case SlicesSchema:
		var s Slices
		return with(head.Schema, &s, SlicesTable, SlicesHTML, SlicesSVG), read(in, &s)
	case N4Schema:
		var r N4Result
		return with(head.Schema, &r, N4Table, nil, nil), read(in, &r)
	case CorrectnessSchema:
		var c Correctness
		if err := json.Unmarshal(b, &c); err != nil {
			return nil, fmt.Errorf("read result: %w", err)
		}
		l := CorrectnessLab([]*Correctness{&c}, c.Started)
		return with(head.Schema, l, LabTable, LabHTML, LabSVG), l.Validate()
	case stopwatch.Schema:
		r, err := stopwatch.Read(in)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		return with(head.Schema, r.Merged(), func(w io.Writer, s *stopwatch.Snapshot) error { return s.Print(w) }, nil, nil), nil
	}
	l, err := ReadLab(in)
	a := with(LabSchema, l, LabTable, LabHTML, LabSVG)
	a.Lab = l
	return a, err
}
