package xdp_test

import (
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/xdp"
)

// TestWeakOrder loads what CPUs get that may do loads in another order: on x86, too, the
// verifier has to take it, and in the bounds of stack and instructions.
func TestWeakOrder(t *testing.T) {
	for _, o := range xdp.ObjectsOfWeakOrder() {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
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
