package upf

import "github.com/prometheus/client_golang/prometheus"

var (
	descStoreLostRecords = describe("store_lost_records_total", "Records of the store that the last start could not read, at least.")
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
}
