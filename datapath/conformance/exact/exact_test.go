package exact_test

import (
	"testing"
	"time"

	"plumbline/datapath/conformance/exact"
	"plumbline/datapath/conformance/random"
	"plumbline/datapath/model"
)

// TestModel: the model's meters are exact, for jumbo frames too.
func TestModel(t *testing.T) {
	const octets = 9000
	exact.Run(t, exact.Bed{MaxOctets: octets, Open: func(t testing.TB, burst time.Duration) exact.Datapath {
		o := random.NewOracle(t, func(c *model.Config) { c.MTU, c.MeterBurst = octets+64, burst })
		t.Cleanup(func() { _ = o.Close() })
		return o
	}})
}
