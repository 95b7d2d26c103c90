package main

import (
	"errors"
	"io"
	"os"

	"github.com/plumbline-upf/plumbline/internal/atomicfile"
)

// output is a file that a command shall write of a result, and how. The path
// may be empty, or - for what the caller writes to standard output itself.
type output[T any] struct {
	path  string
	write func(io.Writer, T) error
}

// outputs are the files that a run shall write. They are opened before it, so
// that a name that cannot be written costs no measurement.
type outputs[T any] map[*atomicfile.File]func(io.Writer, T) error

// createOutput makes a file that the command line names. That it cannot be made is wrong
// usage.
func createOutput(path string, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return nil, usageError{err}
	}
	return f, nil
}

// checkOutputs tries whether files that are written later can be made. Those that are there stay
// as they are. "" and - are none.
func checkOutputs(paths ...string) error {
	for _, path := range paths {
		if path == "" || path == "-" {
			continue
		}
		f, err := createOutput(path+".part", 0o600)
		if err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeOutputs is createOutput of a directory; "": of none.
func makeOutputs(directory string) error {
	if directory == "" {
		return nil
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return usageError{err}
	}
	return nil
}

func openOutputs[T any](list ...output[T]) (outputs[T], error) {
	o := outputs[T]{}
	for _, out := range list {
		if out.path == "" || out.path == "-" {
			continue
		}
		f, err := atomicfile.Create(out.path)
		if err != nil {
			return nil, errors.Join(usageError{err}, o.discard())
		}
		o[f] = out.write
	}
	return o, nil
}

// write fills the files and gives them their names.
func (o outputs[T]) write(result T) error {
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

// discard removes the files: there is nothing to write.
func (o outputs[T]) discard() error {
	var errs []error
	for f := range o {
		errs = append(errs, f.Discard())
	}
	return errors.Join(errs...)
}

// finish shows a result and fills the files, also if measuring ended by an error: result is
// what there was before, which says so itself, or nil.
func finish[T any](stdout io.Writer, o outputs[*T], result *T, show func(io.Writer, *T) error, why error) error {
	if result == nil {
		return errors.Join(why, o.discard())
	}
	return errors.Join(why, show(stdout, result), o.write(result))
}
