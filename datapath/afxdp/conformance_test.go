package afxdp

import (
	"testing"

	"plumbline/datapath/conformance"
)

// TestConformance: the whole suite over veth pairs, whole frames in and out.
func TestConformance(t *testing.T) {
	b := openBed(t)
	conformance.Run(t, conformance.Kind{}, func(t *testing.T) conformance.Datapath {
		b.open(t)
		return b
	})
}
