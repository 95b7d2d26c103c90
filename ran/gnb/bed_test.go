package gnb_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// newNamespace makes a network namespace with its loopback up, removes it when
// the test ends, and returns its name.
func newNamespace(t testing.TB, suffix string) string {
	t.Helper()
	name := fmt.Sprintf("plt-gnb-%d-%s", os.Getpid(), suffix)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		h, err := netns.NewNamed(name)
		if err == nil {
			defer h.Close()
			err = loopbackUp()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.DeleteNamed(name); err != nil {
			t.Error(err)
		}
	})
	return name
}

func loopbackUp() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

// newBed builds the lab's test bed.
func newBed(t testing.TB, c topology.Config) *topology.Topology {
	t.Helper()
	bed, err := topology.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	return bed
}
