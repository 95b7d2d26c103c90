package upf

import (
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// inNamespace runs f on a thread of its own in a network namespace of its own,
// which is gone when f has returned and all that it opened is closed.
func inNamespace(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		ns, err := netns.New()
		if err != nil {
			t.Errorf("new network namespace (needs root): %v", err)
			return
		}
		defer ns.Close()
		f()
	}()
	<-done
	if t.Failed() {
		t.FailNow()
	}
}

// addDevice makes a device that is up and has the address, if there is one, in
// the namespace of the calling thread.
func addDevice(t *testing.T, link netlink.Link, addresses ...string) {
	t.Helper()
	if err := netlink.LinkAdd(link); err != nil {
		t.Errorf("add %s: %v", link.Attrs().Name, err)
		return
	}
	raise(t, link.Attrs().Name, addresses...)
}

func raise(t *testing.T, name string, addresses ...string) {
	t.Helper()
	link, err := netlink.LinkByName(name)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for _, a := range addresses {
		addr, err := netlink.ParseAddr(a)
		if err != nil {
			t.Errorf("%s: %v", a, err)
			return
		}
		if err := netlink.AddrAdd(link, addr); err != nil {
			t.Errorf("%s on %s: %v", a, name, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		t.Errorf("%s up: %v", name, err)
	}
}

func vethPair(name, peer string) *netlink.Veth {
	return &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: peer}
}
