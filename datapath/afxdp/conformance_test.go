package afxdp

import (
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// TestConformance: the whole suite over veth pairs, whole frames in and out.
func TestConformance(t *testing.T) {
	for name, stick := range map[string]bool{"two devices": false, "one device": true} {
		t.Run(name, func(t *testing.T) {
			b := openBed(t, stick)
			conformance.Run(t, conformance.Kind{OneDevice: stick}, func(t *testing.T) conformance.Datapath {
				b.open(t)
				return b
			})
		})
	}
}
