package vnf

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("nfapi_vnf_"+name, help, append([]string{"pnf", "phy"}, labels...), nil)
}

var (
	descConnected   = prometheus.NewDesc("nfapi_vnf_pnf_connected", "1: the PNF is connected.", []string{"pnf"}, nil)
	descConnections = prometheus.NewDesc("nfapi_vnf_connections_total", "Connections of the PNF that were taken.", []string{"pnf"}, nil)
	descErrors      = prometheus.NewDesc("nfapi_vnf_error_indications_total", "ERROR.indications of the PNF.", []string{"pnf"}, nil)
	descRefused     = prometheus.NewDesc("nfapi_vnf_refused_connections_total", "Connections that were not taken.", nil, nil)

	descRunning    = describe("phy_running", "1: the PHY runs.")
	descSlots      = describe("slots_total", "Slots, by what became of them.", "fate")
	descTicks      = describe("slot_indications_total", "SLOT.indications, by what they were; late ones are among the lost and the old ones.", "kind")
	descJumps      = describe("clock_jumps_total", "How often the PNF's clock was set.")
	descRequests   = describe("requests_total", "Requests that were sent.", "message")
	descIndication = describe("indications_total", "Indications that the MAC got.", "message")
	descDropped    = describe("dropped_total", "Messages that were not sent, or not heeded.", "reason")
	descSocket     = describe("p7_dropped_total", "Datagrams, segments and, incomplete, messages of P7 that came and were not handed on.", "reason")
	descSync       = describe("node_sync_answers_total", "Answers of node sync.", "kind")
	descOffset     = describe("node_sync_offset_seconds", "The PNF's clock less the VNF's, modulo 10.24 s.")
	descDelay      = describe("node_sync_delay_seconds", "Delay one way, by node sync.")
	descLead       = describe("lead_seconds", "How long before its air slot a slot is scheduled by the VNF's own clock.")
	descLate       = describe("late_reports_total", "TIMING_INFOs and ERROR.indications about late requests.")
)

// Describe implements [prometheus.Collector].
func (v *VNF) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(v, ch) }

// Collect implements [prometheus.Collector].
func (v *VNF) Collect(ch chan<- prometheus.Metric) {
	s := v.Stats()
	ch <- prometheus.MustNewConstMetric(descRefused, prometheus.CounterValue, float64(s.Refused))
	for i := range s.PNFs {
		p := &s.PNFs[i]
		ch <- prometheus.MustNewConstMetric(descConnected, prometheus.GaugeValue, truth(p.Stage != stageIdle.String()), p.Name)
		ch <- prometheus.MustNewConstMetric(descConnections, prometheus.CounterValue, float64(p.Connections), p.Name)
		ch <- prometheus.MustNewConstMetric(descErrors, prometheus.CounterValue, float64(p.Errors), p.Name)
		for j := range p.PHYs {
			phy := metrics{ch, p.Name, strconv.Itoa(int(p.PHYs[j].ID))}
			phy.counts(&p.PHYs[j].Counts)
			phy.state(&p.PHYs[j])
			for reason, n := range p.PHYs[j].Socket.Dropped() {
				phy.count(descSocket, n, reason)
			}
		}
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// metrics are those of one PHY.
type metrics struct {
	ch       chan<- prometheus.Metric
	pnf, phy string
}

func (m metrics) gauge(d *prometheus.Desc, value float64) {
	m.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, m.pnf, m.phy)
}

func (m metrics) count(d *prometheus.Desc, value uint64, labels ...string) {
	m.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), append([]string{m.pnf, m.phy}, labels...)...)
}

func (m metrics) state(s *PHYStats) {
	m.gauge(descRunning, truth(s.Stage == stageRunning.String()))
	if s.Synchronised {
		m.gauge(descOffset, s.Offset.Seconds())
		m.gauge(descDelay, s.Delay.Seconds())
	}
	if s.Lead > 0 {
		m.gauge(descLead, s.Lead.Seconds())
	}
}

func (m metrics) counts(c *PHYCounts) {
	m.count(descSlots, c.Slots, "scheduled")
	m.count(descSlots, c.Skipped, "skipped")
	m.count(descTicks, c.Ticks, "new")
	m.count(descTicks, c.TicksLost+c.TicksLate, "lost") // a counter does not sink
	m.count(descTicks, c.TicksLate, "late")
	m.count(descTicks, c.TicksOld, "old")
	m.count(descTicks, c.TicksStrange, "strange")
	m.count(descJumps, c.Jumps)
	m.count(descRequests, c.DLTTI, "DL_TTI.request")
	m.count(descRequests, c.ULTTI, "UL_TTI.request")
	m.count(descRequests, c.ULDCI, "UL_DCI.request")
	m.count(descRequests, c.TXData, "TX_DATA.request")
	m.count(descIndication, c.RXData, "RX_DATA.indication")
	m.count(descIndication, c.CRC, "CRC.indication")
	m.count(descIndication, c.UCI, "UCI.indication")
	m.count(descIndication, c.SRS, "SRS.indication")
	m.count(descIndication, c.RACH, "RACH.indication")
	m.count(descDropped, c.NotSent, "not_sent")
	m.count(descDropped, c.Invalid, "invalid")
	m.count(descDropped, c.Stale, "stale")
	m.count(descDropped, c.Ignored, "ignored")
	m.count(descSync, c.SyncAnswers, "good")
	m.count(descSync, c.SyncOdd, "odd")
	m.count(descLate, c.LateReports)
}
