package nexthop

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"
)

// subscribeIn calls subscribe with the network namespace to enter for it: none if the
// calling thread is in ns already. To enter one needs CAP_SYS_ADMIN, be it the thread's
// own, and a UPF does without that capability.
func subscribeIn(ns netns.NsHandle, subscribe func(*netns.NsHandle) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here, err := netns.Get()
	if err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	defer here.Close() //nolint:errcheck // it was only looked at
	if here.Equal(ns) {
		return subscribe(nil)
	}
	return subscribe(&ns)
}
