package generator

import "github.com/plumbline-upf/plumbline/internal/verifier"

// Objects are what the generator loads.
func Objects() []verifier.Object {
	frames := map[string]any{
		"access_len": uint32(1024), "streams": uint32(2), "turns": uint32(2),
		"outer_checksum": uint8(1), "marked": uint8(1), "unlike": uint8(1),
	}
	replay := map[string]any{
		"frames": uint32(1024), "access_len": uint32(1024), "ues": uint32(2), "longest": uint32(1500), "outer_checksum": uint8(1),
	}
	return []verifier.Object{
		{
			Name: "generator", Load: loadGenerator, Set: frames,
			Feature: "the generator of the laboratory", Needed: []string{"generate_uplink", "generate_downlink"},
		},
		{
			Name: "replay", Load: loadReplay, Set: replay,
			Feature: "plumb lab replay", Needed: []string{"replay_uplink", "replay_downlink"},
		},
	}
}
