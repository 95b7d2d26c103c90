package afxdp

import "github.com/plumbline-upf/plumbline/internal/verifier"

// Objects are what the datapath afxdp loads.
func Objects() []verifier.Object {
	claim := map[string]any{"endpoint_count": uint32(2), "is_n6": uint32(1)}
	return []verifier.Object{
		{Name: "afxdp", Load: loadClaim, Set: claim, Feature: "the afxdp datapath", Needed: []string{"afxdp"}},
		{
			Name: "afxdp-send", Load: loadTransmit, Set: map[string]any{"longest": uint32(liveOctets)},
			Feature: "the afxdp datapath on veth devices: many frames in one call", Needed: []string{"afxdp_send"},
		},
	}
}
