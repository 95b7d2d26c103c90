package export

import (
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/probe"
)

// Metrics collects the last snapshot for Prometheus: with each histogram classic and,
// for who asks for protocol buffers, native buckets.
//
// Names and units: https://prometheus.io/docs/practices/naming/.
type Metrics struct{ last atomic.Pointer[scrape] }

type scrape struct {
	first, now *probe.Snapshot
	upfs       []string
	n4         *N4
	samples    Samples
}

// Set puts a snapshot in the place of the one before. n4 may be nil; first is the
// snapshot that counting began with, upfs has the names of UPFs by their index in points.
func (m *Metrics) Set(first, now *probe.Snapshot, upfs []string, n4 *N4, samples Samples) {
	m.last.Store(&scrape{first, now, upfs, n4, samples})
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("probe_"+name, help, labels, nil)
}

var (
	seriesLabels = []string{"upf", "slice", "direction"}
	pointLabels  = []string{"upf", "namespace", "device", "hook", "way", "side"}
	n4Labels     = []string{"upf", "asked", "message"}

	descIn       = describe("in_packets_total", "User packets that came to the UPF. They are the sum of all fates, and of those in flight.", seriesLabels...)
	descFate     = describe("packets_total", "What became of user packets that came to the UPF.", append(seriesLabels, "fate")...)
	descInFlight = describe("in_flight_packets", "User packets that are in the UPF.", seriesLabels...)
	descOctets   = describe("matched_bytes_total", "Octets of user packets that left the UPF, from their IP header on.", seriesLabels...)
	descDelay    = describe("delay_seconds", "How long user packets stayed in the UPF.", seriesLabels...)

	descPoint = describe("point_packets_total", "Packets at a point. Those matched, unmatched, ambiguous and untimed are part of all; those foreign and unparsed are not.", append(pointLabels, "result")...)
	descCost  = describe("point_cost_seconds", "Time that the program at a point takes for a packet by itself, measured when it was attached.", pointLabels...)

	descN4          = describe("n4_transactions_total", "PFCP transactions.", append(n4Labels, "result")...)
	descN4Open      = describe("n4_outstanding", "PFCP requests that may yet be answered.", n4Labels...)
	descN4Repeats   = describe("n4_retransmissions_total", "PFCP requests that were sent again.", n4Labels...)
	descN4Causes    = describe("n4_responses_total", "PFCP responses by Cause.", append(n4Labels, "cause")...)
	descN4Delay     = describe("n4_delay_seconds", "Time from the first transmission of a PFCP request to its response.", n4Labels...)
	descN4Lost      = describe("n4_lost_datagrams_total", "Datagrams of N4 that were lost on the way to the probe.")
	descN4Fragments = describe("n4_fragmented_datagrams_total", "Datagrams of N4 in IP fragments, of which the first alone was seen: sessions may not be learnt whole.")

	descSamples     = describe("samples_total", "Packets that were reported one by one.")
	descSamplesLost = describe("samples_lost_total", "Packets that were to be reported one by one, and were lost on the way to the probe.")
)

// Describe implements [prometheus.Collector]. It sends nothing, which makes the
// collector an unchecked one: what there is depends on the UPFs.
func (m *Metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	s := m.last.Load()
	if s == nil {
		return
	}
	for i := range s.now.Series {
		s.collectSeries(ch, &s.now.Series[i])
	}
	points := NewPoints(s.now.Points, s.upfs)
	for i := range points {
		collectPoint(ch, &points[i])
	}
	if s.n4 != nil {
		for i := range s.n4.Messages {
			s.collectN4(ch, &s.n4.Messages[i])
		}
		counter(ch, descN4Lost, s.n4.Lost())
		counter(ch, descN4Fragments, s.n4.Fragments())
	}
	counter(ch, descSamples, s.samples.Written)
	counter(ch, descSamplesLost, s.samples.Lost)
}

func (s *scrape) collectSeries(ch chan<- prometheus.Metric, one *probe.Series) {
	labels := []string{one.UPF, one.Slice, one.Direction.String()}
	counter(ch, descIn, one.In, labels...)
	for fate, n := range map[string]uint64{"matched": one.Matched, "lost": one.Lost, "ambiguous": one.Ambiguous, "evicted": one.Evicted, "untimed": one.Untimed} {
		counter(ch, descFate, n, append(labels, fate)...)
	}
	gauge(ch, descInFlight, float64(one.InFlight), labels...)
	counter(ch, descOctets, one.Octets, labels...)
	if one.Delay != nil {
		ch <- newHistogram(descDelay, one.Delay, s.first.At, labels...)
	}
}

func collectPoint(ch chan<- prometheus.Metric, p *Point) {
	labels := []string{p.UPF, p.Namespace, p.Device, p.Hook, p.Way, p.Side}
	results := map[string]uint64{"all": p.Packets, "foreign": p.Foreign, "unparsed": p.Unparsed}
	if p.Way == probe.Out.String() {
		results["matched"], results["unmatched"], results["ambiguous"], results["untimed"] = p.Matched, p.Unmatched, p.Ambiguous, p.Untimed
	}
	for result, n := range results {
		counter(ch, descPoint, n, append(labels, result)...)
	}
	gauge(ch, descCost, p.CostNS/1e9, labels...)
}

func (s *scrape) collectN4(ch chan<- prometheus.Metric, m *N4Messages) {
	labels := []string{m.UPF, m.Asked, m.Message}
	counter(ch, descN4, m.Answered, append(labels, "answered")...)
	counter(ch, descN4, m.Unanswered, append(labels, "unanswered")...)
	counter(ch, descN4, m.Evicted, append(labels, "evicted")...)
	gauge(ch, descN4Open, float64(m.Outstanding), labels...)
	counter(ch, descN4Repeats, m.Retransmissions, labels...)
	for cause, n := range m.Causes {
		counter(ch, descN4Causes, n, append(labels, cause)...)
	}
	if m.Delays != nil {
		ch <- newHistogram(descN4Delay, m.Delays, s.first.At, labels...)
	}
}

// labelled makes values of labels what they may be.
func labelled(values []string) []string {
	fit := slices.Clone(values)
	for i, v := range fit {
		fit[i] = printable.Name(v)
	}
	return fit
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labelled(labels)...)
}

func counter(ch chan<- prometheus.Metric, d *prometheus.Desc, v uint64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labelled(labels)...)
}
