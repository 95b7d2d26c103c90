package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
)

// checkFile is what a command has that checks a configuration file by itself: nothing of
// this machine is looked at.
type checkFile struct {
	File string `arg:"" optional:"" placeholder:"FILE" help:"Configuration file (YAML), - for standard input; or --config FILE."`
}

// check says "ok", or all that is wrong; read reads the file.
func (c *checkFile) check(stdout io.Writer, flag string, read func(file string) error) error {
	file, err := oneFile(c.File, flag)
	if err != nil {
		return err
	}
	if err := read(file); err != nil {
		return err
	}
	return sayOK(stdout, file)
}

func sayOK(stdout io.Writer, file string) error {
	_, err := fmt.Fprintf(stdout, "%s: ok\n", file)
	return err
}

// oneFile is the file that is named as an argument or by --config.
func oneFile(argument, flag string) (string, error) {
	if (argument == "") == (flag == "") {
		return "", fmt.Errorf("%w: want one of FILE and --config FILE", errUsage)
	}
	return argument + flag, nil
}

// wantConfig refuses to run a command without its --config.
func wantConfig(file, command string) error {
	if file == "" {
		return fmt.Errorf("%w: want --config FILE (see '%s --help')", errUsage, command)
	}
	return nil
}

// fileError makes it wrong usage that something is wrong in a configuration file, or that
// it cannot be read; then who says so is named.
func fileError(who string, err error) error {
	var wrong *yamltext.ConfigError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return usageError{err}
	}
	return inputError(fmt.Errorf("%s: %w", who, err))
}
