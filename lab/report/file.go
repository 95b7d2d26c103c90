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
func Write(w io.Writer, r *Result) error { return write(w, r) }

// WriteComparison is [Write] for a comparison.
func WriteComparison(w io.Writer, c *Comparison) error { return write(w, c) }

func write(w io.Writer, r interface{ Validate() error }) error {
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
	var r Result
	return &r, read(in, &r)
}

// ReadComparison is [Read] for a comparison.
func ReadComparison(in io.Reader) (*Comparison, error) {
	var c Comparison
	return &c, read(in, &c)
}

func read(in io.Reader, r interface{ Validate() error }) error {
	limited := &io.LimitedReader{R: in, N: maxFile + 1}
	b, err := io.ReadAll(limited)
	if err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	if limited.N == 0 {
		return fmt.Errorf("%w: more than %d octets", ErrInvalid, maxFile)
	}
	if err := json.Unmarshal(b, r); err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	return r.Validate()
}
