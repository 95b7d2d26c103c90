package upf

import (
	"log/slog"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"plumbline/datapath"
)

// maxScrapes is how many scrapes are answered at once; more get 503.
const maxScrapes = 3

// collector reads every figure at the moment of a scrape from where it is
// counted anyhow: nothing is counted twice, and a scrape holds no lock that a
// packet or a PFCP message waits for. No label depends on sessions or peers, so
// the page has a fixed size.
//
// Names and units: https://prometheus.io/docs/practices/naming/.
type collector struct {
	*Service
	log *slog.Logger
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("upf_"+name, help, labels, nil)
}

var (
	descSessions = describe("sessions", "PFCP sessions.")
	descCapacity = describe("sessions_max", "PFCP sessions that the UPF takes at most.")
	descDatapath = describe("datapath_info", "Always 1; the labels say what forwards packets.", "datapath", "mode")
	descBuild    = describe("build_info", "Always 1; the labels say what runs.", "commit", "goversion")
	descDrops    = describe("drops_total", "Packets dropped by the datapath. Every dropped packet has one reason.", "reason")
	descPasses   = describe("passes_total",
		"Packets that the fast path handed to the host or to the slow path instead of forwarding or dropping them.", "reason")
)

// Describe implements [prometheus.Collector]. It sends nothing, which makes the
// collector an unchecked one: what there is depends on the datapath.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	gauge(ch, descSessions, float64(c.sessions.Len()))
	gauge(ch, descCapacity, float64(c.config.Sessions.Max))
	gauge(ch, descDatapath, 1, c.driver.Capabilities().GetName(), c.mode())
	gauge(ch, descBuild, 1, c.options.Commit, runtime.Version())
	c.collectDrops(ch)
}

// collectDrops has a line for each reason from the start on, so that a rate can
// be taken of the first packet, too.
func (c *collector) collectDrops(ch chan<- prometheus.Metric) {
	drops, err := c.driver.Drops()
	if err != nil {
		c.log.Warn("metrics: drops", "error", err)
		return
	}
	for _, r := range datapath.Reasons() {
		desc := descPasses
		if r.IsDrop() {
			desc = descDrops
		}
		if packets, ok := drops[r.String()]; ok {
			counter(ch, desc, packets, r.String())
		}
	}
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func counter(ch chan<- prometheus.Metric, d *prometheus.Desc, v uint64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

// metricsHandler serves /metrics: the UPF's own figures, those of the Go
// runtime and those of the process.
func metricsHandler(s *Service, log *slog.Logger) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&collector{s, log}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		MaxRequestsInFlight: maxScrapes,
	}))
	return mux
}
