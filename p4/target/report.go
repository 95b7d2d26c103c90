package target

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus"

	"plumbline/p4/p4rt"
)

// Report is what a switch and its server have counted.
type Report struct {
	Stats
	P4Runtime p4rt.Stats `json:"p4runtime"`
}

// Print writes a report for people: all ports, and of the other counts those that are not 0.
func (r Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "PORT\tDEVICE\tRX FRAMES\tRX OCTETS\tRX FULL\tTX FRAMES\tTX OCTETS\tTX FULL\tTOO LONG\tERRORS")
	for _, p := range r.Ports {
		fmt.Fprintf(t, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", p.Number, p.Device,
			p.RxFrames, p.RxOctets, p.RxFull, p.TxFrames, p.TxOctets, p.TxFull, p.TxTooLong, p.TxErrors+p.RxSenseless)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	t = tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "\nto ports\t%d\nto the controller\t%d\n", r.ToPorts, r.ToController)
	for _, why := range slices.Sorted(maps.Keys(r.Drops)) {
		if n := r.Drops[why]; n > 0 {
			fmt.Fprintf(t, "dropped: %s\t%d\n", why, n)
		}
	}
	for _, x := range p4runtimeCounts(r.P4Runtime) {
		if x.n > 0 {
			fmt.Fprintf(t, "%s\t%d\n", x.name, x.n)
		}
	}
	return t.Flush()
}

// collector gives what is counted to Prometheus.
type collector struct {
	s      *Switch
	server *p4rt.Server
}

// NewCollector makes metrics of a switch and its server.
func NewCollector(s *Switch, server *p4rt.Server) prometheus.Collector { return collector{s, server} }

var (
	portFrames = prometheus.NewDesc("plumbline_p4switch_port_frames_total", "Frames of a port, by what became of them there.", []string{"port", "device", "what"}, nil)
	portOctets = prometheus.NewDesc("plumbline_p4switch_port_octets_total", "Octets of the frames of a port.", []string{"port", "device", "direction"}, nil)
	outFrames  = prometheus.NewDesc("plumbline_p4switch_out_frames_total", "Frames that came out of the program.", []string{"to"}, nil)
	dropFrames = prometheus.NewDesc("plumbline_p4switch_dropped_frames_total", "Frames that ended, by the reason.", []string{"reason"}, nil)
	p4runtime  = prometheus.NewDesc("plumbline_p4switch_p4runtime_total", "What controllers did and got.", []string{"what"}, nil)
	connected  = prometheus.NewDesc("plumbline_p4switch_controllers", "Controllers that are connected.", nil, nil)
)

// Describe is of prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{portFrames, portOctets, outFrames, dropFrames, p4runtime, connected} {
		ch <- d
	}
}

// Collect is of prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	s := c.s.Stats()
	for _, p := range s.Ports {
		number := fmt.Sprint(p.Number)
		for _, x := range []namedCount{
			{"rx", p.RxFrames}, {"rx_full", p.RxFull}, {"rx_senseless", p.RxSenseless},
			{"tx", p.TxFrames}, {"tx_full", p.TxFull}, {"tx_too_long", p.TxTooLong}, {"tx_error", p.TxErrors},
		} {
			count(portFrames, x.n, number, p.Device, x.name)
		}
		count(portOctets, p.RxOctets, number, p.Device, "rx")
		count(portOctets, p.TxOctets, number, p.Device, "tx")
	}
	count(outFrames, s.ToPorts, "port")
	count(outFrames, s.ToController, "controller")
	for why, n := range s.Drops {
		count(dropFrames, n, why)
	}
	r := c.server.Stats()
	for _, x := range p4runtimeCounts(r) {
		count(p4runtime, x.n, x.name)
	}
	ch <- prometheus.MustNewConstMetric(connected, prometheus.GaugeValue, float64(r.Controllers))
}

type namedCount struct {
	name string
	n    uint64
}

func p4runtimeCounts(r p4rt.Stats) []namedCount {
	return []namedCount{
		{"updates", r.Updates}, {"updates_refused", r.UpdatesRefused},
		{"packet_ins", r.PacketIns}, {"packet_ins_dropped", r.PacketInsDropped}, {"packet_ins_malformed", r.PacketInsMalformed},
		{"packet_outs", r.PacketOuts}, {"packet_outs_refused", r.PacketOutsRefused},
		{"digest_lists", r.DigestLists}, {"digests_dropped", r.DigestsDropped},
	}
}
