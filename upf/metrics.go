package upf

import (
	"log/slog"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/plumbline-upf/plumbline/datapath"
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
	descDatapath = describe("datapath_info", "Always 1; the label says what forwards packets.", "datapath")
	descDevice   = describe("device_info", "Always 1; a network device of the datapath.", "interface", "device", "mode")
	descMemory   = describe("tables_bytes", "Memory that the tables of the datapath take in the kernel, used or not.")
	descBuild    = describe("build_info", "Always 1; the labels say what runs.", "commit", "goversion")
	descPackets  = describe("forwarded_packets_total", "User packets forwarded.", "direction")
	descBytes    = describe("forwarded_bytes_total",
		"Octets of the user packets forwarded, from their IP header on.", "direction")
	descSliceSessions = describe("slice_sessions", "PFCP sessions of a slice; none: of no configured one.", "slice")
	descSlicePackets  = describe("slice_forwarded_packets_total", "User packets of a slice forwarded.", "slice", "direction")
	descSliceBytes    = describe("slice_forwarded_bytes_total",
		"Octets of the user packets of a slice forwarded, from their IP header on.", "slice", "direction")
	descSliceDropped = describe("slice_dropped_packets_total",
		"User packets of a slice that matched a PDR and were then dropped by gate, meter, quota or FAR.", "slice", "direction")
	descDrops  = describe("drops_total", "Packets dropped by the datapath. Every dropped packet has one reason.", "reason")
	descPasses = describe("passes_total",
		"Packets that the fast path handed to the host or to the slow path instead of forwarding or dropping them.", "reason")
)

// Describe implements [prometheus.Collector]. It sends nothing, which makes the
// collector an unchecked one: what there is depends on the datapath.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	gauge(ch, descSessions, float64(c.sessions.Len()))
	gauge(ch, descCapacity, float64(c.config.Sessions.Max))
	c.collectSlices(ch)
	c.collectForwarded(ch)
	c.collectAgents(ch)
	about := c.about.Load()
	gauge(ch, descDatapath, 1, about.Name)
	for _, d := range about.Devices {
		gauge(ch, descDevice, 1, d.Interface, d.Name, d.Mode)
	}
	if octets := tablesOctets(c.forwarder()); octets > 0 {
		gauge(ch, descMemory, float64(octets))
	}
	gauge(ch, descBuild, 1, c.options.Commit, runtime.Version())
	c.collectPackets(ch)
	c.collectOccupancy(ch)
	gauge(ch, descAssociations, float64(len(c.endpoint.Associations())))
	c.collectPFCP(ch, c.endpoint.Counters())
	c.collectStore(ch)
}

// collectPackets says what became of packets. It has a line for each reason from
// the start on, so that a rate can be taken of the first packet, too.
func (c *collector) collectPackets(ch chan<- prometheus.Metric) {
	c.collectReasons(ch, descDrops, c.driver.Drops)
	if d, ok := c.driver.(datapath.PassReporter); ok {
		c.collectReasons(ch, descPasses, d.Passes)
	}
}

// collectSlices says what sessions and packets there were of each slice.
func (c *collector) collectSlices(ch chan<- prometheus.Metric) {
	counts := c.totals() != nil
	for _, s := range c.sliceStates() {
		gauge(ch, descSliceSessions, float64(s.Sessions), s.Name)
		for direction, u := range map[string]Usage{"uplink": s.Uplink, "downlink": s.Downlink} {
			if !counts {
				break
			}
			counter(ch, descSlicePackets, u.Packets, s.Name, direction)
			counter(ch, descSliceBytes, u.Octets, s.Name, direction)
			counter(ch, descSliceDropped, u.DroppedPackets, s.Name, direction)
		}
	}
}

// collectForwarded says what was forwarded in all.
func (c *collector) collectForwarded(ch chan<- prometheus.Metric) {
	totals := c.totals()
	if totals == nil {
		return
	}
	var uplink, downlink datapath.Total
	for _, t := range totals {
		uplink.Add(t.Uplink)
		downlink.Add(t.Downlink)
	}
	for direction, t := range map[string]datapath.Total{"uplink": uplink, "downlink": downlink} {
		counter(ch, descPackets, t.Packets, direction)
		counter(ch, descBytes, t.Octets, direction)
	}
}

func (c *collector) collectReasons(ch chan<- prometheus.Metric, d *prometheus.Desc, read func() (map[string]uint64, error)) {
	packets, err := read()
	if err != nil {
		c.log.Warn("metrics: packets by reason", "error", err)
		return
	}
	for reason, n := range packets {
		counter(ch, d, n, reason)
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
