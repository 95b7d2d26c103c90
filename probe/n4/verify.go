package n4

import "github.com/plumbline-upf/plumbline/internal/verifier"

// Objects are what learning from N4 loads.
func Objects() []verifier.Object {
	return []verifier.Object{{
		Name: "probe-n4", Load: loadTap, Set: map[string]any{linkName: uint32(14)},
		Feature: "plumb probe: slices learnt from N4", Needed: []string{programName},
	}}
}
