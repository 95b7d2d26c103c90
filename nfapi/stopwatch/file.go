package stopwatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/plumbline-upf/plumbline/internal/plainjson"
)

// Schema names the form of a [Result] as JSON.
const Schema = "plumbline.nfapi-stopwatch/1"

// Result is the snapshots of a process.
type Result struct {
	Schema  string      `json:"schema"`
	Watches []*Snapshot `json:"watches"` // one for each PHY
}

// NewResult is the result of some snapshots.
func NewResult(watches []*Snapshot) *Result { return &Result{Schema, watches} }

// Merged is all of it as one snapshot, which is without figures if there is none.
func (r *Result) Merged() *Snapshot {
	if len(r.Watches) == 0 {
		return (*Watch)(nil).Snapshot("")
	}
	all := r.Watches[0]
	for _, s := range r.Watches[1:] {
		all = all.Merge(s)
	}
	return all
}

// Write writes it as JSON.
func (r *Result) Write(w io.Writer) error {
	return plainjson.Lines(w).Encode(r)
}

// maxFile is how long a file may be that is read, in octets.
const maxFile = 16 << 20

// Read reads what [Result.Write] has written.
//
// Errors: it is something else, or too long.
func Read(r io.Reader) (*Result, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("stopwatch: a file of more than %d octets", maxFile)
	}
	var result Result
	if err := json.Unmarshal(text, &result); err != nil {
		return nil, fmt.Errorf("stopwatch: %w", err)
	}
	if result.Schema != Schema {
		return nil, fmt.Errorf("stopwatch: schema %q, want %s", result.Schema, Schema)
	}
	for _, s := range result.Watches {
		if s == nil {
			return nil, errors.New("stopwatch: a watch without figures")
		}
		for i := range s.Messages {
			m := &s.Messages[i]
			if m.ToPNF != nil && m.ToPNF.Delay == nil || m.ToVNF != nil && m.ToVNF.Delay == nil {
				return nil, fmt.Errorf("stopwatch: %s: a way without delays", s.Name)
			}
		}
	}
	return &result, nil
}
