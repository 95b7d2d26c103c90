package find

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
)

// christen names targets: after pod or container, else after the namespace if that has a
// name, else after program and address. known are names that were given before, by what
// a target is recognised by. One that came with other addresses is the one that was there,
// if that is not there any more.
func christen(targets []Target, known map[string]string) {
	taken, again := map[string]bool{}, map[string]bool{}
	for _, name := range known {
		taken[name] = true
	}
	slices.SortStableFunc(targets, func(a, b Target) int { return cmp.Compare(a.PID, b.PID) })
	var others []*Target
	for i := range targets {
		t := &targets[i]
		name, ok := known[t.process()]
		if !ok {
			name, ok = known[t.identity()]
		}
		if ok && !again[name] {
			t.Name, again[name] = name, true
		} else {
			others = append(others, t)
		}
	}
	for _, t := range others {
		name, ok := known[t.home()]
		if ok && !again[name] {
			t.Name, again[name] = name, true
			continue
		}
		name = t.baseName()
		for _, more := range []string{"", "@" + firstAddress(t.N3, t.N4), "#" + strconv.Itoa(t.PID)} {
			if more != "@" && !taken[name+more] {
				name += more
				break
			}
		}
		t.Name, taken[name] = name, true
	}
}

func (t *Target) baseName() string {
	if c := t.innermost(); c != nil {
		return c.String()
	}
	if t.label != "" && t.PID != 0 {
		return t.Command + "." + t.label
	}
	if t.PID == 0 {
		return cmp.Or(t.label, "devices")
	}
	return t.Command
}

func firstAddress(lists ...[]netip.Addr) string {
	for _, list := range lists {
		if len(list) > 0 {
			return list[0].String()
		}
	}
	return ""
}

// process is what a target is recognised by while it runs, whatever it opens or closes.
func (t *Target) process() string { return fmt.Sprint("process ", t.PID, t.born) }

// identity is what a target is recognised by when it was started again: its place and
// addresses, not its process.
func (t *Target) identity() string { return fmt.Sprint(t.home(), t.N3, t.N4) }

// home is the place of a target, which it may share with others.
func (t *Target) home() string {
	if c := t.innermost(); c != nil {
		return fmt.Sprint("container ", c.Runtime, cmp.Or(c.String(), c.ID), t.Command)
	}
	return fmt.Sprint(cmp.Or(t.label, strconv.FormatUint(t.Inode, 10)), t.Command)
}
