// Package nsenter runs code in Linux network namespaces.
//
// A namespace belongs to an OS thread, so code that enters one runs on a thread of its own. What it
// opens (sockets, devices, links of programs) stays in the namespace; goroutines that it starts do
// not run there.
//
// Source: Linux, network_namespaces(7), setns(2).
package nsenter

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"

	"github.com/vishvananda/netns"
)

// Open opens a namespace: the calling thread's if name is "", a file if it has a slash, else one
// of those that `ip netns` lists. The caller closes it.
func Open(name string) (h netns.NsHandle, err error) {
	switch {
	case name == "":
		h, err = netns.Get()
	case strings.Contains(name, "/"):
		h, err = netns.GetFromPath(name)
	default:
		h, err = netns.GetFromName(name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("no network namespace %q ('ip netns add' creates one): %w", name, err)
	case err != nil:
		err = fmt.Errorf("network namespace %q: %w", name, err)
	}
	return h, err
}

// In runs f in a namespace that [Open] opens, and returns f's error. If name is "" it just calls f.
func In(name string, f func() error) error {
	if name == "" {
		return f()
	}
	h, err := Open(name)
	if err != nil {
		return err
	}
	defer h.Close()
	return Do(h, f)
}

// Do runs f in an open namespace, and returns f's error.
func Do(h netns.NsHandle, f func() error) error {
	return OnThread(func() error {
		if err := netns.Set(h); err != nil {
			return fmt.Errorf("enter network namespace: %w", err)
		}
		return f()
	})
}

// OnThread runs f, which may change the thread's namespace, on a locked thread, and restores the
// namespace. A thread that cannot be restored stays locked: the runtime ends it with its
// goroutine, so that no other goroutine runs in the wrong namespace.
func OnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := errors.New("ended by panic or runtime.Goexit")
		defer func() { done <- err }()
		own, ownErr := netns.Get()
		if ownErr != nil {
			err = fmt.Errorf("current network namespace: %w", ownErr)
			return
		}
		defer own.Close()
		err = f()
		if netns.Set(own) == nil {
			runtime.UnlockOSThread()
		}
	}()
	return <-done
}
