package agent

import (
	"plumbline/api"
	"plumbline/bus/wire"
	"plumbline/datapath"
)

// What a datapath may tell besides what every [datapath.Driver] does.
type (
	passTeller interface {
		Passes() (map[string]uint64, error)
	}
	totalTeller  interface{ SliceTotals() []datapath.SliceTotal }
	bufferTeller interface{ Buffered() datapath.Buffered }
	tableTeller  interface{ TableUse() []datapath.TableUse }
)

// figures adds what the datapath tells of packets, and of how full it is.
func (a *Agent) figures(alive *api.Alive) {
	if d, ok := a.driver.(passTeller); ok {
		var err error
		if alive.Passes, err = d.Passes(); err != nil {
			a.log.Debug("no passes", "agent", a.name, "error", err)
		}
	}
	if d, ok := a.driver.(totalTeller); ok {
		alive.Slices = wire.SliceTotals(d.SliceTotals())
	}
	if d, ok := a.driver.(bufferTeller); ok {
		alive.Buffered = wire.Buffered(d.Buffered())
	}
	if d, ok := a.driver.(tableTeller); ok {
		alive.Tables = wire.TableUse(d.TableUse())
	}
}
