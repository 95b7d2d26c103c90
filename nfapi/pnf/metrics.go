package pnf

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

var (
	descSocket = prometheus.NewDesc("nfapi_pnf_p7_dropped_total", "Datagrams, segments and, incomplete, messages of P7 that came and were not handed on.", []string{"reason"}, nil)
	descNoPHY  = prometheus.NewDesc("nfapi_pnf_no_phy_total", "Messages of P7 for a phy_id that there is not.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (p *PNF) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(p, ch) }

// Collect implements [prometheus.Collector]: all sockets together.
func (p *PNF) Collect(ch chan<- prometheus.Metric) {
	s := p.Stats()
	dropped := (&transport.P7Stats{}).Dropped() // all reasons, also while there is no socket
	for i := range s.P7 {
		for reason, n := range s.P7[i].Dropped() {
			dropped[reason] += n
		}
	}
	for reason, n := range dropped {
		ch <- prometheus.MustNewConstMetric(descSocket, prometheus.CounterValue, float64(n), reason)
	}
	ch <- prometheus.MustNewConstMetric(descNoPHY, prometheus.CounterValue, float64(s.NoPHY))
}
