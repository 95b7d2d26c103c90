package xdp

import (
	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// WithoutTCX lets TC attach as on a kernel without tcx.
func (c Config) WithoutTCX() Config {
	c.clsact = true
	return c
}

// ObjectsOfWeakOrder are those of [Objects] that differ on CPUs which do loads in another
// order.
func ObjectsOfWeakOrder() []verifier.Object {
	weak := map[string]func() (*ebpf.CollectionSpec, error){
		"xdp": loadUpf, "xdp-traced": loadTraced, "tc": loadSkb, "tc-traced": loadTracedSkb,
	}
	var list []verifier.Object
	for _, o := range Objects() {
		if load := weak[o.Name]; load != nil {
			o.Load = ordered(load, true)
			list = append(list, o)
		}
	}
	return list
}
