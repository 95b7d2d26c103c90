package xdp_test

import (
	"maps"
	"testing"

	"plumbline/datapath/xdp"
)

// TestWeakOrder loads what CPUs get that may do loads in another order: on x86, too, the
// verifier has to take it, and in the bounds of stack and instructions.
func TestWeakOrder(t *testing.T) {
	for _, o := range xdp.Objects() {
		if _, has := o.Set["weak_order"]; !has {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			o.Set = maps.Clone(o.Set)
			o.Set["weak_order"] = uint32(1)
			programs, err := o.Try()
			check(t, err)
			for _, p := range programs {
				if p.Refused != "" {
					t.Errorf("%s: %s", p.Name, p.Refused)
				}
			}
			t.Logf("%d programs", len(programs))
		})
	}
}
