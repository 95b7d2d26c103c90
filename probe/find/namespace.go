package find

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

// namespace is a network namespace of which there is a path.
type namespace struct {
	inode uint64
	path  string // for setns
	name  string // of its mount; empty: only processes have it
	own   bool   // that of this process

	handle netns.NsHandle
	links  *netlink.Handle // nil: not asked for yet

	devices []device         // see [machine.devicesOf]
	others  map[int32]uint64 // inodes of namespaces by the number that this one gives them
}

// open makes the handle. It may be called twice.
func (n *namespace) open() error {
	if n.handle.IsOpen() {
		return nil
	}
	handle, err := netns.GetFromPath(n.path)
	if err != nil {
		return fmt.Errorf("namespace %s: %w", n.path, err)
	}
	n.handle = handle
	return nil
}

// netlink opens a socket in the namespace. It may be called twice.
func (n *namespace) netlink() error {
	if n.links != nil {
		return nil
	}
	if err := n.open(); err != nil {
		return err
	}
	links, err := netlink.NewHandleAt(n.handle, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("netlink in namespace %s: %w", n.path, err)
	}
	n.links = links
	return nil
}

func (n *namespace) close() {
	if n.links != nil {
		n.links.Close()
	}
	if n.handle.IsOpen() {
		n.handle.Close()
	}
}

// do runs f on a thread in the namespace.
//
// Errors: [errGone] if its path leads elsewhere by now: a file of `ip netns` is there for
// a moment after its namespace has gone, and is an ordinary one then.
func (n *namespace) do(f func() error) error {
	err := nsenter.In(n.where(), f)
	if err == nil || n.own {
		return err
	}
	if now, gone := inode(n.path); gone != nil || now != n.inode {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}

// ownPath is the namespace of this process: of the calling thread, that is, since others
// may have gone elsewhere for good, even the first one.
const ownPath = "/proc/thread-self/ns/net"

// where returns the path for others: empty is the namespace of this process.
func (n *namespace) where() string {
	if n.own {
		return ""
	}
	return n.path
}

// mount is a network namespace that is bound to a file.
type mount struct {
	inode uint64
	path  string
}

// parseMounts returns the network namespaces among the mounts of a process.
// Source: proc_pid_mountinfo(5).
func parseMounts(mountinfo string) []mount {
	const root, point = 3, 4
	var found []mount
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) <= point {
			continue
		}
		var n uint64
		if _, err := fmt.Sscanf(fields[root], "net:[%d]", &n); err != nil || n == 0 {
			continue
		}
		found = append(found, mount{inode: n, path: unescape(fields[point])})
	}
	return found
}

// unescape puts the characters back that mountinfo writes as octal numbers.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// hostRoot leads to the files of the machine if this process is in a container that
// shares the machine's processes; empty: it sees them itself.
func hostRoot() string {
	own, err := inode("/proc/self/ns/mnt")
	if err != nil {
		return ""
	}
	first, err := inode("/proc/1/ns/mnt")
	if err != nil || first == own {
		return ""
	}
	return "/proc/1/root"
}

// named lists the namespaces in the directory of `ip netns`. They are among the mounts as
// well, but that table loses lines to a reader while others mount.
func named(root string) []mount {
	const directory, nsfs = "/run/netns", 0x6e736673 // NSFS_MAGIC of linux/magic.h
	entries, err := os.ReadDir(root + directory)
	if err != nil {
		return nil
	}
	var found []mount
	for _, e := range entries {
		path := root + directory + "/" + e.Name()
		var fs unix.Statfs_t
		if unix.Statfs(path, &fs) != nil || fs.Type != nsfs {
			continue
		}
		if n, err := inode(path); err == nil {
			found = append(found, mount{inode: n, path: path})
		}
	}
	return found
}

// mounts lists the namespaces that have a file, as this process can open it.
func mounts() ([]mount, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	found := append(named(""), parseMounts(string(text))...)
	root := hostRoot()
	if root == "" {
		return found, nil
	}
	found = append(found, named(root)...)
	text, err = os.ReadFile("/proc/1/mountinfo")
	if errors.Is(err, os.ErrPermission) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	for _, m := range parseMounts(string(text)) {
		m.path = root + m.path
		found = append(found, m)
	}
	return found, nil
}
