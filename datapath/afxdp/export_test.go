package afxdp

import (
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// RunConformance runs the conformance suite on a datapath around a driver.
func RunConformance(t *testing.T, stick bool, open func(cfg Config) (Over, error)) {
	b := openBed(t, stick)
	b.front = func(cfg Config) (over, error) { return open(cfg) }
	conformance.Run(t, conformance.Kind{OneDevice: stick}, func(t *testing.T) conformance.Datapath {
		b.open(t)
		return b
	})
}

// Over is what open of [RunConformance] returns.
type Over = over
