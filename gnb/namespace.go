package gnb

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/vishvananda/netns"
)

// inNamespace runs f on a thread that is in a network namespace: a name in
// /run/netns, an absolute path, or "" for the caller's. Sockets and devices that f opens
// stay there. f must not start goroutines that rely on the namespace.
func inNamespace(name string, f func() error) error {
	if name == "" {
		return f()
	}
	target, err := openNamespace(name)
	if err != nil {
		return err
	}
	defer target.Close()

	done := make(chan error)
	go func() { done <- enter(target, f) }()
	return <-done
}

// enter is the whole life of a goroutine. If the thread cannot go back to its
// namespace it stays locked and ends together with the goroutine.
func enter(target netns.NsHandle, f func() error) error {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		return fmt.Errorf("gnb: own network namespace: %w", err)
	}
	defer home.Close()
	if err := netns.Set(target); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("gnb: enter network namespace: %w", err)
	}
	err = f()
	if back := netns.Set(home); back == nil {
		runtime.UnlockOSThread()
	}
	return err
}

func openNamespace(name string) (netns.NsHandle, error) {
	var h netns.NsHandle
	var err error
	if strings.Contains(name, "/") {
		h, err = netns.GetFromPath(name)
	} else {
		h, err = netns.GetFromName(name)
	}
	if errors.Is(err, os.ErrNotExist) {
		return h, fmt.Errorf("gnb: no network namespace %q ('ip netns add' makes one): %w", name, err)
	}
	if err != nil {
		return h, fmt.Errorf("gnb: network namespace %q: %w", name, err)
	}
	return h, nil
}
