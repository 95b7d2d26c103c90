package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// maxFile is the largest result.json that is read, in octets.
const maxFile = 64 << 20

// Write stores r as JSON, indented, after it has checked it.
//
// Errors: [ErrInvalid], and those of w.
func Write(w io.Writer, r *Result) error {
	if err := r.Validate(); err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// Read takes one result of this package's [Schema] from in and validates it.
// Fields that it does not know are skipped.
//
// Errors: [ErrInvalid], those of package json for what is not JSON of this
// form, and those of in.
func Read(in io.Reader) (*Result, error) {
	limited := &io.LimitedReader{R: in, N: maxFile + 1}
	b, err := io.ReadAll(limited)
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	if limited.N == 0 {
		return nil, fmt.Errorf("%w: more than %d octets", ErrInvalid, maxFile)
	}
	var r Result
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return &r, nil
}
