package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/plumbline-upf/plumbline/internal/atomicfile"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
)

// maxFile is the largest result.json that is read, in octets.
const maxFile = 64 << 20

// Write stores r as JSON, indented, after it has checked it.
//
// Errors: [ErrInvalid], and those of w.
func Write(w io.Writer, r *Result) error { return write(w, r) }

// WriteComparison is [Write] for a comparison.
func WriteComparison(w io.Writer, c *Comparison) error { return write(w, c) }

// WriteLab is [Write] for a result of several methods and systems.
func WriteLab(w io.Writer, l *Lab) error { return write(w, l) }

// WriteLabFile stores l under a name, so that whoever looks finds either what was
// there before or all of l, whatever happens meanwhile. The directory must be there.
//
// Errors: [ErrInvalid], and those of the file system.
func WriteLabFile(name string, l *Lab) error { return writeFile(name, l) }

// WriteSlicesFile is [WriteLabFile] for the slices of UPFs.
func WriteSlicesFile(name string, s *Slices) error { return writeFile(name, s) }

func writeFile(name string, r interface{ Validate() error }) error {
	return atomicfile.Write(name, func(f *os.File) error { return write(f, r) })
}

func write(w io.Writer, r interface{ Validate() error }) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if err := plainjson.Write(w, r); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// ReadLab takes a result of several methods and systems from in and validates it.
// Fields that it does not know are skipped.
//
// Errors: [ErrInvalid], those of package json for what is not JSON of this
// form, and those of in.
func ReadLab(in io.Reader) (*Lab, error) {
	var l Lab
	return &l, read(in, &l)
}

// ReadLabFile is [ReadLab] from a file, whose name is in its errors.
func ReadLabFile(name string) (*Lab, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l, err := ReadLab(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
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
