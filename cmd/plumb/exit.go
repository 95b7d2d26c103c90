package main

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/upf"
)

// Exit codes, the same for every command.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnsupported = 3
)

// errUsage is wrapped by a command whose flags or configuration contradict
// each other in a way that the parser cannot see. Exit code 2.
var errUsage = errors.New("usage")

// usageError is an errUsage whose text is that of another error alone.
type usageError struct{ error }

// Is makes the exit code 2.
func (usageError) Is(target error) bool { return target == errUsage }

// Unwrap returns the error itself.
func (e usageError) Unwrap() error { return e.error }

// inputError makes it wrong usage that a file which the command line names cannot be read: it is
// not there, is a directory, or is not for this user. What is wrong in a file is its own error.
func inputError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && (path.Op == "open" || errors.Is(err, syscall.EISDIR)) {
		return usageError{err}
	}
	return err
}

// errSaid is an error of which standard output has told: it makes the exit code, and is not
// printed.
type errSaid struct{ error }

// Unwrap returns the error itself.
func (e errSaid) Unwrap() error { return e.error }

// unsupportedError is an [errors.ErrUnsupported] whose text is that of another error
// alone.
type unsupportedError struct{ error }

// Is makes the exit code 3.
func (unsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

// Unwrap returns the error itself.
func (e unsupportedError) Unwrap() error { return e.error }

// exitCode maps what a command returned to the exit code of the process.
//
// Code 3 is for errors that are [errors.ErrUnsupported] (ENOSYS, EOPNOTSUPP and
// ENOTSUP are, too) or [ebpf.ErrNotSupported]: wrap one of them for what this
// machine, kernel or device cannot do.
func exitCode(err error) int {
	var parse *kong.ParseError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &parse), errors.Is(err, errUsage), errors.Is(err, upf.ErrRequest):
		return exitUsage
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, ebpf.ErrNotSupported):
		return exitUnsupported
	default:
		return exitFailed
	}
}

// usageHint adds to a parser's error the command line that would explain it.
func usageHint(err error) error {
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
