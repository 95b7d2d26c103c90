package xdp

import (
	"plumbline/datapath"
	"plumbline/verifier"
)

// Objects are what the datapaths xdp and tc load, with an endpoint and with CPUs to
// spread to, so that the verifier leaves out nothing.
func Objects() []verifier.Object {
	set := map[string]any{
		"index_mask": uint32(1<<10 - 1), "queue_max": uint32(queueMax), "passes_max": uint32(datapath.MaxPasses),
		"endpoint_ip4": [maxEndpoints]uint32{1, 2},
	}
	spread := map[string]any{"spread_count": uint32(2), "spread_cpus": [maxSpread]uint32{0, 1}, "spread_opaque": uint32(1)}
	for name, value := range set {
		spread[name] = value
	}
	return []verifier.Object{
		{Name: "xdp", Load: loadUpf, Set: spread},
		{Name: "xdp-traced", Load: loadTraced, Set: spread},
		{Name: "tc", Load: loadSkb, Set: set},
		{Name: "tc-traced", Load: loadTracedSkb, Set: set},
		{Name: "spread", Load: loadSpread},
		{Name: "vlan", Load: loadVlan, Set: map[string]any{"port_count": uint32(1)}},
	}
}
