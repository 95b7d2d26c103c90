// Package unixsocket listens at Unix sockets whose file may be left from a process that was killed.
//
// Source: unix(7).
package unixsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Errors of [Check].
var (
	ErrListens   = errors.New("a process listens there")
	ErrNotSocket = errors.New("not a socket")
)

// probeTime is how long [Check] waits for a listener.
const probeTime = time.Second

// Check returns nil if a listener may take the place of path: there is nothing, or a socket at
// which no process listens.
//
// Errors: [ErrListens], [ErrNotSocket], and those of lstat(2) and connect(2).
func Check(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s: %w (%s)", path, ErrNotSocket, info.Mode())
	}
	c, err := net.DialTimeout("unix", path, probeTime)
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	c.Close()
	return fmt.Errorf("%s: %w", path, ErrListens)
}

// Listen listens at path, and replaces a socket at which no process listens.
//
// Errors: those of [Check] and of bind(2).
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return new(net.ListenConfig).Listen(ctx, "unix", path)
}
