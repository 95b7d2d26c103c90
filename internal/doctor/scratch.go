package doctor

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// inScratchNamespace runs f on a thread in a network namespace of its own,
// with a veth pair "a" - "b" in it. The namespace has no name: it ends, with all
// that f made, when the thread does.
func inScratchNamespace(f func() error) error {
	result := make(chan error, 1)
	go func() {
		// Never unlocked: the runtime ends the thread with this goroutine.
		runtime.LockOSThread()
		result <- scratch(f)
	}()
	return <-result
}

func scratch(f func() error) error {
	handle, err := netns.New()
	if err != nil {
		return fmt.Errorf("new network namespace: %w", err)
	}
	defer handle.Close()
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "a"}, PeerName: "b"}
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("veth pair: %w", err)
	}
	for _, name := range []string{"a", "b"} {
		device, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(device); err != nil {
			return fmt.Errorf("veth %s up: %w", name, err)
		}
	}
	return f()
}
