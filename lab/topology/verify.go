package topology

import "github.com/plumbline-upf/plumbline/internal/verifier"

// Objects are what the test bed loads.
func Objects() []verifier.Object {
	return []verifier.Object{{Name: "bed", Load: loadBed, Feature: "the limit of the test bed", Needed: []string{"bed_n3", "bed_n6"}}}
}
