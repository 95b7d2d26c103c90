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
	"regexp"
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

// PlainWords says in the words of a user what libraries of Go say of a value in theirs, line
// by line: what was given, and what is wanted.
func PlainWords(text string) string {
	for _, w := range libraryWords {
		text = w.said.ReplaceAllString(text, w.plain)
	}
	return text
}

const (
	quotedText = `("(?:[^"\\]|\\.)*")`
	wantWhole  = `want a whole number`
)

// libraryWords are tried in this order.
var libraryWords = []struct {
	said  *regexp.Regexp
	plain string
}{
	// net/netip
	{regexp.MustCompile(`(?m)ParseAddr\(` + quotedText + `\): [^(\n]*?(?: \(at "[^"]*"\))?( \((?:[^a]|a[^t])|$)`), `$1: want an IP address, such as 10.4.0.1$2`},
	{regexp.MustCompile(`(?m)netip\.ParsePrefix\(` + quotedText + `\): [^(\n]*?( \(|$)`), `$1: want a prefix, such as 10.4.0.0/24$2`},
	{regexp.MustCompile(`\bnot an ip:port\b`), `want an IP address and a port, such as 127.0.0.1:9090`},
	// time, strconv, and kong around them
	{regexp.MustCompile(`expected duration but got ` + quotedText + `: time: [^(\n]*` + quotedText), `$1: want a duration, such as 30s`},
	{regexp.MustCompile(`time: (?:invalid duration|(?:missing|unknown) unit [^"\n]*(?:"[^"\n]*" )?in duration) ` + quotedText), `$1: want a duration, such as 30s`},
	{regexp.MustCompile(`expected a valid (?:8|16|32|64) bit u?int but got ` + quotedText), `$1: ` + wantWhole},
	{regexp.MustCompile(`expected an? (?:u?int|integer) but got ` + quotedText + `(?: \(\w+\))?`), `$1: ` + wantWhole},
	{regexp.MustCompile(`expected a float but got ` + quotedText + `(?: \(\w+\))?`), `$1: want a number`},
	{regexp.MustCompile(`expected \w+ value but got ` + quotedText + ` \(short flag\); perhaps try (\S+)\?`), `$1 looks like a flag: for a value write $2`},
	{regexp.MustCompile(`strconv\.(?:ParseInt|ParseUint|Atoi): parsing ` + quotedText + `: value out of range`), `$1: want a number that is nearer to 0`},
	{regexp.MustCompile(`strconv\.(?:ParseInt|ParseUint|Atoi): parsing ` + quotedText + `: invalid syntax`), `$1: ` + wantWhole},
	{regexp.MustCompile(`strconv\.ParseFloat: parsing ` + quotedText + `: [^(\n]*`), `$1: want a number`},
	{regexp.MustCompile(`strconv\.ParseBool: parsing ` + quotedText + `: [^(\n]*`), `$1: want true or false`},
	// encoding/json, encoding/hex
	{regexp.MustCompile(`invalid character '[^\n]*' (?:looking for|after|in) [a-z \-:]*`), `this is no JSON`},
	{regexp.MustCompile(`unexpected end of JSON input`), `this JSON has no end`},
	{regexp.MustCompile(`json: cannot unmarshal (\w+) into Go (?:struct field [^\s.]*\.([\w.]+)|value) of type \S+`), `a $1 is not what belongs there: $2`},
	{regexp.MustCompile(`encoding/hex: invalid byte: U\+[0-9A-F]+ ('[^\n]+')`), `$1: want hexadecimal digits`},
	{regexp.MustCompile(`encoding/hex: odd length hex string`), `want two hexadecimal digits for each octet`},
	// os/exec
	{regexp.MustCompile(`exec: ` + quotedText + `: (?:executable file not found in \$PATH|stat \S+: no such file or directory)`), `$1 is not there: it is not installed, or not in PATH`},
}
