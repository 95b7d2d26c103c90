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

// WriteLab stores l as JSON, indented, after it has checked it.
//
// Errors: [ErrInvalid], and those of w.
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

// ReadLab takes a result from in and validates it. Fields that it does not know are skipped. What
// plumb bench wrote before it was a part of plumb lab (plumbline.result/1, plumbline.comparison/1)
// is read as a result of plumb lab.
//
// Errors: [ErrInvalid], those of package json for what is not JSON of this
// form, and those of in.
func ReadLab(in io.Reader) (*Lab, error) {
	b, err := limited(in)
	if err != nil {
		return nil, err
	}
	l, err := readOld(b)
	if err != nil || l != nil {
		if err == nil {
			err = l.Validate()
		}
		return l, err
	}
	l = &Lab{}
	return l, decode(b, l)
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
	b, err := limited(in)
	if err != nil {
		return err
	}
	return decode(b, r)
}

// limited reads a file that is not too large.
func limited(in io.Reader) ([]byte, error) {
	l := &io.LimitedReader{R: in, N: maxFile + 1}
	b, err := io.ReadAll(l)
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	if l.N == 0 {
		return nil, fmt.Errorf("%w: more than %d octets", ErrInvalid, maxFile)
	}
	return b, nil
}

func decode(b []byte, r interface{ Validate() error }) error {
	if err := json.Unmarshal(b, r); err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	return r.Validate()
}
