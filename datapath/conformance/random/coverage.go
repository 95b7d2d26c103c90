package random

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Coverage is what scripts have exercised: packets that met each element of
// docs/rules.md, reasons, events, and what is remarkable about packets and changes.
// The zero value is ready for use.
type Coverage struct {
	Scripts, Changes, Refused, Frames int

	elements, reasons, events, traits map[string]int
}

func add(to *map[string]int, name string) {
	if *to == nil {
		*to = map[string]int{}
	}
	(*to)[name]++
}

// nameOf is the name of an element here.
func nameOf(e *datapath.Element) string { return e.Rule + ": " + e.Name }

// matched counts a packet that the PDR has matched, by all that it asks for.
func (c *Coverage) matched(s *api.Session, pdrID uint32) {
	for _, r := range s.GetRules() {
		if r.GetPdrId() == pdrID {
			c.asks(s, r)
		}
	}
}

// frame counts a packet, and what became of it.
func (c *Coverage) frame(s Step, reason datapath.Reason) {
	c.Frames++
	add(&c.reasons, reason.String())
	for _, trait := range s.Traits {
		add(&c.traits, trait)
	}
}

// asks counts all that a PDR asks for.
func (c *Coverage) asks(s *api.Session, r *api.Rule) {
	for i := range datapath.Elements {
		e := &datapath.Elements[i]
		if asks := uses[[2]string{e.Rule, e.Name}]; asks != nil && asks(s, r) {
			add(&c.elements, nameOf(e))
		}
	}
}

// changed counts what is remarkable about a change.
func (c *Coverage) changed(change *api.Change, before *api.Session) {
	c.Changes++
	s := change.GetSession()
	for what, is := range map[string]bool{
		"session established": before == nil && s != nil, "session modified": before != nil && s != nil, "session removed": s == nil,
		"End Marker": len(change.GetEndMarkers()) > 0, "buffered packets given up (DROBU)": change.GetDropBuffered() && s != nil,
	} {
		if is {
			add(&c.traits, what)
		}
	}
}

// Missing returns the elements that no packet has met, of those that way takes for
// done.
func (c *Coverage) Missing(way func(e datapath.Element) datapath.Way) (names []string) {
	for i := range datapath.Elements {
		e := &datapath.Elements[i]
		if way(*e) != datapath.Refused && c.elements[nameOf(e)] == 0 {
			names = append(names, nameOf(e))
		}
	}
	return names
}

// String says what has been exercised, and how often: packets by element, reason
// and trait, events by kind.
func (c *Coverage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d scripts, %d changes, of which %d refused, %d frames\n\nelements, and packets that met them:\n", c.Scripts, c.Changes, c.Refused, c.Frames)
	for i := range datapath.Elements {
		name := nameOf(&datapath.Elements[i])
		fmt.Fprintf(&b, "%9d  %s\n", c.elements[name], name)
	}
	for _, part := range []struct {
		name string
		of   map[string]int
	}{{"what became of packets", c.reasons}, {"events", c.events}, {"packets and changes", c.traits}} {
		fmt.Fprintf(&b, "\n%s:\n", part.name)
		for _, name := range slices.Sorted(maps.Keys(part.of)) {
			fmt.Fprintf(&b, "%9d  %s\n", part.of[name], name)
		}
	}
	return b.String()
}
