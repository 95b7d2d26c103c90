package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/plumbline-upf/plumbline/internal/atomicfile"
)

// Output is a file that a command shall write of a result, and how. The path
// may be empty, or - for what the caller writes to standard output itself.
type Output[T any] struct {
	path  string
	write func(io.Writer, T) error
}

// Outputs are the files that a run shall write. They are opened before it, so
// that a name that cannot be written costs no measurement.
type Outputs[T any] map[*atomicfile.File]func(io.Writer, T) error

// Create makes a file that the command line names. That it cannot be made is wrong
// usage.
func Create(path string, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return nil, Usage(err)
	}
	return f, nil
}

// CheckOutputs tries whether files that are written later can be made. Those that are there stay
// as they are. "" and - are none.
func CheckOutputs(paths ...string) error {
	for _, path := range paths {
		if path == "" || path == "-" {
			continue
		}
		f, err := Create(path+".part", 0o600)
		if err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// MakeDirectory is Create of a directory; "": of none.
func MakeDirectory(directory string) error {
	if directory == "" {
		return nil
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return Usage(err)
	}
	return nil
}

// To is the output to a file at path.
func To[T any](path string, write func(io.Writer, T) error) Output[T] { return Output[T]{path, write} }

// Distinct is an error if an output is a file that is read, which it would replace.
func Distinct(inputs []string, outputs ...string) error {
	for _, in := range inputs {
		a, err := os.Stat(in)
		if err != nil {
			continue // its reader reports that
		}
		for _, out := range outputs {
			if b, err := os.Stat(out); out != "" && err == nil && os.SameFile(a, b) {
				return Usage(fmt.Errorf("%s: is read, and would be replaced", out))
			}
		}
	}
	return nil
}

// OpenOutputs makes the files of list. Two of them are not one file, and none is standard output,
// which has what the caller writes.
func OpenOutputs[T any](list ...Output[T]) (Outputs[T], error) {
	o := Outputs[T]{}
	for i, out := range list {
		if out.path == "" || out.path == "-" {
			continue
		}
		if slices.ContainsFunc(list[:i], func(other Output[T]) bool { return filepath.Clean(other.path) == filepath.Clean(out.path) }) {
			return nil, errors.Join(Usage(fmt.Errorf("%s: two outputs to one file", out.path)), o.Discard())
		}
		f, err := atomicfile.Create(out.path)
		if err != nil {
			return nil, errors.Join(Usage(err), o.Discard())
		}
		o[f] = out.write
	}
	return o, nil
}

// Write fills the files and gives them their names.
func (o Outputs[T]) Write(result T) error {
	var errs []error
	for f, write := range o {
		if err := write(f, result); err != nil {
			errs = append(errs, err, f.Discard())
			continue
		}
		errs = append(errs, f.Keep())
	}
	return errors.Join(errs...)
}

// Discard removes the files: there is nothing to write.
func (o Outputs[T]) Discard() error {
	var errs []error
	for f := range o {
		errs = append(errs, f.Discard())
	}
	return errors.Join(errs...)
}

// Finish shows a result and fills the files, also if measuring ended by an error: result is
// what there was before, which says so itself, or nil.
func Finish[T any](stdout io.Writer, o Outputs[*T], result *T, show func(io.Writer, *T) error, why error) error {
	if result == nil {
		return errors.Join(why, o.Discard())
	}
	return errors.Join(why, show(stdout, result), o.Write(result))
}
