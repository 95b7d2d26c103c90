package agent

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// figures adds what the datapath tells of packets, and of how full it is.
func (a *Agent) figures(alive *api.Alive) {
	if d, ok := a.driver.(datapath.PassReporter); ok {
		var err error
		if alive.Passes, err = d.Passes(); err != nil {
			a.log.Debug("no passes", "agent", a.name, "error", err)
		}
	}
	if d, ok := a.driver.(datapath.SliceReporter); ok {
		alive.Slices = wire.SliceTotals(d.SliceTotals())
	}
	if d, ok := a.driver.(datapath.BufferReporter); ok {
		alive.Buffered = wire.Buffered(d.Buffered())
	}
	if d, ok := a.driver.(datapath.TableReporter); ok {
		alive.Tables = wire.TableUse(d.TableUse())
	}
}
