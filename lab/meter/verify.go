package meter

import "github.com/plumbline-upf/plumbline/internal/verifier"

// Objects are what the meter loads.
func Objects() []verifier.Object {
	whole := map[string]any{"uplink": uint8(1), "encapsulated": uint8(1), "many_cpus": uint8(1), "time_stamps": uint8(1)}
	replay := map[string]any{"replayed": uint8(1), "encapsulated": uint8(1), "many_cpus": uint8(1), "time_stamps": uint8(1)}
	return []verifier.Object{
		{Name: "meter", Load: loadMeter, Set: whole, Feature: "the meter of the laboratory", Needed: []string{"meter"}},
		{Name: "meter-replay", Load: loadMeter, Set: replay},
	}
}
