package upf

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plumbline-upf/plumbline/upf/store"
)

var (
	descStoreLostRecords = describe("store_lost_records_total", "Records of the store that the last start could not read, at least.")
	descStoreRewrites    = describe("store_rewrites_total", "Times that everything was written to the store again, as its server had lost it.")
	descStoreLostOctets  = describe("store_lost_bytes_total", "Octets of the store that the last start could not read.")
)

// collectStore says what of the store was damaged.
func (c *collector) collectStore(ch chan<- prometheus.Metric) {
	if c.store == nil {
		return
	}
	lost := c.store.Lost()
	counter(ch, descStoreLostRecords, lost.Records)
	counter(ch, descStoreLostOctets, lost.Octets)
	if r, ok := c.store.(*store.Redis); ok {
		counter(ch, descStoreRewrites, r.Rewrites())
	}
}
