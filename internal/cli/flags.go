package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
)

// OneIn is a flag for a sampling rate, 1/N.
type OneIn int

// UnmarshalText takes 1/N.
func (s *OneIn) UnmarshalText(text []byte) error {
	one, n, ok := strings.Cut(string(text), "/")
	number, err := strconv.Atoi(n)
	if !ok || one != "1" || err != nil || number < 1 {
		return fmt.Errorf("%q: want 1/N, such as 1/100", text)
	}
	*s = OneIn(number)
	return nil
}

// Within ends ctx after d, for --duration; 0: it runs until ctx itself ends.
func Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// Examples is the --help of a command that needs no more than examples.
func Examples(lines ...string) string {
	return "Examples:\n\n    " + strings.Join(lines, "\n    ") + "\n"
}

// CheckFile is the flags of a command that checks a configuration file by itself: nothing of
// this machine is looked at. It is to be embedded.
type CheckFile struct {
	File string `arg:"" optional:"" placeholder:"FILE" help:"Configuration file (YAML), - for standard input; or --config FILE."`
}

// Check says "ok", or all that is wrong; read reads the file.
func (c *CheckFile) Check(stdout io.Writer, flag string, read func(file string) error) error {
	file, err := OneFile(c.File, flag)
	if err != nil {
		return err
	}
	if err := read(file); err != nil {
		return err
	}
	return SayOK(stdout, file)
}

// SayOK says of a configuration file that it is right.
func SayOK(stdout io.Writer, file string) error {
	_, err := fmt.Fprintf(stdout, "%s: ok\n", file)
	return err
}

// OneFile is the file that is named as an argument or by --config.
func OneFile(argument, flag string) (string, error) {
	if (argument == "") == (flag == "") {
		return "", fmt.Errorf("%w: want one of FILE and --config FILE", ErrUsage)
	}
	return argument + flag, nil
}

// WantConfig refuses to run a command without its --config.
func WantConfig(file, command string) error {
	if file == "" {
		return fmt.Errorf("%w: want --config FILE (see '%s --help')", ErrUsage, command)
	}
	return nil
}

// FileError makes it wrong usage that something is wrong in a configuration file, or that
// it cannot be read; then who says so is named.
func FileError(who string, err error) error {
	var wrong *yamltext.ConfigError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return Usage(err)
	}
	return InputError(fmt.Errorf("%s: %w", who, err))
}
