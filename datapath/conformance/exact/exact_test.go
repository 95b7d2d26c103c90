package exact_test

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/conformance/exact"
	"github.com/plumbline-upf/plumbline/datapath/conformance/random"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// TestModel: the model's meters are exact, for jumbo frames too.
func TestModel(t *testing.T) {
	const octets = 9000
	exact.Run(t, exact.Bed{MaxOctets: octets, Open: func(t testing.TB, burst time.Duration) exact.Datapath {
		o := random.NewStages(t, func(c *stages.Config) { c.MTU, c.MeterBurst = octets+64, burst })
		t.Cleanup(func() { _ = o.Close() })
		return o
	}})
}
