package xdp

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// Objects are what the datapaths xdp and tc load, with an endpoint and with CPUs to
// spread to, so that the verifier leaves out nothing.
func Objects() []verifier.Object {
	set := map[string]any{
		"index_mask": uint32(1<<10 - 1), "queue_max": uint32(queueMax), "passes_max": uint32(datapath.MaxPasses),
		"endpoint_ip4": [maxEndpoints]uint32{1, 2},
		"endpoint_ip6": [maxEndpoints][4]uint32{{1, 0, 0, 1}, {1, 0, 0, 2}},
	}
	spread := map[string]any{"spread_count": uint32(2), "spread_cpus": [maxSpread]uint32{0, 1}, "spread_opaque": uint32(1)}
	for name, value := range set {
		spread[name] = value
	}
	return []verifier.Object{
		{
			Name: "xdp", Load: loadXDP, Set: spread,
			Feature: "the xdp datapath", Needed: []string{"upf_gtpu_xdp", "upf_n6_xdp", "upf_again_xdp"},
		},
		{Name: "xdp-traced", Load: loadXDPTraced, Set: spread},
		{
			Name: "tc", Load: loadTCOwn, Set: set,
			Feature: "the tc datapath", Needed: []string{"upf_gtpu_tc", "upf_n6_tc", "upf_again_tc"},
		},
		{Name: "tc-traced", Load: loadTCTraced, Set: set},
		{Name: "spread", Load: loadSpread, Feature: "xdp.spread", Needed: []string{"spread_enqueued"}},
		{
			Name: "sent", Load: loadSent, Set: map[string]any{"sent_count": uint32(2), "sent_devices": [maxDevices]uint32{1, 2}},
			Feature: "counts of redirected frames that a device does not take", Needed: []string{"sent_frames", "sent_not"},
		},
		{Name: "vlan", Load: loadVlan, Set: map[string]any{"port_count": uint32(1)}},
	}
}
