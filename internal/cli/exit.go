// Package cli is what commands of several families below it have in common, beside their
// terminal (package term): exit codes and the errors that make them, files that are read and
// written, flags, and what a process has of its machine. A family is a package of its own
// (internal/cli/upf, lab, probe, ran and pfcp); none imports another, and only cmd/plumb
// imports them.
package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/upf"
)

// Exit codes of the program, the same for every command.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitUnsupported = 3
)

// ErrUsage is wrapped by a command whose flags or configuration contradict
// each other in a way that the parser cannot see. Exit code 2.
var ErrUsage = errors.New("usage")

// Usage makes err wrong usage, with exit code 2, and leaves its text as it is.
func Usage(err error) error { return usageError{err} }

// usageError is an ErrUsage whose text is that of another error alone.
type usageError struct{ error }

// Is makes the exit code 2.
func (usageError) Is(target error) bool { return target == ErrUsage }

// Unwrap returns the error itself.
func (e usageError) Unwrap() error { return e.error }

// InputError makes it wrong usage that a file which the command line names cannot be read: it is
// not there, is a directory, or is not for this user. What is wrong in a file is its own error.
func InputError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && (path.Op == "open" || errors.Is(err, syscall.EISDIR)) {
		return Usage(err)
	}
	return err
}

// Told makes err one that is not printed: standard output has told of it.
func Told(err error) error { return toldError{err} }

// IsTold reports whether nothing is to be printed of err.
func IsTold(err error) bool {
	var told toldError
	return errors.As(err, &told)
}

// toldError is an error of which standard output has told: it makes the exit code, and is not
// printed.
type toldError struct{ error }

// Unwrap returns the error itself.
func (e toldError) Unwrap() error { return e.error }

// Unsupported makes err one of what this machine, kernel or device cannot do, with exit
// code 3, and leaves its text as it is.
func Unsupported(err error) error { return unsupportedError{err} }

// unsupportedError is an [errors.ErrUnsupported] whose text is that of another error
// alone.
type unsupportedError struct{ error }

// Is makes the exit code 3.
func (unsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

// Unwrap returns the error itself.
func (e unsupportedError) Unwrap() error { return e.error }

// ExitCode maps what a command returned to the exit code of the process.
//
// Code 3 is for errors that are [errors.ErrUnsupported] (ENOSYS, EOPNOTSUPP and
// ENOTSUP are, too) or [ebpf.ErrNotSupported]: wrap one of them for what this
// machine, kernel or device cannot do.
func ExitCode(err error) int {
	var parse *kong.ParseError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &parse), errors.Is(err, ErrUsage), errors.Is(err, upf.ErrRequest):
		return ExitUsage
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, ebpf.ErrNotSupported):
		return ExitUnsupported
	default:
		return ExitFailed
	}
}

// UsageHint adds to a parser's error the command line that would explain it.
func UsageHint(err error) error {
	var parse *kong.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	command := "plumb"
	for _, p := range parse.Context.Path {
		if p.Command != nil {
			command += " " + p.Command.Name
		}
	}
	return fmt.Errorf("%w (see '%s --help')", err, command)
}
