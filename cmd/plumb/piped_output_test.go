package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// unread returns the end of a pipe that nobody reads.
func unread(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	r.Close()
	return w
}

// TestOutputUnread: a write that nobody reads ends the command, of which nothing but its
// own failures is said.
func TestOutputUnread(t *testing.T) {
	failed := errors.New("namespace not removed")
	for _, tc := range []struct {
		name       string
		read       bool
		give, want error
	}{
		{"read, done", true, nil, nil},
		{"read, cancelled", true, context.Canceled, context.Canceled},
		{"done", false, nil, errUnread},
		{"cancelled", false, fmt.Errorf("trial: %w", context.Canceled), errUnread},
		{"write returned", false, &os.PathError{Op: "write", Err: syscall.EPIPE}, errUnread},
		{"failed", false, failed, failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := unread(t)
			if tc.read {
				var err error
				if out, err = os.CreateTemp(t.TempDir(), ""); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := newPipedOutput(out, cancel)
			if _, err := fmt.Fprintln(p, "a line"); (err == nil) != tc.read || (ctx.Err() == nil) != tc.read {
				t.Errorf("write: %v, context: %v", err, ctx.Err())
			}
			if got := p.end(tc.give); !errors.Is(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestPipeClosed: the process comes to its end itself, is not killed by SIGPIPE, and says
// nothing.
func TestPipeClosed(t *testing.T) {
	cmd := exec.Command("plumb", "version")
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = unread(t), &log
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFailed || log.Len() > 0 {
		t.Errorf("got %v, %q, want exit code %d and nothing said", err, log.String(), exitFailed)
	}
}
