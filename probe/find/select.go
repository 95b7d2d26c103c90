package find

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// candidate is a process that may be a UPF, in the namespace where it has its packets.
type candidate struct {
	*process
	space      *namespace
	n4         *namespace // where it speaks PFCP; nil: it does not
	verdict    verdict
	containers []Container
}

// find returns the targets that s means, by PID.
func (m *machine) find(ctx context.Context, s Selector) ([]Target, error) {
	if !s.Auto && s.PID == 0 && s.Netns == "" && s.Container == "" && s.Pod == "" {
		return m.given(m.spaces[m.own], nil, s)
	}
	all, err := m.candidates(ctx)
	if err != nil {
		return nil, err
	}
	if s.Auto {
		return m.targets(all, func(c *candidate) bool { return c.isUPF(&c.verdict, c.space.inode) }, s)
	}
	chosen, space, err := m.choose(all, s)
	if err != nil {
		return nil, err
	}
	if len(s.Devices) > 0 {
		return m.given(space, best(chosen), s)
	}
	return m.targets(chosen, nil, s)
}

// candidates judges the processes.
func (m *machine) candidates(ctx context.Context) ([]*candidate, error) {
	held := map[uint32]bool{}
	for _, p := range m.processes {
		for id := range p.programs {
			held[id] = true
		}
	}
	var all []*candidate
	for _, p := range m.processes {
		if !p.interesting() {
			continue
		}
		c := &candidate{process: p}
		if err := m.settle(c, held); err != nil {
			return nil, err
		}
		if c.space != nil {
			c.containers = m.names.containersOf(p.pid)
			all = append(all, c)
		}
	}
	return all, ctx.Err()
}

// settle finds the namespace in which a process has its packets: that of its GTP-U
// sockets before its own, and that before the one where it speaks PFCP.
func (m *machine) settle(c *candidate, held map[uint32]bool) error {
	var spaces []uint64
	for _, kind := range []socketKind{gtpuSocket, packetSocket, pfcpSocket} {
		for _, s := range c.sockets {
			if s.kind == kind && !slices.Contains(spaces, s.space) {
				spaces = append(spaces, s.space)
			}
		}
		if kind == gtpuSocket && !slices.Contains(spaces, c.process.space) {
			spaces = append(spaces, c.process.space)
		}
	}
	for _, number := range spaces {
		n := m.spaces[number]
		if n == nil {
			continue // its last process has ended
		}
		devices, err := m.devicesOf(n)
		if err != nil {
			if errors.Is(err, errGone) {
				continue
			}
			return err
		}
		if c.n4 == nil && c.speaks(number) {
			c.n4 = n
		}
		if len(c.programs) > 0 {
			if err := n.readPrograms(); ended(err) {
				continue
			} else if err != nil {
				return err
			}
		}
		v := judge(c.process, number, devices, held)
		if c.space == nil || v.known() && !c.verdict.known() {
			c.space, c.verdict = n, v
		}
	}
	return nil
}

// choose returns the candidates that s names, and the namespace that it means.
func (m *machine) choose(all []*candidate, s Selector) ([]*candidate, *namespace, error) {
	space, err := m.named(s)
	if err != nil {
		return nil, nil, err
	}
	meant := func(one *Container) bool { return one.is(s.Container) }
	if !slices.ContainsFunc(all, func(c *candidate) bool { return c.isIn(meant) }) {
		meant = func(one *Container) bool { return one.begins(s.Container) }
	}
	alone := slices.ContainsFunc(all, func(c *candidate) bool { return c.pid == s.PID && (c.verdict.known() || c.has(gtpuSocket)) })
	chosen := slices.DeleteFunc(slices.Clone(all), func(c *candidate) bool {
		return s.PID != 0 && alone && c.pid != s.PID ||
			space != nil && !(alone && s.PID != 0 && s.Netns == "") && c.space != space ||
			s.Container != "" && !c.isIn(meant) ||
			s.Pod != "" && !slices.ContainsFunc(c.containers, func(one Container) bool { return one.isPod(s.Pod) })
	})
	if space == nil && len(chosen) > 0 {
		space = best(chosen).space
	}
	if space == nil || len(chosen) == 0 && len(s.Devices) == 0 {
		return nil, nil, none(s, all, m.closed)
	}
	return mostLikely(chosen), space, nil
}

// isIn reports whether the process runs in such a container.
func (c *candidate) isIn(meant func(*Container) bool) bool {
	for i := range c.containers {
		if meant(&c.containers[i]) {
			return true
		}
	}
	return false
}

// named returns the namespace that s names by itself or by a process; nil: none.
func (m *machine) named(s Selector) (*namespace, error) {
	if s.Netns != "" {
		return m.namespaceOf(s.Netns)
	}
	if s.PID == 0 {
		return nil, nil
	}
	n, err := inode(proc(s.PID, "ns/net"))
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", s.PID, err)
	}
	return m.spaces[n], nil
}

// namespaceOf finds a namespace by inode number, name or path.
func (m *machine) namespaceOf(text string) (*namespace, error) {
	if number, err := strconv.ParseUint(text, 10, 64); err == nil {
		if n := m.spaces[number]; n != nil {
			return n, nil
		}
	}
	if !strings.Contains(text, "/") {
		for _, n := range m.namespaces() {
			if n.name == text {
				return n, nil
			}
		}
		return nil, fmt.Errorf("%w: %s: want a path, a name of ip netns, or an inode number", errGone, text)
	}
	number, err := inode(filepath.Clean(text))
	if err != nil {
		return nil, fmt.Errorf("network namespace: %w", err)
	}
	if m.spaces[number] == nil { // it has no process, and is bound where this process does not see it
		m.addNamespace(number, text)
	}
	return m.spaces[number], nil
}

// mostLikely keeps, of several processes of a namespace or container, those that speak
// PFCP and carry packets; if there is none, those that carry packets.
func mostLikely(list []*candidate) []*candidate {
	for _, want := range []func(c *candidate) bool{
		func(c *candidate) bool { return c.isUPF(&c.verdict, c.space.inode) },
		func(c *candidate) bool { return c.verdict.known() },
		func(c *candidate) bool { return c.verdict.datapath != "" },
	} {
		if chosen := slices.DeleteFunc(slices.Clone(list), func(c *candidate) bool { return !want(c) }); len(chosen) > 0 {
			return chosen
		}
	}
	return list
}

// best is the first of the most likely; nil: there is none.
func best(list []*candidate) *candidate {
	if list = mostLikely(list); len(list) == 0 {
		return nil
	}
	return list[0]
}

// targets makes targets of the candidates that are wanted; nil wants all.
func (m *machine) targets(list []*candidate, wanted func(*candidate) bool, s Selector) ([]Target, error) {
	var found []Target
	for _, c := range list {
		if wanted != nil && !wanted(c) {
			continue
		}
		t := c.target()
		m.place(&t, c.space, &c.verdict, s.HostWide)
		if !slices.ContainsFunc(found, func(other Target) bool { return len(t.spots) > 0 && slices.Equal(other.spots, t.spots) }) {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		return nil, none(s, list, m.closed)
	}
	return found, nil
}

// given makes a target of devices that the user has named; of is the process behind
// them, nil if none is known.
func (m *machine) given(n *namespace, of *candidate, s Selector) ([]Target, error) {
	if _, err := m.devicesOf(n); err != nil {
		return nil, err
	}
	t := Target{Namespace: n.where(), Inode: n.inode, label: n.name}
	if of != nil && of.space == n {
		t = of.target()
	} else {
		t.placeN4(n)
	}
	t.Datapath, t.Why = Given, "named by the user"
	m.placeGiven(&t, n, s.Devices, s.HostWide)
	if len(t.Points) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNone, t.Missing)
	}
	return []Target{t}, nil
}

// target is what is known of a candidate but its points.
func (c *candidate) target() Target {
	t := Target{
		PID: c.pid, born: c.born, Command: c.command, Containers: c.containers,
		Namespace: c.space.where(), Inode: c.space.inode, label: c.space.name,
		Datapath: c.verdict.datapath, Why: c.verdict.why,
		N3: c.addresses(gtpuSocket), N4: c.addresses(pfcpSocket),
	}
	if c.n4 != nil {
		t.placeN4(c.n4)
	}
	return t
}

// none is the error of having found nothing: it says what was seen.
func none(s Selector, seen []*candidate, closed int) error {
	var list []string
	for _, c := range seen {
		if c.has(pfcpSocket) || c.has(gtpuSocket) {
			list = append(list, c.describe(&c.verdict))
		}
	}
	err := fmt.Errorf("%w for %s", ErrNone, s)
	if len(list) > 0 {
		err = fmt.Errorf("%w; seen: %s", err, strings.Join(list, ", "))
	}
	if closed > 0 {
		err = fmt.Errorf("%w; %d processes may not be looked into: want CAP_SYS_PTRACE", err, closed)
	}
	return err
}

// String says what is looked for.
func (s Selector) String() string {
	var parts []string
	for _, p := range []struct{ name, value string }{
		{"netns", s.Netns}, {"container", s.Container}, {"pod", s.Pod},
	} {
		if p.value != "" {
			parts = append(parts, p.name+" "+p.value)
		}
	}
	if s.PID != 0 {
		parts = append(parts, fmt.Sprintf("process %d", s.PID))
	}
	for _, d := range s.Devices {
		parts = append(parts, "device "+d.Name)
	}
	if len(parts) == 0 {
		return "the whole machine"
	}
	return strings.Join(parts, ", ")
}
