package upf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/unixsocket"
)

const socketMode = 0o660

// unixListener removes its path when it is closed.
type unixListener struct {
	*net.UnixListener
	path string
}

// listenUnix listens at path with mode 0660. The socket that a dead process
// left there is replaced. It is bound under another name and renamed, so that
// path never exists with a wider mode and never refuses connections.
//
// Errors: [ErrInUse] if a living process listens at path or path is something
// else than a socket.
func listenUnix(path string) (net.Listener, error) {
	l, fresh, err := bindUnix(path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Chmod(fresh, socketMode), os.Rename(fresh, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("api.socket: %w", err), l.Close(), os.Remove(fresh))
	}
	return &unixListener{l, path}, nil
}

// bindUnix listens at another name beside path, if path is not in use.
func bindUnix(path string) (l *net.UnixListener, fresh string, err error) {
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, "", fmt.Errorf("api.socket: %w: create the directory first", err)
	}
	if err := checkUnused(path); err != nil {
		return nil, "", err
	}
	fresh = path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("api.socket: %w", err)
	}
	if l, err = net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"}); err != nil {
		return nil, "", fmt.Errorf("api.socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	return l, fresh, nil
}

// Close stops listening and removes the path, unless it is gone or this process
// has given up the right to: the next one replaces a socket where nobody listens.
func (l *unixListener) Close() error {
	if err := l.UnixListener.Close(); err != nil {
		return err
	}
	err := os.Remove(l.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// Accept waits for a connection whose remote address says who is there.
func (l *unixListener) Accept() (net.Conn, error) {
	c, err := l.AcceptUnix()
	if err != nil {
		return nil, err
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	var who *unix.Ucred
	controlled := raw.Control(func(fd uintptr) {
		who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(controlled, err); err != nil {
		return c, nil // it may read, as one who is not known
	}
	return callerConn{c, caller{*who, c.RemoteAddr()}}, nil
}

// callerConn is a connection of a process on this machine.
type callerConn struct {
	*net.UnixConn
	caller caller
}

// RemoteAddr says who it is.
func (c callerConn) RemoteAddr() net.Addr { return c.caller }

// caller is the process at the other end, as it was when it connected.
type caller struct {
	unix.Ucred
	net.Addr
}

type callerKey struct{}

// rememberCaller puts who is at the other end into the context of requests.
func rememberCaller(ctx context.Context, c net.Conn) context.Context {
	if who, ok := c.RemoteAddr().(caller); ok {
		return context.WithValue(ctx, callerKey{}, who)
	}
	return ctx
}

// callerOf returns who made a request through the socket.
func callerOf(r *http.Request) (caller, bool) {
	who, ok := r.Context().Value(callerKey{}).(caller)
	return who, ok
}

func checkUnused(path string) error {
	switch err := unixsocket.Check(path); {
	case errors.Is(err, unixsocket.ErrNotSocket):
		return fmt.Errorf("api.socket: %w: %w: remove it or choose another path", err, ErrInUse)
	case errors.Is(err, unixsocket.ErrListens):
		return fmt.Errorf("api.socket: %s: %w: another plumb upf runs; stop it or choose another path", path, ErrInUse)
	case err != nil:
		return fmt.Errorf("api.socket: %w", err)
	}
	return nil
}
