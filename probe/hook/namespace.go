package hook

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"
)

// Within runs f in a network namespace, on an OS thread of its own, and returns f's
// error. What f opens stays in the namespace; goroutines that f starts do not run in it.
// With an empty path it is the namespace that the caller's thread is in.
func Within(path string, f func() error) error {
	if path == "" {
		return f()
	}
	there, err := netns.GetFromPath(path)
	if err != nil {
		return fmt.Errorf("network namespace %s: %w", path, err)
	}
	defer there.Close()
	done := make(chan error, 1)
	go func() { done <- enter(there, f) }()
	if err := <-done; err != nil {
		return fmt.Errorf("network namespace %s: %w", path, err)
	}
	return nil
}

// enter runs f in a namespace. A thread that cannot come back ends with its goroutine.
func enter(there netns.NsHandle, f func() error) error {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		return err
	}
	defer home.Close()
	if err := netns.Set(there); err != nil {
		return fmt.Errorf("enter: %w", err)
	}
	err = f()
	if netns.Set(home) == nil {
		runtime.UnlockOSThread()
	}
	return err
}
