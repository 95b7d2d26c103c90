package topology

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/nsenter"
)

// Namespace is a named network namespace that this package made, one that was there
// ([OpenNamespace]), or that of [NewExternal], which has no name.
type Namespace struct {
	Name   string // as in `ip netns`
	handle netns.NsHandle
	links  *netlink.Handle // netlink socket inside the namespace
}

// Path returns the file that names the namespace, for setns or nsenter.
func (n *Namespace) Path() string { return namedDir + "/" + n.Name }

// Do runs f on an OS thread that is in the namespace, and returns f's error.
// What f opens (sockets, links of programs) stays in the namespace after Do has
// returned; goroutines that f starts do not run in it.
func (n *Namespace) Do(f func() error) error {
	return nsenter.Do(n.handle, f)
}

// OpenNamespace returns a namespace that is there: that of the calling thread, or a
// named one as in `ip netns`. The caller closes it.
func OpenNamespace(name string) (*Namespace, error) {
	ns := &Namespace{Name: name, handle: netns.None()}
	var err error
	if ns.handle, err = nsenter.Open(name); err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	return ns, nil
}

// Close lets go of what [OpenNamespace] returned. The namespace stays.
func (n *Namespace) Close() error { return n.handle.Close() }

// newNamespace makes a namespace with its loopback device up.
func newNamespace(name string) (*Namespace, error) {
	ns := &Namespace{Name: name, handle: netns.None()}
	err := shareNamedDir()
	if err != nil {
		return nil, fmt.Errorf("create namespace %s: %w", name, err)
	}
	err = nsenter.OnThread(func() (err error) {
		ns.handle, err = netns.NewNamed(name)
		return err
	})
	if errors.Is(err, unix.EPERM) {
		return nil, fmt.Errorf("create namespace %s: needs CAP_SYS_ADMIN: %w", name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("create namespace %s: %w", name, err)
	}
	if ns.links, err = netlink.NewHandleAt(ns.handle, unix.NETLINK_ROUTE); err != nil {
		return nil, errors.Join(fmt.Errorf("netlink in namespace %s: %w", name, err), ns.remove())
	}
	lo, err := ns.links.LinkByName("lo")
	if err == nil {
		err = ns.links.LinkSetUp(lo)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lo of namespace %s: %w", name, err), ns.remove())
	}
	return ns, nil
}

// remove takes the name away and lets go of the namespace. It may be called
// twice, and on a nil namespace.
func (n *Namespace) remove() error {
	if n == nil || !n.handle.IsOpen() {
		return nil
	}
	if n.links != nil {
		n.links.Close()
	}
	var err error
	if n.Name != "" {
		err = netns.DeleteNamed(n.Name)
	}
	return errors.Join(err, n.handle.Close())
}

// setSysctls sets variables of the namespace, each "name=value" with the name
// as it is below /proc/sys/net.
func (n *Namespace) setSysctls(settings []string) error {
	return n.Do(func() error {
		for _, setting := range settings {
			name, value, _ := strings.Cut(setting, "=")
			if err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0); err != nil {
				return fmt.Errorf("sysctl %s in %s: %w", setting, n.Name, err)
			}
		}
		return nil
	})
}

const namedDir = "/run/netns" // where iproute2 and package netns bind them

// shareNamedDir makes the directory of names a mount of its own, as the first
// `ip netns add` of a machine does, under the same lock. If that came after us,
// its mount would hide the names that we have bound below it, and nobody could
// remove them any more.
func shareNamedDir() error {
	if err := os.MkdirAll(namedDir, 0o755); err != nil {
		return err
	}
	dir, err := os.Open(namedDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", namedDir, err)
	}
	err = unix.Mount("", namedDir, "none", unix.MS_SHARED|unix.MS_REC, "")
	if errors.Is(err, unix.EINVAL) { // not a mount yet
		if err := unix.Mount(namedDir, namedDir, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("bind %s: %w", namedDir, err)
		}
		err = unix.Mount("", namedDir, "none", unix.MS_SHARED|unix.MS_REC, "")
	}
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("share %s: needs CAP_SYS_ADMIN: %w", namedDir, err)
	}
	if err != nil {
		return fmt.Errorf("share %s: %w", namedDir, err)
	}
	return nil
}
