package gnb

import "github.com/plumbline-upf/plumbline/internal/verifier"

// Objects are what the gNB loads for super-packets on a veth.
func Objects() []verifier.Object {
	return []verifier.Object{{Name: "gnb-super", Load: loadSuper, Feature: "plumb gnb: n3.super_packets", Needed: []string{"super_n3"}}}
}
