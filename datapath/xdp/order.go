package xdp

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// weakOrder is WEAK_ORDER in bpf/detect.h.
const weakOrder = 0x6b616577

// The objects as this machine needs them.
var (
	loadXDP       = ordered(loadUpf, verifier.WeakOrder())
	loadXDPTraced = ordered(loadTraced, verifier.WeakOrder())
	loadTCOwn     = ordered(loadSkb, verifier.WeakOrder())
	loadTCTraced  = ordered(loadTracedSkb, verifier.WeakOrder())
)

// ordered returns load with programs that read rules as CPUs need it that do loads in
// another order (weak), or in that of the program.
func ordered(load func() (*ebpf.CollectionSpec, error), weak bool) func() (*ebpf.CollectionSpec, error) {
	value := int64(0)
	if weak {
		value = 1
	}
	return func() (*ebpf.CollectionSpec, error) {
		spec, err := load()
		if err != nil {
			return nil, err
		}
		found := 0
		for _, p := range spec.Programs {
			for i := range p.Instructions {
				if ins := &p.Instructions[i]; ins.OpCode == asm.Mov.Op(asm.ImmSource) && ins.Constant == weakOrder {
					ins.Constant = value
					found++
				}
			}
		}
		if found == 0 {
			return nil, fmt.Errorf("xdp: no instruction has the constant %#x", weakOrder)
		}
		return spec, nil
	}
}
