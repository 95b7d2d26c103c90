package xdp

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath"
)

// wayNumbers says which number stands for a way in the tables: in rules, mappings
// and keys. A way, which counts data networks and forwarding policies as they are
// configured, may be another one after a restart; its number is kept with its
// name, so that rules of before send to the same data network.
type wayNumbers struct {
	mapped[upfN6Name]
	number []uint32    // by way
	way    [n6Ways]int // by number; -1: of none
}

// openNumbers finds the numbers of all ways, or gives them one.
//
// Errors: if there are too many names, those of before the start among them.
func openNumbers(m *ebpf.Map, n6 *datapath.N6) (*wayNumbers, error) {
	mem, err := mapMemory[upfN6Name](m)
	if err != nil {
		return nil, err
	}
	w := &wayNumbers{mapped: mem, number: make([]uint32, n6.Ways())}
	for i := range w.way {
		w.way[i] = -1
	}
	w.way[0] = 0
	var fresh []int
	for way := 1; way < n6.Ways(); way++ {
		name, err := nameOf(n6, way)
		if err != nil {
			return w, err
		}
		if number := w.find(name); number != 0 {
			w.number[way], w.way[number] = number, way
		} else {
			fresh = append(fresh, way)
		}
	}
	for _, way := range fresh {
		number := w.find(upfN6Name{})
		if number == 0 {
			return w, fmt.Errorf("xdp: data networks and forwarding policies of now and before the start are more than %d: "+
				"start without some of them once, or remove the pins", n6Ways-1)
		}
		w.slots[number], _ = nameOf(n6, way)
		w.number[way], w.way[number] = number, way
	}
	return w, nil
}

// nameOf returns the name of a way that is not 0.
func nameOf(n6 *datapath.N6, way int) (upfN6Name, error) {
	n, name := upfN6Name{Kind: n6NamePolicy}, ""
	if p := n6.Policy(way); p != nil {
		name = p.Name
	} else {
		n.Kind, name = n6NameNetwork, n6.Networks[n6.Of(way)].Name
	}
	n.Octets = uint32(copy(n.Name[:], name))
	if int(n.Octets) != len(name) {
		return n, fmt.Errorf("xdp: name %q of a data network or forwarding policy: want at most %d octets", name, len(n.Name))
	}
	return n, nil
}

// find returns the number with this name; 0: there is none.
func (w *wayNumbers) find(name upfN6Name) uint32 {
	for number := 1; number < len(w.slots); number++ {
		if w.slots[number] == name {
			return uint32(number)
		}
	}
	return 0
}

// settle forgets the names of ways that are not configured any more: no rule has
// their numbers.
func (w *wayNumbers) settle() {
	for number := 1; number < len(w.slots); number++ {
		if w.way[number] < 0 {
			w.slots[number] = upfN6Name{}
		}
	}
}

// inRule returns a way as it stands in the control word of a rule.
func (w *wayNumbers) inRule(way int) uint32 { return w.number[way] << ruleN6Shift }

// ofRule returns the way in a control word; -1: it is not configured any more.
func (w *wayNumbers) ofRule(ctl uint32) int { return w.way[ctl>>ruleN6Shift&ruleN6Mask] }

// way returns the memory of a way.
func (d *Driver) way(way int) *upfN6Way { return &d.ways.slots[d.numbers.number[way]] }
