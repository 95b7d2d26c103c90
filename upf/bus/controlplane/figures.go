package controlplane

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// Drops implements [bus.Bus]: the sum over the agents, as they last said. Those of
// an agent begin anew when its process does.
func (u *Upper) Drops() (map[string]uint64, error) { return u.reasons((*api.Alive).GetDrops), nil }

// Passes returns how many packets the fast paths of the agents handed on, by
// reason, as they last said.
func (u *Upper) Passes() (map[string]uint64, error) { return u.reasons((*api.Alive).GetPasses), nil }

func (u *Upper) reasons(of func(*api.Alive) map[string]uint64) map[string]uint64 {
	sum := map[string]uint64{}
	for _, l := range u.all() {
		l.mu.Lock()
		for reason, n := range of(l.figures) {
			sum[reason] += n
		}
		l.mu.Unlock()
	}
	return sum
}

// SliceTotals adds up what the rules of each slice counted on the agents, as they
// last said, in no order.
func (u *Upper) SliceTotals() []datapath.SliceTotal {
	sums := map[uint32]*datapath.SliceTotal{}
	for _, l := range u.all() {
		l.mu.Lock()
		said := l.figures.GetSlices()
		l.mu.Unlock()
		for _, t := range wire.SliceTotalsOf(said) {
			sum := sums[t.Slice]
			if sum == nil {
				sum = &datapath.SliceTotal{Slice: t.Slice}
				sums[t.Slice] = sum
			}
			sum.Uplink.Add(t.Uplink)
			sum.Downlink.Add(t.Downlink)
		}
	}
	all := make([]datapath.SliceTotal, 0, len(sums))
	for _, sum := range sums {
		all = append(all, *sum)
	}
	return all
}

// AgentStatus is what is known of an agent.
type AgentStatus struct {
	Number   uint8
	Name     string
	Up       bool   // it holds what is desired, and sessions can be placed on it
	Desired  int    // sessions that it is to hold
	Sessions uint64 // that it held at its last sign of life
	Refused  uint64 // desired ones that it refused when they were given to it anew
	Stats    Stats

	// What it said at its last sign of life.
	Datapath string             // its name
	Buffered *datapath.Buffered // nil: not known
	Tables   []datapath.TableUse
}

// Agents says how each agent is, by number.
func (u *Upper) Agents() []AgentStatus {
	var list []AgentStatus
	for number, l := range u.links {
		if l == nil {
			continue
		}
		l.mu.Lock()
		list = append(list, AgentStatus{
			Number: uint8(number), Name: l.name, Up: l.up() != nil, Desired: len(l.desired),
			Sessions: l.alive.GetSessions(), Refused: l.alive.GetRefused(), Stats: l.stats,
			Datapath: l.figures.GetCapabilities().GetName(), Buffered: wire.BufferedOf(l.figures.GetBuffered()),
			Tables: wire.TableUseOf(l.figures.GetTables()),
		})
		l.mu.Unlock()
	}
	return list
}
