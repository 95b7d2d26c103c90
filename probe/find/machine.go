package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netns"
)

// machine is what was seen of it in one look.
type machine struct {
	names     *runtimes
	own       uint64 // namespace of this process
	spaces    map[uint64]*namespace
	processes []*process // those of interest, by PID
	closed    int        // processes that could not be looked into
}

// look looks at all namespaces and processes. What ends meanwhile is left out.
func look(ctx context.Context, names *runtimes) (*machine, error) {
	m := &machine{names: names, spaces: map[uint64]*namespace{}}
	ids, err := processIDs()
	if err != nil {
		return nil, err
	}
	if err := m.findNamespaces(ids); err != nil {
		return nil, err
	}
	sockets, err := m.readSockets(ctx)
	if err != nil {
		m.close()
		return nil, err
	}
	for _, id := range ids {
		if err := m.addProcess(id, sockets); err != nil {
			m.close()
			return nil, err
		}
	}
	return m, nil
}

// readSockets returns the sockets of all namespaces that mean something, by inode, which
// is unique on the machine.
func (m *machine) readSockets(ctx context.Context) (map[uint64]socket, error) {
	all := map[uint64]socket{}
	for _, n := range m.spaces {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := n.do(func() error {
			found, err := readSockets("/proc/thread-self/net", n.inode)
			maps.Copy(all, found)
			return err
		})
		if err != nil && !ended(err) && !errors.Is(err, os.ErrPermission) {
			return nil, err
		}
	}
	return all, nil
}

func (m *machine) addProcess(id int, sockets map[uint64]socket) error {
	p, err := readProcess(id, sockets)
	switch {
	case err == nil && (p.interesting() || len(p.programs) > 0):
		m.processes = append(m.processes, p)
	case errors.Is(err, os.ErrPermission):
		m.closed++
	case err != nil && !ended(err):
		return fmt.Errorf("process %d: %w", id, err)
	}
	return nil
}

// findNamespaces notes those of processes, and those that a file is bound to, whose path
// outlives processes.
func (m *machine) findNamespaces(ids []int) error {
	var err error
	if m.own, err = inode(ownPath); err != nil {
		return err
	}
	m.addNamespace(m.own, ownPath)
	bound, err := mounts()
	if err != nil {
		return err
	}
	for _, b := range bound {
		if n, err := inode(b.path); err != nil || n != b.inode {
			continue // hidden below a later mount
		}
		if n := m.addNamespace(b.inode, b.path); n.name == "" {
			n.name = filepath.Base(b.path)
		}
	}
	for _, id := range ids {
		path := proc(id, "ns/net")
		if n, err := inode(path); err == nil {
			m.addNamespace(n, path)
		}
	}
	return nil
}

// addNamespace notes a namespace once.
func (m *machine) addNamespace(inode uint64, path string) *namespace {
	n := m.spaces[inode]
	if n == nil {
		n = &namespace{inode: inode, path: path, own: inode == m.own, handle: netns.None()}
		m.spaces[inode] = n
	}
	return n
}

func (m *machine) close() {
	for _, n := range m.spaces {
		n.close()
	}
}

// namespaces lists them in a fixed order.
func (m *machine) namespaces() []*namespace {
	return slices.SortedFunc(maps.Values(m.spaces), func(a, b *namespace) int { return cmp.Compare(a.inode, b.inode) })
}
