package xdp

import "github.com/plumbline-upf/plumbline/datapath"

// Buffered is what waits for UEs that are idle.
func (d *Driver) Buffered() datapath.Buffered {
	if d.slow == nil {
		return datapath.Buffered{}
	}
	return d.slow.stages.Buffer.Occupancy()
}

// TableUse tells how full the tables are that can be full before all sessions are
// there: URRs and meters, lists of PDRs (their entries, PDRs and counters), MAC
// addresses and, if there is one, the NAT's mappings and blocks of ports.
func (d *Driver) TableUse() []datapath.TableUse {
	var all []datapath.TableUse
	d.mu.RLock()
	if l := d.lists; l != nil {
		all = append(all, d.urrs.places.use("urrs", 1), d.meters.places.use("meters", metersEach))
		all = append(all, l.freeEntries.use("list_entries"), l.freePDRs.use("list_pdrs"), l.freeCounters.use("list_counters"))
	}
	d.mu.RUnlock()
	if d.slow != nil {
		all = append(all, d.slow.stages.Bridge.Occupancy())
	}
	if d.nat == nil {
		return all
	}
	blocks := datapath.TableUse{Name: "nat_port_blocks"}
	for _, n := range d.nat.nats {
		if n != nil {
			used, most := n.Blocks()
			blocks.Used, blocks.Max = blocks.Used+used, blocks.Max+most
		}
	}
	if blocks.Max == 0 {
		return all
	}
	return append(all, d.nat.use(), blocks)
}

// use is how many mappings there are.
func (t *natTables) use() datapath.TableUse {
	t.mu.Lock()
	defer t.mu.Unlock()
	return datapath.TableUse{Name: "nat_mappings", Used: int(t.next) - 1 - t.free.held(), Max: len(t.slots) - 1}
}
